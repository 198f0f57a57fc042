//! The rounds: which renderers are alive, in which order they run, and what each round measures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use ash::vk;
use fastrand::Rng;

use crate::bench::{Case, Results, Round};
use crate::kernels::{Chain, Given, Plan, catalogue};
use crate::live::Fuse;
use crate::renderer::{Renderer, Settings, View};
use crate::scene::none::NoScene;
use crate::scene::{Camera, SceneFrame};
use crate::timing::FrameRecord;
use crate::timing::statistics::{percentile, sorted};

use super::super::options::ProcessorChoice;
use super::super::setup::{Machine, Request};
use super::axes::names;
use super::fused_kernels::FusedKernels;

/// The GPU, opened once for each processor.
pub struct Machines {
    all: Vec<Machine>,
}

impl Machines {
    /// Opens it. Processors that come to the same are opened once.
    ///
    /// # Errors
    /// As [`Machine::open`].
    pub fn open(processors: &[ProcessorChoice], gpu: Option<&str>) -> anyhow::Result<Self> {
        let mut all: Vec<Machine> = Vec::new();
        for processor in processors {
            let request = Request {
                gpu: gpu.map(str::to_owned),
                // The layer has times of its own.
                validate_if_present: false,
                ..Request::offscreen(*processor)
            };
            let machine = Machine::open(&request, None)?;
            if let Some(reason) = &machine.without_cuda {
                tracing::info!("the host runs the kernels: {reason}");
            }
            if !all
                .iter()
                .any(|other| other.processor_name() == machine.processor_name())
            {
                all.push(machine);
            }
        }
        if cfg!(debug_assertions) {
            tracing::warn!("this is a debug build: its times are not those of a release build");
        }
        Ok(Self { all })
    }

    /// All, at least one.
    pub fn all(&self) -> &[Machine] {
        &self.all
    }

    /// Who runs the chain on each.
    pub fn processors(&self) -> Vec<&'static str> {
        self.all.iter().map(Machine::processor_name).collect()
    }
}

/// Bytes of GPU memory for a texel of a slot, rounded up: the images of a slot take 40, the host's processor has 16 more, and
/// scenes and chains have some of their own.
const TEXEL_BYTES: u64 = 64;

/// A renderer that waits for its next round.
struct Alive {
    case: usize,
    renderer: Renderer,
    bytes: u64,
}

/// A bench under way.
pub struct Measurement<'a> {
    /// Made first, first.
    alive: Vec<Alive>,
    machines: &'a Machines,
    cases: &'a [Case],
    /// One for each case.
    plans: Vec<Arc<Plan>>,
    /// Bytes that all renderers may take together.
    budget: u64,
}

impl<'a> Measurement<'a> {
    /// Makes the plans. `chains` has those of the cases, `budget` is the memory that their renderers may take together, bytes.
    ///
    /// # Errors
    /// A size that is larger than the GPU's images.
    pub fn new(machines: &'a Machines, cases: &'a [Case], chains: &[Chain], budget: u64) -> anyhow::Result<Self> {
        for case in cases {
            machines.all[0].check_extent(extent(case))?;
        }
        let kernels = FusedKernels::default();
        let plan = |case: &Case| {
            let chain = chains.iter().find(|chain| names(chain) == case.chain);
            let chain = chain.expect("cases are made from the chains");
            let given = Given {
                guides: case.scene != NoScene::NAME,
                scaled: false,
                transforms: true,
            };
            let device = machine_of(machines, case)
                .cuda
                .as_ref()
                .filter(|_| case.fuse == Fuse::Auto);
            Arc::new(match device {
                Some((_, device)) => {
                    chain.plan_fused(given, &|members| kernels.find(members, device.compute_capability))
                }
                None => chain.plan_over(given),
            })
        };
        Ok(Self {
            alive: Vec::new(),
            machines,
            cases,
            plans: cases.iter().map(plan).collect(),
            budget,
        })
    }

    /// Tries every case before any is measured: how long one frame of each takes together, about.
    ///
    /// # Errors
    /// An unknown scene, no memory, or a frame that failed: the error names the case.
    pub fn trial(&mut self) -> anyhow::Result<Duration> {
        const FRAMES: u64 = 3;
        let mut of_each = Duration::ZERO;
        for case in 0..self.cases.len() {
            of_each += self.in_case(case, |renderer, view| {
                // The first ones take longer.
                render(renderer, view, 2)?;
                let started = Instant::now();
                render(renderer, view, FRAMES)?;
                Ok(started.elapsed() / FRAMES as u32)
            })?;
        }
        Ok(of_each)
    }

