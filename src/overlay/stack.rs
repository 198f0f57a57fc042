//! A frame as a stack of parts, one after the other without a gap, from the host's beginning to the frame's retirement.

use egui::Color32;

use crate::timing::{FrameRecord, HostWork};

use super::palette;

/// A part of a frame, in the order of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Part {
    /// The host waits for the slot's previous frame.
    WaitForSlot,
    /// The host prepares and submits the scene.
    Host,
    /// The scene is submitted and the GPU has not begun it.
    Queued,
    /// The scene.
    Scene,
    /// From the scene to the chain.
    ToChain,
    /// All launches of an effect, by catalogue index.
    Kernel(usize),
    /// A launch of several effects, by their names.
    Fused(&'static str),
    /// The chain, where no kernel of it runs.
    BetweenKernels,
    /// From the chain to the present pass.
    ToVulkan,
    /// Both hand-overs, where the chain's clock cannot be related to the device's.
    HandOvers,
    /// The present pass.
    Present,
    /// The overlay.
    Overlay,
}

impl Part {
    /// Its name.
    pub fn name(self, effects: &[String]) -> &str {
        match self {
            Self::WaitForSlot => "wait for slot",
            Self::Host => "host",
            Self::Queued => "queued",
            Self::Scene => "scene",
            Self::ToChain => "hand-over to kernels",
            Self::Kernel(effect) => effects.get(effect).map_or("kernel", String::as_str),
            Self::Fused(label) => label,
            Self::BetweenKernels => "between kernels",
            Self::ToVulkan => "hand-over to Vulkan",
            Self::HandOvers => "both hand-overs",
            Self::Present => "present",
            Self::Overlay => "overlay",
        }
    }

    /// It is a kernel of the chain.
    pub fn is_kernel(self) -> bool {
        matches!(self, Self::Kernel(_) | Self::Fused(_))
    }

    /// Its colour. Kernels that follow one another have different ones, by their place among them.
    pub fn color(self, place: usize) -> Color32 {
        match self {
            Self::WaitForSlot | Self::Queued | Self::BetweenKernels => palette::IDLE,
            Self::Host => palette::HOST,
            Self::Scene => palette::SKY_BLUE,
            Self::ToChain | Self::ToVulkan | Self::HandOvers => palette::YELLOW,
            Self::Kernel(_) | Self::Fused(_) if place.is_multiple_of(2) => palette::GREEN,
            Self::Kernel(_) | Self::Fused(_) => palette::ORANGE,
            Self::Present => palette::BLUE,
            Self::Overlay => palette::PURPLE,
        }
    }
}

/// A point in time that only goes forward.
struct Cursor(u64);

impl Cursor {
    /// Milliseconds from here to there, where it goes.
    fn up_to(&mut self, there_ns: u64) -> f64 {
        let from = self.0;
        self.0 = from.max(there_ns);
        (self.0 - from) as f64 * 1e-6
    }
}

/// The parts of a frame in milliseconds. They sum to the time from the frame's beginning on the host to the end of its present
/// on the GPU; where host and GPU are not on one clock, from the scene's beginning. Empty where the GPU was not stamped.
pub fn parts_of(record: &FrameRecord) -> Vec<(Part, f64)> {
    let spans = &record.spans;
    let (Some(scene), Some(present)) = (spans.scene, spans.present) else {
        return Vec::new();
    };
    let mut parts = Vec::new();
    let mut cursor = Cursor(scene.start_ns);
    if let (Some(calibration), Some((_, first))) = (spans.calibration, spans.host.first()) {
        let end_of = |work: HostWork| {
            let of_work = spans.host.iter().find(|(one, _)| *one == work);
            of_work.map_or(0, |(_, interval)| calibration.device_from_host(interval.end_ns))
        };
        // The GPU may begin before the host knows that it has submitted.
        cursor = Cursor(calibration.device_from_host(first.start_ns).min(scene.start_ns));
        let submit = match spans.is_one_submission() {
            true => HostWork::SubmitFrame,
            false => HostWork::SubmitScene,
        };
        let submitted = end_of(submit).min(scene.start_ns);
        let waited = end_of(HostWork::WaitForSlot).min(submitted);
        parts.push((Part::WaitForSlot, cursor.up_to(waited)));
        parts.push((Part::Host, cursor.up_to(submitted)));
        parts.push((Part::Queued, cursor.up_to(scene.start_ns)));
    }
    parts.push((Part::Scene, cursor.up_to(scene.end_ns)));
    if let Some(chain) = spans.chain {
        parts.push((Part::ToChain, cursor.up_to(chain.start_ns.min(present.start_ns))));
        let chain_ms = cursor.up_to(chain.end_ns.min(present.start_ns));
        push_kernels(&mut parts, record, chain_ms);
        parts.push((Part::ToVulkan, cursor.up_to(present.start_ns)));
    } else {
        let between_ms = cursor.up_to(present.start_ns);
        let chain_ms = record.chain_ms.unwrap_or(0.0).min(between_ms);
        push_kernels(&mut parts, record, chain_ms);
        parts.push((Part::HandOvers, between_ms - chain_ms));
    }
    let present_ms = cursor.up_to(present.end_ns);
    let overlay_ms = record.overlay_ms.map(|overlay_ms| overlay_ms.min(present_ms));
    parts.push((Part::Present, present_ms - overlay_ms.unwrap_or(0.0)));
    parts.extend(overlay_ms.map(|overlay_ms| (Part::Overlay, overlay_ms)));
    parts
}

