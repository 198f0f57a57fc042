//! How often each frame time was seen.

use maud::{Markup, html};

use super::axes::Axes;
use super::{above, capture_names, figure, frame_time_series, top};
use crate::report::recording::Recording;
use crate::timing::histogram::{Histogram, edges};

/// From here on single frames would be too low to see beside the tallest bin.
const LINEAR_UP_TO: u64 = 50;

/// The histogram of the frame times, in bins that all captures share.
pub fn histogram(recordings: &[Recording]) -> Markup {
    let series = recordings.iter().map(frame_time_series);
    let times: Vec<Vec<f64>> = series
        .map(|series| series.into_iter().map(|(_, time)| time).collect())
        .collect();
    let top = top(&times);
    let shown: Vec<f64> = times.iter().flatten().copied().filter(|time| *time <= top).collect();
    let edges = edges(&shown).unwrap_or_else(|| vec![0.0, 1.0]);
    let range = [edges[0], edges[edges.len() - 1]];
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
