//! Benches: what was rendered how often and how long it took, in a file, and what of two such things differs.
//!
//! A [`Case`] is fixed work and a way to do it, [`Results`] are the rounds of many cases and the file that holds them, and
//! [`text`] says what they say. A difference is called only where the spread of the rounds carries it: see [`interval`]. Nothing
//! here renders; `handover bench` does.

mod case;
pub mod interval;
pub mod kernels;
mod results;
pub mod text;

pub use case::{Case, IN_QUEUE, chain_text};
pub use results::{CaseRounds, MOST_ROUNDS, MachineFacts, Results, ResultsError, Round};
