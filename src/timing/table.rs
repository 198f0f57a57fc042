//! The table printed at the end of a run, and again by a report on its capture.

use crate::timing::columns::{COLUMNS, Column};
use crate::timing::history::History;
use crate::timing::statistics::{FrameRates, Summary};
use crate::timing::stutter::Stutter;

/// One line of the table: a column of `frames.csv` and its name in words.
#[derive(Debug, Clone, Copy)]
pub struct Stage {
    /// Name of the column.
    pub column: &'static str,
    /// What the line is called.
    pub title: &'static str,
}

impl Stage {
    /// The column that defines the stage.
    pub fn column(&self) -> &'static Column {
        COLUMNS
            .iter()
            .find(|column| column.name == self.column)
            .expect("stages name columns: there is a test")
    }
}

const fn stage(column: &'static str, title: &'static str) -> Stage {
    Stage { column, title }
}

/// The stages in the order in which a frame goes through them. The effects come after [`CHAIN`].
pub static STAGES: &[Stage] = &[
    stage("MsBetweenPresents", "frame time, present to present"),
    stage("slot_wait_ms", "host: wait for the slot's previous frame"),
    stage("acquire_ms", "host: acquire"),
    stage("record_ms", "host: record"),
    stage("submit_ms", "host: submit"),
    stage("MsInPresentAPI", "host: present"),
    stage("scene_ms", "scene"),
    stage("handover_to_cuda_ms", "hand-over, Vulkan to CUDA"),
    stage("chain_ms", "kernel chain"),
    stage("handover_to_vulkan_ms", "hand-over, CUDA to Vulkan"),
    stage("present_gpu_ms", "present on the GPU"),
    stage("overlay_ms", "overlay on the GPU"),
    stage("latency_ms", "latency, frame start to retired"),
];

/// Index of the frame time in [`STAGES`].
pub const FRAME_TIME: usize = 0;

/// Index of the kernel chain in [`STAGES`].
pub const CHAIN: usize = 8;

const HEADINGS: [&str; 10] = [
    "milliseconds",
    "frames",
    "average",
    "p50",
    "p90",
    "p95",
    "p99",
    "p99.9",
    "maximum",
    "stutter",
];

/// One line of the table.
#[derive(Debug, Clone)]
pub struct Line {
    /// What it is called.
    pub title: String,
    /// Its times in milliseconds, in the order of their frames.
    pub times_ms: Vec<f64>,
}

/// The title of an effect's line: it is a part of the line above.
pub fn effect_title(effect: &str) -> String {
    format!("  {effect}")
}

/// The rates and the statistics of every stage of a run, as plain text with a line end after each line.
pub fn summary_table(history: &History) -> String {
    let mut lines = Vec::new();
    for (index, stage) in STAGES.iter().enumerate() {
        lines.push(Line {
            title: stage.title.to_owned(),
            times_ms: history.stage_ms(index),
        });
        if index == CHAIN {
            let effects = history.effects().iter().enumerate().map(|(index, effect)| Line {
                title: effect_title(effect),
                times_ms: history.effect_ms(index),
            });
            let fused = history.fused().iter().enumerate().map(|(index, label)| Line {
                title: effect_title(label),
                times_ms: history.fused_ms(index),
            });
            // Most effects are off.
            lines.extend(effects.chain(fused).filter(|line| !line.times_ms.is_empty()));
        }
    }
    let kept = history.frames_kept() as u64;
    let frames = match history.frames_seen() {
        seen if seen == kept => seen.to_string(),
        seen => format!("the last {kept} of {seen}"),
    };
    table_of(&frames, &lines)
}

/// The rates and the statistics of lines, the first of which is the frame time. `frames` says how many there are.
pub fn table_of(frames: &str, lines: &[Line]) -> String {
    let mut rows: Vec<[String; 10]> = vec![HEADINGS.map(str::to_owned)];
    rows.extend(lines.iter().map(row));
    let frame_times = lines.first().map_or(&[][..], |line| &line.times_ms);
    format!("frames: {frames}\n{}\n{}", rates(frame_times), aligned(&rows))
}

fn rates(frame_times_ms: &[f64]) -> String {
    let rates = FrameRates::of(frame_times_ms);
    let named = [
        ("average", rates.average_fps),
        ("1% low average", rates.one_percent_low_average_fps),
        ("1% low integral", rates.one_percent_low_integral_fps),
    ];
    let mut text = String::new();
    for (name, rate) in named {
        let rate = rate.map_or_else(|| "NA".to_owned(), |rate| format!("{rate:.2}"));
        text += &format!("{name:<16} {rate:>10} frames per second\n");
    }
    if !frame_times_ms.is_empty() {
        let Stutter {
            frames,
            percent_of_time,
        } = Stutter::of(frame_times_ms);
        text += &format!(
            "{:<16} {frames:>10} frames, {percent_of_time:.2} % of the time\n",
            "stutter"
        );
    }
    text
}

fn row(line: &Line) -> [String; 10] {
    let title = line.title.clone();
    let Some(summary) = Summary::of(&line.times_ms) else {
        return std::array::from_fn(|index| if index == 0 { title.clone() } else { "NA".to_owned() });
    };
    let ms = |value: f64| format!("{value:.4}");
    [
        title,
        summary.count.to_string(),
        ms(summary.mean_ms),
        ms(summary.p50_ms),
        ms(summary.p90_ms),
        ms(summary.p95_ms),
        ms(summary.p99_ms),
        ms(summary.p99_9_ms),
        ms(summary.max_ms),
        summary.stutter.frames.to_string(),
    ]
}

/// Titles to the left, numbers to the right, two spaces between.
pub fn aligned<const COLUMNS: usize>(rows: &[[String; COLUMNS]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; COLUMNS] = std::array::from_fn(width);
    let mut text = String::new();
    for row in rows {
        text += &format!("{:<width$}", row[0], width = widths[0]);
        for (value, width) in row.iter().zip(widths).skip(1) {
            text += &format!("  {value:>width$}");
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
#[path = "table_tests.rs"]
mod tests;
