//! Captures of a view: what its table and its trace say of the run.

use std::path::Path;

use crate::kernels::{Effect, catalogue};
use crate::renderer::{Renderer, Schedule};
use crate::timing::{Capture, CaptureError, ClockRelation, Sheet, TraceInfo, TracedEffect};

use super::setup::Machine;

/// What captures name as the frames' presenter, in PresentMon's sense.
const PRESENT_RUNTIME: &str = "Vulkan";

/// Names of the effects, by catalogue index: the columns of a capture.
pub(crate) fn effect_names() -> Vec<&'static str> {
    catalogue()
        .effects()
        .iter()
        .map(|effect| effect.name.as_str())
        .collect()
}

/// Makes a capture's folder. The thread that calls it is the one that makes the frames.
pub(crate) fn open_capture(folder: &Path, renderer: &mut Renderer, machine: &Machine) -> Result<Capture, CaptureError> {
    let sheet = Sheet::of_this_process(PRESENT_RUNTIME, &effect_names());
    let device = &machine.device;
    let queue = |family: u32| format!("{}, queue family {family}", device.physical.name);
    let has_present_queue = device.has_present_queue() && renderer.settings().schedule == Schedule::Pipelined;
    let trace = TraceInfo {
        application: sheet.application.clone(),
        process_id: sheet.process_id,
        thread_id: rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(),
        present_runtime: sheet.present_runtime.clone(),
        scene_queue: queue(device.scene_queue.family),
        present_queue: has_present_queue.then(|| queue(device.present_queue.family)),
        processor: renderer.processor().description(),
        clock: clock_text(renderer.processor().clock().relation),
        effects: catalogue().effects().iter().map(traced).collect(),
    };
    Capture::create(folder, sheet, &trace)
}

/// The effect's passes by their entries, without the effect's name that those begin with.
fn traced(effect: &Effect) -> TracedEffect {
    let prefix = format!("{}_", effect.name);
    let pass = |entry: &str| entry.strip_prefix(&prefix).unwrap_or(entry).to_owned();
    TracedEffect {
        name: effect.name.clone(),
        passes: effect.passes.iter().map(|described| pass(&described.entry)).collect(),
    }
}

fn clock_text(relation: ClockRelation) -> String {
    match relation {
        ClockRelation::Shared { width_ns } => format!("the chain's is the device's, proven within {width_ns} ns"),
        ClockRelation::Corrected { offset_ns, width_ns } => {
            format!("the chain's and {offset_ns} ns are the device's, within {width_ns} ns")
        }
        ClockRelation::Unrelated => "the chain's and the device's are not related: the chain is left out".to_owned(),
    }
}
