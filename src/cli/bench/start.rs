//! `handover bench start`: runs the program again and again, and times it from its start to its first processed frame.

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::Context;
use clap::Args;
use serde::Serialize;

use crate::report::NewFile;
use crate::timing::statistics::sorted;
use crate::timing::table::aligned;

use super::super::output::print;
use super::super::start::Step;
use super::super::usage;

/// Options of `handover bench start`.
#[derive(Debug, Args)]
pub struct StartBenchOptions {
    /// Rounds; each runs the program once with what drivers and the program keep on disk, and once with none of it.
    #[arg(long, value_name = "N", default_value_t = 9, value_parser = clap::value_parser!(u32).range(1..=100))]
    pub rounds: u32,
    /// Write all rounds to FILE, which must not be there yet.
    #[arg(long, value_name = "FILE")]
    pub json: Option<PathBuf>,
    /// Options of the view after --, such as --scene none --processor in-queue. It runs offscreen for one frame.
    #[arg(last = true, value_name = "OPTION")]
    pub view: Vec<String>,
}

/// The file of `--json`.
#[derive(Serialize)]
struct StartResults {
    format: &'static str,
    format_version: u32,
    handover: &'static str,
    date: String,
    view: Vec<String>,
    cases: Vec<Case>,
}

/// The runs with the same caches.
#[derive(Serialize)]
struct Case {
    name: &'static str,
    /// From before the process was made to the first frame's retirement, milliseconds.
    rounds_ms: Vec<f64>,
    /// What each run did, since its `main`.
    steps: Vec<Vec<Step>>,
}

/// Where drivers and the program keep what they compiled.
const CACHES: [&str; 4] = [
    "XDG_CACHE_HOME",
    "CUDA_CACHE_PATH",
    "__GL_SHADER_DISK_CACHE_PATH",
    "MESA_SHADER_CACHE_DIR",
];

/// Measures, prints and writes.
///
/// # Errors
/// The program does not run, or a file cannot be written.
pub fn run(options: &StartBenchOptions) -> anyhow::Result<()> {
    if let Some(path) = &options.json {
        // Not kept open: a bench that is broken off leaves nothing behind.
        NewFile::create(path).map_err(usage)?;
    }
    if cfg!(debug_assertions) {
        tracing::warn!("this is a debug build: its times are not those of a release build");
    }
    let program = std::env::current_exe().context("find the program's file")?;
    let kept = tempfile::tempdir().context("make a folder for caches")?;
    // Fills the caches.
    started(&program, &options.view, kept.path())?;
    let mut cases = ["caches kept", "caches empty"].map(|name| Case {
        name,
        rounds_ms: Vec::new(),
        steps: Vec::new(),
    });
    for round in 0..options.rounds {
        for index in if round % 2 == 0 { [0, 1] } else { [1, 0] } {
            let empty = tempfile::tempdir().context("make a folder for caches")?;
            let folder = if index == 0 { kept.path() } else { empty.path() };
            let (ms, steps) = started(&program, &options.view, folder)?;
            cases[index].rounds_ms.push(ms);
            cases[index].steps.push(steps);
        }
    }
    let results = StartResults {
        format: "handover bench start",
        format_version: 1,
        handover: env!("CARGO_PKG_VERSION"),
        date: humantime::format_rfc3339_seconds(std::time::SystemTime::now()).to_string(),
        view: options.view.clone(),
        cases: cases.into(),
    };
    if let Some(path) = &options.json {
        let file = NewFile::create(path).map_err(usage)?;
        let path = file
            .write(&(serde_json::to_string_pretty(&results)? + "\n"))
            .map_err(usage)?;
        tracing::info!("results: {}", path.display());
    }
    print(text(&results))
}

/// Runs the program for one frame with caches in that folder: milliseconds until it was there, and what was done meanwhile.
fn started(program: &Path, view: &[String], caches: &Path) -> anyhow::Result<(f64, Vec<Step>)> {
    let mut command = Command::new(program);
    command
        .args(["--present", "offscreen", "--frames", "1", "--tell-start"])
        .args(view)
        .envs(CACHES.map(|variable| (variable, caches)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped());
    let began = Instant::now();
    let mut child = command
        .spawn()
        .with_context(|| format!("start {}", program.display()))?;
    let mut found = None;
    // To the end of its output, so that it is never stopped by a pipe that nobody reads.
    for line in BufReader::new(child.stdout.take().context("read its output")?).lines() {
        let (ms, line) = (began.elapsed().as_secs_f64() * 1e3, line?);
        if found.is_none() {
            found = serde_json::from_str::<Vec<Step>>(&line).ok().map(|steps| (ms, steps));
        }
    }
    let status = child.wait().context("wait for its end")?;
    anyhow::ensure!(
        status.success(),
        "the program ended with {status}: its message is above"
    );
    found.context("the program ended without a first frame")
}

fn median(values: &[f64]) -> f64 {
    sorted(values).get(values.len() / 2).copied().unwrap_or(f64::NAN)
}

fn text(results: &StartResults) -> String {
    let heading = [
        "from exec to the first processed frame, ms",
        "median",
        "lowest to highest",
    ];
    let mut rows = vec![heading.map(str::to_owned)];
    for case in &results.cases {
        let ascending = sorted(&case.rounds_ms);
        let ends = ascending.first().zip(ascending.last());
        rows.push([
            case.name.to_owned(),
            format!("{:.1}", median(&case.rounds_ms)),
            ends.map_or_else(String::new, |(low, high)| format!("{low:.1} to {high:.1}")),
        ]);
    }
    let mut text = format!("handover {}, {}\n{}", results.handover, results.date, aligned(&rows));
    for case in &results.cases {
        let heading = format!("{}: since main, ms, medians", case.name);
        let mut rows = vec![[heading.as_str(), "from", "until"].map(str::to_owned)];
        for step in case.steps.first().into_iter().flatten() {
            let all = case.steps.iter().flatten().filter(|other| other.name == step.name);
            let (from, until): (Vec<f64>, Vec<f64>) = all.map(|step| (step.from_ms, step.until_ms)).unzip();
            rows.push([
                format!("  {}", step.name),
                format!("{:.1}", median(&from)),
                format!("{:.1}", median(&until)),
            ]);
        }
        text += &format!("\n{}", aligned(&rows));
    }
    text.trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_has_the_medians_of_runs_and_steps() {
        let step = |until_ms| Step {
            name: "device".into(),
            from_ms: 1.0,
            until_ms,
        };
        let results = StartResults {
            format: "handover bench start",
            format_version: 1,
            handover: "0",
            date: String::new(),
            view: Vec::new(),
            cases: vec![Case {
                name: "caches kept",
                rounds_ms: vec![300.0, 100.0, 200.0],
                steps: vec![vec![step(50.0)], vec![step(40.0)], vec![step(70.0)]],
            }],
        };
        let text = text(&results);
        let lines: Vec<_> = text
            .lines()
            .map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "))
            .collect();
        for expected in ["caches kept 200.0 100.0 to 300.0", "device 1.0 50.0"] {
            assert!(lines.iter().any(|line| line == expected), "{expected}: {text}");
        }
    }
}
