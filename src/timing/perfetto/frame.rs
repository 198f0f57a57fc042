//! One frame's packets.

use super::block::{Block, Slice};
use super::flow::Arrow;
use super::names::Topic;
use super::proto::{BUILTIN_CLOCK_MONOTONIC_RAW, Clock, ClockSnapshot, DebugAnnotation, TracePacket};
use super::track::nest;
use super::{
    BEGIN, CHAIN, DEVICE_CLOCK, NOT_WAITED_FOR, OVERLAY, PRESENT, SCENE, TraceWriter, UNKNOWN_KERNEL, WOKEN, tracks,
};
use crate::timing::record::FrameRecord;
use crate::timing::spans::{HostWork, Interval, KernelSpan};
use crate::vulkan::Calibration;

impl TraceWriter {
    /// Host slices come before the GPU's, and those by the order in which they wait for one another: where times are equal,
    /// an arrow's beginning is in the file before its end.
    pub(super) fn write_frame(&mut self, block: &mut Block, record: &FrameRecord) {
        let spans = &record.spans;
        let ahead_ns = spans
            .calibration
            .and_then(|calibration| self.clock.calibrate(calibration));
        let host: Vec<_> = spans
            .host
            .iter()
            .filter_map(|(work, interval)| Some((*work, self.clock.map(*interval)?)))
            .collect();
        let gpu = [spans.scene, spans.chain, spans.present];
        let all = || {
            host.iter()
                .map(|(_, interval)| *interval)
                .chain(gpu.into_iter().flatten())
        };
        let (Some(begun), Some(end_ns)) = (all().next(), all().map(|interval| interval.end_ns).max()) else {
            return; // nothing was measured
        };
        if self.latest_ns.is_none() {
            self.begin(block, begun.start_ns, spans.calibration);
        }
        self.latest_ns = self.latest_ns.max(Some(end_ns));
        self.count(block, record, begun.start_ns, ahead_ns);
        let (own_waits, host): (Vec<_>, Vec<_>) =
            host.into_iter().partition(|(work, _)| *work == HostWork::WaitForFrame);
        for (work, interval) in host {
            self.host_slice(block, record, work, interval);
        }
        self.gpu_slices(block, record);
        for (work, interval) in own_waits {
            self.host_slice(block, record, work, interval);
        }
        self.end_unanswered(block, record.frame);
    }

    /// Relates the clocks, and says what the trace is of.
    fn begin(&self, block: &mut Block, at_ns: u64, calibration: Option<Calibration>) {
        // Without a calibration the device's time is shown as it is.
        let (device_ns, host_ns) = calibration.map_or((at_ns, at_ns), |both| (both.device_ns, both.host_ns));
        let clock = |clock_id, timestamp| Clock {
            clock_id: Some(clock_id),
            timestamp: Some(timestamp),
        };
        block.packet(TracePacket {
            clock_snapshot: Some(ClockSnapshot {
                clocks: vec![
                    clock(DEVICE_CLOCK, device_ns),
                    clock(BUILTIN_CLOCK_MONOTONIC_RAW, host_ns),
                ],
                primary_trace_clock: Some(BUILTIN_CLOCK_MONOTONIC_RAW),
            }),
            ..TracePacket::default()
        });
        let host_slices = match calibration {
            Some(Calibration { deviation_ns, .. }) => {
                format!("put on the device's clock, at first within {deviation_ns} ns")
            }
            None => "left out: this device's clock and the host's cannot be read together".to_owned(),
        };
        let notes = vec![
            Topic::Application.text(&self.info.application),
            Topic::PresentRuntime.text(&self.info.present_runtime),
            Topic::Processor.text(&self.info.processor),
            Topic::Clock.text(&self.info.clock),
            Topic::HostSlices.text(host_slices),
        ];
        block.instant(tracks::PROCESS, BEGIN, at_ns, Vec::new(), notes);
    }

