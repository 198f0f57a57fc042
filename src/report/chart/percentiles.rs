//! The share of frames that were as fast or faster, with the slow end stretched.

use maud::{Markup, html};

use super::axes::Axes;
use super::{above, capture_names, figure, frame_time_series, top};
use crate::report::recording::Recording;
use crate::timing::statistics::{percentile, sorted};

/// Points of a curve.
const POINTS: usize = 400;

/// Percentiles with a line and a word.
const TICKS: [f64; 8] = [0.0, 50.0, 75.0, 90.0, 95.0, 99.0, 99.9, 99.99];

/// The percentile curve: as far to the right as the capture has frames for.
pub fn percentile_curve(recordings: &[Recording]) -> Markup {
    let series = recordings.iter().map(frame_time_series);
    let times: Vec<Vec<f64>> = series
        .map(|series| series.into_iter().map(|(_, time)| time).collect())
        .collect();
    let top = top(&times);
    let most = times.iter().map(Vec::len).max().unwrap_or(0).max(2);
    let end = nines(100.0 - 100.0 / most as f64);
    let axes = Axes::new([0.0, end], [0.0, top * 1.05], 300.0, 40.0);
    let curve = |times: &Vec<f64>| {
        let ascending = sorted(times);
        let last = nines(100.0 - 100.0 / ascending.len().max(2) as f64);
        let points = (0..=POINTS).filter_map(|point| {
            let nines = last * point as f64 / POINTS as f64;
            Some((nines, percentile(&ascending, 100.0 - 100.0 * 10_f64.powf(-nines))?))
        });
        points.take_while(|(_, time)| *time <= top * 1.05).collect::<Vec<_>>()
    };
    let content = html! {
        @for (index, times) in times.iter().enumerate() {
            path.line.curve.{ "c" (index) } d=(axes.path(curve(times))) {}
        }
    };
    let ticks = TICKS.into_iter().map(|percent| (nines(percent), format!("{percent}")));
    let ticks: Vec<_> = ticks.filter(|(nines, _)| *nines <= end).collect();
    let mut caption =
        "The share of frames that took no longer than the time to the left; the slow end is stretched.".to_owned();
    caption += &above(&times, top).unwrap_or_default();
    let plot = axes.plot(
        "Percentile curve of frame times",
        ["percentile", "frame time, ms"],
        &ticks,
        &content,
    );
    figure(
        "percentiles",
        "Percentile curve",
        &capture_names(recordings),
        &caption,
        &plot,
    )
}

/// How many nines a percentile has: 0 for 0, 1 for 90, 2 for 99.
fn nines(percent: f64) -> f64 {
    -(1.0 - percent / 100.0).log10()
}
