//! From options to cases: the sets, and what options replace of them.

use std::time::Duration;

use crate::bench::{Case, IN_QUEUE, NAMED_SIZES};
use crate::kernels::{Chain, catalogue};
use crate::live::Fuse;
use crate::renderer::Schedule;
use crate::timing::Instrument;

use super::super::options::{DEFAULT_KERNELS, ProcessorChoice};
use super::super::size::Size;
use super::super::usage;
use super::options::{BenchOptions, BenchSet};

/// What is varied, and how often it is run.
#[derive(Debug)]
pub struct Axes {
    scenes: Vec<String>,
    sizes: Vec<Size>,
    chains: Vec<Chain>,
    /// Who is asked to run the chain.
    pub processors: Vec<ProcessorChoice>,
    /// Who runs it besides where the machine has it.
    pub optional_processors: Vec<ProcessorChoice>,
    /// What each renderer takes of memory is measured.
    pub measures_memory: bool,
    schedules: Vec<Schedule>,
    in_flight: Vec<u8>,
    instrument: Vec<Instrument>,
    fuse: Vec<Fuse>,
    /// Rounds of each case.
    pub rounds: u32,
    /// Frames of a round; `None`: as many as make a short bench.
    pub frames: Option<u64>,
    /// Frames before each round; `None`: an eighth of that.
    pub warm_up: Option<u64>,
}

/// How long a short bench takes on any machine, about.
const SHORT: Duration = Duration::from_secs(30);
/// Frames of its rounds: fewer are mostly the way in and out, more say nothing more.
const FEWEST: u64 = 5;
const MOST: u64 = 500;

/// The extents from that place to that of the named ones.
fn named(range: std::ops::RangeInclusive<usize>) -> Vec<Size> {
    let of = |(_, [width, height]): &(&str, [u32; 2])| Size {
        width: *width,
        height: *height,
    };
    NAMED_SIZES[range].iter().map(of).collect()
}

impl Axes {
    /// Those of the options' set, with what other options replace.
    ///
    /// # Errors
    /// An unknown effect.
    pub fn of(options: &BenchOptions) -> anyhow::Result<Self> {
        use Schedule::{CopyBack, Pipelined, Serial};
        let BenchOptions { set, .. } = options;
        let (scene, chain) = match set {
            BenchSet::Short => ("studio", "default"),
            BenchSet::Schedules => ("none", "none"),
            BenchSet::Instrument => ("studio", "all"),
            // Not the scene's cost, which is the GPU's part that draws.
            BenchSet::Pixels | BenchSet::Memory => ("none", "default"),
        };
        let (sizes, schedules, in_flight, instrument) = match set {
            BenchSet::Short => (
                named(0..=0),
                vec![Serial, Pipelined],
                vec![1, 3],
                vec![Instrument::Frame],
            ),
            BenchSet::Schedules => (
                named(0..=0),
                vec![Serial, Pipelined, CopyBack],
                vec![1, 2, 3, 4, 8],
                vec![Instrument::Frame],
            ),
            BenchSet::Instrument => (
                [named(1..=1), named(3..=3)].concat(),
                vec![Pipelined],
                vec![3],
                vec![Instrument::Off, Instrument::Frame, Instrument::Full],
            ),
            BenchSet::Pixels => (named(0..=5), vec![Pipelined], vec![3], vec![Instrument::Frame]),
            BenchSet::Memory => (
                [named(1..=1), named(3..=5)].concat(),
                vec![Pipelined],
                vec![1, 2, 4, 8],
                vec![Instrument::Frame],
            ),
        };
        // Those whose figures are quoted have fixed frames; `instrument` has more rounds, since it is to see less than 1 %.
        let (rounds, frames) = match set {
            BenchSet::Short | BenchSet::Pixels => (9, None),
            BenchSet::Schedules => (9, Some(1500)),
            BenchSet::Instrument => (15, Some(200)),
            // Memory is not a matter of rounds.
            BenchSet::Memory => (1, Some(FEWEST)),
        };
        let is_large = matches!(set, BenchSet::Pixels | BenchSet::Memory);
        let optional = is_large && options.processors.is_none();
        let chains = options.chains.clone().unwrap_or(vec![chain.into()]);
        Ok(Self {
            scenes: options.scenes.clone().unwrap_or(vec![scene.into()]),
            sizes: options.sizes.clone().unwrap_or(sizes),
            chains: chains.iter().map(|name| chain_of(name)).collect::<Result<_, _>>()?,
            processors: options.processors.clone().unwrap_or(vec![ProcessorChoice::Auto]),
            optional_processors: optional.then_some(ProcessorChoice::InQueue).into_iter().collect(),
            measures_memory: *set == BenchSet::Memory,
            schedules: options.schedules.clone().unwrap_or(schedules),
            in_flight: options.in_flight.clone().unwrap_or(in_flight),
            instrument: options.instrument.clone().unwrap_or(instrument),
            fuse: options.fuse.clone().unwrap_or(vec![Fuse::Auto]),
            rounds: options.rounds.unwrap_or(rounds),
            frames: options.frames.or(frames),
            warm_up: options.warm_up,
        })
    }