    /// The counters' values when the frame began.
    fn count(&mut self, block: &mut Block, record: &FrameRecord, at_ns: u64, ahead_ns: Option<i64>) {
        let spans = &record.spans;
        block.count(tracks::IN_FLIGHT, at_ns, spans.in_flight as i64, Vec::new());
        if let Some(memory_used) = spans.memory_used
            && self.memory_used.replace(memory_used) != Some(memory_used)
        {
            block.count(tracks::MEMORY, at_ns, memory_used.cast_signed(), Vec::new());
        }
        if let (Some(ahead_ns), Some(calibration)) = (ahead_ns, spans.calibration) {
            let deviation = Topic::Deviation.number(calibration.deviation_ns);
            block.count(tracks::HOST_CLOCK, at_ns, ahead_ns, vec![deviation]);
        }
    }

    fn host_slice(&mut self, block: &mut Block, record: &FrameRecord, work: HostWork, interval: Interval) {
        let FrameRecord { frame, spans, .. } = record;
        let waited_for = match work {
            HostWork::WaitForFrame => Some(*frame),
            // Under the serial schedule the number is of the wait for the frame itself.
            HostWork::WaitForSlot => record.waited_for_frame.filter(|waited_for| waited_for != frame),
            _ => None,
        };
        let submitted = match work {
            HostWork::SubmitScene | HostWork::SubmitFrame => spans.scene.map(|_| Arrow::SubmitScene),
            HostWork::EnqueueChain => spans.chain.map(|_| Arrow::EnqueueChain),
            HostWork::SubmitPresent => spans.present.map(|_| Arrow::SubmitPresent),
            _ => None,
        };
        let mut notes = vec![Topic::Frame.number(*frame)];
        // Whatever a record waited for was made as its own frame was.
        let is_whole = spans.is_one_submission();
        let timelines = |frame| match is_whole {
            true => format!("retired={frame}"),
            false => format!("retired={frame}, drawn={frame}"),
        };
        notes.extend(waited_for.map(|frame| Topic::WaitsFor.text(timelines(frame))));
        let slice = Slice {
            notes,
            sends: ids(*frame, [submitted]),
            ..Slice::default()
        };
        let ended = waited_for.map_or(Vec::new(), |frame| self.unanswered.answer(frame));
        let interval = self.thread.place(interval);
        block.slice(self.thread.uuid, work.label(), interval, slice, |block| {
            if !ended.is_empty() {
                block.instant(tracks::FRAME_THREAD, WOKEN, interval.end_ns, ended, Vec::new());
            }
        });
    }

