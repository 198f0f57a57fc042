//! `handover bench kernels --processor host`: how long effects take on the CPU, and what they make of a picture.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::Context;
use fastrand::Rng;
use half::f16;
use serde::Serialize;

use crate::bench::MachineFacts;
use crate::kernels::reference::{FrameParameters, HostImages, HostScratch, MappedImage, run};
use crate::kernels::{BrokenPixels, FrameExtents, Given, Plan, TestGuides, random_image};
use crate::report::NewFile;
use crate::timing::statistics::sorted;
use crate::timing::table::aligned;

use super::super::output::print;
use super::super::usage;
use super::kernels::{KernelBenchOptions, Work};

/// How long the timed frames of a round take together, about.
const ROUND_MS: f64 = 150.0;
/// Frames of a round.
const FEWEST: f64 = 3.0;
const MOST: f64 = 100.0;

/// The file of `--json`.
#[derive(Serialize)]
struct HostResults {
    format: &'static str,
    format_version: u32,
    handover: &'static str,
    date: String,
    machine: MachineFacts,
    /// From which the order was drawn.
    seed: u64,
    effects: Vec<HostTimes>,
}

/// The times of one effect or chain at one extent.
#[derive(Serialize)]
struct HostTimes {
    effect: String,
    /// Extent of what is shown, texels.
    extent: [u32; 2],
    /// Mean time of a frame in each round, microseconds.
    rounds_us: Vec<f64>,
    /// Its launches: their names, and the median of their times, microseconds.
    launches_us: Vec<(String, f64)>,
}

/// Texels of an RGBA16F image in memory, and how to run a plan over them.
struct Frame {
    extents: FrameExtents,
    color: Vec<[f16; 4]>,
    guides: TestGuides,
    processed: Vec<[f16; 4]>,
    scratch: HostScratch,
    number: u64,
}

impl Frame {
    fn new(extents: FrameExtents) -> Self {
        let texels = extents.display.iter().map(|length| *length as usize).product();
        Self {
            extents,
            color: random_image(1, extents.scene, BrokenPixels::Absent),
            guides: TestGuides::random(1, extents.scene),
            processed: vec![[f16::ZERO; 4]; texels],
            scratch: HostScratch::default(),
            number: 0,
        }
    }

    /// The next frame of the plan. Microseconds, of all and of each launch.
    fn run(&mut self, plan: &Plan) -> anyhow::Result<(f64, Vec<Option<f64>>)> {
        self.number += 1;
        let pitch = |[width, _]: [u32; 2]| width as usize * size_of::<[f16; 4]>();
        let color = MappedImage {
            bytes: bytemuck::cast_slice(&self.color),
            pitch: pitch(self.extents.scene),
        };
        let out = (
            bytemuck::cast_slice_mut(&mut self.processed),
            pitch(self.extents.display),
        );
        let images = HostImages::new(self.extents, color, out, &mut self.scratch)?;
        let mut images = images.with_guides(self.guides.host());
        let frame = FrameParameters {
            frame: self.number,
            time: self.number as f32 / 60.0,
            time_delta: 1.0 / 60.0,
            ..FrameParameters::default()
        };
        let began = Instant::now();
        let launches = run(plan, &mut images, &frame)?;
        let frame_us = began.elapsed().as_secs_f64() * 1e6;
        let us = |[from, until]: [Duration; 2]| (until - from).as_secs_f64() * 1e6;
        let launches = launches.iter().map(|ran| ran.map(us));
        Ok((frame_us, launches.collect()))
    }
}

/// What is measured of a chain, and where it stands.
struct Case {
    plan: Plan,
    frame: Frame,
    frames: u32,
    launches: Vec<Vec<f64>>,
    times: HostTimes,
}

/// Measures, prints and writes.
///
/// # Errors
/// An effect without a reference, or a file that cannot be written.
pub(super) fn bench(options: &KernelBenchOptions, works: &[Work], machine: MachineFacts) -> anyhow::Result<()> {
    let seed = options.seed.unwrap_or_else(|| fastrand::u64(..=u64::from(u32::MAX)));
    let mut rng = Rng::with_seed(seed);
    let mut effects = Vec::new();
    for size in &options.sizes {
        let mut cases = works
            .iter()
            .map(|work| case(work, [size.width, size.height]))
            .collect::<anyhow::Result<Vec<_>>>()?;
        if let Some(folder) = &options.pictures {
            cases.iter_mut().try_for_each(|case| write_pictures(folder, case))?;
        }
        for _ in 0..options.rounds {
            let mut order: Vec<usize> = (0..cases.len()).collect();
            rng.shuffle(&mut order);
            order.into_iter().try_for_each(|index| round(&mut cases[index]))?;
        }
        effects.extend(cases.into_iter().map(finished));
    }
    let results = HostResults {
        format: "handover bench kernels on the host",
        format_version: 1,
        handover: env!("CARGO_PKG_VERSION"),
        date: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        machine,
        seed,
        effects,
    };
    if let Some(path) = &options.json {
        let file = NewFile::create(path).map_err(usage)?;
        let path = file
            .write(&(serde_json::to_string_pretty(&results)? + "\n"))
            .map_err(usage)?;
        tracing::info!("results: {}", path.display());
    }
    print(text(&results, options.launches))
}

