//! A report as one HTML page: style and plots are in it, and it needs neither a network nor scripts.

use maud::{DOCTYPE, Markup, PreEscaped, html};

use crate::report::comparison::{Comparison, Difference, Estimate, Verdict};
use crate::report::error::ReportError;
use crate::report::figures::{Figures, StageFigures};
use crate::report::recording::Recording;
use crate::report::text::estimate;
use crate::report::{Report, chart};
use crate::timing::statistics::{FrameRates, Summary};

/// Forbids the page to load anything, should a name in a capture ever get past the escaping.
const POLICY: &str = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

/// What each number is, and where the definition is from.
const DEFINITIONS: [(&str, &str); 8] = [
    (
        "frame time",
        "From the previous present call to this one, start to start: the column MsBetweenPresents, as PresentMon \
         defines it.",
    ),
    (
        "average rate",
        "Frames divided by the sum of their times, n / Σt; the same as CapFrameX's.",
    ),
    (
        "p50 … p99.9",
        "Percentiles, linear between neighbours: numpy.percentile's default (Hyndman and Fan's type 7).",
    ),
    (
        "1% low average",
        "The mean of all times from the 99th percentile on (type 8), as a rate: CapFrameX, \
         FrametimeStatisticProvider.cs, GetPercentageHighAverageSequence. For stages the time itself.",
    ),
    (
        "1% low integral",
        "The time at which the longest, longest first, add up to 1 % of the whole, as a rate: CapFrameX, \
         GetPercentageHighIntegralSequence. For stages the time itself.",
    ),
    (
        "stutter",
        "Frames that took over 2.5 times the moving average, and their share of the whole time: CapFrameX, \
         GetStutteringTimePercentage.",
    ),
    (
        "difference",
        "Second capture less first. Where the confidence interval holds 0, no difference is seen.",
    ),
    (
        "confidence interval",
        "Circular block bootstrap (Künsch 1989; Politis and Romano 1992) with blocks of n^(1/3) frames, since frames \
         depend on those before them.",
    ),
];

/// The page.
///
/// # Errors
///
/// There are more captures than colours.
pub fn page(report: &Report, recordings: &[Recording]) -> Result<String, ReportError> {
    if recordings.len() > chart::COLOURS {
        return Err(ReportError::TooMany {
            count: recordings.len(),
            most: chart::COLOURS,
        });
    }
    let names: Vec<&str> = report.captures.iter().map(|capture| capture.name.as_str()).collect();
    let title = format!("Handover report: {}", names.join(", "));
    let page = html! {
        (DOCTYPE)
        html lang="en" {
            head {
                meta charset="utf-8";
                meta http-equiv="Content-Security-Policy" content=(POLICY);
                meta name="viewport" content="width=device-width, initial-scale=1";
                // Without it a browser asks for an icon.
                link rel="icon" href="data:,";
                title { (title) }
                style { (PreEscaped(include_str!("page.css"))) }
            }
            body {
                h1 { (names.join(" · ")) }
                p.soft {
                    "Made by Handover " (report.handover) " from frames.csv alone. Times are in milliseconds. "
                    a href="#definitions" { "What each number is, and where its definition is from" } "."
                }
                @for capture in &report.captures {
                    @for note in &capture.notes { p.note { (capture.name) ": " (note) } }
                }
                (rates(&report.captures))
                @if let Some(comparison) = &report.comparison { (compared(comparison)) }
                (chart::frame_times(recordings))
                (chart::histogram(recordings))
                (chart::percentile_curve(recordings))
                (chart::stage_bars(recordings))
                @if let Some(stack) = chart::stacked_stages(recordings) { (stack) }
                @for (capture, recording) in report.captures.iter().zip(recordings) { (stages(capture, recording)) }
                (facts(&report.captures))
                (definitions())
            }
        }
    };
    Ok(page.into_string())
}

fn rate(value: Option<f64>) -> String {
    value.map_or_else(|| "NA".to_owned(), |value| format!("{value:.2}"))
}

fn rates_of(rates: &FrameRates) -> [Option<f64>; 3] {
    [
        rates.average_fps,
        rates.one_percent_low_average_fps,
        rates.one_percent_low_integral_fps,
    ]
}

