//! `handover bench`: fixed work, rendered offscreen in interleaved rounds; how long it took, and what of that differs.

mod axes;
mod fits;
mod gpus;
mod host_kernels;
mod instance;
mod kernels;
mod measure;
mod memory;
mod options;
mod start;

use std::path::{Path, PathBuf};

use crate::bench::{MachineFacts, Results, plot, text};
use crate::interop::uuid_text;
use crate::report::NewFile;

use super::output::print;
use super::setup::Machine;
use super::usage;
use axes::Axes;
use measure::{Machines, Measurement};
pub use options::{BenchCommand, BenchOptions};

/// Measures, or reads what was measured; prints it, and what differs from an earlier bench.
///
/// # Errors
/// The cases cannot be, a file cannot be read or written, the results are of two machines, or the machine failed.
pub fn run(options: &BenchOptions) -> anyhow::Result<()> {
    match &options.command {
        Some(BenchCommand::Kernels(options)) => return kernels::run(options),
        Some(BenchCommand::Start(options)) => return start::run(options),
        None => {}
    }
    if let Some(gpu) = std::env::var(instance::INSTANCE)
        .ok()
        .filter(|_| options.gpus.is_some())
    {
        return instance::serve(options, &gpu);
    }
    // First what can be wrong with files: a bench takes a while, and would have been in vain.
    let base = options
        .compare
        .as_deref()
        .map(|path| Ok::<_, anyhow::Error>((path, Results::read(path).map_err(usage)?)))
        .transpose()?;
    for path in files(options) {
        // Not kept open: a bench that is broken off leaves nothing behind.
        NewFile::create(path).map_err(usage)?;
    }
    if let Some(wanted) = &options.gpus {
        return gpus::run(options, wanted);
    }
    let results = match &options.read {
        Some(path) => {
            let results = Results::read(path).map_err(usage)?;
            check_machine(options, base.as_ref(), &results.machine)?;
            results
        }
        None => measured(options, base.as_ref())?,
    };
    print(text::results(&results))?;
    draw(options, &results)?;
    if let Some((_, base)) = &base {
        print(text::comparison(base, &results))?;
    }
    Ok(())
}

/// Runs the bench, and writes its file.
fn measured(options: &BenchOptions, base: Option<&(&Path, Results)>) -> anyhow::Result<Results> {
    let axes = Axes::of(options)?;
    let gpu = options.gpu.as_deref();
    let machines = Machines::open(&axes.processors, &axes.optional_processors, gpu)?;
    let cases = axes.cases(&machines.processors());
    let facts = facts(machines.all());
    check_machine(options, base, &facts)?;
    let mut measurement = Measurement::new(&machines, cases, axes.chains(), machines.budget(options));
    let (of_each, left_out) = measurement.trial()?;
    let taken = axes.measures_memory.then(|| measurement.memory()).transpose()?;
    let (frames, warm_up) = axes.frames(of_each);
    let seconds = of_each.as_secs_f64() * (frames + warm_up) as f64 * f64::from(axes.rounds);
    tracing::info!(
        "{} cases, {} rounds of {frames} frames each: about {} s",
        measurement.cases().len(),
        axes.rounds,
        seconds.ceil()
    );
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..=u64::from(u32::MAX)));
    let mut results = Results::new(facts, measurement.cases(), frames, warm_up, seed);
    results.left_out = left_out;
    for (case, taken) in results.cases.iter_mut().zip(taken.into_iter().flatten()) {
        case.memory = taken;
    }
    measurement.run(axes.rounds, &mut results)?;
    if let Some(path) = &options.json {
        let file = NewFile::create(path).map_err(usage)?;
        let path = file.write(&results.to_json()?).map_err(usage)?;
        tracing::info!("results: {}", path.display());
    }
    Ok(results)
}

/// The files that are to be written.
fn files(options: &BenchOptions) -> impl Iterator<Item = &Path> {
    let files = [&options.json, &options.plot_pixels, &options.plot_memory];
    files.into_iter().flatten().map(PathBuf::as_path)
}

/// Writes the plots that were asked for.
fn draw(options: &BenchOptions, results: &Results) -> anyhow::Result<()> {
    type Plot = fn(&Results) -> Option<String>;
    let plots: [(&Option<PathBuf>, Plot, &str); 2] = [
        (
            &options.plot_pixels,
            plot::pixels,
            "work of which two extents were measured in the same way",
        ),
        (
            &options.plot_memory,
            plot::memory,
            "memory of two numbers of frames in flight: the set `memory` measures it",
        ),
    ];
    for (path, plot, what) in plots {
        let Some(path) = path else { continue };
        match plot(results) {
            Some(picture) => {
                let path = NewFile::create(path)
                    .and_then(|file| file.write(&picture))
                    .map_err(usage)?;
                tracing::info!("plot: {}", path.display());
            }
            None => tracing::warn!("{} is not drawn: there is no {what}", path.display()),
        }
    }
    Ok(())
}

/// Refuses to compare what ran on two machines.
fn check_machine(
    options: &BenchOptions,
    base: Option<&(&Path, Results)>,
    machine: &MachineFacts,
) -> anyhow::Result<()> {
    let Some((path, base)) = base.filter(|_| !options.compare_anyway) else {
        return Ok(());
    };
    let differences: Vec<String> = machine
        .differences(&base.machine)
        .into_iter()
        .map(|[name, here, there]| format!("{name}: {here} against {there}"))
        .collect();
    if differences.is_empty() {
        return Ok(());
    }
    Err(usage(format!(
        "--compare {}: not of this machine as it is: {}; --compare-anyway compares all the same",
        path.display(),
        differences.join("; ")
    )))
}

/// What the times depend on. All machines are of one GPU.
fn facts(machines: &[Machine]) -> MachineFacts {
    let physical = &machines[0].device.physical;
    let cuda = machines.iter().find_map(|machine| machine.cuda.as_ref());
    MachineFacts {
        gpu: physical.name.clone(),
        uuid: uuid_text(&physical.uuid),
        vulkan_driver: physical.driver.trim().to_owned(),
        cuda_driver: cuda.map(|(driver, _)| format!("{}.{}", driver.version / 1000, driver.version % 1000 / 10)),
        cpu: cpu_name(),
        cpu_threads: std::thread::available_parallelism().map_or(1, Into::into),
        build: if cfg!(debug_assertions) { "debug" } else { "release" }.into(),
    }
}

/// As Linux names it; the architecture where it does not.
fn cpu_name() -> String {
    let described = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = described.lines().find_map(|line| line.strip_prefix("model name"));
    let name = named.map(|name| name.trim_start_matches([' ', '\t', ':']));
    name.unwrap_or(std::env::consts::ARCH).to_owned()
}