    /// Frames of a round and of its warm-up, where one frame of each case takes so long together.
    pub fn frames(&self, of_each: Duration) -> (u64, u64) {
        let frames = self.frames.unwrap_or_else(|| {
            let fitting = SHORT.as_secs_f64() / (of_each.as_secs_f64() * f64::from(self.rounds));
            (fitting as u64).clamp(FEWEST, MOST)
        });
        (frames, self.warm_up.unwrap_or(frames.div_ceil(8)))
    }

    /// The chains, found again by their effects' names.
    pub fn chains(&self) -> &[Chain] {
        &self.chains
    }

    /// All cases, each once, by size. `processors` are those that were found.
    pub fn cases(&self, processors: &[&'static str]) -> Vec<Case> {
        let mut cases = Vec::new();
        for size in &self.sizes {
            for scene in &self.scenes {
                for chain in &self.chains {
                    for processor in processors {
                        for (schedule, frames_in_flight) in self.orders(processor) {
                            for (instrument, fuse) in self.ways_of(processor) {
                                cases.push(Case {
                                    scene: scene.trim().to_owned(),
                                    width: size.width,
                                    height: size.height,
                                    chain: names(chain),
                                    processor: (*processor).to_owned(),
                                    schedule,
                                    frames_in_flight,
                                    instrument,
                                    fuse,
                                });
                            }
                        }
                    }
                }
            }
        }
        let mut once: Vec<Case> = Vec::new();
        for case in cases {
            if !once.contains(&case) {
                once.push(case);
            }
        }
        once
    }

    /// How much is measured, and what is fused: the host fuses nothing.
    fn ways_of(&self, processor: &str) -> impl Iterator<Item = (Instrument, Fuse)> {
        let fuse = if processor == "host" {
            &[Fuse::Auto][..]
        } else {
            &self.fuse
        };
        let of = |instrument: Instrument| fuse.iter().map(move |fuse| (instrument, *fuse));
        self.instrument.iter().copied().flat_map(of)
    }

    /// Schedules with the frames they have in flight: serial has one. A processor that is in the queue has one order.
    fn orders(&self, processor: &str) -> Vec<(Schedule, usize)> {
        let of = |schedule: &Schedule| match schedule {
            Schedule::Serial => vec![(Schedule::Serial, 1)],
            several => {
                let counts = self.in_flight.iter();
                counts.map(|count| (*several, (*count).into())).collect()
            }
        };
        match processor {
            IN_QUEUE => of(&Schedule::Pipelined),
            _ => self.schedules.iter().flat_map(of).collect(),
        }
    }
}

/// The names of a chain's effects.
pub fn names(chain: &Chain) -> Vec<String> {
    chain.enabled_names().into_iter().map(str::to_owned).collect()
}

fn chain_of(text: &str) -> anyhow::Result<Chain> {
    let names: Vec<&str> = match text.trim() {
        "none" => Vec::new(),
        "default" => DEFAULT_KERNELS.split(',').collect(),
        "all" => catalogue().keyed().map(|(_, effect)| effect.name.as_str()).collect(),
        list => list.split('+').map(str::trim).collect(),
    };
    Chain::with_enabled(catalogue(), &names)
        .map_err(|error| usage(format!("--chains {text}: {error}; or none, default, all")))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::cli::{Cli, Command};

    fn ways(arguments: &str, processors: &[&'static str]) -> Vec<String> {
        let cli = Cli::try_parse_from(["handover", "bench"].into_iter().chain(arguments.split_whitespace()));
        let Ok(Cli {
            command: Some(Command::Bench(options)),
            ..
        }) = cli
        else {
            panic!("{arguments} is not a bench");
        };
        let axes = Axes::of(&options).expect("effects that there are");
        axes.cases(processors).iter().map(Case::way).collect()
    }

    #[test]
    fn a_processor_in_the_queue_has_no_schedule_and_all_counts_of_frames() {
        let found = ways(
            "schedules --schedules serial,pipelined --in-flight 1,4",
            &["cuda", "in-queue"],
        );
        let wanted = [
            "cuda, serial, 1 in flight, instrument frame",
            "cuda, pipelined, 1 in flight, instrument frame",
            "cuda, pipelined, 4 in flight, instrument frame",
            "in-queue, 1 in flight, instrument frame",
            "in-queue, 4 in flight, instrument frame",
        ];
        assert_eq!(found, wanted);
        let alone = ways("schedules --in-flight 2 --schedules serial", &["in-queue"]);
        assert_eq!(alone, ["in-queue, 2 in flight, instrument frame"]);
    }
}
