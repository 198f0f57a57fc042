//! The rounds: which renderers are alive, in which order they run, and what each round measures.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context;
use ash::vk;
use fastrand::Rng;

use crate::bench::{Case, LeftOut, MemoryTaken, Results, Round};
use crate::kernels::{Chain, Given, Plan, catalogue};
use crate::live::Fuse;
use crate::renderer::{Renderer, Settings, View};
use crate::scene::none::NoScene;
use crate::timing::FrameRecord;
use crate::timing::statistics::{percentile, sorted};

use super::super::fused_kernels::FusedKernels;
use super::super::options::ProcessorChoice;
use super::super::setup::{Machine, Request};
use super::super::usage;
use super::axes::names;
use super::fits::{is_out_of_memory, obstacle};
use super::memory::taken;
use super::options::BenchOptions;

/// The GPU, opened once for each processor.
pub struct Machines {
    all: Vec<Machine>,
    /// What each was opened by.
    requests: Vec<Request>,
}

impl Machines {
    /// Opens it. Processors that come to the same are opened once, and the optional ones where they are there.
    ///
    /// # Errors
    /// As [`Machine::open`].
    pub fn open(
        processors: &[ProcessorChoice],
        optional: &[ProcessorChoice],
        gpu: Option<&str>,
    ) -> anyhow::Result<Self> {
        let (mut all, mut requests): (Vec<Machine>, Vec<Request>) = (Vec::new(), Vec::new());
        for (place, processor) in processors.iter().chain(optional).enumerate() {
            let request = Request {
                gpu: gpu.map(str::to_owned),
                // The layer has times of its own.
                validate_if_present: false,
                ..Request::offscreen(*processor)
            };
            let machine = match Machine::open(&request, None) {
                Ok(machine) => machine,
                Err(error) if place >= processors.len() => {
                    tracing::debug!("{error:#}");
                    continue;
                }
                Err(error) => return Err(error),
            };
            if let Some(reason) = &machine.without_cuda {
                tracing::info!("the host runs the kernels: {reason}");
            }
            if !all
                .iter()
                .any(|other| other.processor_name() == machine.processor_name())
            {
                all.push(machine);
                requests.push(request);
            }
        }
        if cfg!(debug_assertions) {
            tracing::warn!("this is a debug build: its times are not those of a release build");
        }
        Ok(Self { all, requests })
    }

    /// All, at least one.
    pub fn all(&self) -> &[Machine] {
        &self.all
    }

    /// Bytes that all renderers may take together.
    pub fn budget(&self, options: &BenchOptions) -> u64 {
        let free = || self.all[0].device.memory_free() / 2;
        options.memory.map_or_else(free, |mebibytes| u64::from(mebibytes) << 20)
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
    cases: Vec<Case>,
    /// One for each case.
    plans: Vec<Arc<Plan>>,
    /// Bytes that all renderers may take together.
    budget: u64,
}

impl<'a> Measurement<'a> {
    /// Makes the plans. `chains` has those of the cases, `budget` is the memory that their renderers may take together, bytes.
    pub fn new(machines: &'a Machines, cases: Vec<Case>, chains: &[Chain], budget: u64) -> Self {
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
        Self {
            alive: Vec::new(),
            machines,
            plans: cases.iter().map(plan).collect(),
            cases,
            budget,
        }
    }

    /// The cases; after the trial those that can be.
    pub fn cases(&self) -> &[Case] {
        &self.cases
    }

    /// Tries every case before any is measured: how long one frame of each takes together, about, and what exceeds the memory or a limit
    /// of the device, and is no case from here on.
    ///
    /// # Errors
    /// No case is left; an unknown scene, or a frame that failed: the error names the case.
    pub fn trial(&mut self) -> anyhow::Result<(Duration, Vec<LeftOut>)> {
        let (mut of_each, mut left_out) = (Duration::ZERO, Vec::new());
        let mut case = 0;
        while case < self.cases.len() {
            match self.tried(case)? {
                Ok(frame) => {
                    of_each += frame;
                    case += 1;
                }
                Err(reason) => {
                    // Those behind it were not made yet, so no other changes its number.
                    self.alive.retain(|alive| alive.case != case);
                    self.plans.remove(case);
                    let case = self.cases.remove(case);
                    tracing::info!("left out: {case}: {reason}");
                    left_out.push(LeftOut { case, reason });
                }
            }
        }
        match left_out.first() {
            Some(first) if self.cases.is_empty() => Err(usage(format!("{}: {}", first.case, first.reason))),
            _ => Ok((of_each, left_out)),
        }
    }

