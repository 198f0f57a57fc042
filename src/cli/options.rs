//! The options, as clap parses them.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::live::Fuse;
use crate::present::VSync;
use crate::timing::Instrument;

use super::bench::BenchOptions;
use super::size::{Size, parse_size};
use super::ways::{Prefer, ViewProcessor, ViewSchedule};

/// The effects that are on when nothing else was asked for.
pub(super) const DEFAULT_KERNELS: &str = "bloom,tonemap,sharpen,vignette";

const EXAMPLES: &str = "\
Examples:
  handover                                           a window; keys 1 to 8 switch the kernels, H lists the keys
  handover --kernels bloom,tonemap --size 1920x1080  these two kernels, in this order
  handover --present offscreen --frames 300 --screenshot last.png --time-step 0.016
  handover --capture run-1 --frames 1000             timings of every frame: run-1/frames.csv, trace.pftrace, capture.json
  handover report run-1 run-2 --html report.html     their statistics, what differs, and a page with plots
  handover bench schedules                           what one frame at a time costs, and several in flight
  handover --preset film                             a chain from a file; handover presets lists them
  handover doctor                                    what this machine has, what it lacks, and what to do about it
  handover selftest                                  proves the hand-over and every kernel on this machine";

/// One frame, handed back and forth between Vulkan and CUDA on the same GPU.
#[derive(Debug, Parser)]
#[command(version, args_conflicts_with_subcommands = true, after_help = EXAMPLES)]
pub struct Cli {
    /// What to do instead of showing the scene.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Options of the view.
    #[command(flatten)]
    pub view: ViewOptions,
    /// Say more (-v), or everything (-vv).
    #[arg(short, long, action = clap::ArgAction::Count, global = true, help_heading = "Diagnosis")]
    pub verbose: u8,
}

/// Everything that is not the view.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Renders fixed work offscreen and says how long it took, what differs, and what does not.
    Bench(Box<BenchOptions>),
    /// Says what this machine has and lacks, and what to do about it.
    Doctor(DoctorOptions),
    /// Lists the presets that there are, those of the program and yours.
    Presets,
    /// Proves the hand-over and every kernel on this machine.
    Selftest(SelftestOptions),
    /// Prints the statistics of captures again, and compares two.
    Report(ReportOptions),
}

/// Options of `handover doctor`.
#[derive(Debug, Args)]
pub struct DoctorOptions {
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
    /// The GPU to look at: its number, a part of its name, or the start of its UUID.
    #[arg(long, value_name = "GPU")]
    pub gpu: Option<String>,
}

/// Options of `handover selftest`.
#[derive(Debug, Args)]
pub struct SelftestOptions {
    /// The parts to run; all by default.
    #[arg(value_enum, value_name = "PART")]
    pub parts: Vec<SelftestPart>,
    /// Who runs the chain; by default CUDA where it is there.
    #[arg(long, value_enum, default_value_t = ProcessorChoice::Auto)]
    pub processor: ProcessorChoice,
    /// The GPU to test: its number, a part of its name, or the start of its UUID.
    #[arg(long, value_name = "GPU")]
    pub gpu: Option<String>,
    /// Frames of the tag test.
    #[arg(long, value_name = "N", default_value_t = 10_000, value_parser = clap::value_parser!(u64).range(1..))]
    pub frames: u64,
    /// Effects of the kernel test; all by default.
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub kernels: Vec<String>,
    /// The kernel test leaves out the largest extent, 3841x2161, for which the references take minutes.
    #[arg(long)]
    pub without_largest: bool,
    /// Whether the kernel test also runs chains whose neighbours are one launch.
    #[arg(long, value_enum, default_value_t = Fuse::Auto)]
    pub fuse: Fuse,
    /// Resizes of the resize test.
    #[arg(long, value_name = "N", default_value_t = 200, value_parser = clap::value_parser!(u32).range(1..))]
    pub resizes: u32,
    /// Saves of the live test, every second one of a broken kernel.
    #[arg(long, value_name = "N", default_value_t = 40, value_parser = clap::value_parser!(u32).range(4..))]
    pub saves: u32,
    /// Run with the validation layer and synchronization validation.
    #[arg(long)]
    pub validate: bool,
}

/// Options of `handover report`.
#[derive(Debug, Args)]
pub struct ReportOptions {
    /// The captures: their folders, or a frames.csv. Of exactly two the second is compared with the first.
    #[arg(value_name = "DIR", required = true)]
    pub captures: Vec<PathBuf>,
    /// Write one page with plots that opens without a network. FILE must not be there yet.
    #[arg(long, value_name = "FILE")]
    pub html: Option<PathBuf>,
    /// Print all numbers as JSON.
    #[arg(long)]
    pub json: bool,
}

