//! Frame time over time.

use maud::{Markup, html};

use super::axes::{Axes, WIDTH, words};
use super::{above, capture_names, figure, frame_time_series, top};
use crate::report::recording::Recording;
use crate::timing::statistics::{percentile, sorted};

/// Places across a plot: where there are more frames than this, each place shows the shortest and the longest of its
/// frames.
const PLACES: usize = WIDTH as usize;

/// Lines of words need so much room.
const LINE: f64 = 14.0;

/// Frame time over time, with lines at percentiles.
pub fn frame_times(recordings: &[Recording]) -> Markup {
    let series: Vec<_> = recordings.iter().map(frame_time_series).collect();
    let times: Vec<Vec<f64>> = series
        .iter()
        .map(|series| series.iter().map(|(_, time)| *time).collect())
        .collect();
    let top = top(&times);
    let end = series
        .iter()
        .filter_map(|series| series.last())
        .map(|(start, _)| *start);
    let end = end.fold(1e-3, f64::max);
    let axes = Axes::new([0.0, end], [0.0, top * 1.05], 340.0, 96.0);
    let percents: &[f64] = if recordings.len() == 1 {
        &[50.0, 95.0, 99.0]
    } else {
        &[50.0, 99.0]
    };
    let labels = labels(&axes, &times, percents);
    let content = html! {
        @for (index, series) in series.iter().enumerate() {
            path.line.{ "c" (index) } d=(axes.path(envelope(series, end))) {}
        }
        @let [left, right] = axes.x.places;
        @for label in &labels {
            line.halo x1=(left) x2=(right) y1=(label.y) y2=(label.y) {}
            line.percentile.{ "c" (label.capture) } x1=(left) x2=(right) y1=(label.y) y2=(label.y) {}
            text.label x=(right + 6.0) y=(label.words_y + 4.0) {
                tspan.fill.{ "c" (label.capture) } { "■ " } (label.words)
            }
        }
    };
    let mut caption = "One value a frame. Dashed: percentiles.".to_owned();
    caption += &above(&times, top).unwrap_or_default();
    let names = ["seconds since the capture began", "frame time, ms"];
    let plot = axes.plot("Frame time over time", names, &axes.x_ticks(), &content);
    figure(
        "frame-times",
        "Frame time over time",
        &capture_names(recordings),
        &caption,
        &plot,
    )
}

/// A percentile's line and its words.
struct Label {
    capture: usize,
    y: f64,
    words_y: f64,
    words: String,
}

/// The percentiles from the lowest line to the highest, their words moved apart.
fn labels(axes: &Axes, times: &[Vec<f64>], percents: &[f64]) -> Vec<Label> {
    let mut labels = Vec::new();
    for (capture, times) in times.iter().enumerate() {
        let ascending = sorted(times);
        for percent in percents {
            let Some(value) = percentile(&ascending, *percent) else {
                continue;
            };
            let y = axes.y.place(value);
            labels.push(Label {
                capture,
                y,
                words_y: y,
                words: format!("p{} {value:.2}", words(*percent)),
            });
        }
    }
    labels.sort_by(|one, other| other.y.total_cmp(&one.y));
    for index in 1..labels.len() {
        labels[index].words_y = labels[index].y.min(labels[index - 1].words_y - LINE);
    }
    labels
}

/// The points to draw: of the frames that share a place, the shortest and the longest.
fn envelope(series: &[(f64, f64)], end: f64) -> Vec<(f64, f64)> {
    if series.len() <= 2 * PLACES {
        return series.to_vec();
    }
    let place = |start: f64| (start / end * PLACES as f64) as usize;
    let groups = series.chunk_by(|(one, _), (other, _)| place(*one) == place(*other));
    let ends = groups.flat_map(|group| {
        let shortest = group.iter().min_by(|one, other| one.1.total_cmp(&other.1));
        let longest = group.iter().max_by(|one, other| one.1.total_cmp(&other.1));
        let mut both = [shortest, longest];
        both.sort_by(|one, other| {
            one.map(|point| point.0)
                .partial_cmp(&other.map(|point| point.0))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        both.into_iter().flatten().copied()
    });
    ends.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_spike_is_lost_among_many_frames() {
        let mut series: Vec<(f64, f64)> = (0..100_000).map(|frame| (f64::from(frame) * 1e-3, 1.0)).collect();
        series[54_321].1 = 9.0;
        series[12_345].1 = 0.5;
        let drawn = envelope(&series, 100.0);
        assert!(drawn.len() <= 2 * (PLACES + 1), "{}", drawn.len());
        assert!(drawn.contains(&(54.321, 9.0)) && drawn.contains(&(12.345, 0.5)));
        assert!(drawn.is_sorted_by(|one, other| one.0 <= other.0));
    }
}
