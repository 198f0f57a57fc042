//! `handover bench kernels`: every effect by itself, or several as a chain, against what the device can do at most.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use fastrand::Rng;

use crate::bench::kernels::{EffectTimes, KernelResults, text};
use crate::bench::need::{Limits, Need};
use crate::cuda::{CudaDevice, Driver};
use crate::kernels::{Catalogue, Chain, Effect, FrameExtents, Given, Plan, catalogue};
use crate::live::{self, Fuse};
use crate::process::CudaTimed;
use crate::report::NewFile;

use super::super::fused_kernels::FusedKernels;
use super::super::options::ProcessorChoice;
use super::super::output::print;
use super::super::setup::{Machine, Request};
use super::super::size::Size;
use super::super::usage;
use super::facts;
use super::host_kernels;
use super::options::parse_named_size;

/// Options of `handover bench kernels`.
#[derive(Debug, Args)]
pub struct KernelBenchOptions {
    /// The effects, or several joined by +, in their order; by default each of all.
    #[arg(long, value_name = "A,B+C", value_delimiter = ',')]
    pub effects: Option<Vec<String>>,
    /// Whether neighbouring effects that make each texel of one run as one kernel.
    #[arg(long, value_enum, default_value_t = Fuse::Auto)]
    pub fuse: Fuse,
    /// Who runs the effects.
    #[arg(long, value_enum, default_value_t = KernelRunner::Cuda)]
    pub processor: KernelRunner,
    /// With --processor host: write the picture that effects are run over, and what each made of it, into DIR, as raw halves.
    #[arg(long, value_name = "DIR")]
    pub pictures: Option<PathBuf>,
    /// Kernel files of yours, each an effect besides.
    #[arg(long = "kernel", value_name = "PATH")]
    pub files: Vec<PathBuf>,
    /// Extents of what is shown: WIDTHxHEIGHT, or 720p, 1080p, 4k, 8k. An effect that upscales is given two thirds of it.
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = parse_named_size, default_value = "1080p,4k,8k")]
    pub sizes: Vec<Size>,
    /// Sets a parameter: EFFECT.PARAMETER=VALUE.
    #[arg(long = "set", value_name = "SETTING")]
    pub settings: Vec<String>,
    /// Rounds; each runs every effect once, in an order of its own.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Shows each launch too.
    #[arg(long)]
    pub launches: bool,
    /// What the order is drawn from; by default another one each time.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
    /// The GPU: its number, a part of its name, or the start of its UUID.
    #[arg(long, value_name = "GPU")]
    pub gpu: Option<String>,
    /// Write all rounds to FILE, which must not be there yet.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
}

/// Who runs the effects.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum KernelRunner {
    /// CUDA, timed by events.
    Cuda,
    /// The CPU, all cores.
    Host,
}

/// What is measured: an effect, or several that follow one another.
pub(super) struct Work {
    pub(super) name: String,
    pub(super) effects: Vec<Arc<Effect>>,
    pub(super) chain: Chain,
}

/// How long the timed frames of a round take together, about: long enough for the clock of events and the way in.
const ROUND_US: f64 = 2000.0;
/// Frames of a round.
const FEWEST: f64 = 4.0;
const MOST: f64 = 200.0;
/// Frames of which the shortest time of each launch is taken.
const LAUNCH_FRAMES: u32 = 12;