/// A part of the self-test.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SelftestPart {
    /// A pattern goes from Vulkan through the chain and back, texel by texel.
    Handover,
    /// Every kernel against its reference.
    Kernels,
    /// Saved kernels are taken over between two frames, and broken ones change nothing.
    Live,
    /// A withheld signal must end in the bounded wait, not in a picture.
    Withheld,
    /// Every schedule gives the same picture, to the bit.
    Schedules,
    /// Every texel of every frame carries the frame's own tag.
    Tags,
    /// Resizes leave no descriptor behind.
    Resizes,
    /// The same pictures, whether kernels run inside the Vulkan queue or on CUDA.
    Pictures,
    /// Work of known length appears with that length.
    Timing,
    /// A frame like the one before asks the host for no memory.
    Allocations,
    /// Every example of the interop library.
    Interop,
}

/// Who runs the chain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ProcessorChoice {
    /// CUDA where it is there, else the host.
    Auto,
    /// CUDA kernels in this process.
    Cuda,
    /// The same kernels inside the Vulkan queue, one submission a frame: the fastest, where the GPU has VK_NVX_binary_import and
    /// VK_NVX_image_view_handle.
    InQueue,
    /// The CPU references on all cores.
    Host,
}

/// Where frames go.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PresentChoice {
    /// A swapchain, else a software window, else offscreen.
    Auto,
    /// A window, by Vulkan.
    Swapchain,
    /// A window, by reading frames back.
    Software,
    /// No window.
    Offscreen,
}

/// Options of the view.
#[derive(Debug, Clone, Args)]
pub struct ViewOptions {
    /// What Vulkan draws: studio, none.
    #[arg(long, value_name = "NAME", default_value = "studio", help_heading = "What is shown")]
    pub scene: String,
    /// A kernel of yours: a .cu file, which is compiled at the start and again whenever it is saved. May be given again for
    /// another. docs/writing-kernels.md says how to write one.
    #[arg(long, value_name = "FILE.cu", help_heading = "What is shown")]
    pub kernel: Vec<PathBuf>,
    /// The effects that are on at the start, in this order; `none` for none. An element with a / in it is a folder, whose kernels
    /// are all there, and watched. By default bloom,tonemap,sharpen,vignette, and what --kernel names.
    #[arg(long, value_name = "A,B", value_delimiter = ',', help_heading = "What is shown")]
    pub kernels: Option<Vec<String>>,
    /// The effects, their order and their parameters as a preset has them: its name, or a TOML file.
    #[arg(long, value_name = "NAME|FILE", help_heading = "What is shown")]
    pub preset: Option<String>,
    /// Set a parameter of an effect, or lut.file to a colour table (.cube); may be given again for another. docs/kernels.md has
    /// their ranges.
    #[arg(long, value_name = "EFFECT.PARAMETER=VALUE", help_heading = "What is shown")]
    pub set: Vec<String>,
    /// Width and height of the frames, and of the window at its start.
    #[arg(long, value_name = "WxH", default_value = "1280x720", value_parser = parse_size, help_heading = "What is shown")]
    pub size: Size,
    /// Draw the scene at this part of the width and height, above 0 and at most 1; `easu` in the chain upscales it.
    #[arg(long, value_name = "S", default_value_t = 1.0, value_parser = parse_render_scale, help_heading = "What is shown")]
    pub render_scale: f32,
    /// Start with the overlay: what every frame costs, as graphs over the picture.
    #[arg(long, help_heading = "What is shown")]
    pub overlay: bool,
    /// Size of what is drawn over the picture: 1 to 4; by default as the display has it.
    #[arg(long, value_name = "X", value_parser = parse_ui_scale, help_heading = "What is shown")]
    pub ui_scale: Option<f32>,
    /// Start on the whole screen.
    #[arg(long, help_heading = "What is shown")]
    pub fullscreen: bool,
    /// Seconds that pass in the scene with each frame; by default those that pass on the clock.
    #[arg(long, value_name = "S", value_parser = parse_seconds, help_heading = "What is shown")]
    pub time_step: Option<f32>,

