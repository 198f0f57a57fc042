//! From stamps to a frame's record: the host's spans as they pass, the GPU's when the slot retires.

use std::time::Duration;

use smallvec::SmallVec;

use crate::frame::FrameNumber;
use crate::process::KernelTime;
use crate::timing::{
    FrameRecord, FrameSpans, FusedTime, HostWork, Instrument, Interval, KernelSpan, ToolRange, mark_frame,
};
use crate::vulkan::{Calibration, Device, Stamps, host_ns};

use super::record::{OVERLAY_END, OVERLAY_START, PRESENT_END, PRESENT_START, SCENE_END, SCENE_START};
use super::{Error, Renderer};

/// The host's clock, and the device's beside it.
pub struct HostClock {
    origin_ns: u64,
    calibration: Option<Calibration>,
    /// How long the calibration is good for.
    calibrate_after_ns: u64,
    last_present_ns: Option<u64>,
    /// When memory was looked at, and what was seen.
    memory_used: Option<(u64, Option<u64>)>,
}

/// The clocks drift apart by parts in a million: after a second, by microseconds. At first, while nobody knows how fast, they are
/// read together more often.
const RECALIBRATE_AFTER_NS: u64 = 1_000_000_000;
const RECALIBRATE_FIRST_AFTER_NS: u64 = 50_000_000;

/// Asking how much memory is used takes some microseconds, and it changes seldom.
const LOOK_AT_MEMORY_AFTER_NS: u64 = 250_000_000;

impl HostClock {
    /// A clock from whose making on records count.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Device) -> Result<Self, Error> {
        Ok(Self {
            origin_ns: host_ns(),
            calibration: device.calibrate()?,
            calibrate_after_ns: RECALIBRATE_FIRST_AFTER_NS,
            last_present_ns: None,
            memory_used: None,
        })
    }

    /// Bytes of GPU memory that the process uses, looked at now and then.
    fn memory_used(&mut self, device: &Device, instrument: Instrument) -> Option<u64> {
        if !instrument.has_kernels() {
            return None;
        }
        let now = host_ns();
        match self.memory_used {
            Some((seen_ns, used)) if now - seen_ns < LOOK_AT_MEMORY_AFTER_NS => used,
            _ => {
                let used = device.memory_used();
                self.memory_used = Some((now, used));
                used
            }
        }
    }

    fn recalibrate(&mut self, device: &Device) -> Result<(), Error> {
        if let Some(calibration) = self.calibration
            && host_ns().saturating_sub(calibration.host_ns) > self.calibrate_after_ns
        {
            self.calibration = device.calibrate()?;
            self.calibrate_after_ns = (2 * self.calibrate_after_ns).min(RECALIBRATE_AFTER_NS);
        }
        Ok(())
    }
}

/// Measures what the host does, one work after the other without a gap, and shows it to profilers.
pub(super) struct Stopwatch {
    is_on: bool,
    start_ns: u64,
    /// What goes on now, and since when.
    work: HostWork,
    since_ns: u64,
    /// Closes where the frame fails, too.
    range: ToolRange,
    laps: Laps,
}

/// A frame's works, each with when it went on.
type Laps = SmallVec<[(HostWork, Interval); HostWork::ALL.len()]>;

impl Stopwatch {
    pub(super) fn start(instrument: Instrument, work: HostWork) -> Self {
        let now = host_ns();
        Self {
            is_on: instrument.has_parts(),
            start_ns: now,
            work,
            since_ns: now,
            range: ToolRange::new(work.label()),
            laps: Laps::new(),
        }
    }

    /// What went on is done, and `work` begins.
    pub(super) fn next(&mut self, work: HostWork) {
        self.lap();
        self.work = work;
        self.range.next(work.label());
    }

    /// What went on is done, and nothing more is measured: all that was.
    fn stop(mut self) -> Laps {
        self.lap();
        self.laps
    }

    fn lap(&mut self) {
        if self.is_on {
            let now = host_ns();
            self.laps.push((self.work, Interval::new(self.since_ns, now)));
            self.since_ns = now;
        }
    }
}

/// A frame between its scene's submission and its retirement.
pub(super) struct InFlight {
    pub(super) frame: FrameNumber,
    start_ns: u64,
    waited_for: Option<FrameNumber>,
    /// What the host did so far is in it; the rest is filled in when the frame has retired.
    record: FrameRecord,
    /// The present call's begin.
    presented_ns: u64,
    between_presents_ms: Option<f64>,
    /// Frames in flight when it was begun, itself included.
    in_flight: usize,
}

impl InFlight {
    /// The host's time on some works, milliseconds; `None` where it did none of them.
    fn host_ms(&self, works: &[HostWork]) -> Option<f64> {
        let of_works = self.record.spans.host.iter().filter(|(work, _)| works.contains(work));
        of_works
            .map(|(_, interval)| interval.milliseconds())
            .reduce(|sum, time| sum + time)
    }
}