/// Measures, prints and writes.
///
/// # Errors
/// An unknown effect or setting, a kernel file that cannot run, no CUDA, no memory, or a kernel that failed.
pub fn run(options: &KernelBenchOptions) -> anyhow::Result<()> {
    if let Some(path) = &options.json {
        // Not kept open: a bench that is broken off leaves nothing behind.
        NewFile::create(path).map_err(usage)?;
    }
    let request = Request {
        gpu: options.gpu.clone(),
        validate_if_present: false,
        ..Request::offscreen(match options.processor {
            KernelRunner::Cuda => ProcessorChoice::Cuda,
            KernelRunner::Host => ProcessorChoice::Host,
        })
    };
    if let Some(folder) = &options.pictures {
        check_pictures(options, folder)?;
    }
    let machine = Machine::open(&request, None)?;
    if options.processor == KernelRunner::Host {
        if !options.files.is_empty() {
            return Err(usage(
                "--kernel: the host has no reference of a kernel of yours: use --processor cuda",
            ));
        }
        let works = works(options, catalogue())?;
        return host_kernels::bench(options, &works, facts(std::slice::from_ref(&machine)));
    }
    let (driver, device) = machine
        .cuda
        .as_ref()
        .ok_or_else(|| anyhow::anyhow!("the kernels' times are those of CUDA, and there is none"))?;
    if cfg!(debug_assertions) {
        tracing::warn!("this is a debug build: its times are not those of a release build");
    }
    for size in &options.sizes {
        let (width, height) = (size.width, size.height);
        machine.check_extent(ash::vk::Extent2D { width, height })?;
    }
    let catalogue = with_files(&options.files, device)?;
    let works = works(options, &catalogue)?;
    let results = measure(options, &works, (driver, device), &machine)?;
    if let Some(path) = &options.json {
        let file = NewFile::create(path).map_err(usage)?;
        let path = file
            .write(&(serde_json::to_string_pretty(&results)? + "\n"))
            .map_err(usage)?;
        tracing::info!("results: {}", path.display());
    }
    print(text(&results, options.launches))
}

fn check_pictures(options: &KernelBenchOptions, folder: &Path) -> anyhow::Result<()> {
    let reason = match options.processor {
        KernelRunner::Cuda => "pictures are those of --processor host",
        KernelRunner::Host if !folder.is_dir() => "there is no such folder",
        KernelRunner::Host => return Ok(()),
    };
    Err(usage(format!("--pictures {}: {reason}", folder.display())))
}

/// The program's effects and those of the files.
fn with_files(files: &[PathBuf], device: &CudaDevice) -> anyhow::Result<Arc<Catalogue>> {
    let mut all = Arc::clone(catalogue());
    for path in files {
        let text = std::fs::read_to_string(path).map_err(|error| usage(format!("{}: {error}", path.display())))?;
        let built = live::build(path, &text, device.compute_capability).map_err(usage)?;
        let (with, _) = all.with(built.effect).map_err(usage)?;
        all = Arc::new(with);
    }
    Ok(all)
}

/// A chain of each effect alone, and of those that were asked for together.
fn works(options: &KernelBenchOptions, catalogue: &Arc<Catalogue>) -> anyhow::Result<Vec<Work>> {
    let stems = options.files.iter().filter_map(|path| path.file_stem());
    let files: Vec<String> = stems.map(|stem| stem.to_string_lossy().into_owned()).collect();
    let mut chosen = Vec::new();
    chosen.extend(options.effects.iter().flatten().cloned());
    if options.effects.is_none() && files.is_empty() {
        let shown = catalogue
            .effects()
            .iter()
            .filter(|effect| !effect.hidden || effect.name == "copy");
        chosen.extend(shown.map(|effect| effect.name.clone()));
    }
    chosen.extend(files);
    let mut works = Vec::new();
    for joined in chosen {
        let names: Vec<&str> = joined.split('+').map(str::trim).collect();
        let effects = names.iter().map(|name| catalogue.by_name(name).cloned());
        let effects = effects.collect::<Result<Vec<_>, _>>().map_err(usage)?;
        let mut chain = Chain::with_enabled(catalogue, &names).map_err(usage)?;
        for setting in &options.settings {
            let assigned = setting
                .split_once('=')
                .and_then(|(what, value)| Some((what, value.parse().ok()?)));
            let (what, value) =
                assigned.ok_or_else(|| usage(format!("--set {setting}: expected EFFECT.PARAMETER=VALUE")))?;
            chain.set(what.trim(), value).map_err(usage)?;
        }
        works.push(Work {
            name: names.join("+"),
            effects,
            chain,
        });
    }
    Ok(works)
}