    fn gpu_slices(&mut self, block: &mut Block, record: &FrameRecord) {
        let FrameRecord { frame, spans, .. } = record;
        let (frame, has_host) = (*frame, self.clock.is_calibrated());
        let (scene, chain, present) = (spans.scene, spans.chain, spans.present);
        let submitted = |work, arrow| {
            let has_work = has_host && spans.host.iter().any(|(other, _)| *other == work);
            has_work.then_some(arrow)
        };
        // Of a frame that was submitted whole only the end is a signal.
        let is_whole = spans.is_one_submission();
        let rendered = scene.and(chain).filter(|_| !is_whole).map(|_| Arrow::Rendered);
        let processed = chain.and(present).filter(|_| !is_whole).map(|_| Arrow::Processed);
        let to_host = |part: Option<Interval>, arrow| part.filter(|_| has_host).map(|_| arrow);
        let drawn = to_host(scene, Arrow::Drawn).filter(|_| !is_whole);
        let retired = to_host(present, Arrow::Retired);
        let submit_scene = match is_whole {
            true => submitted(HostWork::SubmitFrame, Arrow::SubmitScene),
            false => submitted(HostWork::SubmitScene, Arrow::SubmitScene),
        };
        let note = Topic::Frame.number(frame);
        let notes = |within: Vec<DebugAnnotation>| -> Vec<DebugAnnotation> {
            let within = within.into_iter().filter(|_| !is_whole);
            std::iter::once(note.clone()).chain(within).collect()
        };
        // The chain draws the overlay where it makes the picture that is shown; else the present does.
        let in_chain = |overlay: &Interval| spans.chain.is_some_and(|chain| overlay.start_ns < chain.end_ns);
        let (of_chain, of_present) = (spans.overlay.filter(in_chain), spans.overlay.filter(|it| !in_chain(it)));
        let overlay = |block: &mut Block, track: u64, intervals: &mut dyn Iterator<Item = Interval>| {
            for interval in intervals {
                let slice = Slice {
                    notes: vec![note.clone()],
                    ..Slice::default()
                };
                block.slice(track, OVERLAY, interval, slice, |_| {});
            }
        };

        if let Some(scene) = scene {
            let signals = Topic::Signals.text(format!("rendered={frame}, drawn={frame}"));
            let slice = Slice {
                notes: notes(vec![signals]),
                answers: ids(frame, [submit_scene]),
                signals: ids(frame, [rendered, drawn]),
                ..Slice::default()
            };
            block.slice(self.scene.uuid, SCENE, self.scene.place(scene), slice, |_| {});
        }
        if let Some(chain) = chain {
            let waits = Topic::WaitsFor.text(format!("rendered={frame}"));
            let signals = Topic::Signals.text(format!("processed={frame}"));
            let slice = Slice {
                notes: notes(vec![waits, signals]),
                answers: ids(
                    frame,
                    [submitted(HostWork::EnqueueChain, Arrow::EnqueueChain), rendered],
                ),
                signals: ids(frame, [processed]),
                ..Slice::default()
            };
            let chain = self.chain.place(chain);
            block.slice(self.chain.uuid, CHAIN, chain, slice, |block| {
                let intervals = nest(chain, spans.kernels.iter().map(|kernel| kernel.interval));
                for (kernel, interval) in spans.kernels.iter().zip(intervals) {
                    let name = self.info.kernel(kernel);
                    let notes = vec![note.clone()];
                    let slice = Slice {
                        notes,
                        ..Slice::default()
                    };
                    block.slice(tracks::CHAIN, name, interval, slice, |_| {});
                }
                overlay(block, tracks::CHAIN, &mut nest(chain, of_chain.into_iter()));
            });
            for kernel in &spans.kernels {
                self.bandwidth(block, kernel);
            }
        }
        if let Some(present) = present {
            let waits = Topic::WaitsFor.text(format!("processed={frame}"));
            let signals = Topic::Signals.text(format!("retired={frame}"));
            let mut notes = notes(vec![waits]);
            notes.push(signals);
            let slice = Slice {
                notes,
                answers: ids(
                    frame,
                    [submitted(HostWork::SubmitPresent, Arrow::SubmitPresent), processed],
                ),
                signals: ids(frame, [retired]),
                ..Slice::default()
            };
            let track = self.present.as_mut().unwrap_or(&mut self.scene);
            let (track, present) = (track.uuid, track.place(present));
            block.slice(track, PRESENT, present, slice, |block| {
                overlay(block, track, &mut nest(present, of_present.into_iter()));
            });
        }
        let given_ns = [scene, present].into_iter().flatten().map(|part| part.end_ns).max();
        let to_host = [drawn, retired].into_iter().flatten().collect();
        self.unanswered.add(frame, to_host, given_ns.unwrap_or_default());
    }

    /// What a kernel moved in its time: gigabytes a second are bytes a nanosecond.
    fn bandwidth(&mut self, block: &mut Block, kernel: &KernelSpan) {
        let Interval { start_ns, end_ns } = kernel.interval;
        if start_ns == end_ns {
            return;
        }
        let effect = self.info.effects.get(kernel.effect);
        let name = kernel.fused.or(effect.map(|effect| effect.name.as_str()));
        let name = name.unwrap_or(UNKNOWN_KERNEL);
        let place = self.described.iter().position(|known| known == name);
        let place = place.unwrap_or_else(|| {
            tracks::describe_bandwidth(block, self.described.len(), name);
            self.described.push(name.to_owned());
            self.described.len() - 1
        });
        let track = tracks::bandwidth(place);
        block.rate(track, start_ns, kernel.bytes as f64 / (end_ns - start_ns) as f64);
        block.rate(track, end_ns, 0.0);
    }

    /// Ends arrows to waits that no record up to this frame's has, and none after it can have.
    pub(super) fn end_unanswered(&mut self, block: &mut Block, frame: u64) {
        while let Some((ended, given_ns)) = self.unanswered.too_old(frame) {
            block.instant(tracks::FRAME_THREAD, NOT_WAITED_FOR, given_ns, ended, Vec::new());
        }
    }
}

/// Identifiers of the arrows that are there.
fn ids<const COUNT: usize>(frame: u64, arrows: [Option<Arrow>; COUNT]) -> Vec<u64> {
    arrows.into_iter().flatten().map(|arrow| arrow.id(frame)).collect()
}
