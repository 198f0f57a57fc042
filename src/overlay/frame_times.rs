//! The graph of frame times, with lines at their percentiles.

use egui::{Align2, Rangef, Shape, Stroke, pos2};

use super::figures::Figures;
use super::paint::{LINE, Pen};
use super::{FRAMES_KEPT, palette, ticks};

/// Points.
const HEIGHT: f32 = 96.0;
/// Points at the left for the ticks' labels, at the right for the percentiles'.
const LEFT: f32 = 34.0;
const RIGHT: f32 = 88.0;
/// The graph reaches beyond the slowest of a hundred frames; what is slower still is cut off.
const HEADROOM: f64 = 1.3;

pub(super) fn paint(pen: &mut Pen<'_>, figures: &Figures, times_ms: &[Option<f64>]) {
    let last = format!("the last {} frames", times_ms.len());
    pen.heading("frame time, present to present", &last);
    let mut graph = pen.take(HEIGHT);
    graph.min.x += LEFT;
    graph.max.x -= RIGHT;
    pen.fill(graph, palette::WELL);
    pen.y += 8.0;
    let Some(percentiles) = figures.percentiles else {
        pen.text(graph.center(), Align2::CENTER_CENTER, "no frames yet", palette::DIM);
        return;
    };
    let top = percentiles[2] * HEADROOM;
    let y_of = |time_ms: f64| graph.bottom() - (time_ms.min(top) / top) as f32 * graph.height();

    let step = ticks::step(top, 4);
    let mut tick = 0.0;
    while step > 0.0 && tick <= top {
        let y = y_of(tick);
        pen.hline(graph.x_range(), y, 1.0, palette::GRID);
        let label = ticks::tick_label(tick, step);
        pen.text(pos2(graph.left() - 4.0, y), Align2::RIGHT_CENTER, label, palette::DIM);
        tick += step;
    }
    pen.text(
        graph.left_top() + egui::vec2(3.0, 1.0),
        Align2::LEFT_TOP,
        "ms",
        palette::DIM,
    );

    // The newest frame is at the right edge.
    let across = graph.width() / (FRAMES_KEPT - 1) as f32;
    let newest = times_ms.len() as f32 - 1.0;
    let points: Vec<_> = times_ms
        .iter()
        .zip(0_u16..)
        .filter_map(|(time_ms, number)| {
            let x = graph.right() - (newest - f32::from(number)) * across;
            Some(pos2(x, y_of((*time_ms)?)))
        })
        .collect();
    pen.painter
        .add(Shape::line(points, Stroke::new(1.5, palette::SKY_BLUE)));

    // Each has a colour, a pattern and a name.
    let lines = [
        ("p50", palette::GREEN, 1e4, 0.0),
        ("p95", palette::ORANGE, 8.0, 4.0),
        ("p99", palette::VERMILLION, 2.0, 3.0),
    ];
    let mut label_y = f32::MAX;
    for ((name, color, dash, gap), time_ms) in lines.into_iter().zip(percentiles) {
        let y = y_of(time_ms);
        let mut x = graph.left();
        while x < graph.right() {
            pen.hline(Rangef::new(x, (x + dash).min(graph.right())), y, 1.5, color);
            x += dash + gap;
        }
        // Labels of lines that are close together make room for one another, upwards.
        label_y = y.min(label_y - LINE + 3.0);
        let label = format!("{name} {} ms", ticks::milliseconds(time_ms));
        pen.text(pos2(graph.right() + 5.0, label_y), Align2::LEFT_CENTER, label, color);
    }
}
