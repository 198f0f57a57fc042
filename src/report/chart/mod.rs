//! The plots, as SVG within the page. They name classes; the page's style gives these their colours.

pub(crate) mod axes;
mod frame_times;
mod histogram;
mod percentiles;
mod stack;
mod stages;

pub use frame_times::frame_times;
pub use histogram::histogram;
pub use percentiles::percentile_curve;
pub use stack::stacked_stages;
pub use stages::stage_bars;

use maud::{Markup, html};

use crate::report::recording::Recording;
use crate::timing::statistics::{percentile, sorted};
use crate::timing::table::FRAME_TIME;

/// Colours for captures, that is captures a page can tell apart: Okabe and Ito's without black and yellow, which one of
/// the two backgrounds hides.
pub const COLOURS: usize = 6;

/// The frame times of a capture, each with the frame's start in seconds.
fn frame_time_series(recording: &Recording) -> Vec<(f64, f64)> {
    let times = &recording.stages[FRAME_TIME].times_ms;
    let starts = recording.start_ms.iter().map(|start| start * 1e-3);
    starts
        .zip(times.iter().copied())
        .filter(|(_, time)| time.is_finite())
        .collect()
}

/// Where a plot of times ends: at the longest, unless that is over three times the 99th percentile and would press
/// all others flat; then there.
fn top(captures: &[Vec<f64>]) -> f64 {
    let of = |times: &Vec<f64>| {
        let ascending = sorted(times);
        let p99 = percentile(&ascending, 99.0).unwrap_or_default();
        ascending.last().copied().unwrap_or_default().min(3.0 * p99)
    };
    let top = captures.iter().map(of).fold(0.0, f64::max);
    if top > 0.0 { top } else { 1.0 }
}

/// What a plot does not show, if there is any.
fn above(captures: &[Vec<f64>], top: f64) -> Option<String> {
    let above: Vec<f64> = captures.iter().flatten().copied().filter(|time| *time > top).collect();
    let longest = above.iter().copied().fold(0.0, f64::max);
    let count = above.len();
    (count > 0).then(|| format!(" Frames above {top:.2} ms, not shown: {count}; the longest: {longest:.2} ms."))
}

/// A plot with its heading, its legend and a sentence on how to read it.
fn figure(id: &str, heading: &str, names: &[(String, String)], caption: &str, plot: &Markup) -> Markup {
    html! {
        figure id=(id) {
            h2 { (heading) }
            ul.legend {
                @for (class, name) in names {
                    li {
                        svg.key viewBox="0 0 14 14" aria-hidden="true" {
                            rect.fill.(class) width="14" height="14" {}
                        }
                        (name)
                    }
                }
            }
            (plot)
            figcaption { (caption) }
        }
    }
}

/// Class and name of each capture.
fn capture_names(recordings: &[Recording]) -> Vec<(String, String)> {
    let named = |(index, recording): (usize, &Recording)| {
        (
            format!("c{index}"),
            format!("{}, {} frames", recording.name, recording.frames()),
        )
    };
    recordings.iter().enumerate().map(named).collect()
}
