//! The self-test of the instrument: work of known length must appear with that length, in the right order.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use crate::frame::Timelines;
use crate::interop::hand_over_rounds;
use crate::kernels::{Chain, Plan, catalogue};
use crate::present::Offscreen;
use crate::renderer::{Parts, Rendered, Renderer, Schedule, Settings, View};
use crate::scene::{self, Scene, SceneFrame, SceneTargets};
use crate::timing::clock::Round;
use crate::timing::statistics::{percentile, sorted};
use crate::timing::{FrameRecord, HostWork};
use crate::vulkan::{self, Buffer, BufferMemory, Device};

use super::selftest::{Outcome, settings};
use super::setup::Machine;

/// Frames of each measurement.
const FRAMES: u64 = 200;
/// Left out at the start: what is used for the first time takes longer.
const WARM_UP: usize = 20;
/// How far a length may be off, as a share, beside the clock's tick.
const SHARE: f64 = 0.01;
/// How far the renderer's hand-overs may be from those of bare rounds.
const HAND_OVER_LIMIT_MS: f64 = 0.005;

/// Runs of either kind, of which the shortest counts.
const HAND_OVER_RUNS: usize = 4;

/// The longest that a barrier in a queue may take: what is handed over takes some 150 us.
const BARRIER_LIMIT_MS: f64 = 0.05;

/// One block of the kernel: its copy must take no longer because the wait lets it begin earlier.
const EXTENT: vk::Extent2D = vk::Extent2D { width: 32, height: 8 };

/// A scene of a known length: `none`, and what the test adds to it.
struct Load {
    scene: Box<dyn Scene>,
    /// The host takes so long to record it.
    host: Duration,
    /// Vulkan fills the buffer so many times.
    fills: u32,
    buffer: Buffer,
    device: Arc<Device>,
}

/// Bytes that one fill writes: long against a timestamp, short against a frame.
const FILL_BYTES: u64 = 64 << 20;

impl Scene for Load {
    fn name(&self) -> &'static str {
        self.scene.name()
    }

    fn writes_guides(&self) -> bool {
        self.scene.writes_guides()
    }

    fn retarget(&mut self, slots: &[SceneTargets], extent: vk::Extent2D) -> Result<(), vulkan::Error> {
        self.scene.retarget(slots, extent)
    }

    fn record(&mut self, commands: vk::CommandBuffer, slot: usize, frame: &SceneFrame) {
        let began = Instant::now();
        for fill in 0..self.fills {
            vulkan::transfer::fill(&self.device, commands, self.buffer.raw, 0..FILL_BYTES, fill);
            vulkan::ownership::overwrite(&self.device, commands, self.buffer.raw);
        }
        self.scene.record(commands, slot, frame);
        while began.elapsed() < self.host {
            std::hint::spin_loop();
        }
    }
}

/// What is added to the frames of a measurement.
#[derive(Default)]
struct Added {
    host: Duration,
    fills: u32,
    /// The chain's only kernel lasts so long.
    kernel_us: f64,
}

/// Runs frames with what is added to them; their records.
fn records(machine: &Machine, schedule: Schedule, added: &Added) -> anyhow::Result<Vec<FrameRecord>> {
    let device = &machine.device;
    let usage = vk::BufferUsageFlags::TRANSFER_DST;
    let load = Load {
        scene: scene::create("none", device)?,
        host: added.host,
        fills: added.fills,
        buffer: Buffer::new(device, FILL_BYTES, usage, BufferMemory::Device, "load")?,
        device: Arc::clone(device),
    };
    let timelines = Arc::new(Timelines::new(device, machine.cuda.is_some())?);
    let parts = Parts {
        scene: Box::new(load),
        processor: machine.processor(&timelines)?,
        standby: None,
        presenter: Box::new(Offscreen::new(EXTENT)),
        device: Arc::clone(device),
        timelines,
    };
    let settings = Settings {
        render_scale: 1.0,
        schedule,
        check_tags: false,
        ..settings()
    };
    let mut renderer = Renderer::new(parts, settings)?;
    let view = View::first(&spin(added.kernel_us)?);
    let mut begun = 0;
    let mut records = Vec::new();
    while begun < FRAMES {
        begun += u64::from(matches!(renderer.render_frame(&view)?, Rendered::Frame(_)));
        records.extend(renderer.take_records());
    }
    renderer.finish()?;
    records.extend(renderer.take_records());
    anyhow::ensure!(
        records.len() as u64 == FRAMES,
        "{} of {FRAMES} frames were measured",
        records.len()
    );
    check_causality(&records)?;
    records.drain(..WARM_UP);
    Ok(records)
}