fn case(work: &Work, display: [u32; 2]) -> anyhow::Result<Case> {
    let upscales = work.effects.iter().any(|effect| effect.upscales);
    let scene = if upscales {
        display.map(|length| (2 * length).div_ceil(3))
    } else {
        display
    };
    let given = Given {
        guides: true,
        scaled: upscales,
        transforms: true,
    };
    let plan = work.chain.plan_over(given);
    let mut frame = Frame::new(FrameExtents { scene, display });
    // The first frame finds its memory; the second says how many make a round.
    frame.run(&plan)?;
    let (us, _) = frame.run(&plan)?;
    Ok(Case {
        frames: (ROUND_MS * 1e3 / us).clamp(FEWEST, MOST) as u32,
        launches: vec![Vec::new(); plan.launches.len()],
        times: HostTimes {
            effect: work.name.clone(),
            extent: display,
            rounds_us: Vec::new(),
            launches_us: Vec::new(),
        },
        plan,
        frame,
    })
}

fn round(case: &mut Case) -> anyhow::Result<()> {
    // What others used meanwhile is not in the caches any more.
    case.frame.run(&case.plan)?;
    let mut sum = 0.0;
    for _ in 0..case.frames {
        let (us, launches) = case.frame.run(&case.plan)?;
        sum += us;
        for (all, us) in case.launches.iter_mut().zip(launches) {
            all.extend(us);
        }
    }
    case.times.rounds_us.push(sum / f64::from(case.frames));
    Ok(())
}

fn median(values: &[f64]) -> f64 {
    sorted(values).get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn finished(case: Case) -> HostTimes {
    let launches = case.plan.launches.iter().zip(&case.launches);
    // What is made once was made before the first round.
    let launches = launches.filter(|(launch, _)| !launch.is_once());
    HostTimes {
        launches_us: launches
            .map(|(launch, all)| (launch.entry().to_owned(), median(all)))
            .collect(),
        ..case.times
    }
}

/// The picture and what the chain made of it: RGBA, halves, little-endian, the upper row first.
fn write_pictures(folder: &Path, case: &mut Case) -> anyhow::Result<()> {
    let [width, height] = case.times.extent;
    let name = format!("{}-{width}x{height}.rgba16f", case.times.effect);
    let input = format!(
        "input-{}x{}.rgba16f",
        case.frame.extents.scene[0], case.frame.extents.scene[1]
    );
    for (name, texels) in [(input, &case.frame.color), (name, &case.frame.processed)] {
        let path = folder.join(name);
        let bytes: Vec<u8> = texels
            .as_flattened()
            .iter()
            .flat_map(|half| half.to_le_bytes())
            .collect();
        std::fs::write(&path, bytes).with_context(|| format!("write the picture {}", path.display()))?;
    }
    Ok(())
}

fn text(results: &HostResults, launches: bool) -> String {
    let HostResults { machine, effects, .. } = results;
    let mut rows = vec![["on the host, µs a frame", "", "median", "lowest to highest"].map(str::to_owned)];
    for times in effects {
        let ascending = sorted(&times.rounds_us);
        let ends = ascending.first().zip(ascending.last());
        rows.push([
            times.effect.clone(),
            format!("{}x{}", times.extent[0], times.extent[1]),
            format!("{:.0}", median(&times.rounds_us)),
            ends.map_or_else(String::new, |(low, high)| format!("{low:.0} to {high:.0}")),
        ]);
        if launches && times.launches_us.len() > 1 {
            let launch =
                |(name, us): &(String, f64)| [format!("  {name}"), String::new(), format!("{us:.0}"), String::new()];
            rows.extend(times.launches_us.iter().map(launch));
        }
    }
    format!(
        "handover {}, {}, {} threads, {}, {}\n{}",
        results.handover,
        machine.cpu,
        rayon::current_num_threads(),
        machine.build,
        results.date,
        aligned(&rows).trim_end()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Chain, catalogue};

    fn chain_of(name: &str) -> Work {
        let effect = catalogue().by_name(name).expect("an effect");
        Work {
            name: name.into(),
            effects: vec![effect.clone()],
            chain: Chain::with_enabled(catalogue(), &[name]).expect("an effect"),
        }
    }

    #[test]
    fn a_round_has_a_time_for_each_launch_and_the_pictures_are_those_of_the_chain() {
        let folder = tempfile::tempdir().unwrap();
        let mut case = case(&chain_of("complement"), [9, 5]).unwrap();
        case.frames = 3;
        round(&mut case).unwrap();
        write_pictures(folder.path(), &mut case).unwrap();
        let read = |name: &str| -> Vec<f32> {
            let bytes = std::fs::read(folder.path().join(name)).unwrap();
            let halves = bytes.chunks_exact(2).map(|half| f16::from_le_bytes([half[0], half[1]]));
            halves.map(f16::to_f32).collect()
        };
        let (input, output) = (read("input-9x5.rgba16f"), read("complement-9x5.rgba16f"));
        assert_eq!(input.len(), 9 * 5 * 4);
        let expected: Vec<f32> = input.iter().map(|value| f16::from_f32(1.0 - value).to_f32()).collect();
        assert_eq!(output, expected);
        let times = finished(case);
        assert_eq!(times.launches_us.len(), 1);
        assert!(times.rounds_us[0] > 0.0 && times.launches_us[0].1 > 0.0);
    }

    #[test]
    fn an_effect_that_upscales_is_given_two_thirds() {
        let case = case(&chain_of("easu"), [30, 20]).unwrap();
        assert_eq!(case.frame.extents.scene, [20, 14]);
        assert_eq!(case.frame.processed.len(), 600);
    }
}
