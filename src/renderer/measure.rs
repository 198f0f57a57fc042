//! From stamps to a frame's record: the host's spans as they pass, the GPU's when the slot retires.

use std::time::Duration;

use crate::frame::FrameNumber;
use crate::process::ChainTimes;
use crate::timing::FrameRecord;
use crate::vulkan::{Calibration, Device, host_ns};

use super::{Error, InFlight, PRESENT_END, PRESENT_START, Renderer, SCENE_END, SCENE_START};

/// The host's clock, and the device's beside it.
pub struct HostClock {
    origin_ns: u64,
    calibration: Option<Calibration>,
    last_present_ns: Option<u64>,
}

/// The clocks drift apart by parts in a million: after a second, by microseconds.
const RECALIBRATE_AFTER_NS: u64 = 1_000_000_000;

impl HostClock {
    /// A clock from whose making on records count.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Device) -> Result<Self, Error> {
        Ok(Self {
            origin_ns: host_ns(),
            calibration: device.calibrate()?,
            last_present_ns: None,
        })
    }

    fn recalibrate(&mut self, device: &Device) -> Result<(), Error> {
        if let Some(calibration) = self.calibration
            && host_ns().saturating_sub(calibration.host_ns) > RECALIBRATE_AFTER_NS
        {
            self.calibration = device.calibrate()?;
        }
        Ok(())
    }
}

/// Measures the host's spans of a frame, one after the other without a gap.
pub(super) struct Stopwatch {
    start_ns: u64,
    last_ns: u64,
    spans: FrameRecord,
}

impl Stopwatch {
    pub(super) fn start(clock: &HostClock) -> Self {
        let now = host_ns();
        let start = Duration::from_nanos(now - clock.origin_ns);
        Self {
            start_ns: now,
            last_ns: now,
            spans: FrameRecord {
                start,
                ..FrameRecord::default()
            },
        }
    }

    fn lap_ms(&mut self) -> f64 {
        let now = host_ns();
        let span = (now - self.last_ns) as f64 * 1e-6;
        self.last_ns = now;
        span
    }

    pub(super) fn slot_wait(&mut self, waited_for: Option<FrameNumber>) {
        self.spans.slot_wait_ms = self.lap_ms();
        self.spans.waited_for_frame = waited_for.map(FrameNumber::value);
    }

    /// Leaves out what was done for the slot's previous frame.
    pub(super) fn retired(&mut self) {
        self.lap_ms();
    }

    pub(super) fn acquired(&mut self) {
        self.spans.acquire_ms = Some(self.lap_ms());
    }

    pub(super) fn recorded(&mut self) {
        self.spans.record_ms += self.lap_ms();
    }

    pub(super) fn submitted(&mut self) {
        self.spans.submit_ms += self.lap_ms();
    }

    pub(super) fn presented(&mut self) {
        self.spans.present_ms = Some(self.lap_ms());
    }
}

impl InFlight {
    /// Adds what showing the frame took after it had retired, where that is how frames are shown.
    pub(super) fn add_present(&mut self, watch: &Stopwatch) {
        if let (Some(present_ms), Some(more)) = (&mut self.record.present_ms, watch.spans.present_ms) {
            *present_ms += more;
        }
    }
}

impl Renderer {
    /// Takes the next number for a frame in `slot`.
    pub(super) fn begin_frame(&mut self, slot: usize, watch: &Stopwatch) -> FrameNumber {
        let frame = self.last_frame.next();
        self.last_frame = frame;
        let record = FrameRecord {
            frame: frame.value(),
            ..watch.spans.clone()
        };
        self.slots[slot].in_flight = Some(InFlight {
            frame,
            record,
            start_ns: watch.start_ns,
        });
        frame
    }

    /// Keeps the spans up to the scene's submission.
    pub(super) fn keep_spans(&mut self, slot: usize, watch: &Stopwatch) {
        if let Some(InFlight { frame, record, .. }) = &mut self.slots[slot].in_flight {
            *record = FrameRecord {
                frame: frame.value(),
                ..watch.spans.clone()
            };
        }
    }

    /// Adds the spans of the present's record, submission and call.
    pub(super) fn add_spans(&mut self, slot: usize, watch: &Stopwatch) {
        let has_call = self.presenter.has_present_call();
        // The present call begins where the submission ended.
        let present_ms = watch.spans.present_ms.unwrap_or_default();
        let called_ns = watch.last_ns - (present_ms * 1e6) as u64;
        let before = self.clock.last_present_ns.replace(called_ns);
        if let Some(InFlight { record, start_ns, .. }) = &mut self.slots[slot].in_flight {
            record.until_present_ms = (called_ns - *start_ns) as f64 * 1e-6;
            record.record_ms += watch.spans.record_ms;
            record.submit_ms += watch.spans.submit_ms;
            record.present_ms = watch.spans.present_ms.filter(|_| has_call);
            record.acquire_ms = record.acquire_ms.filter(|_| has_call);
            record.between_presents_ms = before.map(|before| (called_ns - before) as f64 * 1e-6);
        }
    }

