//! The frames of the run so far, for the table printed at its end.

use std::collections::VecDeque;

use crate::timing::columns::{Cell, Column, effect_cell};
use crate::timing::frames_csv::Sheet;
use crate::timing::record::FrameRecord;
use crate::timing::table::STAGES;

/// Frames a chunk. One allocation every 4,096 frames, and never a copy: a growing vector would copy megabytes within
/// a frame that is being measured.
const CHUNK_FRAMES: usize = 4096;

/// Chunks kept: the last 524,288 frames, two hours at 60 frames a second. With eight effects that is 88 MB at most.
const CHUNKS_KEPT: usize = 128;

/// The times of the run's frames, bounded in memory: of a longer run the oldest are forgotten, 4,096 at a time.
///
/// Exact values of the latest frames are kept and not a random sample of all, because the 99.9th percentile and the maximum of
/// a sample are those of the sample.
#[derive(Debug)]
pub struct History {
    /// Names the effects. What a sheet says beside them concerns only columns that are not kept.
    sheet: Sheet,
    columns: Vec<&'static Column>,
    /// Labels of launches that ran several effects, in the order in which they were first seen.
    fused: Vec<&'static str>,
    chunks: VecDeque<Chunk>,
    frames_seen: u64,
}

/// Frames that have the same columns: the stages', the effects', then those of fused launches.
#[derive(Debug)]
struct Chunk {
    /// Values of a row.
    width: usize,
    /// Effects of a row.
    effects: usize,
    /// Rows, NaN for what was not measured.
    values: Vec<f64>,
}

impl History {
    /// An empty history of a run with these effects, in the order of [`FrameRecord::kernels_ms`].
    pub fn new(effects: &[impl AsRef<str>]) -> History {
        let effects = effects.iter().map(|effect| effect.as_ref().to_owned()).collect();
        History {
            sheet: Sheet {
                effects,
                ..Sheet::default()
            },
            columns: STAGES.iter().map(|stage| stage.column()).collect(),
            fused: Vec::new(),
            chunks: VecDeque::new(),
            frames_seen: 0,
        }
    }

    /// From the next frame on there is another effect, the last.
    pub fn add_effect(&mut self, name: &str) {
        self.sheet.effects.push(name.to_owned());
    }

    /// Remembers a frame.
    pub fn push(&mut self, record: &FrameRecord) {
        for fused in &record.fused {
            if !self.fused.contains(&fused.label) {
                self.fused.push(fused.label);
            }
        }
        let (width, effects) = (self.width(), self.sheet.effects.len());
        let full = CHUNK_FRAMES * width;
        let has_no_room =
            |chunk: &Chunk| (chunk.width, chunk.effects) != (width, effects) || chunk.values.len() == full;
        if self.chunks.back().is_none_or(has_no_room) {
            if self.chunks.len() == CHUNKS_KEPT {
                self.chunks.pop_front();
            }
            self.chunks.push_back(Chunk {
                width,
                effects,
                values: Vec::with_capacity(full),
            });
        }
        let chunk = &mut self.chunks.back_mut().expect("a chunk with room was just made").values;
        chunk.extend(
            self.columns
                .iter()
                .map(|column| value((column.read)(record, &self.sheet))),
        );
        chunk.extend((0..effects).map(|index| value(effect_cell(record, index))));
        let time_of = |label: &&str| record.fused.iter().find(|fused| fused.label == *label);
        chunk.extend(self.fused.iter().map(|label| {
            let time = time_of(label).map(|fused| Cell::Milliseconds(fused.time_ms));
            value(time.unwrap_or(Cell::NotAvailable))
        }));
        self.frames_seen += 1;
    }

    /// How many frames were pushed in all.
    pub fn frames_seen(&self) -> u64 {
        self.frames_seen
    }

    /// How many frames are remembered.
    pub fn frames_kept(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.values.len() / chunk.width).sum()
    }

    /// Names of the effects.
    pub fn effects(&self) -> &[String] {
        &self.sheet.effects
    }

    /// The measured times of a stage in milliseconds, oldest first; the index is the one in [`STAGES`].
    pub fn stage_ms(&self, stage_index: usize) -> Vec<f64> {
        assert!(
            stage_index < self.columns.len(),
            "stage {stage_index} of {}",
            self.columns.len()
        );
        self.measured(|_| stage_index)
    }

    /// The measured times of an effect in milliseconds, oldest first; the index is the one in [`History::effects`].
    pub fn effect_ms(&self, effect_index: usize) -> Vec<f64> {
        assert!(
            effect_index < self.effects().len(),
            "effect {effect_index} of {}",
            self.effects().len()
        );
        let stages = self.columns.len();
        self.measured(|chunk| {
            if effect_index < chunk.effects {
                stages + effect_index
            } else {
                usize::MAX
            }
        })
    }

    /// Labels of launches that ran several effects at once.
    pub fn fused(&self) -> &[&'static str] {
        &self.fused
    }

    /// The measured times of such a launch in milliseconds, oldest first; the index is the one in [`History::fused`].
    pub fn fused_ms(&self, index: usize) -> Vec<f64> {
        assert!(index < self.fused.len(), "fused launch {index} of {}", self.fused.len());
        let stages = self.columns.len();
        self.measured(|chunk| stages + chunk.effects + index)
    }

    /// `place`: where in a row of the chunk the value is; beyond its end where there is none.
    fn measured(&self, place: impl Fn(&Chunk) -> usize) -> Vec<f64> {
        // Of frames from before the effect was there, nothing was measured.
        let values = self.chunks.iter().flat_map(|chunk| {
            let (rows, place) = (chunk.values.chunks_exact(chunk.width), place(chunk));
            rows.filter_map(move |row| row.get(place).copied())
        });
        values.filter(|value| value.is_finite()).collect()
    }

    fn width(&self) -> usize {
        self.columns.len() + self.sheet.effects.len() + self.fused.len()
    }
}

