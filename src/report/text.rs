//! A report as plain text.

use crate::report::comparison::{Comparison, Estimate};
use crate::report::recording::{Recording, StageTimes};
use crate::timing::table::{Line, aligned, effect_title, table_of};

/// One capture: its name, facts and notes, then the table printed at the end of its run.
pub fn capture(recording: &Recording) -> String {
    let mut text = format!("{}\n", recording.name);
    for (key, value) in &recording.facts {
        text += &format!("  {key}: {value}\n");
    }
    for note in &recording.notes {
        text += &format!("note: {note}\n");
    }
    // As the summary of a run: effects that never ran have no line.
    let is_shown = |stage: &&StageTimes| !stage.is_effect || !stage.measured_ms().is_empty();
    let lines: Vec<Line> = recording
        .stages
        .iter()
        .filter(is_shown)
        .map(|stage| Line {
            title: if stage.is_effect {
                effect_title(&stage.title)
            } else {
                stage.title.clone()
            },
            times_ms: stage.measured_ms(),
        })
        .collect();
    text + &table_of(&recording.frames().to_string(), &lines)
}

/// What two captures differ in.
pub fn comparison(comparison: &Comparison) -> String {
    let Comparison { base, other, .. } = comparison;
    let mut text = format!("{other} against {base}\n");
    for [condition, of_base, of_other] in &comparison.conditions {
        text += &format!("not the same conditions: {condition}: {of_base} against {of_other}\n");
    }
    let heading = [
        "milliseconds",
        "median",
        "interval",
        "verdict",
        "mean",
        "interval",
        "verdict",
    ];
    let mut rows = vec![heading.map(str::to_owned)];
    for stage in &comparison.stages {
        let [median, mean] = [estimate(&stage.median), estimate(&stage.mean)];
        let [[d, i, v], [e, j, w]] = [median, mean];
        rows.push([stage.title.clone(), d, i, v, e, j, w]);
    }
    text += &aligned(&rows);
    for [title, capture] in &comparison.only_in {
        text += &format!("{title}: measured in {capture} only\n");
    }
    text + &comparison.method() + "\n"
}

/// Difference, interval and verdict.
pub fn estimate(estimate: &Estimate) -> [String; 3] {
    let interval = match estimate.interval_ms {
        Some([low, high]) => format!("{} to {}", signed(low), signed(high)),
        None => "NA".to_owned(),
    };
    let verdict = estimate.verdict().words().to_owned();
    [signed(estimate.difference_ms), interval, verdict]
}

/// With its sign, but none of a zero's.
fn signed(value: f64) -> String {
    let rounded = (value * 1e4).round() / 1e4;
    format!("{:+.4}", if rounded == 0.0 { 0.0 } else { rounded })
}
