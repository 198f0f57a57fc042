//! The numbers that the overlay shows, computed a few times a second.

use std::collections::{BTreeMap, VecDeque};

use super::stack::{Part, mean_parts};
use super::timeline::Timeline;
use crate::timing::FrameRecord;
use crate::timing::statistics::{average_fps, percentile, sorted};

/// Frames that means are taken over: a second of 60 Hz.
const MEAN_FRAMES: usize = 60;

/// Frames of the timeline beside those in flight: so many are seen whose slot is used again.
const TIMELINE_EXTRA: usize = 2;

/// The most frames of the timeline: more would be too narrow to see anything.
const TIMELINE_MOST: usize = 6;

/// What an effect's kernels, or a launch of several effects, move.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Throughput {
    /// Which.
    pub part: Part,
    /// The fewest bytes that they must move, by the time they take.
    pub bytes_a_second: f64,
}

/// What is shown as numbers, and the timeline, which would be too quick to see.
#[derive(Debug, Clone, Default)]
pub(super) struct Figures {
    /// Frames a second over the frames of the graph.
    pub fps: Option<f64>,
    /// The 50th, 95th and 99th percentile of their times, milliseconds.
    pub percentiles: Option<[f64; 3]>,
    /// The mean of each part of the last frames.
    pub parts: Vec<(Part, f64)>,
    /// How many frames those are.
    pub mean_frames: usize,
    /// Of each effect that ran.
    pub throughputs: Vec<Throughput>,
    /// The last frames.
    pub timeline: Option<Timeline>,
    /// Bytes of GPU memory that the process uses.
    pub memory_used: Option<u64>,
    /// Frames in flight when the last one was begun.
    pub in_flight: usize,
    /// What laying the overlay out took on the host the last time, milliseconds.
    pub layout_ms: Option<f64>,
}

impl Figures {
    /// Of the last frames, oldest first.
    pub fn of(recent: &VecDeque<FrameRecord>, layout_ms: Option<f64>) -> Self {
        let times: Vec<f64> = recent.iter().filter_map(|record| record.between_presents_ms).collect();
        let ascending = sorted(&times);
        let at = |percent| percentile(&ascending, percent);
        let mean_frames = recent.len().min(MEAN_FRAMES);
        let last = |count: usize| recent.range(recent.len() - count.min(recent.len())..);
        let in_flight = recent.back().map_or(0, |record| record.spans.in_flight);
        Self {
            fps: average_fps(&times),
            percentiles: at(50.0)
                .zip(at(95.0))
                .zip(at(99.0))
                .map(|((p50, p95), p99)| [p50, p95, p99]),
            parts: mean_parts(last(mean_frames)),
            mean_frames,
            throughputs: throughputs(last(mean_frames)),
            timeline: Timeline::of(last((in_flight + TIMELINE_EXTRA).clamp(2, TIMELINE_MOST))),
            memory_used: recent.back().and_then(|record| record.spans.memory_used),
            in_flight,
            layout_ms,
        }
    }
}

fn throughputs<'a>(records: impl Iterator<Item = &'a FrameRecord>) -> Vec<Throughput> {
    // Bytes and milliseconds.
    let mut sums: BTreeMap<Part, (u64, f64)> = BTreeMap::new();
    let mut add = |part: Part, bytes: u64, time_ms: f64| {
        let (all_bytes, all_ms) = sums.entry(part).or_default();
        *all_bytes += bytes;
        *all_ms += time_ms;
    };
    for record in records {
        let effects = record.kernels_bytes.iter().zip(&record.kernels_ms).enumerate();
        for (effect, (bytes, time_ms)) in effects {
            add(Part::Kernel(effect), *bytes, time_ms.unwrap_or(0.0));
        }
        for fused in &record.fused {
            add(Part::Fused(fused.label), fused.bytes, fused.time_ms);
        }
    }
    let parts = sums.into_iter();
    parts
        .filter(|(_, (_, time_ms))| *time_ms > 0.0)
        .map(|(part, (bytes, time_ms))| Throughput {
            part,
            bytes_a_second: bytes as f64 / time_ms * 1e3,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn throughput_is_all_bytes_by_all_time() {
        let record = |kernels_ms: [Option<f64>; 2], kernels_bytes: [u64; 2]| FrameRecord {
            kernels_ms: kernels_ms.to_vec(),
            kernels_bytes: kernels_bytes.to_vec(),
            ..FrameRecord::default()
        };
        let records = [
            FrameRecord::default(),
            record([Some(0.0), Some(3.0)], [9, 6_000_000]),
            record([None, Some(1.0)], [0, 2_000_000]),
        ];
        let found = throughputs(records.iter());
        // 8 MB in 4 ms; what took no time has no throughput.
        let expected = Throughput {
            part: Part::Kernel(1),
            bytes_a_second: 2e9,
        };
        assert_eq!(found, [expected]);
    }

    #[test]
    fn percentiles_are_those_of_the_frames_shown() {
        let records: VecDeque<_> = (0..=100)
            .map(|time| FrameRecord {
                between_presents_ms: (time > 0).then_some(f64::from(time)),
                ..FrameRecord::default()
            })
            .collect();
        let figures = Figures::of(&records, None);
        // numpy.percentile of 1 to 100.
        assert_eq!(figures.percentiles, Some([50.5, 95.05, 99.01]));
        assert_eq!(figures.mean_frames, MEAN_FRAMES);
        let nothing = Figures::of(&VecDeque::new(), None);
        assert_eq!((nothing.percentiles, nothing.fps), (None, None));
    }
}