fn spin(microseconds: f64) -> anyhow::Result<Arc<Plan>> {
    let mut chain = Chain::with_enabled(catalogue(), &["spin"])?;
    chain.set("spin.microseconds", microseconds)?;
    Ok(Arc::new(chain.plan()))
}

/// Nothing ends before it begins, no wait ends before its signal.
fn check_causality(records: &[FrameRecord]) -> anyhow::Result<()> {
    for record in records {
        let (frame, spans) = (record.frame, &record.spans);
        for (name, milliseconds) in [
            ("hand-over to CUDA", record.handover_to_cuda_ms),
            ("hand-over to Vulkan", record.handover_to_vulkan_ms),
            ("latency", record.latency_ms),
            ("time to the GPU's first work", record.gpu_latency_ms),
        ] {
            let milliseconds = milliseconds.ok_or_else(|| anyhow::anyhow!("frame {frame}: no {name}"))?;
            anyhow::ensure!(milliseconds >= 0.0, "frame {frame}: a {name} of {milliseconds} ms");
        }
        for pair in spans.host.windows(2) {
            let ((before, first), (after, second)) = (pair[0], pair[1]);
            anyhow::ensure!(
                first.end_ns <= second.start_ns,
                "frame {frame}: `{}` ends after `{}` begins",
                before.label(),
                after.label()
            );
        }
    }
    Ok(())
}

fn median(values: impl Iterator<Item = Option<f64>>) -> anyhow::Result<f64> {
    let values = values.collect::<Option<Vec<_>>>();
    let median = values.and_then(|values| percentile(&sorted(&values), 50.0));
    median.ok_or_else(|| anyhow::anyhow!("not every frame was measured"))
}

fn host_ms_of(record: &FrameRecord, wanted: HostWork) -> Option<f64> {
    let found = record.spans.host.iter().find(|(work, _)| *work == wanted);
    found.map(|(_, interval)| interval.milliseconds())
}

/// Whether `found` is `expected` to a tick and [`SHARE`].
fn check_length(what: &str, expected_ms: f64, found_ms: f64, tick_ms: f64) -> anyhow::Result<()> {
    let limit = tick_ms + SHARE * expected_ms;
    anyhow::ensure!(
        (found_ms - expected_ms).abs() <= limit,
        "{what} of {expected_ms} ms appears as {found_ms:.6} ms, more than {limit:.6} ms away"
    );
    Ok(())
}

/// In the queue nothing is handed over: from scene to chain and from chain to present it is but a barrier.
fn in_queue_gaps(machine: &Machine, mut found: String) -> anyhow::Result<Outcome> {
    let records = records(machine, Schedule::Pipelined, &Added::default())?;
    let gaps = [
        (
            "scene to chain",
            median(records.iter().map(|record| record.handover_to_cuda_ms))?,
        ),
        (
            "chain to present",
            median(records.iter().map(|record| record.handover_to_vulkan_ms))?,
        ),
    ];
    for (what, gap_ms) in gaps {
        found += &format!("; from {what} {:.1} us", gap_ms * 1e3);
        anyhow::ensure!(
            gap_ms <= BARRIER_LIMIT_MS,
            "{found}: more than {} us, and it is a barrier",
            BARRIER_LIMIT_MS * 1e3
        );
    }
    found += "; nothing negative";
    Ok(Outcome::Passed(found))
}