impl Renderer {
    /// Takes the next number for a frame in `slot`.
    pub(super) fn begin_frame(
        &mut self,
        slot: usize,
        watch: &Stopwatch,
        waited_for: Option<FrameNumber>,
    ) -> FrameNumber {
        let frame = self.last_frame.next();
        self.last_frame = frame;
        let others = self.slots.iter().filter(|slot| slot.in_flight.is_some()).count();
        self.slots[slot].in_flight = Some(InFlight {
            frame,
            start_ns: watch.start_ns,
            waited_for,
            record: self.spare.pop().map(FrameRecord::emptied).unwrap_or_default(),
            presented_ns: watch.start_ns,
            between_presents_ms: None,
            in_flight: others + 1,
        });
        frame
    }

    /// Adds what the host did for the slot's frame.
    pub(super) fn keep_laps(&mut self, slot: usize, watch: Stopwatch) {
        let laps = watch.stop();
        if let Some(in_flight) = &mut self.slots[slot].in_flight {
            in_flight.record.spans.host.extend(laps);
        }
    }

    /// Keeps when the slot's frame was handed to the presenter.
    pub(super) fn note_present(&mut self, slot: usize) {
        mark_frame();
        let now = host_ns();
        let before = self.clock.last_present_ns.replace(now);
        if let Some(in_flight) = &mut self.slots[slot].in_flight {
            in_flight.presented_ns = now;
            in_flight.between_presents_ms = before.map(|before| (now - before) as f64 * 1e-6);
        }
    }

    /// Keeps that the host waited for the slot's frame itself.
    pub(super) fn note_wait_for_frame(&mut self, slot: usize) {
        if let Some(in_flight) = &mut self.slots[slot].in_flight {
            in_flight.waited_for = Some(in_flight.frame);
        }
    }

    /// Completes the record of a retired frame from the GPU's stamps. Reads only what is there: nothing waits.
    pub(super) fn measure(&mut self, slot: usize, mut in_flight: InFlight, shown_ms: f64) -> Result<(), Error> {
        self.fill_host(&mut in_flight, shown_ms);
        let InFlight {
            frame,
            start_ns,
            in_flight,
            mut record,
            ..
        } = in_flight;
        let timestamps = self.slots[slot].timestamps.as_mut();
        let stamps = timestamps.map_or(Stamps::new(), |timestamps| {
            let stamps = timestamps.read();
            timestamps.reset();
            stamps
        });
        let interval = |from: u32, to: u32| {
            let stamp = |index: u32| stamps.get(index as usize).copied().flatten();
            Some(Interval::new(stamp(from)?, stamp(to)?))
        };
        self.processor.times(slot, &mut self.chain_times);
        let chain = &self.chain_times;
        let spans = &mut record.spans;
        spans.scene = interval(SCENE_START, SCENE_END);
        spans.chain = chain.interval;
        if let Some(interval) = chain.interval {
            spans.kernels.extend(kernel_spans(interval, &chain.kernels));
        }
        spans.present = interval(PRESENT_START, PRESENT_END);
        spans.overlay = interval(OVERLAY_START, OVERLAY_END).or(chain.overlay);
        spans.in_flight = in_flight;
        spans.memory_used = self.clock.memory_used(&self.device, self.settings.instrument);
        spans.calibration = self.clock.calibration;
        fill_gpu_spans(&mut record, chain.chain_ms, chain.overlay_ms);
        let chain_busy_ms = if self.processor.is_on_gpu() {
            record.chain_ms
        } else {
            Some(0.0)
        };
        record.gpu_busy_ms = sum([record.scene_ms, chain_busy_ms, record.present_gpu_ms]);
        fill_latencies(&mut record, start_ns);
        fill_kernels(&mut record, &chain.kernels, self.settings.effects);
        self.clock.recalibrate(&self.device)?;
        self.read_tags(slot, frame);
        self.finished.push(record);
        Ok(())
    }

    /// What the host did, in the record's sums.
    fn fill_host(&self, in_flight: &mut InFlight, shown_ms: f64) {
        use HostWork as Work;
        let has_call = self.presenter.has_present_call();
        let is_serial = self.is_one_at_a_time();
        // At the end of a run frames are waited for too, but not to begin another one.
        let waits = &[Work::WaitForSlot, Work::WaitForFrame][..=usize::from(is_serial)];
        let slot_wait_ms = in_flight.host_ms(waits);
        let acquire_ms = in_flight.host_ms(&[Work::Acquire]).filter(|_| has_call);
        let record_ms = in_flight.host_ms(&[Work::RecordScene, Work::RecordChain, Work::RecordPresent]);
        let submit_ms = in_flight.host_ms(&[
            Work::SubmitScene,
            Work::EnqueueChain,
            Work::SubmitPresent,
            Work::SubmitFrame,
        ]);
        let present_ms = in_flight.host_ms(&[Work::Present]).filter(|_| has_call);
        let record = &mut in_flight.record;
        record.frame = in_flight.frame.value();
        record.start = Duration::from_nanos(in_flight.start_ns - self.clock.origin_ns);
        record.until_present_ms = (in_flight.presented_ns - in_flight.start_ns) as f64 * 1e-6;
        record.between_presents_ms = in_flight.between_presents_ms;
        record.waited_for_frame = in_flight.waited_for.map(FrameNumber::value);
        record.slot_wait_ms = slot_wait_ms;
        record.acquire_ms = acquire_ms;
        record.record_ms = record_ms;
        record.submit_ms = submit_ms;
        record.present_ms = present_ms.map(|present_ms| present_ms + shown_ms);
    }

