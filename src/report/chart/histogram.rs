//! How often each frame time was seen.

use maud::{Markup, html};

use super::axes::Axes;
use super::{above, capture_names, figure, frame_time_series, top};
use crate::report::recording::Recording;
use crate::timing::histogram::{Histogram, MOST_BINS, bin_count, edges};
use crate::timing::statistics::sorted;

/// From here on single frames would be too low to see beside the tallest bin.
const LINEAR_UP_TO: u64 = 50;

/// The histogram of the frame times, in bins that all captures share.
pub fn histogram(recordings: &[Recording]) -> Markup {
    let series = recordings.iter().map(frame_time_series);
    let times: Vec<Vec<f64>> = series
        .map(|series| series.into_iter().map(|(_, time)| time).collect())
        .collect();
    let top = top(&times);
    let range = range(&times, top);
    let edges = edges(range, bins(&times, range));
    let histograms: Vec<_> = times
        .iter()
        .map(|times| Histogram::with_edges(times, edges.clone()))
        .collect();
    let tallest = histograms
        .iter()
        .flat_map(|histogram| histogram.counts.iter().copied())
        .max()
        .unwrap_or(1)
        .max(1);
    let is_logarithmic = tallest > LINEAR_UP_TO;
    let bottom = if is_logarithmic { 0.5 } else { 0.0 };
    let mut axes = Axes::new(range, [bottom, tallest as f64 * 1.1], 300.0, 24.0);
    axes.y.is_logarithmic = is_logarithmic;
    let content = html! {
        @for (index, histogram) in histograms.iter().enumerate() {
            path.bins.fill.{ "c" (index) } d=(axes.path(outline(histogram, bottom)) + "Z") {}
            path.line.{ "c" (index) } d=(axes.path(outline(histogram, bottom))) {}
        }
    };
    let mut caption = "Frames in each bin; a value on a limit is in the bin above.".to_owned();
    if is_logarithmic {
        caption += " The count's axis is logarithmic.";
    }
    caption += &above(&times, top).unwrap_or_default();
    let plot = axes.plot(
        "Histogram of frame times",
        ["frame time, ms", "frames"],
        &axes.x_ticks(),
        &content,
    );
    figure(
        "histogram",
        "Histogram of frame times",
        &capture_names(recordings),
        &caption,
        &plot,
    )
}

/// From the shortest time of all captures to the longest that is shown.
fn range(captures: &[Vec<f64>], top: f64) -> [f64; 2] {
    let shown = || captures.iter().flatten().copied().filter(|time| *time <= top);
    let (first, last) = (shown().fold(top, f64::min), shown().fold(0.0, f64::max));
    if first < last {
        [first, last]
    } else {
        [first - 0.5, first + 0.5]
    }
}

/// As many bins as make them as narrow as the capture wants that wants them narrowest.
fn bins(captures: &[Vec<f64>], [first, last]: [f64; 2]) -> usize {
    let of = |times: &Vec<f64>| {
        let shown: Vec<f64> = times.iter().copied().filter(|time| *time <= last).collect();
        let ascending = sorted(&shown);
        let own = ascending
            .last()
            .zip(ascending.first())
            .map(|(last, first)| last - first);
        let share = own.filter(|own| *own > 0.0).map_or(1.0, |own| (last - first) / own);
        (bin_count(&ascending) as f64 * share).round() as usize
    };
    captures.iter().map(of).max().unwrap_or(1).clamp(1, MOST_BINS)
}

/// The steps of the bins, from the axis and back to it.
fn outline(histogram: &Histogram, bottom: f64) -> Vec<(f64, f64)> {
    let Histogram { edges, counts } = histogram;
    let mut points = vec![(edges[0], bottom)];
    for (bin, count) in counts.iter().enumerate() {
        let height = (*count as f64).max(bottom);
        points.extend([(edges[bin], height), (edges[bin + 1], height)]);
    }
    points.push((edges[edges.len() - 1], bottom));
    points
}