    /// Adds a wait for the frame itself.
    pub(super) fn add_wait(&mut self, slot: usize, watch: &Stopwatch) {
        if let Some(InFlight { record, .. }) = &mut self.slots[slot].in_flight {
            record.slot_wait_ms += watch.spans.slot_wait_ms;
            record.waited_for_frame = watch.spans.waited_for_frame;
        }
    }

    /// Completes the record of a retired frame from the GPU's stamps. Reads only what is there: nothing waits.
    pub(super) fn measure(&mut self, slot: usize, in_flight: InFlight) -> Result<(), Error> {
        let InFlight {
            frame,
            mut record,
            start_ns,
        } = in_flight;
        let timestamps = self.slots[slot].timestamps.as_mut();
        let stamps = timestamps.map_or(Vec::new(), |timestamps| {
            let stamps = timestamps.read();
            timestamps.reset();
            stamps
        });
        let stamp = |index: u32| stamps.get(index as usize).copied().flatten();
        let chain = self.processor.times(slot);
        fill_gpu_spans(&mut record, stamp, &chain);
        let chain_busy_ms = if self.processor.is_on_gpu() {
            record.chain_ms
        } else {
            Some(0.0)
        };
        record.gpu_busy_ms = sum([record.scene_ms, chain_busy_ms, record.present_gpu_ms]);

        let since_start = |stamp: Option<u64>| {
            let host = self.clock.calibration?.host_from_device(stamp?);
            Some(signed_ms(start_ns, host))
        };
        record.gpu_latency_ms = since_start(stamp(SCENE_START));
        record.latency_ms = since_start(stamp(PRESENT_END));
        record.kernels_ms = vec![None; self.settings.effects];
        for (effect, milliseconds) in chain.effects {
            record.kernels_ms[effect] = milliseconds;
        }
        self.clock.recalibrate(&self.device)?;
        if let Some(check) = &mut self.tag_check {
            let result = check.read(slot);
            check.reset(slot);
            self.tags.frames += 1;
            self.tags.texels += u64::from(result.checked);
            if result.mismatches != 0 {
                self.tags.mismatches.push((frame, result));
            }
        }
        self.finished.push(record);
        Ok(())
    }
}

fn fill_gpu_spans(record: &mut FrameRecord, stamp: impl Fn(u32) -> Option<u64>, chain: &ChainTimes) {
    let span = |from: Option<u64>, to: Option<u64>| Some(signed_ms(from?, to?));
    record.scene_ms = span(stamp(SCENE_START), stamp(SCENE_END));
    record.handover_to_cuda_ms = span(stamp(SCENE_END), chain.start_ns);
    record.chain_ms = chain.chain_ms;
    record.handover_to_vulkan_ms = span(chain.end_ns, stamp(PRESENT_START));
    record.present_gpu_ms = span(stamp(PRESENT_START), stamp(PRESENT_END));
}

/// From one instant to another, milliseconds; negative when they are the other way round.
fn signed_ms(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.wrapping_sub(from_ns).cast_signed() as f64 * 1e-6
}

fn sum(parts: [Option<f64>; 3]) -> Option<f64> {
    parts.into_iter().sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gpu_spans_follow_one_another_and_lack_only_what_was_not_stamped() {
        let stamps = [Some(1_000_000), Some(3_000_000), Some(9_000_000), Some(9_500_000)];
        let chain = ChainTimes {
            start_ns: Some(3_155_000),
            end_ns: Some(8_845_000),
            chain_ms: Some(5.69),
            effects: Vec::new(),
        };
        let mut record = FrameRecord::default();
        fill_gpu_spans(&mut record, |index| stamps[index as usize], &chain);
        assert_eq!(record.scene_ms, Some(2.0));
        assert_eq!(record.handover_to_cuda_ms, Some(0.155));
        assert_eq!(record.handover_to_vulkan_ms, Some(0.155));
        assert_eq!(record.present_gpu_ms, Some(0.5));
        let total = record.gpu_time_ms().expect("all spans are there");
        assert!((total - 8.5).abs() < 1e-9, "{total}");

        // Clocks that could not be related: the chain is known, the hand-overs are not.
        let unrelated = ChainTimes {
            start_ns: None,
            end_ns: None,
            ..chain
        };
        fill_gpu_spans(&mut record, |index| stamps[index as usize], &unrelated);
        assert_eq!((record.handover_to_cuda_ms, record.handover_to_vulkan_ms), (None, None));
        assert_eq!(record.chain_ms, Some(5.69));
    }
}