    fn read_tags(&mut self, slot: usize, frame: FrameNumber) {
        if let Some(check) = &mut self.tag_check {
            let result = check.read(slot);
            check.reset(slot);
            self.tags.frames += 1;
            self.tags.texels += u64::from(result.checked);
            if result.mismatches != 0 {
                self.tags.mismatches.push((frame, result));
            }
        }
    }
}

/// The launches on the device's clock, none outside of the chain: its stamps are taken by other means than its kernels' times.
fn kernel_spans(chain: Interval, kernels: &[KernelTime]) -> impl Iterator<Item = KernelSpan> {
    let on_device = move |since_start_ns: f64| (chain.start_ns + since_start_ns.round() as u64).min(chain.end_ns);
    kernels.iter().map(move |kernel| KernelSpan {
        effect: kernel.effect,
        pass: kernel.pass,
        fused: kernel.fused,
        interval: Interval::new(on_device(kernel.since_start_ns[0]), on_device(kernel.since_start_ns[1])),
        bytes: kernel.bytes,
    })
}

/// The kernels' sums by effect, of which there were `effects` at first: those that were added while it ran come after them.
fn fill_kernels(record: &mut FrameRecord, kernels: &[KernelTime], effects: usize) {
    let last = kernels.iter().map(|kernel| kernel.effect + 1).max().unwrap_or(0);
    let count = effects.max(last);
    record.kernels_ms.resize(count, None);
    record.kernels_bytes.resize(count, 0);
    for kernel in kernels {
        let [from, to] = kernel.since_start_ns;
        let (time_ms, bytes) = ((to - from) * 1e-6, kernel.bytes);
        if let Some(label) = kernel.fused {
            record.fused.push(FusedTime { label, time_ms, bytes });
            continue;
        }
        record.kernels_bytes[kernel.effect] += bytes;
        *record.kernels_ms[kernel.effect].get_or_insert(0.0) += time_ms;
    }
}

/// The GPU's spans of a frame, from its intervals, and from how long the chain took, with the overlay where it drew that.
fn fill_gpu_spans(record: &mut FrameRecord, chain_ms: Option<f64>, of_chain_ms: Option<f64>) {
    let FrameSpans {
        scene,
        chain,
        present,
        overlay,
        ..
    } = record.spans;
    let gap = |before: Option<Interval>, after: Option<Interval>| Some(signed_ms(before?.end_ns, after?.start_ns));
    record.scene_ms = scene.map(Interval::milliseconds);
    record.handover_to_cuda_ms = gap(scene, chain);
    record.handover_to_vulkan_ms = gap(chain, present);
    // The overlay is drawn within the present, or at the chain's end, and is no part of what a frame costs.
    let of_present_ms = overlay.filter(|_| of_chain_ms.is_none()).map(Interval::milliseconds);
    record.overlay_ms = of_chain_ms.or(of_present_ms);
    record.chain_ms = chain_ms.map(|chain_ms| chain_ms - of_chain_ms.unwrap_or(0.0));
    record.present_gpu_ms = present.map(|present| present.milliseconds() - of_present_ms.unwrap_or(0.0));
}

/// From the frame's start on the host to instants on the GPU.
fn fill_latencies(record: &mut FrameRecord, start_ns: u64) {
    let FrameSpans {
        scene,
        present,
        calibration,
        ..
    } = record.spans;
    let since_start = |stamp: Option<u64>| Some(signed_ms(start_ns, calibration?.host_from_device(stamp?)));
    record.gpu_latency_ms = since_start(scene.map(|scene| scene.start_ns));
    record.latency_ms = since_start(present.map(|present| present.end_ns));
}

/// From one instant to another, milliseconds; negative when they are the other way round.
fn signed_ms(from_ns: u64, to_ns: u64) -> f64 {
    to_ns.wrapping_sub(from_ns).cast_signed() as f64 * 1e-6
}

fn sum(parts: [Option<f64>; 3]) -> Option<f64> {
    parts.into_iter().sum()
}

#[cfg(test)]
#[path = "measure_tests.rs"]
mod tests;