fn value(cell: Cell<'_>) -> f64 {
    match cell {
        // To the nanosecond, as a capture has it: a report on the capture then says the same as the table.
        Cell::Milliseconds(value) => (value * 1e6).round() / 1e6,
        Cell::Text(_) | Cell::Fused(_) | Cell::Number(_) | Cell::NotAvailable => f64::NAN,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::table::FRAME_TIME;

    #[test]
    fn an_effect_that_is_added_has_the_frames_from_then_on() {
        let mut history = History::new(&["blur"]);
        let record = |kernels_ms: &[f64]| FrameRecord {
            kernels_ms: kernels_ms.iter().map(|time| Some(*time)).collect(),
            ..FrameRecord::default()
        };
        history.push(&record(&[1.0]));
        // A frame that already has it, before it is told.
        history.push(&record(&[2.0, 9.0]));
        history.add_effect("edge");
        history.push(&record(&[3.0, 4.0]));
        history.push(&record(&[5.0]));
        assert_eq!(
            (history.effect_ms(0), history.effect_ms(1)),
            (vec![1.0, 2.0, 3.0, 5.0], vec![4.0])
        );
        assert_eq!((history.frames_kept(), history.frames_seen()), (4, 4));
    }

    #[test]
    fn fused_launches_have_lines_of_their_own_from_where_they_are_seen() {
        let mut history = History::new(&["blur"]);
        let fused = |label, time_ms| FrameRecord {
            kernels_ms: vec![Some(1.0)],
            fused: vec![crate::timing::FusedTime {
                label,
                time_ms,
                bytes: 0,
            }],
            ..FrameRecord::default()
        };
        history.push(&FrameRecord::default());
        history.push(&fused("a+b", 2.0));
        history.add_effect("edge");
        history.push(&FrameRecord {
            kernels_ms: vec![None, Some(7.0)],
            ..fused("a+b", 3.0)
        });
        history.push(&fused("b+c", 4.0));
        assert_eq!(history.fused(), ["a+b", "b+c"]);
        assert_eq!((history.fused_ms(0), history.fused_ms(1)), (vec![2.0, 3.0], vec![4.0]));
        assert_eq!(
            (history.effect_ms(0), history.effect_ms(1)),
            (vec![1.0, 1.0], vec![7.0])
        );
        assert_eq!(history.frames_kept(), 4);
    }

    #[test]
    fn keeps_the_latest_frames_and_counts_all() {
        let mut history = History::new(&["blur"]);
        let kept = CHUNK_FRAMES * CHUNKS_KEPT;
        for frame in 1..=(kept as u64 + 1) {
            let between_presents_ms = (frame > 1).then_some(frame as f64);
            history.push(&FrameRecord {
                frame,
                between_presents_ms,
                ..FrameRecord::default()
            });
        }
        assert_eq!(history.frames_seen(), kept as u64 + 1);
        assert_eq!(history.frames_kept(), kept - CHUNK_FRAMES + 1);
        let times = history.stage_ms(FRAME_TIME);
        assert_eq!(times.first(), Some(&(CHUNK_FRAMES as f64 + 1.0)));
        assert_eq!(times.last(), Some(&(kept as f64 + 1.0)));
    }

    #[test]
    fn unmeasured_is_absent_and_not_zero() {
        let mut history = History::new(&["blur", "bloom"]);
        history.push(&FrameRecord {
            kernels_ms: vec![None, Some(0.5)],
            ..FrameRecord::default()
        });
        history.push(&FrameRecord {
            kernels_ms: vec![Some(0.0)],
            ..FrameRecord::default()
        });
        assert_eq!(history.effect_ms(0), [0.0]);
        assert_eq!(history.effect_ms(1), [0.5]);
        assert_eq!(history.stage_ms(FRAME_TIME), Vec::<f64>::new());
    }
}
