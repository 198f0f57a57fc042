//! The table printed at the end of a run.

use crate::timing::columns::{COLUMNS, Column};
use crate::timing::history::History;
use crate::timing::statistics::{FrameRates, Summary};

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

const HEADINGS: [&str; 7] = [
    "frames",
    "average",
    "50th percentile",
    "95th percentile",
    "99th percentile",
    "99.9th percentile",
    "maximum",
];

/// The rates and the statistics of every stage, as plain text with a line end after each line.
pub fn summary_table(history: &History) -> String {
    let mut rows: Vec<[String; 8]> = vec![heading()];
    for (index, stage) in STAGES.iter().enumerate() {
        rows.push(row(stage.title.to_owned(), &history.stage_ms(index)));
        if index == CHAIN {
            for (effect_index, effect) in history.effects().iter().enumerate() {
                rows.push(row(format!("  {effect}"), &history.effect_ms(effect_index)));
            }
        }
    }
    format!("{}\n{}", rates(history), aligned(&rows))
}

fn rates(history: &History) -> String {
    let rates = FrameRates::of(&history.stage_ms(FRAME_TIME));
    let kept = history.frames_kept() as u64;
    let frames = match history.frames_seen() {
        seen if seen == kept => format!("{seen}"),
        seen => format!("the last {kept} of {seen}"),
    };
    let named = [
        ("average", rates.average_fps),
        ("1% low average", rates.one_percent_low_average_fps),
        ("1% low integral", rates.one_percent_low_integral_fps),
    ];
    let mut text = format!("frames: {frames}\n");
    for (name, rate) in named {
        let rate = rate.map_or_else(|| "NA".to_owned(), |rate| format!("{rate:.2}"));
        text += &format!("{name:<16} {rate:>10} frames per second\n");
    }
    text
}

fn heading() -> [String; 8] {
    std::array::from_fn(|index| {
        index
            .checked_sub(1)
            .map_or("milliseconds", |index| HEADINGS[index])
            .to_owned()
    })
}

fn row(title: String, times_ms: &[f64]) -> [String; 8] {
    let Some(summary) = Summary::of(times_ms) else {
        return std::array::from_fn(|index| if index == 0 { title.clone() } else { "NA".to_owned() });
    };
    let ms = |value: f64| format!("{value:.4}");
    [
        title,
        summary.count.to_string(),
        ms(summary.mean_ms),
        ms(summary.p50_ms),
        ms(summary.p95_ms),
        ms(summary.p99_ms),
        ms(summary.p99_9_ms),
        ms(summary.max_ms),
    ]
}

/// Titles to the left, numbers to the right, two spaces between.
fn aligned(rows: &[[String; 8]]) -> String {
    let width = |column: usize| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(width);
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