fn rates(captures: &[Figures]) -> Markup {
    html! {
        section {
            h2 { "Frame rates" }
            div.scroll { table.rates {
                thead { tr {
                    @for heading in ["capture", "frames", "average, fps", "1% low average, fps", "1% low integral, fps",
                                     "stutter, frames", "stutter, % of time"] { th { (heading) } }
                } }
                tbody { @for capture in captures {
                    @let summary = capture.stages.first().and_then(|stage| stage.summary);
                    @let stutter = summary.map(|summary| summary.stutter);
                    tr {
                        th { (capture.name) }
                        td { (capture.frames) }
                        @for value in rates_of(&capture.rates) { td { (rate(value)) } }
                        td { (stutter.map_or_else(|| "NA".to_owned(), |stutter| stutter.frames.to_string())) }
                        td { (rate(stutter.map(|stutter| stutter.percent_of_time))) }
                    }
                } }
            } }
        }
    }
}

fn compared(comparison: &Comparison) -> Markup {
    html! {
        section {
            h2 { (comparison.other) " against " (comparison.base) }
            @for [condition, base, other] in &comparison.conditions {
                p.note { "Not the same conditions: " (condition) ": " (base) " against " (other) }
            }
            div.scroll { table.comparison {
                thead { tr {
                    th { "difference, ms" }
                    @for centre in ["median", "mean"] { th { (centre) } th { "interval" } th { "verdict" } }
                } }
                tbody { @for Difference { title, median, mean, .. } in &comparison.stages {
                    tr { th { (title) } (estimate_cells(median)) (estimate_cells(mean)) }
                } }
            } }
            @for [title, capture] in &comparison.only_in { p.soft { (title) ": measured in " (capture) " only." } }
            p.soft { (comparison.method()) }
        }
    }
}

fn estimate_cells(of: &Estimate) -> Markup {
    let [difference, interval, verdict] = estimate(of);
    let class = if of.verdict() == Verdict::Differs {
        "differs"
    } else {
        "soft"
    };
    html! { td.(class) { (difference) } td { (interval) } td.(class) { (verdict) } }
}

fn stages(capture: &Figures, recording: &Recording) -> Markup {
    html! {
        section {
            h2 { "Stages of " (capture.name) }
            div.scroll { table.stages {
                thead { tr {
                    @for heading in ["ms", "frames", "average", "p50", "p90", "p95", "p99", "p99.9", "maximum",
                                     "1% low average", "1% low integral", "stutter, frames", "stutter, % of time"] {
                        th { (heading) }
                    }
                } }
                tbody { @for (stage, times) in capture.stages.iter().zip(&recording.stages) {
                    tr.effect[times.is_effect] title=(stage.column) { th { (stage.title) } (summary_cells(stage)) }
                } }
            } }
        }
    }
}

fn summary_cells(stage: &StageFigures) -> Markup {
    let Some(summary) = stage.summary else {
        return html! { @for _ in 0..12 { td.soft { "NA" } } };
    };
    let Summary {
        count,
        mean_ms,
        p50_ms,
        p90_ms,
        p95_ms,
        p99_ms,
        p99_9_ms,
        max_ms,
        slowest_percent_average_ms,
        slowest_percent_integral_ms,
        stutter,
    } = summary;
    let times = [
        mean_ms,
        p50_ms,
        p90_ms,
        p95_ms,
        p99_ms,
        p99_9_ms,
        max_ms,
        slowest_percent_average_ms,
        slowest_percent_integral_ms,
    ];
    html! {
        td { (count) }
        @for time in times { td { (format!("{time:.4}")) } }
        td { (stutter.frames) }
        td { (format!("{:.2}", stutter.percent_of_time)) }
    }
}

fn facts(captures: &[Figures]) -> Markup {
    html! {
        @for capture in captures.iter().filter(|capture| !capture.facts.is_empty()) {
            section {
                h2 { "About " (capture.name) }
                table.words { tbody { @for (key, value) in &capture.facts { tr { th { (key) } td { (value) } } } } }
            }
        }
    }
}

fn definitions() -> Markup {
    html! {
        section #definitions {
            h2 { "Definitions" }
            table.words { tbody { @for (name, words) in DEFINITIONS { tr { th { (name) } td { (words) } } } } }
        }
    }
}
