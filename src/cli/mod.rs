//! The command line: one file a command.

mod allocation_test;
mod auto;
mod bench;
mod capture;
mod capture_facts;
mod doctor;
mod early_context;
mod examples;
mod fused_kernels;
mod fused_test;
mod kernel_once;
mod kernel_test;
mod live;
mod live_plan;
mod live_test;
mod log;
mod options;
mod output;
mod overlay;
mod picture_test;
mod presets;
mod report;
mod schedule_test;
mod screen_tags;
mod selftest;
mod selftest_result;
mod session;
mod setup;
mod size;
mod start;
mod steering;
mod timing_test;
mod tuning;
mod view;
mod ways;
mod wishes;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

pub use options::{Cli, Command, PresentChoice, ProcessorChoice, ViewOptions};
pub use setup::{Machine, Request};
pub use size::{Size, parse_size};
pub use ways::{Prefer, ViewProcessor, ViewSchedule};

/// What the user asked for cannot be: exit code 2.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct UsageError(pub String);

/// Turns an error into a [`UsageError`] with the same text.
pub(crate) fn usage(error: impl std::fmt::Display) -> anyhow::Error {
    UsageError(error.to_string()).into()
}

/// Parses the arguments, runs the command, and says how it went: 0, 1 for the machine's failures, 2 for the user's.
pub fn main() -> ExitCode {
    start::began();
    // SAFETY: the process has no other thread yet.
    unsafe { crate::cuda::load_lazily() };
    if let Some(code) = examples::answer_as_child() {
        return code;
    }
    let cli = Cli::parse();
    log::start(cli.verbose);
    let result = match cli.command {
        None => view::run(&cli.view),
        Some(Command::Bench(options)) => bench::run(&options),
        Some(Command::Doctor(options)) => doctor::run(&options),
        Some(Command::Selftest(options)) => selftest::run(&options),
        Some(Command::Report(options)) => report::run(&options),
        Some(Command::Presets) => presets::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody may be there to read it: the exit code says it too.
            let _ = writeln!(std::io::stderr(), "handover: {error:#}");
            ExitCode::from(if error.is::<UsageError>() { 2 } else { 1 })
        }
    }
}
