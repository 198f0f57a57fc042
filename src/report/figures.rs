//! All numbers of one capture.

use serde::Serialize;

use crate::report::recording::Recording;
use crate::timing::histogram::Histogram;
use crate::timing::statistics::{FrameRates, Summary};
use crate::timing::table::FRAME_TIME;

/// All numbers of one capture.
#[derive(Debug, Clone, Serialize)]
pub struct Figures {
    /// What the capture is called.
    pub name: String,
    /// How many frames it has.
    pub frames: usize,
    /// What a reader has to know.
    pub notes: Vec<String>,
    /// What `capture.json` says, key and value.
    pub facts: Vec<(String, String)>,
    /// Rates, in frames a second.
    pub rates: FrameRates,
    /// The frame time first.
    pub stages: Vec<StageFigures>,
}

/// The numbers of one stage.
#[derive(Debug, Clone, Serialize)]
pub struct StageFigures {
    /// Its column.
    pub column: String,
    /// Its name in words.
    pub title: String,
    /// `None`: not measured in any frame.
    pub summary: Option<Summary>,
    /// Of all its times in milliseconds. `None`: not measured in any frame.
    pub histogram: Option<Histogram>,
}

impl Figures {
    /// The numbers of a capture.
    pub fn of(recording: &Recording) -> Figures {
        let stages: Vec<_> = recording
            .stages
            .iter()
            .map(|stage| (stage, stage.measured_ms()))
            .collect();
        let frame_times = stages.get(FRAME_TIME).map_or(&[][..], |(_, times)| times);
        Figures {
            name: recording.name.clone(),
            frames: recording.frames(),
            notes: recording.notes.clone(),
            facts: recording.facts.clone(),
            rates: FrameRates::of(frame_times),
            stages: stages
                .iter()
                .map(|(stage, times)| StageFigures {
                    column: stage.column.clone(),
                    title: stage.title.clone(),
                    summary: Summary::of(times),
                    histogram: Histogram::of(times),
                })
                .collect(),
        }
    }
}