    /// Runs the rounds.
    ///
    /// # Errors
    /// As [`Measurement::trial`].
    pub fn run(mut self, rounds: u32, results: &mut Results) -> anyhow::Result<()> {
        let mut rng = Rng::with_seed(results.seed);
        // The cases of a size are interleaved, one size comes after the other: those of all sizes together may not fit.
        for group in self.sizes() {
            for _ in 0..rounds {
                let mut order = group.clone();
                rng.shuffle(&mut order);
                for case in order {
                    let round = self.round(case, results.frames, results.warm_up)?;
                    results.push(case, round);
                }
            }
        }
        Ok(())
    }

    /// The indices of the cases of each size, in the order of the cases.
    fn sizes(&self) -> Vec<Vec<usize>> {
        let mut groups: Vec<Vec<usize>> = Vec::new();
        for case in 0..self.cases.len() {
            let same = |group: &&mut Vec<usize>| extent(&self.cases[group[0]]) == extent(&self.cases[case]);
            match groups.iter_mut().find(same) {
                Some(group) => group.push(case),
                None => groups.push(vec![case]),
            }
        }
        groups
    }

    fn round(&mut self, case: usize, frames: u64, warm_up: u64) -> anyhow::Result<Round> {
        self.in_case(case, |renderer, view| {
            render(renderer, view, warm_up)?;
            let started = Instant::now();
            let records = render(renderer, view, frames)?;
            let frame_us = started.elapsed().as_secs_f64() * 1e6 / frames as f64;
            Ok(medians(frame_us, &records))
        })
    }

    /// Does something with the renderer of a case, which is made anew if it had to give way to others.
    fn in_case<T>(
        &mut self,
        case: usize,
        work: impl FnOnce(&mut Renderer, &View) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        let name = || self.cases[case].to_string();
        let place = match self.alive.iter().position(|alive| alive.case == case) {
            Some(place) => place,
            None => {
                let described = &self.cases[case];
                let vk::Extent2D { width, height } = extent(described);
                let bytes = u64::from(width) * u64::from(height) * described.frames_in_flight as u64 * TEXEL_BYTES;
                while !self.alive.is_empty()
                    && self.alive.iter().map(|alive| alive.bytes).sum::<u64>() + bytes > self.budget
                {
                    self.alive.remove(0);
                }
                tracing::debug!("made: {described}");
                let renderer = renderer(self.machines, described).with_context(name)?;
                self.alive.push(Alive { case, renderer, bytes });
                self.alive.len() - 1
            }
        };
        let view = View {
            scene: SceneFrame {
                frame: 0,
                time: 0.0,
                time_delta: 0.0,
                camera: Camera::default(),
                jitter: [0.0; 2],
            },
            plan: Arc::clone(&self.plans[case]),
            pointer: [0.0; 2],
        };
        work(&mut self.alive[place].renderer, &view).with_context(name)
    }
}

fn machine_of<'a>(machines: &'a Machines, case: &Case) -> &'a Machine {
    let mut all = machines.all.iter();
    all.find(|machine| machine.processor_name() == case.processor)
        .expect("cases are made from the machines")
}

fn renderer(machines: &Machines, case: &Case) -> anyhow::Result<Renderer> {
    let settings = Settings {
        render_scale: 1.0,
        frames_in_flight: case.frames_in_flight,
        schedule: case.schedule,
        // In software a frame of 8K takes some ten seconds.
        wait_limit: Duration::from_secs(60),
        effects: catalogue().effects().len(),
        instrument: case.instrument,
        check_tags: false,
        check_complement: false,
    };
    machine_of(machines, case).offscreen(&case.scene, extent(case), settings)
}

fn extent(case: &Case) -> vk::Extent2D {
    vk::Extent2D {
        width: case.width,
        height: case.height,
    }
}

/// Renders frames of 60 Hz from the scene's start, waits until all have retired, and gives their records.
fn render(renderer: &mut Renderer, view: &View, frames: u64) -> anyhow::Result<Vec<FrameRecord>> {
    const TIME_STEP: f32 = 1.0 / 60.0;
    let mut view = view.clone();
    view.scene.time_delta = TIME_STEP;
    for frame in 0..frames {
        view.scene.time = frame as f32 * TIME_STEP;
        renderer.render_frame(&view)?;
    }
    renderer.finish()?;
    Ok(renderer.take_records())
}

/// The medians of a round's stages.
fn medians(frame_us: f64, records: &[FrameRecord]) -> Round {
    let median = |read: fn(&FrameRecord) -> Option<f64>| {
        let times: Vec<f64> = records.iter().filter_map(read).collect();
        percentile(&sorted(&times), 50.0)
    };
    Round {
        frame_us,
        scene_ms: median(|record| record.scene_ms),
        handover_to_cuda_ms: median(|record| record.handover_to_cuda_ms),
        chain_ms: median(|record| record.chain_ms),
        handover_to_vulkan_ms: median(|record| record.handover_to_vulkan_ms),
        present_gpu_ms: median(|record| record.present_gpu_ms),
        latency_ms: median(|record| record.latency_ms),
        host_ms: median(FrameRecord::host_ms),
    }
}