/// The effects in the order in which they ran, and what of the chain is left.
fn push_kernels(parts: &mut Vec<(Part, f64)>, record: &FrameRecord, chain_ms: f64) {
    let mut order: Vec<Part> = Vec::new();
    for span in &record.spans.kernels {
        let part = span.fused.map_or(Part::Kernel(span.effect), Part::Fused);
        if !order.contains(&part) {
            order.push(part);
        }
    }
    if order.is_empty() {
        let has_run = |effect: &usize| record.kernels_ms[*effect].is_some();
        order.extend((0..record.kernels_ms.len()).filter(has_run).map(Part::Kernel));
        order.extend(record.fused.iter().map(|fused| Part::Fused(fused.label)));
    }
    let mut left_ms = chain_ms;
    for part in order {
        let time_ms = match part {
            Part::Fused(label) => {
                let fused = record.fused.iter().find(|fused| fused.label == label);
                fused.map(|fused| fused.time_ms)
            }
            Part::Kernel(effect) => record.kernels_ms.get(effect).copied().flatten(),
            _ => None,
        };
        // Events and stamps are different clocks: together the kernels may seem to take a little longer than their chain.
        let time_ms = time_ms.unwrap_or(0.0).min(left_ms);
        left_ms -= time_ms;
        parts.push((part, time_ms));
    }
    parts.push((Part::BetweenKernels, left_ms));
}