fn measure(
    options: &KernelBenchOptions,
    works: &[Work],
    (driver, device): (&Driver, &CudaDevice),
    machine: &Machine,
) -> anyhow::Result<KernelResults> {
    let mut timed = CudaTimed::new(driver, device)?;
    let (copy_bandwidth, arithmetic) = timed.limits()?;
    let limits = Limits {
        copy_bandwidth: copy_bandwidth
            .ok_or_else(|| anyhow::anyhow!("no memory to measure the copy bandwidth with"))?,
        operations: arithmetic.operations,
        special: arithmetic.special,
    };
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..=u64::from(u32::MAX)));
    let mut rng = Rng::with_seed(seed);
    let (kernels, capability) = (FusedKernels::default(), device.compute_capability);
    let plan = |chain: &Chain, given: Given| match options.fuse {
        Fuse::Auto => chain.plan_fused(given, &|members| kernels.find(members, capability)),
        Fuse::Off => chain.plan_over(given),
    };
    let mut results = KernelResults::new(facts(std::slice::from_ref(machine)), limits, seed);
    for size in &options.sizes {
        let display = [size.width, size.height];
        for upscales in [false, true] {
            let is_of_these = |work: &&Work| work.effects.iter().any(|effect| effect.upscales) == upscales;
            let works: Vec<&Work> = works.iter().filter(is_of_these).collect();
            if works.is_empty() {
                continue;
            }
            let extents = FrameExtents {
                scene: if upscales {
                    display.map(|length| (2 * length).div_ceil(3))
                } else {
                    display
                },
                display,
            };
            timed.retarget(extents)?;
            results
                .effects
                .extend(rounds((options.rounds, &mut rng), &works, &plan, &mut timed, extents)?);
        }
    }
    Ok(results)
}

/// All rounds at one pair of extents.
fn rounds(
    (rounds, rng): (u32, &mut Rng),
    works: &[&Work],
    plan: &dyn Fn(&Chain, Given) -> Plan,
    timed: &mut CudaTimed,
    extents: FrameExtents,
) -> anyhow::Result<Vec<EffectTimes>> {
    let given = Given {
        guides: true,
        scaled: extents.scene != extents.display,
        transforms: crate::cuda::find_cufft().is_ok(),
    };
    let mut all: Vec<(Plan, u32, EffectTimes)> = Vec::new();
    let image_bytes = extents.display.iter().map(|length| f64::from(*length)).product::<f64>() * 8.0;
    let copies = timed.copy_us(extents.display, FEWEST as u32)?;
    let copies = timed.copy_us(extents.display, (ROUND_US / copies).clamp(FEWEST, MOST) as u32)?;
    for Work { name, effects, chain } in works {
        if !given.transforms && effects.iter().any(|effect| effect.transforms()) {
            tracing::warn!("{name} cannot run here, and is left out");
            continue;
        }
        let plan = plan(chain, given);
        let once = timed.frame_us(&plan, FEWEST as u32)?;
        let frames = (ROUND_US / once).clamp(FEWEST, MOST) as u32;
        let names = plan.launches.iter().map(|launch| match launch.is_once() {
            true => format!("{} (once, in no frame that is timed)", launch.entry()),
            false => launch.entry().to_owned(),
        });
        let times = EffectTimes {
            effect: name.clone(),
            extent: extents.display,
            copy_bandwidth: 2.0 * image_bytes / copies * 1e6,
            rounds_us: Vec::new(),
            launches_us: names.zip(timed.launches_us(&plan, LAUNCH_FRAMES)?).collect(),
            needs: plan
                .launches
                .iter()
                .map(|launch| Need::of(&plan, launch, extents))
                .collect(),
        };
        all.push((plan, frames, times));
    }
    for _ in 0..rounds {
        let mut order: Vec<usize> = (0..all.len()).collect();
        rng.shuffle(&mut order);
        for place in order {
            let (plan, frames, times) = &mut all[place];
            times.rounds_us.push(timed.frame_us(plan, *frames)?);
        }
    }
    Ok(all.into_iter().map(|(_, _, times)| times).collect())
}
