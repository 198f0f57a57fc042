//! Reports: the statistics of captures again, from `frames.csv` alone, and what two captures differ in.
//!
//! A [`Recording`] is a capture as it was read, [`Figures`] are its numbers, and a [`Comparison`] holds those of two. They
//! leave as [`text`], as JSON (all of them serialize) or as one [`page`] with plots that opens without a network.
//! Nothing here knows how frames are made: effects are known by their names alone.

mod bootstrap;
mod chart;
mod comparison;
mod error;
mod facts;
mod figures;
mod new_file;
pub mod page;
mod recording;
mod rows;
pub mod text;

pub use comparison::{Comparison, Difference, Estimate, Report, Verdict};
pub use error::ReportError;
pub use figures::{Figures, StageFigures};
pub use new_file::NewFile;
pub use recording::{Recording, StageTimes};
