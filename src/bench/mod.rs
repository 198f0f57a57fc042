//! Benches: what was rendered how often and how long it took, in a file, and what of two such things differs.
//!
//! A [`Case`] is fixed work and a way to do it, [`Results`] are the rounds of many cases and the file that holds them, and
//! [`text`] says what they say; [`growth`] and [`memory`] what they say of larger frames and of more in flight, and [`plot`]
//! draws these. [`kernels`] are effects alone, and [`need`] what these need at least.
//! [`gpus`] is about several GPUs at the same time. A difference is called only where the spread of the rounds
//! carries it: see [`interval`]. Nothing here renders; `handover bench` does.

mod case;
pub mod gpus;
pub mod growth;
pub mod interval;
pub mod kernels;
pub mod memory;
pub mod need;
pub mod plot;
mod results;
pub mod text;

pub use case::{Case, IN_QUEUE, NAMED_SIZES, chain_text};
pub use results::{
    CaseRounds, CountedBy, LeftOut, MOST_ROUNDS, MachineFacts, MemoryTaken, Results, ResultsError, Round,
};
