//! `capture.json`: what a capture's numbers were measured on and with.

use std::io::{self, Write};
use std::path::Path;

use ash::vk;
use serde::Serialize;

use crate::interop::uuid_text;
use crate::kernels::Chain;
use crate::renderer::{Renderer, Schedule};
use crate::timing::{ClockProof, FrameRecord, Instrument};
use crate::whole_file;

use super::selftest_result::{self, SelftestResult};
use super::setup::Machine;

/// Name of the file in a capture's folder.
pub(crate) const FACTS_FILE: &str = "capture.json";
/// Grows when a field changes its meaning.
const FORMAT: u32 = 1;

/// All of the file. It is written when the capture begins, and again, whole, when it ends: so that a killed process leaves what
/// was known.
#[derive(Debug, Serialize)]
pub(crate) struct CaptureFacts {
    format: u32,
    program: Program,
    /// Seconds since 1970 when the capture began.
    started_unix_s: u64,
    vulkan: VulkanFacts,
    cuda: Option<CudaFacts>,
    host_threads: usize,
    /// What was drawn, each from its frame on.
    views: Vec<ViewFacts>,
    processor: Part,
    presenter: Part,
    /// `None` where frames are submitted whole.
    schedule: Option<Schedule>,
    frames_in_flight: usize,
    instrument: Instrument,
    /// The chains that ran, each from its frame on.
    chains: Vec<ChainFacts>,
    clock: ClockFacts,
    host_clock: HostClockFacts,
    /// The last one on this machine with this program, GPU and driver.
    self_test: Option<SelftestResult>,
    /// Known when the capture ended.
    frames: Option<FrameFacts>,
}

#[derive(Debug, Serialize)]
struct Program {
    name: &'static str,
    version: &'static str,
    optimized: bool,
}

#[derive(Debug, Serialize)]
struct VulkanFacts {
    name: String,
    uuid: String,
    driver: String,
    api_version: String,
}

#[derive(Debug, Serialize)]
struct CudaFacts {
    name: String,
    uuid: String,
    ordinal: usize,
    compute_capability: String,
    /// The CUDA version that the driver supports.
    driver_version: String,
}

#[derive(Debug, Serialize)]
struct Part {
    name: &'static str,
    /// In words: for the presenter, with the present mode in effect.
    description: String,
}

#[derive(Debug, Serialize)]
struct ViewFacts {
    from_frame: u64,
    scene: &'static str,
    extent: [u32; 2],
    /// What it was drawn at, before upscaling.
    scene_extent: [u32; 2],
}

#[derive(Debug, Serialize)]
struct ChainFacts {
    from_frame: u64,
    effects: Vec<EffectFacts>,
}

#[derive(Debug, Serialize)]
struct EffectFacts {
    name: String,
    parameters: serde_json::Map<String, serde_json::Value>,
}

#[derive(Debug, Serialize)]
struct ClockFacts {
    at_start: ClockProof,
    /// `None`: not proven again, for the process was killed or the frames did not come to an end.
    at_end: Option<ClockProof>,
    /// How far the middle of the possible offsets moved.
    drift_ns: Option<i64>,
}

/// How the host's clock was related to the device's during the capture.
#[derive(Debug, Default, Serialize)]
struct HostClockFacts {
    name: &'static str,
    /// How often both were read together.
    calibrations: u64,
    /// How far apart two such readings may have been, at most.
    largest_deviation_ns: Option<u64>,
    last_device_ns: u64,
}

#[derive(Debug, Serialize)]
struct FrameFacts {
    first: u64,
    last: u64,
    count: u64,
}