    /// Who runs the kernels; by default CUDA where it is there, else the host.
    #[arg(long, value_enum, help_heading = "How it is made")]
    pub processor: Option<ViewProcessor>,
    /// The order in which the parts of frames are submitted; by default pipelined. The processor in-queue submits frames whole, and
    /// takes none.
    #[arg(long, value_enum, help_heading = "How it is made")]
    pub schedule: Option<ViewSchedule>,
    /// What `auto` picks by, for both options above; by default throughput.
    #[arg(long, value_enum, help_heading = "How it is made")]
    pub prefer: Option<Prefer>,
    /// How many frames may be under way at a time.
    #[arg(
        long,
        value_name = "N",
        default_value_t = 3,
        value_parser = clap::value_parser!(u8).range(1..=8),
        help_heading = "How it is made"
    )]
    pub frames_in_flight: u8,
    /// How much of every frame is measured.
    #[arg(long, value_enum, default_value_t = Instrument::Full, help_heading = "How it is made")]
    pub instrument: Instrument,
    /// Whether neighbouring effects that make each texel of one run as one kernel, where CUDA runs them.
    #[arg(long, value_enum, default_value_t = Fuse::Auto, help_heading = "How it is made")]
    pub fuse: Fuse,
    /// Where frames go.
    #[arg(long, value_enum, default_value_t = PresentChoice::Auto, help_heading = "How it is made")]
    pub present: PresentChoice,
    /// Whether presenting waits for the display.
    #[arg(long, value_enum, default_value_t = VSync::On, help_heading = "How it is made")]
    pub vsync: VSync,
    /// The GPU: its number, a part of its name, or the start of its UUID.
    #[arg(long, value_name = "GPU", help_heading = "How it is made")]
    pub gpu: Option<String>,

    /// End after so many frames. Offscreen the default is 300.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "What is kept")]
    pub frames: Option<u64>,
    /// Write the timings of every frame to DIR/frames.csv, and a trace for Perfetto to DIR/trace.pftrace. DIR must not be there
    /// yet.
    #[arg(long, value_name = "DIR", help_heading = "What is kept")]
    pub capture: Option<PathBuf>,
    /// Write the chain as it is at the end as a preset: a name in your folder of presets, or a TOML file, which must not be there
    /// yet.
    #[arg(long, value_name = "NAME|FILE", help_heading = "What is kept")]
    pub save_preset: Option<String>,
    /// Write the last frame as PNG.
    #[arg(long, value_name = "FILE", help_heading = "What is kept")]
    pub screenshot: Option<PathBuf>,

    /// Run with the validation layer and synchronization validation; its errors make the exit code 1.
    #[arg(long, help_heading = "Diagnosis")]
    pub validate: bool,
    /// Seconds after which a frame that has not come is overdue.
    #[arg(long, value_name = "S", default_value = "10", value_parser = parse_seconds, help_heading = "Diagnosis")]
    pub wait_limit: f32,
    /// From this frame on, do not signal `processed`: to see how a lost signal ends.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..), help_heading = "Diagnosis")]
    pub withhold_processed: Option<u64>,
    /// Print, as JSON, what was done until the first frame, and when: what `bench start` reads.
    #[arg(long, hide = true)]
    pub tell_start: bool,
}

impl ViewOptions {
    /// The wait limit as a duration.
    pub fn wait_limit(&self) -> Duration {
        Duration::from_secs_f32(self.wait_limit)
    }
}

/// An hour: more is a slip of the pen.
const MOST_SECONDS: f32 = 3600.0;

fn parse_seconds(text: &str) -> Result<f32, String> {
    text.parse()
        .ok()
        .filter(|seconds: &f32| *seconds > 0.0 && *seconds <= MOST_SECONDS)
        .ok_or_else(|| format!("expected seconds above 0 and up to {MOST_SECONDS}"))
}

fn parse_render_scale(text: &str) -> Result<f32, String> {
    text.parse()
        .ok()
        .filter(|scale| *scale > 0.0 && *scale <= 1.0)
        .ok_or_else(|| "expected a number above 0 and at most 1".into())
}

fn parse_ui_scale(text: &str) -> Result<f32, String> {
    text.parse()
        .ok()
        .filter(|scale| (1.0..=4.0).contains(scale))
        .ok_or_else(|| "expected a number from 1 to 4".into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn seconds_are_positive_and_finite() {
        assert_eq!(parse_seconds("0.016"), Ok(0.016));
        for wrong in ["0", "-1", "NaN", "inf", "1e9", "soon"] {
            assert!(parse_seconds(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_render_scale_is_above_0_and_at_most_1() {
        assert_eq!(parse_render_scale("0.5"), Ok(0.5));
        assert_eq!(parse_render_scale("1"), Ok(1.0));
        for wrong in ["0", "-0.5", "1.1", "NaN", "50%", ""] {
            assert!(parse_render_scale(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_scale_is_a_number_from_1_to_4() {
        assert_eq!(parse_ui_scale("1.5"), Ok(1.5));
        for wrong in ["0.9", "4.1", "NaN", "200%", ""] {
            assert!(parse_ui_scale(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn frames_in_flight_are_one_to_eight() {
        for (count, valid) in [("0", false), ("1", true), ("8", true), ("9", false)] {
            let parsed = Cli::try_parse_from(["handover", "--frames-in-flight", count]);
            assert_eq!(parsed.is_ok(), valid, "{count}");
        }
    }
}