/// The mean of each part over the frames that have any, in the order of a frame.
pub fn mean_parts<'a>(records: impl Iterator<Item = &'a FrameRecord>) -> Vec<(Part, f64)> {
    let mut sums: Vec<(Part, f64)> = Vec::new();
    let mut frames = 0.0;
    for parts in records.map(parts_of).filter(|parts| !parts.is_empty()) {
        frames += 1.0;
        let mut place = 0;
        for (part, time_ms) in parts {
            match sums.iter().position(|(known, _)| *known == part) {
                Some(known) => {
                    sums[known].1 += time_ms;
                    place = known + 1;
                }
                // A part that earlier frames did not have stands where this frame has it.
                None => {
                    sums.insert(place, (part, time_ms));
                    place += 1;
                }
            }
        }
    }
    for (_, sum) in &mut sums {
        *sum /= frames;
    }
    sums
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::timing::{FrameSpans, Interval, KernelSpan};
    use crate::vulkan::Calibration;

    const MS: u64 = 1_000_000;

    fn sum(parts: &[(Part, f64)]) -> f64 {
        parts.iter().map(|(_, time_ms)| time_ms).sum()
    }

    /// The host's clock is 5 ms ahead of the device's; the frame begins at 100 ms of the device's and ends at 120.
    fn frame() -> FrameRecord {
        let host = |from: u64, to: u64| Interval::new((from + 5) * MS, (to + 5) * MS);
        let kernel = |effect, from: u64, to: u64| KernelSpan {
            effect,
            pass: 0,
            fused: None,
            interval: Interval::new(from * MS, to * MS),
            bytes: 0,
        };
        FrameRecord {
            latency_ms: Some(20.0),
            chain_ms: Some(8.0),
            kernels_ms: vec![None, Some(2.0), Some(5.0)],
            overlay_ms: Some(0.5),
            spans: FrameSpans {
                host: vec![
                    (HostWork::WaitForSlot, host(100, 101)),
                    (HostWork::RecordScene, host(101, 102)),
                    (HostWork::SubmitScene, host(102, 103)),
                ],
                scene: Some(Interval::new(104 * MS, 107 * MS)),
                chain: Some(Interval::new(108 * MS, 116 * MS)),
                kernels: vec![kernel(2, 108, 110), kernel(1, 110, 112), kernel(2, 113, 116)],
                present: Some(Interval::new(118 * MS, 120 * MS)),
                overlay: Some(Interval::new(119 * MS, 119 * MS + MS / 2)),
                calibration: Some(Calibration {
                    device_ns: 0,
                    host_ns: 5 * MS,
                    deviation_ns: 0,
                }),
                ..FrameSpans::default()
            },
            ..FrameRecord::default()
        }
    }

    #[test]
    fn parts_are_those_of_the_frame_and_sum_to_it() {
        let parts = parts_of(&frame());
        let expected = [
            (Part::WaitForSlot, 1.0),
            (Part::Host, 2.0),
            (Part::Queued, 1.0),
            (Part::Scene, 3.0),
            (Part::ToChain, 1.0),
            (Part::Kernel(2), 5.0),
            (Part::Kernel(1), 2.0),
            (Part::BetweenKernels, 1.0),
            (Part::ToVulkan, 2.0),
            (Part::Present, 1.5),
            (Part::Overlay, 0.5),
        ];
        assert_eq!(parts.len(), expected.len());
        for ((part, time_ms), (expected, expected_ms)) in parts.iter().zip(expected) {
            assert_eq!(*part, expected);
            assert!((time_ms - expected_ms).abs() < 1e-9, "{part:?}: {time_ms}");
        }
        assert!((sum(&parts) - 20.0).abs() < 1e-9);
    }

    #[test]
    fn a_launch_of_several_effects_is_a_part_of_its_own() {
        let mut fused = frame();
        fused.kernels_ms = vec![None, None, Some(5.0)];
        fused.spans.kernels[1].fused = Some("exposure+tonemap");
        fused.fused = vec![crate::timing::FusedTime {
            label: "exposure+tonemap",
            time_ms: 2.0,
            bytes: 16,
        }];
        let kernels = |record: &FrameRecord| {
            let parts = parts_of(record).into_iter();
            parts.filter(|(part, _)| part.is_kernel()).collect::<Vec<_>>()
        };
        let expected = [(Part::Kernel(2), 5.0), (Part::Fused("exposure+tonemap"), 2.0)];
        assert_eq!(kernels(&fused), expected);
        assert!((sum(&parts_of(&fused)) - 20.0).abs() < 1e-9);
        // The order is not known where the clocks are not related.
        fused.spans.kernels.clear();
        assert_eq!(kernels(&fused), expected);
    }

    #[test]
    fn parts_sum_to_the_frame_whatever_is_missing_or_out_of_order() {
        // The GPU began while the host was still inside its submission.
        let mut early = frame();
        early.spans.scene = Some(Interval::new(102 * MS + 1, 107 * MS));
        assert!((sum(&parts_of(&early)) - 20.0).abs() < 1e-9);
        // Stamps of the chain, off by what clocks can be: it seems to begin before the scene's end and to end too late.
        let mut skewed = frame();
        skewed.spans.chain = Some(Interval::new(106 * MS, 119 * MS));
        assert!((sum(&parts_of(&skewed)) - 20.0).abs() < 1e-9);
        // Kernels that together take longer than their chain.
        let mut long = frame();
        long.kernels_ms = vec![Some(4.0), Some(4.0), Some(4.0)];
        assert!((sum(&parts_of(&long)) - 20.0).abs() < 1e-9);
        // The chain's clock unknown: both hand-overs are one part.
        let mut unrelated = frame();
        unrelated.spans.chain = None;
        unrelated.spans.kernels.clear();
        let parts = parts_of(&unrelated);
        assert!((sum(&parts) - 20.0).abs() < 1e-9);
        assert!(parts.contains(&(Part::HandOvers, 3.0)), "{parts:?}");
        // Host and GPU on clocks of their own: from the scene on.
        let mut apart = frame();
        apart.spans.calibration = None;
        let parts = parts_of(&apart);
        assert_eq!(parts[0].0, Part::Scene);
        assert!((sum(&parts) - 16.0).abs() < 1e-9);
        assert_eq!(parts_of(&FrameRecord::default()), []);
    }

    #[test]
    fn the_mean_stack_sums_to_the_mean_frame() {
        let (one, mut other) = (frame(), frame());
        other.spans.present = Some(Interval::new(118 * MS, 124 * MS));
        other.overlay_ms = None;
        let (nothing, records) = (FrameRecord::default(), [&one, &other]);
        let parts = mean_parts(records.into_iter().chain([&nothing]));
        assert!((sum(&parts) - 22.0).abs() < 1e-9, "{parts:?}");
        assert_eq!(parts.last(), Some(&(Part::Overlay, 0.25)));
        // An effect that was switched on between two others stands between them.
        let mut more = frame();
        more.kernels_ms = vec![Some(1.0), Some(2.0), Some(5.0)];
        more.spans.kernels.insert(
            2,
            KernelSpan {
                effect: 0,
                ..more.spans.kernels[2]
            },
        );
        let parts = mean_parts([&one, &more].into_iter());
        let order: Vec<_> = parts
            .iter()
            .filter_map(|(part, _)| match part {
                Part::Kernel(effect) => Some(*effect),
                _ => None,
            })
            .collect();
        assert_eq!(order, [2, 1, 0]);
        assert!((sum(&parts) - 20.0).abs() < 1e-9);
    }
}
