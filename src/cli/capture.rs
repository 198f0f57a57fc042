//! Captures of a view: what its table and its trace say of the run.

use std::path::Path;

use crate::kernels::{Catalogue, Chain, Effect};
use crate::renderer::Renderer;
use crate::timing::{
    Capture, CaptureError, ClockProof, ClockRelation, FrameRecord, ProvenBy, Sheet, TraceInfo, TracedEffect, Written,
};

use super::capture_facts::{CaptureFacts, FACTS_FILE};
use super::setup::Machine;

/// What captures name as the frames' presenter, in PresentMon's sense.
const PRESENT_RUNTIME: &str = "Vulkan";

/// Names of the effects, by catalogue index: the columns of a capture.
pub(crate) fn effect_names(catalogue: &Catalogue) -> Vec<&str> {
    catalogue.effects().iter().map(|effect| effect.name.as_str()).collect()
}

/// A capture with its facts.
pub(crate) struct Recording {
    capture: Capture,
    facts: CaptureFacts,
}

impl Recording {
    /// Makes the folder with what is known before the first frame. The thread that calls it is the one that makes the frames.
    ///
    /// # Errors
    /// All that can be wrong with the folder, each with what to do. Nothing is left behind then.
    pub fn begin(
        folder: &Path,
        renderer: &mut Renderer,
        machine: &Machine,
        chain: &Chain,
    ) -> Result<Self, CaptureError> {
        let facts = CaptureFacts::new(renderer, machine, chain);
        let capture = create(folder, renderer, machine, chain.catalogue())?;
        let recording = Self { capture, facts };
        recording.write_facts().inspect_err(|_| {
            // Best effort: the error that is being returned says more than one about cleaning up.
            let _ = std::fs::remove_dir_all(folder);
        })?;
        Ok(recording)
    }

    /// A frame retired.
    pub fn push(&mut self, record: &FrameRecord) {
        self.facts.push(record);
        self.capture.push(record);
    }

    /// The chain is another from the next frame on.
    pub fn chain_changed(&mut self, next_frame: u64, chain: &Chain) {
        self.facts.chain_changed(next_frame, chain);
    }

    /// The next frame has another scene or extent.
    pub fn view_changed(&mut self, renderer: &Renderer) {
        self.facts.view_changed(renderer);
    }

    /// Writes what is left. The frames have come to their end: `proof` is what the clocks say now, if they could be asked.
    ///
    /// # Errors
    /// What could not be written; what was written before can be read.
    pub fn finish(mut self, proof: Option<ClockProof>) -> Result<Written, CaptureError> {
        if let Some(proof) = proof {
            self.facts.proven_again(proof);
        }
        let facts = self.write_facts();
        let written = self.capture.finish()?;
        facts.map(|()| written)
    }

    fn write_facts(&self) -> Result<(), CaptureError> {
        let folder = self.capture.folder();
        self.facts.write(folder).map_err(|source| CaptureError::Write {
            path: folder.join(FACTS_FILE),
            rows: 0,
            source,
        })
    }
}

fn create(
    folder: &Path,
    renderer: &mut Renderer,
    machine: &Machine,
    catalogue: &Catalogue,
) -> Result<Capture, CaptureError> {
    let sheet = Sheet::of_this_process(PRESENT_RUNTIME, &effect_names(catalogue));
    let device = &machine.device;
    let queue = |family: u32| format!("{}, queue family {family}", device.physical.name);
    let (scene_queue, present_queue) = (renderer.scene_queue(), renderer.present_queue());
    let has_present_queue = present_queue.raw != scene_queue.raw;
    let trace = TraceInfo {
        application: sheet.application.clone(),
        process_id: sheet.process_id,
        thread_id: rustix::thread::gettid().as_raw_nonzero().get().cast_unsigned(),
        present_runtime: sheet.present_runtime.clone(),
        scene_queue: queue(scene_queue.family),
        present_queue: has_present_queue.then(|| queue(present_queue.family)),
        processor: renderer.processor().description(),
        clock: clock_text(renderer.processor().clock()),
        effects: catalogue.effects().iter().map(|effect| traced(effect)).collect(),
    };
    Capture::create(folder, sheet, &trace)
}

fn traced(effect: &Effect) -> TracedEffect {
    TracedEffect {
        name: effect.name.clone(),
        kernels: effect.passes.iter().map(|pass| pass.label.clone()).collect(),
    }
}

fn clock_text(proof: ClockProof) -> String {
    let text = match proof.relation {
        ClockRelation::Shared { width_ns } => format!("the chain's is the device's, within {width_ns} ns"),
        ClockRelation::Corrected { offset_ns, width_ns } => {
            format!("the chain's and {offset_ns} ns are the device's, within {width_ns} ns")
        }
        ClockRelation::Unrelated => "the chain's and the device's are not related: the chain is left out".to_owned(),
    };
    let by = match proof.by {
        ProvenBy::Semaphores => "by semaphores between stamps",
        ProvenBy::HostClock => "by way of the host's clock",
        ProvenBy::OneClock => return "the device stamps the chain itself".into(),
        ProvenBy::Nothing => return text,
    };
    format!("{text}; proven {by}, in {} rounds", proof.rounds)
}
