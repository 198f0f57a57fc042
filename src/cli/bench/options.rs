//! The options of a bench.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use crate::bench::{MOST_ROUNDS, NAMED_SIZES};
use crate::live::Fuse;
use crate::renderer::Schedule;
use crate::timing::Instrument;

use super::super::options::ProcessorChoice;
use super::super::size::{Size, parse_size};
use super::kernels::KernelBenchOptions;
use super::start::StartBenchOptions;

/// Options of `handover bench`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct BenchOptions {
    /// Other benches.
    #[command(subcommand)]
    pub command: Option<BenchCommand>,

    /// The set of cases; options below replace what it says.
    #[arg(value_enum, value_name = "SET", default_value_t = BenchSet::Short)]
    pub set: BenchSet,

    /// What Vulkan draws: studio, none.
    #[arg(
        long,
        value_name = "A,B",
        value_delimiter = ',',
        help_heading = "The work: each with each"
    )]
    pub scenes: Option<Vec<String>>,
    /// Extents of the frames: WIDTHxHEIGHT, or 720p, 1080p, 1440p, 4k, 8k, 16k (16384x16384).
    #[arg(long, value_name = "A,B", value_delimiter = ',', value_parser = parse_named_size, help_heading = "The work: each with each")]
    pub sizes: Option<Vec<Size>>,
    /// The effects of each chain, joined by +, in their order; or none, default (those of the view), all.
    #[arg(
        long,
        value_name = "A+B,C",
        value_delimiter = ',',
        help_heading = "The work: each with each"
    )]
    pub chains: Option<Vec<String>>,

    /// Who runs the chain; by default auto, and in the sets `pixels` and `memory` in-queue too, where the GPU has that.
    #[arg(
        long,
        value_name = "A,B",
        value_enum,
        value_delimiter = ',',
        help_heading = "The ways to do it: each with each"
    )]
    pub processors: Option<Vec<ProcessorChoice>>,
    /// The order in which the parts of frames are submitted; serial has one frame in flight, and the processor in-queue none of these.
    #[arg(
        long,
        value_name = "A,B",
        value_enum,
        value_delimiter = ',',
        help_heading = "The ways to do it: each with each"
    )]
    pub schedules: Option<Vec<Schedule>>,
    /// How many frames are under way at a time, 1 to 8.
    #[arg(
        long,
        value_name = "N,M",
        value_delimiter = ',',
        value_parser = clap::value_parser!(u8).range(1..=8),
        help_heading = "The ways to do it: each with each"
    )]
    pub in_flight: Option<Vec<u8>>,
    /// How much of every frame is measured.
    #[arg(
        long,
        value_name = "A,B",
        value_enum,
        value_delimiter = ',',
        help_heading = "The ways to do it: each with each"
    )]
    pub instrument: Option<Vec<Instrument>>,

    /// Whether neighbouring effects that make each texel of one run as one kernel, where CUDA runs them.
    #[arg(
        long,
        value_name = "A,B",
        value_enum,
        value_delimiter = ',',
        help_heading = "The ways to do it: each with each"
    )]
    pub fuse: Option<Vec<Fuse>>,

    /// Rounds; each runs every case once, in an order of its own. Below 6 no difference is called.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=MOST_ROUNDS as i64), help_heading = "How often")]
    pub rounds: Option<u32>,
    /// Frames of a round; in the set `short` by default as many as make half a minute.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1_000_000), help_heading = "How often")]
    pub frames: Option<u64>,
    /// Frames before each round that are not measured; by default an eighth of a round.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(0..=1_000_000), help_heading = "How often")]
    pub warm_up: Option<u64>,
    /// What the order is drawn from; by default another one each time.
    #[arg(long, value_name = "N", help_heading = "How often")]
    pub seed: Option<u64>,
    /// The GPU: its number, a part of its name, or the start of its UUID.
    #[arg(long, value_name = "GPU", help_heading = "How often")]
    pub gpu: Option<String>,
    /// One instance of the program for each of these GPUs, alone and all at the same time: what they take from one another. `all`, or as
    /// --gpu has them.
    #[arg(
        long,
        value_name = "all|A,B",
        value_delimiter = ',',
        conflicts_with_all = ["gpu", "compare", "plot_pixels", "plot_memory"],
        help_heading = "How often"
    )]
    pub gpus: Option<Vec<String>>,
    /// GPU memory that the cases may hold together, MiB; one that has to give way is made anew for its next round. By default
    /// half of what is free.
    #[arg(long, value_name = "MIB", help_heading = "How often")]
    pub memory: Option<u32>,

    /// Write all rounds to FILE, which must not be there yet.
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub json: Option<PathBuf>,
    /// Draw cost against pixels into FILE, an SVG that must not be there yet.
    #[arg(long, value_name = "FILE.svg", help_heading = "Results")]
    pub plot_pixels: Option<PathBuf>,
    /// Draw GPU memory against frames in flight into FILE, an SVG that must not be there yet.
    #[arg(long, value_name = "FILE.svg", help_heading = "Results")]
    pub plot_memory: Option<PathBuf>,
    /// Say what differs from the results in BASE.
    #[arg(long, value_name = "BASE", help_heading = "Results")]
    pub compare: Option<PathBuf>,
    /// Compare with results of another machine, driver or build too.
    #[arg(long, requires = "compare", help_heading = "Results")]
    pub compare_anyway: bool,
    /// Render nothing: take the results from FILE.
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with_all = [
            "set", "scenes", "sizes", "chains", "processors", "schedules", "in_flight", "instrument", "fuse", "rounds", "frames",
            "warm_up", "seed", "gpu", "gpus", "memory", "json",
        ],
        help_heading = "Results"
    )]
    pub read: Option<PathBuf>,
}

/// A bench of something else than frames.
#[derive(Debug, Subcommand)]
pub enum BenchCommand {
    /// Every effect by itself: how long it takes, and what of the device's bandwidth or arithmetic it reaches.
    Kernels(KernelBenchOptions),
    /// The program itself: how long it takes from its start to its first processed frame.
    Start(StartBenchOptions),
}

/// A named set of cases.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum BenchSet {
    /// The view as it starts, serial and pipelined.
    Short,
    /// The hand-over alone, 1280x720: serial, and the other schedules with 1 to 8 frames in flight.
    Schedules,
    /// What measuring costs: all effects at 1080p and 4K, with nothing, parts and kernels measured.
    Instrument,
    /// How cost grows with pixels: the chain that is the default, 720p to 16384x16384; what exceeds the memory or a limit is left out.
    Pixels,
    /// How much GPU memory each frame in flight takes: 1 to 8 of them, 1080p to 16384x16384.
    Memory,
}

/// Reads `1280x720`, or the name of a size.
pub fn parse_named_size(text: &str) -> Result<Size, String> {
    let name = text.to_ascii_lowercase();
    if let Some((_, [width, height])) = NAMED_SIZES.into_iter().find(|(other, _)| *other == name) {
        return Ok(Size { width, height });
    }
    let names = NAMED_SIZES.map(|(name, _)| name).join(", ");
    parse_size(text).map_err(|error| format!("{error}; or {names}"))
}
