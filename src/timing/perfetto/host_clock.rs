//! The host's clock laid onto the device's, so that host slices stand beside the GPU's.

use std::collections::VecDeque;

use crate::timing::Interval;
use crate::vulkan::Calibration;

/// From so far apart on, two calibrations tell how fast the clocks drift: their deviations, of microseconds, are parts in a
/// million of it.
const RATE_FROM_NS: u64 = 500_000_000;

/// A drift above this is no drift: one of the clocks was set.
const MOST_DRIFT: f64 = 1e-3;

/// Records come when their frames retire, so a host span may be older than what came with up to 8 frames after its own.
const KEPT_PIECES: usize = 16;

/// A mapping that never goes back: whatever the calibrations say, the order of host times is kept, and no slice gets a
/// negative length or overlaps one that it did not overlap.
#[derive(Debug, Default)]
pub(super) struct HostClock {
    first: Option<Calibration>,
    /// One a calibration, by the host time from which on it counts.
    pieces: VecDeque<Piece>,
    /// The latest host time that was mapped.
    latest_ns: u64,
}

/// A line through a calibration.
#[derive(Debug, Clone, Copy)]
struct Piece {
    from_host_ns: u64,
    /// What the pieces before reached.
    least_device_ns: u64,
    calibration: Calibration,
    /// How much faster the device's clock runs: 0 when both run alike.
    drift: f64,
}

impl Piece {
    fn device_ns(&self, host_ns: u64) -> u64 {
        let since = host_ns.wrapping_sub(self.calibration.host_ns).cast_signed();
        let correction = (since as f64 * self.drift).round() as i64;
        let device_ns = self.calibration.device_from_host(host_ns);
        device_ns.saturating_add_signed(correction).max(self.least_device_ns)
    }
}

impl HostClock {
    /// The clocks could be read together at least once.
    pub fn is_calibrated(&self) -> bool {
        self.first.is_some()
    }

    /// Takes a frame's calibration. A new one counts from the latest time that was mapped on, since what is written stays:
    /// the answer is then how many nanoseconds the host's clock went ahead of the device's since the first.
    pub fn calibrate(&mut self, calibration: Calibration) -> Option<i64> {
        if self.pieces.back().is_some_and(|piece| piece.calibration == calibration) {
            return None;
        }
        let first = *self.first.get_or_insert(calibration);
        let host = calibration.host_ns.wrapping_sub(first.host_ns);
        let device = calibration.device_ns.wrapping_sub(first.device_ns);
        let ahead_ns = host.wrapping_sub(device).cast_signed();
        let drift = Some(-(ahead_ns as f64) / host as f64)
            .filter(|drift| host >= RATE_FROM_NS && drift.abs() <= MOST_DRIFT)
            .unwrap_or_default();
        self.pieces.push_back(Piece {
            from_host_ns: self.latest_ns,
            least_device_ns: self.device_ns(self.latest_ns).unwrap_or_default(),
            calibration,
            drift,
        });
        if self.pieces.len() > KEPT_PIECES {
            self.pieces.pop_front();
        }
        Some(ahead_ns)
    }

    /// A host interval on the device's clock; `None` without a calibration.
    pub fn map(&mut self, host: Interval) -> Option<Interval> {
        self.latest_ns = self.latest_ns.max(host.end_ns);
        Some(Interval {
            start_ns: self.device_ns(host.start_ns)?,
            end_ns: self.device_ns(host.end_ns)?,
        })
    }

    fn device_ns(&self, host_ns: u64) -> Option<u64> {
        let piece = self.pieces.iter().rev().find(|piece| piece.from_host_ns <= host_ns);
        Some(piece.or(self.pieces.front())?.device_ns(host_ns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn calibration(host_ns: u64, device_ns: u64) -> Calibration {
        Calibration {
            device_ns,
            host_ns,
            deviation_ns: 100,
        }
    }

    fn interval(start_ns: u64, end_ns: u64) -> Interval {
        Interval { start_ns, end_ns }
    }

    #[test]
    fn nothing_is_mapped_before_a_calibration() {
        let mut clock = HostClock::default();
        assert!(!clock.is_calibrated());
        assert_eq!(clock.map(interval(1, 2)), None);
    }

    #[test]
    fn a_calibration_that_steps_back_shortens_slices_and_reorders_none() {
        let mut clock = HostClock::default();
        assert_eq!(clock.calibrate(calibration(1_000, 5_000)), Some(0));
        assert_eq!(clock.calibrate(calibration(1_000, 5_000)), None, "nothing new");
        assert_eq!(clock.map(interval(2_000, 3_000)), Some(interval(6_000, 7_000)));
        // The device's clock is found 400 ns behind what was expected.
        assert_eq!(clock.calibrate(calibration(3_000, 6_600)), Some(400));
        assert_eq!(clock.map(interval(3_000, 3_100)), Some(interval(7_000, 7_000)));
        assert_eq!(clock.map(interval(3_100, 3_900)), Some(interval(7_000, 7_500)));
        // What a later record says of the time before is as it was before.
        assert_eq!(clock.map(interval(1_500, 1_900)), Some(interval(5_500, 5_900)));
    }

    /// Device clock 20 parts in a million fast, calibrated each second: after the second calibration the error is gone.
    #[test]
    fn drift_is_followed_between_calibrations() {
        let device = |host: u64| 7_000_000_000 + host + host / 50_000;
        let mut clock = HostClock::default();
        let mut worst = [0; 2];
        for second in 1..100 {
            let start = second * 1_000_000_000;
            clock.calibrate(calibration(start, device(start)));
            for part in 0..10 {
                let host = start + part * 99_000_000;
                let mapped = clock.map(interval(host, host + 1_000)).unwrap();
                let error = mapped.start_ns.abs_diff(device(host));
                let worst = &mut worst[usize::from(second > 1)];
                *worst = error.max(*worst);
            }
        }
        assert!(worst[0] > 10_000, "without a rate the drift shows: {worst:?}");
        assert!(worst[1] <= 2, "{worst:?}");
    }
}