/// Holds the instrument against kernels, host work and Vulkan work of known lengths, and against hand-overs without a renderer.
///
/// # Errors
/// What is not as long as it should be, or a failed call.
pub(super) fn run(machine: &Machine) -> anyhow::Result<Outcome> {
    let Some((driver, cuda)) = &machine.cuda else {
        let reason = "it takes kernels and hand-overs, and CUDA runs none here";
        return Ok(Outcome::Skipped(reason.into()));
    };
    let pipelined = Schedule::Pipelined;
    let context = driver.context(cuda)?;
    let stream = context.new_stream()?;
    let proof = crate::interop::prove_clock(&machine.device, &context, &stream)?;
    let tick_ms = proof.chain_tick_ns.max(proof.device_tick_ns).unwrap_or(1) as f64 * 1e-6;

    let kernel = |kernel_us| -> anyhow::Result<f64> {
        let added = Added {
            kernel_us,
            ..Added::default()
        };
        let records = records(machine, pipelined, &added)?;
        median(
            records
                .iter()
                .map(|record| record.kernels_ms.iter().flatten().copied().reduce(f64::max)),
        )
    };
    // What a launch takes besides. A kernel that does not wait does not tell: it ends before the GPU has read the event after
    // it.
    let short_us = 20.0;
    let floor_ms = kernel(short_us)? - short_us * 1e-3;
    let mut found = format!("a launch takes {:.2} us beside its kernel;", floor_ms * 1e3);
    for kernel_us in [50.0, 200.0, 1000.0] {
        let kernel_ms = kernel(kernel_us)?;
        found += &format!(" {kernel_us} us: {:.2}", kernel_ms * 1e3);
        check_length("a kernel", kernel_us * 1e-3, kernel_ms - floor_ms, tick_ms)?;
    }

    let host = |host_ms| -> anyhow::Result<f64> {
        let added = Added {
            host: Duration::from_millis(host_ms),
            ..Added::default()
        };
        // The shortest: a host is interrupted, a GPU is not.
        let records = records(machine, pipelined, &added)?;
        let recorded = records.iter().map(|record| host_ms_of(record, HostWork::RecordScene));
        let shortest = recorded.flatten().reduce(f64::min);
        shortest.ok_or_else(|| anyhow::anyhow!("recording was not measured"))
    };
    // Recording takes something besides, the same in both.
    let (short_ms, long_ms) = (host(2)?, host(12)?);
    found += &format!("; 2 and 12 ms on the host: {short_ms:.4}, {long_ms:.4} ms");
    check_length("10 ms more on the host", 10.0, long_ms - short_ms, tick_ms)?;

    // One frame at a time: the GPU gives long scenes and the chains of other frames turns, which costs a hand-over each.
    let scene = |fills| -> anyhow::Result<f64> {
        let added = Added {
            fills,
            ..Added::default()
        };
        let records = records(machine, Schedule::Serial, &added)?;
        median(records.iter().map(|record| record.scene_ms))
    };
    let (few, some, many) = (scene(8)?, scene(16)?, scene(32)?);
    found += &format!("; 8, 16, 32 fills by Vulkan: {few:.4}, {some:.4}, {many:.4} ms");
    check_length("16 fills more", 2.0 * (some - few), many - some, 2.0 * tick_ms)?;

    if machine.in_queue {
        return in_queue_gaps(machine, found);
    }
    // In one run of some the GPU takes 10 to 30 us longer to change between its engines, whoever asks it to. So runs of both kinds take
    // turns, and the shortest medians are compared: what the renderer added would be in all of its own.
    let (mut bare, mut framed) = ([f64::INFINITY; 2], [f64::INFINITY; 2]);
    for _ in 0..HAND_OVER_RUNS {
        let rounds = hand_over_rounds(&machine.device, &context, &stream, FRAMES)?;
        let on_device = |round: &Round| {
            let between = proof.relation.convert(round.between)?;
            Some([round.before, between, round.after])
        };
        let span = |from: usize, to: usize| {
            let rounds = rounds.iter().skip(WARM_UP).map(on_device);
            median(rounds.map(|stamps| stamps.map(|stamps| stamps[to].abs_diff(stamps[from]) as f64 * 1e-6)))
        };
        bare = [bare[0].min(span(0, 1)?), bare[1].min(span(1, 2)?)];
        let serial = records(machine, Schedule::Serial, &Added::default())?;
        framed = [
            framed[0].min(median(serial.iter().map(|record| record.handover_to_cuda_ms))?),
            framed[1].min(median(serial.iter().map(|record| record.handover_to_vulkan_ms))?),
        ];
    }
    for (what, bare, framed) in [("to CUDA", bare[0], framed[0]), ("to Vulkan", bare[1], framed[1])] {
        found += &format!("; hand-over {what} {:.1} us, bare {:.1}", framed * 1e3, bare * 1e3);
        anyhow::ensure!(
            (framed - bare).abs() <= HAND_OVER_LIMIT_MS,
            "{found}: more than {} us apart",
            HAND_OVER_LIMIT_MS * 1e3
        );
    }
    found += "; nothing negative, every wait after its signal";
    Ok(Outcome::Passed(found))
}