    /// How long a frame of the case takes, or why it cannot be, though no other renderer is there.
    fn tried(&mut self, case: usize) -> anyhow::Result<Result<Duration, String>> {
        match self.try_beside(case)? {
            Err(_) if self.alive.iter().any(|alive| alive.case != case) => {
                self.alive.clear();
                self.try_beside(case)
            }
            tried => Ok(tried),
        }
    }

    /// The same, beside the renderers that are there.
    fn try_beside(&mut self, case: usize) -> anyhow::Result<Result<Duration, String>> {
        const FRAMES: u64 = 3;
        let described = &self.cases[case];
        if let Some(reason) = obstacle(machine_of(self.machines, described), described, &self.plans[case]) {
            return Ok(Err(reason));
        }
        let tried = self.in_case(case, |renderer, view| {
            // The first ones take longer.
            render(renderer, view, 2)?;
            let started = Instant::now();
            render(renderer, view, FRAMES)?;
            Ok(started.elapsed() / FRAMES as u32)
        });
        match tried {
            Err(error) if is_out_of_memory(&error) => Ok(Err(error.root_cause().to_string())),
            tried => tried.map(Ok),
        }
    }

    /// What each case's renderer takes of memory; of those whose memory ran out meanwhile nothing. No other is alive afterwards.
    ///
    /// # Errors
    /// As [`Measurement::trial`].
    pub fn memory(&mut self) -> anyhow::Result<Vec<Option<MemoryTaken>>> {
        self.alive.clear();
        let of_case = |(case, plan): (&Case, &Arc<Plan>)| {
            let place = self
                .machines
                .all
                .iter()
                .position(|machine| machine.processor_name() == case.processor);
            let request = &self.machines.requests[place.expect("cases are made from the machines")];
            match taken(request, case, plan) {
                Err(error) if is_out_of_memory(&error) => Ok(None),
                taken => taken.map(Some).with_context(|| case.to_string()),
            }
        };
        self.cases.iter().zip(&self.plans).map(of_case).collect()
    }

    /// Runs the rounds.
    ///
    /// # Errors
    /// As [`Measurement::trial`].
    pub fn run(mut self, rounds: u32, results: &mut Results) -> anyhow::Result<()> {
        let mut rng = Rng::with_seed(results.seed);
        // The cases of a size are interleaved, one size comes after the other: those of all sizes together may not fit.
        for group in by_size(&self.cases) {
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
    ///
    /// # Errors
    /// No memory, or what it was to do failed.
    pub fn in_case<T>(
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
                let renderer = renderer(machine_of(self.machines, described), described).with_context(name)?;
                self.alive.push(Alive { case, renderer, bytes });
                self.alive.len() - 1
            }
        };
        let view = View::first(&self.plans[case]);
        work(&mut self.alive[place].renderer, &view).with_context(name)
    }
}

/// The indices of the cases of each size, in the order of the cases.
pub fn by_size(cases: &[Case]) -> Vec<Vec<usize>> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, case) in cases.iter().enumerate() {
        match groups.iter_mut().find(|group| extent(&cases[group[0]]) == extent(case)) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups
}

fn machine_of<'a>(machines: &'a Machines, case: &Case) -> &'a Machine {
    let mut all = machines.all.iter();
    all.find(|machine| machine.processor_name() == case.processor)
        .expect("cases are made from the machines")
}

/// The renderer of a case.
///
/// # Errors
/// As [`Machine::renderer`].
pub fn renderer(machine: &Machine, case: &Case) -> anyhow::Result<Renderer> {
    let settings = Settings {
        render_scale: 1.0,
        frames_in_flight: case.frames_in_flight,
        schedule: case.schedule,
        // In software a frame of 8K takes some ten seconds, one of 16K over a minute.
        wait_limit: Duration::from_secs(300),
        effects: catalogue().effects().len(),
        instrument: case.instrument,
        check_tags: false,
        check_complement: false,
    };
    machine.offscreen(&case.scene, extent(case), settings)
}

fn extent(case: &Case) -> vk::Extent2D {
    vk::Extent2D {
        width: case.width,
        height: case.height,
    }
}

/// Renders frames of 60 Hz from the scene's start, waits until all have retired, and gives their records.
///
/// # Errors
/// A frame that failed.
pub fn render(renderer: &mut Renderer, view: &View, frames: u64) -> anyhow::Result<Vec<FrameRecord>> {
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
pub fn medians(frame_us: f64, records: &[FrameRecord]) -> Round {
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
