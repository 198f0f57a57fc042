//! Arrows between slices.

use std::collections::BTreeMap;

/// What an arrow stands for; each is there at most once a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Arrow {
    /// The timeline `rendered`: the scene's end lets the chain begin.
    Rendered,
    /// The timeline `processed`: the chain's end lets the present pass begin.
    Processed,
    /// The timeline `retired`: the present pass's end ends a wait of the host.
    Retired,
    /// The timeline `drawn`: the scene's end ends the same wait.
    Drawn,
    /// The host submits the scene.
    SubmitScene,
    /// The host enqueues the chain.
    EnqueueChain,
    /// The host submits the present pass.
    SubmitPresent,
}

impl Arrow {
    /// Perfetto's identifier of the frame's arrow, unique in the trace: `8 * frame + kind`.
    pub fn id(self, frame: u64) -> u64 {
        frame.wrapping_mul(8).wrapping_add(self as u64)
    }
}

/// More frames than this are never in flight, so a wait for a frame is found in the record of one of the next so many.
const MOST_IN_FLIGHT: u64 = 8;

/// Frames whose signals to the host have been written, while the wait for them has not.
#[derive(Debug, Default)]
pub(super) struct Unanswered {
    /// The frame's signals with when the last of them was given, on the device's clock.
    signals: BTreeMap<u64, (Vec<Arrow>, u64)>,
}

impl Unanswered {
    /// Remembers the signals that the slices of a frame were written with.
    pub fn add(&mut self, frame: u64, arrows: Vec<Arrow>, given_ns: u64) {
        if !arrows.is_empty() {
            self.signals.insert(frame, (arrows, given_ns));
        }
    }

    /// The identifiers of the arrows that a wait for the frame ends.
    pub fn answer(&mut self, frame: u64) -> Vec<u64> {
        let (arrows, _) = self.signals.remove(&frame).unwrap_or_default();
        ids(frame, &arrows)
    }

    /// The oldest frame that no record after `frame`'s can have waited for: identifiers of its arrows, and their time.
    pub fn too_old(&mut self, frame: u64) -> Option<(Vec<u64>, u64)> {
        let (&oldest, _) = self.signals.first_key_value()?;
        if oldest.saturating_add(MOST_IN_FLIGHT) > frame {
            return None;
        }
        let (_, (arrows, given_ns)) = self.signals.pop_first()?;
        Some((ids(oldest, &arrows), given_ns))
    }
}

fn ids(frame: u64, arrows: &[Arrow]) -> Vec<u64> {
    arrows.iter().map(|arrow| arrow.id(frame)).collect()
}
