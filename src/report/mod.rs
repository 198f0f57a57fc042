//! Reports: the statistics of captures again, from `frames.csv` alone, and what two captures differ in.
//!
//! A [`Recording`] is a capture as it was read, [`Figures`] are its numbers, a [`Comparison`] is what two differ in,
//! and a [`Report`] is all of it. It leaves as [`text`], as JSON (it serializes) or as one [`page`] with plots that
//! opens without a network. Nothing here knows how frames are made: effects are known by their names alone. Benches draw on the axes
//! of `chart`.

mod bootstrap;
pub(crate) mod chart;
mod comparison;
mod error;
mod facts;
mod figures;
mod new_file;
pub mod page;
mod recording;
mod rows;
pub mod text;

pub use comparison::{Comparison, Difference, Estimate, Verdict};
pub use error::ReportError;
pub use figures::{Figures, StageFigures};
pub use new_file::NewFile;
pub use recording::{Recording, StageTimes};

use serde::Serialize;

/// All that a report says.
#[derive(Debug, Clone, Serialize)]
pub struct Report {
    /// Version of the program that made the report.
    pub handover: &'static str,
    /// One for each capture, in the order they were named.
    pub captures: Vec<Figures>,
    /// `None` unless there are exactly two captures.
    pub comparison: Option<Comparison>,
}

impl Report {
    /// The report on these captures.
    pub fn of(recordings: &[Recording]) -> Report {
        let comparison = match recordings {
            [base, other] => Some(Comparison::of(base, other)),
            _ => None,
        };
        Report {
            handover: env!("CARGO_PKG_VERSION"),
            captures: recordings.iter().map(Figures::of).collect(),
            comparison,
        }
    }
}
