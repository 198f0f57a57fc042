//! Median and 99th percentile of every stage.

use maud::{Markup, html};

use super::axes::{Scale, WIDTH, words};
use super::{capture_names, figure};
use crate::report::recording::Recording;
use crate::timing::statistics::Summary;

/// Height of a bar, and of the gap between stages.
const BAR: f64 = 13.0;
const GAP: f64 = 10.0;
/// Room to the left for the stages' names, and to the right for a number.
const LEFT: f64 = 270.0;
const RIGHT: f64 = 70.0;

/// One row of bars.
struct Row {
    title: String,
    /// One for each capture.
    summaries: Vec<Option<Summary>>,
}

/// Bars to the median of each stage, with a line to its 99th percentile.
pub fn stage_bars(recordings: &[Recording]) -> Markup {
    let rows = rows(recordings);
    let longest = rows
        .iter()
        .flat_map(|row| row.summaries.iter().flatten())
        .map(|summary| summary.p99_ms);
    let longest = longest.fold(0.0, f64::max);
    let x = Scale {
        values: [0.0, if longest > 0.0 { longest } else { 1.0 }],
        places: [LEFT, WIDTH - RIGHT],
        is_logarithmic: false,
    };
    let row_height = BAR * recordings.len() as f64 + GAP;
    let bottom = row_height * rows.len() as f64;
    let view = format!("0 0 {WIDTH} {}", bottom + 44.0);
    let plot = html! {
        svg.plot viewBox=(view) role="img" aria-label="Median and 99th percentile of every stage" {
            rect.area x=(LEFT) y="0" width=(WIDTH - RIGHT - LEFT) height=(bottom) {}
            @for value in x.ticks(8) {
                @let place = x.place(value);
                line.grid x1=(place) x2=(place) y1="0" y2=(bottom) {}
                text.tick x=(place) y=(bottom + 18.0) text-anchor="middle" { (words(value)) }
            }
            text.name x=((LEFT + WIDTH - RIGHT) / 2.0) y=(bottom + 38.0) text-anchor="middle" { "ms" }
            @for (index, row) in rows.iter().enumerate() {
                @let top = index as f64 * row_height + GAP / 2.0;
                text.label x=(LEFT - 8.0) y=(top + row_height / 2.0 - 1.0) text-anchor="end" { (row.title) }
                @for (capture, summary) in row.summaries.iter().enumerate() {
                    @if let Some(summary) = summary {
                        (bar(summary, &x, top + BAR * capture as f64, capture))
                    }
                }
            }
            line.axis x1=(LEFT) x2=(LEFT) y1="0" y2=(bottom) {}
        }
    };
    let caption = "Bars: median. Thin lines: to the 99th percentile. Numbers: the median, ms.";
    figure("stages", "Stages", &capture_names(recordings), caption, &plot)
}

fn bar(summary: &Summary, x: &Scale, top: f64, capture: usize) -> Markup {
    let [p50, p99] = [summary.p50_ms.max(0.0), summary.p99_ms.max(0.0)].map(|value| x.place(value));
    let middle = top + (BAR - 2.0) / 2.0;
    html! {
        rect.fill.{ "c" (capture) } x=(LEFT) y=(top) width=((p50 - LEFT).max(0.5)) height=(BAR - 2.0) {}
        path.whisker.{ "c" (capture) } d=(format!("M{p50} {middle}H{p99}M{p99} {}V{}", middle - 4.0, middle + 4.0)) {}
        text.value x=(p99.max(p50) + 6.0) y=(middle + 4.0) { (format!("{:.3}", summary.p50_ms)) }
    }
}

/// The stages that some capture measured.
fn rows(recordings: &[Recording]) -> Vec<Row> {
    let mut columns: Vec<(&str, &str)> = Vec::new();
    for stage in recordings.iter().flat_map(|recording| &recording.stages) {
        if !columns.iter().any(|(column, _)| *column == stage.column) {
            columns.push((&stage.column, &stage.title));
        }
    }
    let rows = columns.into_iter().map(|(column, title)| Row {
        title: title.to_owned(),
        summaries: recordings
            .iter()
            .map(|recording| Summary::of(&recording.stage(column)?.measured_ms()))
            .collect(),
    });
    rows.filter(|row| row.summaries.iter().any(Option::is_some)).collect()
}
