//! What two captures differ in.

use serde::Serialize;

use crate::report::bootstrap::{CONFIDENCE, Interval, RESAMPLES, block_length, intervals};
use crate::report::recording::Recording;
use crate::timing::statistics::{mean, percentile, sorted};
use crate::timing::table::FRAME_TIME;

/// The second capture against the first.
#[derive(Debug, Clone, Serialize)]
pub struct Comparison {
    /// What is compared with.
    pub base: String,
    /// What is compared.
    pub other: String,
    /// Share of intervals that hold the true difference, percent.
    pub confidence_percent: f64,
    /// Resamples of the bootstrap.
    pub resamples: u64,
    /// Frames of a block in either capture, for the frame time.
    pub block_frames: [usize; 2],
    /// Conditions that are not the same: name, first, second.
    pub conditions: Vec<[String; 3]>,
    /// Stages that both captures measured.
    pub stages: Vec<Difference>,
    /// Stages that one of them measured: name, and the capture.
    pub only_in: Vec<[String; 2]>,
}

/// The difference in one stage, milliseconds.
#[derive(Debug, Clone, Serialize)]
pub struct Difference {
    /// The column.
    pub column: String,
    /// Its name in words.
    pub title: String,
    /// In the median.
    pub median: Estimate,
    /// In the arithmetic mean.
    pub mean: Estimate,
}

/// A difference, second less first, milliseconds.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Estimate {
    /// As measured.
    pub difference_ms: f64,
    /// Where the true one is, with the comparison's confidence. `None`: too few frames to tell.
    pub interval_ms: Option<Interval>,
}

/// What an estimate says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The interval has no 0 in it.
    Differs,
    /// It has.
    NoDifferenceSeen,
    /// There is no interval.
    TooFewFrames,
}

impl Estimate {
    /// What it says.
    pub fn verdict(&self) -> Verdict {
        match self.interval_ms {
            None => Verdict::TooFewFrames,
            Some([low, high]) if low <= 0.0 && high >= 0.0 => Verdict::NoDifferenceSeen,
            Some(_) => Verdict::Differs,
        }
    }
}

impl Verdict {
    /// In words.
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Differs => "differs",
            Verdict::NoDifferenceSeen => "no difference seen",
            Verdict::TooFewFrames => "too few frames",
        }
    }
}

impl Comparison {
    /// `other` against `base`.
    pub fn of(base: &Recording, other: &Recording) -> Comparison {
        let (mut stages, mut only_in) = (Vec::new(), Vec::new());
        for stage in &base.stages {
            let title = stage.title.clone();
            let a = stage.measured_ms();
            let b = other
                .stage(&stage.column)
                .map_or_else(Vec::new, |stage| stage.measured_ms());
            match (a.is_empty(), b.is_empty()) {
                (false, false) => stages.push(difference(&stage.column, title, &a, &b)),
                (false, true) => only_in.push([title, base.name.clone()]),
                (true, false) => only_in.push([title, other.name.clone()]),
                (true, true) => {}
            }
        }
        for stage in &other.stages {
            if base.stage(&stage.column).is_none() && !stage.measured_ms().is_empty() {
                only_in.push([stage.title.clone(), other.name.clone()]);
            }
        }
        let block = |recording: &Recording| block_length(recording.stages[FRAME_TIME].measured_ms().len());
        Comparison {
            base: base.name.clone(),
            other: other.name.clone(),
            confidence_percent: CONFIDENCE,
            resamples: RESAMPLES,
            block_frames: [block(base), block(other)],
            conditions: conditions(base, other),
            stages,
            only_in,
        }
    }

    /// How the intervals were made, in a sentence.
    pub fn method(&self) -> String {
        let [base, other] = self.block_frames;
        format!(
            "The intervals hold the true difference with {} % confidence: circular block bootstrap, {} resamples, \
             blocks of {base} and {other} frames.",
            self.confidence_percent, self.resamples
        )
    }
}

fn difference(column: &str, title: String, a: &[f64], b: &[f64]) -> Difference {
    let intervals = intervals(a, b);
    let of = |centre: fn(&[f64]) -> Option<f64>| centre(b).unwrap_or_default() - centre(a).unwrap_or_default();
    Difference {
        column: column.to_owned(),
        title,
        median: Estimate {
            difference_ms: of(|values| percentile(&sorted(values), 50.0)),
            interval_ms: intervals.map(|(_, median)| median),
        },
        mean: Estimate {
            difference_ms: of(mean),
            interval_ms: intervals.map(|(mean, _)| mean),
        },
    }
}

/// What the tables and the facts say about how the frames were made, where the two are not the same.
fn conditions(base: &Recording, other: &Recording) -> Vec<[String; 3]> {
    let described = [describe(base), describe(other)];
    let mut keys: Vec<&String> = described.iter().flatten().map(|(key, _)| key).collect();
    let mut seen = std::collections::HashSet::new();
    keys.retain(|key| seen.insert(*key));
    let value = |capture: usize, key: &str| {
        let found = described[capture].iter().find(|(name, _)| name == key);
        found.map_or_else(|| "not said".to_owned(), |(_, value)| value.clone())
    };
    let rows = keys.into_iter().map(|key| [key.clone(), value(0, key), value(1, key)]);
    rows.filter(|[_, base, other]| base != other).collect()
}

fn describe(recording: &Recording) -> Vec<(String, String)> {
    let effects: Vec<&str> = recording
        .stages
        .iter()
        .filter(|stage| stage.is_effect && stage.times_ms.iter().any(|time| time.is_finite()))
        .map(|stage| stage.title.as_str())
        .collect();
    let effects = if effects.is_empty() {
        "none".to_owned()
    } else {
        effects.join(", ")
    };
    let mut described = vec![
        ("program".to_owned(), recording.application.clone()),
        ("presented by".to_owned(), recording.present_runtime.clone()),
        ("effects that ran".to_owned(), effects),
    ];
    // What was found out, and when, is not how the frames were made.
    let found = ["clock.", "host_clock.", "self_test.", "frames.", "started_unix_s"];
    let is_made = |(key, _): &&(String, String)| !found.iter().any(|start| key.starts_with(start));
    described.extend(recording.facts.iter().filter(is_made).cloned());
    described
}