impl CaptureFacts {
    /// What is known before the first frame.
    pub(crate) fn new(renderer: &mut Renderer, machine: &Machine, chain: &Chain) -> Self {
        let physical = &machine.device.physical;
        let version = |version: u32| {
            let (major, minor, patch) = (
                vk::api_version_major(version),
                vk::api_version_minor(version),
                vk::api_version_patch(version),
            );
            format!("{major}.{minor}.{patch}")
        };
        let view = view_facts(renderer);
        let chains = vec![chain_facts(view.from_frame, chain)];
        let settings = renderer.settings().clone();
        let presenter = Part {
            name: renderer.presenter().name(),
            description: renderer.presenter().description(),
        };
        let processor = renderer.processor();
        Self {
            format: FORMAT,
            program: Program {
                name: env!("CARGO_PKG_NAME"),
                version: env!("CARGO_PKG_VERSION"),
                optimized: !cfg!(debug_assertions),
            },
            started_unix_s: selftest_result::unix_s(),
            vulkan: VulkanFacts {
                name: physical.name.clone(),
                uuid: uuid_text(&physical.uuid),
                driver: physical.driver.clone(),
                api_version: version(physical.api_version),
            },
            cuda: machine.cuda.as_ref().map(|(driver, cuda)| CudaFacts {
                name: cuda.name.clone(),
                uuid: uuid_text(&cuda.uuid),
                ordinal: cuda.ordinal,
                compute_capability: format!("{}.{}", cuda.compute_capability.0, cuda.compute_capability.1),
                driver_version: format!("{}.{}", driver.version / 1000, driver.version % 1000 / 10),
            }),
            host_threads: std::thread::available_parallelism().map_or(1, usize::from),
            views: vec![view],
            processor: Part {
                name: processor.name(),
                description: processor.description(),
            },
            presenter,
            schedule: (!machine.in_queue).then_some(settings.schedule),
            frames_in_flight: settings.frames_in_flight,
            instrument: settings.instrument,
            chains,
            clock: ClockFacts {
                at_start: processor.clock(),
                at_end: None,
                drift_ns: None,
            },
            host_clock: HostClockFacts {
                name: "CLOCK_MONOTONIC_RAW",
                ..HostClockFacts::default()
            },
            self_test: selftest_result::last(physical),
            frames: None,
        }
    }

    /// The chain is another from the next frame on.
    pub(crate) fn chain_changed(&mut self, next_frame: u64, chain: &Chain) {
        // Several keys between two frames are one change.
        self.chains.retain(|before| before.from_frame < next_frame);
        self.chains.push(chain_facts(next_frame, chain));
    }

    /// The next frame has another scene or extent.
    pub(crate) fn view_changed(&mut self, renderer: &Renderer) {
        let view = view_facts(renderer);
        self.views.retain(|before| before.from_frame < view.from_frame);
        self.views.push(view);
    }

    /// A frame of the capture retired.
    pub(crate) fn push(&mut self, record: &FrameRecord) {
        let frames = self.frames.get_or_insert(FrameFacts {
            first: record.frame,
            last: record.frame,
            count: 0,
        });
        frames.last = record.frame;
        frames.count += 1;
        let clock = &mut self.host_clock;
        if let Some(calibration) = record.spans.calibration
            && calibration.device_ns != clock.last_device_ns
        {
            clock.calibrations += 1;
            clock.last_device_ns = calibration.device_ns;
            clock.largest_deviation_ns = clock.largest_deviation_ns.max(Some(calibration.deviation_ns));
        }
    }

    /// The clocks were compared again after the last frame.
    pub(crate) fn proven_again(&mut self, proof: ClockProof) {
        self.clock.drift_ns = self.clock.at_start.drift_ns(&proof);
        self.clock.at_end = Some(proof);
    }

    /// Writes the whole file or leaves the one before.
    ///
    /// # Errors
    /// The file system's own.
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        whole_file::replace(&folder.join(FACTS_FILE), |file| {
            serde_json::to_writer_pretty(&mut *file, self)?;
            file.write_all(b"\n")
        })
    }
}

fn view_facts(renderer: &Renderer) -> ViewFacts {
    let vk::Extent2D { width, height } = renderer.extent();
    let scene = renderer.scene_extent();
    ViewFacts {
        from_frame: renderer.last_frame().value() + 1,
        scene: renderer.scene_name(),
        extent: [width, height],
        scene_extent: [scene.width, scene.height],
    }
}

fn chain_facts(from_frame: u64, chain: &Chain) -> ChainFacts {
    let effects = chain.active().into_iter().map(|index| {
        let effect = &chain.catalogue().effects()[index];
        let value = |name: &str| chain.get(&format!("{}.{name}", effect.name)).ok();
        let parameters = effect.parameters.iter().filter_map(|parameter| {
            let value = value(&parameter.name)?;
            Some((parameter.name.clone(), value.into()))
        });
        EffectFacts {
            name: effect.name.clone(),
            parameters: parameters.collect(),
        }
    });
    ChainFacts {
        from_frame,
        effects: effects.collect(),
    }
}
