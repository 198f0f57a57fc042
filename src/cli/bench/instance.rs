//! An instance of the program that renders rounds on one GPU when it is told to: what `handover bench --gpus` starts for each.
//!
//! It is this program again, with the same options and [`INSTANCE`] set. It reads a command a line, and answers in lines of JSON.

use std::io::{BufRead, Write};
use std::sync::mpsc::{Receiver, TryRecvError, channel};
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};

use crate::bench::{Case, LeftOut, MachineFacts, Round};
use crate::renderer::{Renderer, View};

use super::axes::Axes;
use super::facts;
use super::measure::{Machines, Measurement, medians, render};
use super::options::BenchOptions;

/// Its value is the UUID of the GPU that the instance is for.
pub const INSTANCE: &str = "HANDOVER_BENCH_INSTANCE";

/// What an instance is told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Command {
    /// Render a round of the case of that index; it is answered by [`Answer::Warm`] first.
    Round {
        /// Of [`Ready::cases`].
        case: usize,
        /// Frames that are measured.
        frames: u64,
        /// Frames before.
        warm_up: u64,
    },
    /// Measure from now on.
    Go,
    /// Render no more of the round.
    Stop,
}

/// What an instance says.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub enum Answer {
    /// All cases were tried.
    Ready(Ready),
    /// The frames before a round were rendered; others follow until [`Command::Go`].
    Warm,
    /// What a round measured; other frames follow until [`Command::Stop`].
    Measured(Round),
}

/// An instance's machine and cases.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Ready {
    /// Its machine.
    pub machine: MachineFacts,
    /// The cases that there can be.
    pub cases: Vec<Case>,
    /// Those that there cannot be.
    pub left_out: Vec<LeftOut>,
    /// What one frame of each case takes together, about.
    pub of_each: Duration,
}

/// Serves until there are no more commands.
///
/// # Errors
/// As a bench's; a command out of turn.
pub fn serve(options: &BenchOptions, gpu: &str) -> anyhow::Result<()> {
    let axes = Axes::of(options)?;
    let machines = Machines::open(&axes.processors, &axes.optional_processors, Some(gpu))?;
    let cases = axes.cases(&machines.processors());
    let mut measurement = Measurement::new(&machines, cases, axes.chains(), machines.budget(options));
    let (of_each, left_out) = measurement.trial()?;
    answer(&Answer::Ready(Ready {
        machine: facts(machines.all()),
        cases: measurement.cases().to_vec(),
        left_out,
        of_each,
    }))?;
    let commands = commands()?;
    while let Ok(command) = commands.recv() {
        let command = command?;
        let Command::Round { case, frames, warm_up } = command else {
            anyhow::bail!("{command:?} without a round");
        };
        anyhow::ensure!(case < measurement.cases().len(), "there is no case {case}");
        measurement.in_case(case, |renderer, view| {
            render(renderer, view, warm_up)?;
            answer(&Answer::Warm)?;
            render_until(Command::Go, &commands, renderer, view)?;
            let started = Instant::now();
            let records = render(renderer, view, frames)?;
            let frame_us = started.elapsed().as_secs_f64() * 1e6 / frames as f64;
            answer(&Answer::Measured(medians(frame_us, &records)))?;
            render_until(Command::Stop, &commands, renderer, view)
        })?;
    }
    Ok(())
}

type Commands = Receiver<Result<Command, serde_json::Error>>;

/// The commands of standard input, read by a thread so that frames need not wait for them.
fn commands() -> anyhow::Result<Commands> {
    let (sender, receiver) = channel();
    let read = move || {
        let lines = std::io::stdin().lock().lines().map_while(Result::ok);
        for line in lines {
            if sender.send(serde_json::from_str(&line)).is_err() {
                return;
            }
        }
    };
    std::thread::Builder::new().name("commands".into()).spawn(read)?;
    Ok(receiver)
}

/// Keeps the GPU at work until the command comes, then lets it come to rest.
fn render_until(wanted: Command, commands: &Commands, renderer: &mut Renderer, view: &View) -> anyhow::Result<()> {
    loop {
        match commands.try_recv() {
            Ok(command) => {
                let command = command?;
                anyhow::ensure!(command == wanted, "{command:?} in the place of {wanted:?}");
                renderer.finish()?;
                renderer.take_records();
                return Ok(());
            }
            Err(TryRecvError::Disconnected) => anyhow::bail!("the bench ended"),
            Err(TryRecvError::Empty) => {
                renderer.render_frame(view)?;
                renderer.take_records();
            }
        }
    }
}

fn answer(answer: &Answer) -> anyhow::Result<()> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{}", serde_json::to_string(answer)?)?;
    Ok(output.flush()?)
}
