//! The last frames as tracks, one for each of those who work, with arrows for the signals between them.

use egui::{Align2, Color32, Rect, Shape, Stroke, Vec2, pos2, vec2};

use super::figures::Figures;
use super::paint::{LINE, Pen, SMALL};
use super::timeline::{Arrow, Bar, Signal, Timeline, Track};
use super::{palette, ticks};

/// Points of a track, and between two.
const TRACK: f32 = 15.0;
const BETWEEN: f32 = 11.0;
/// Points at the left for the tracks' names.
const NAMES: f32 = 60.0;
/// Points of an arrow's head.
const HEAD: f32 = 5.0;

impl Track {
    fn name(self) -> &'static str {
        match self {
            Self::Host => "host",
            Self::Scene => "scene",
            Self::Chain => "kernels",
            Self::Present => "present",
        }
    }

    fn color(self) -> Color32 {
        match self {
            Self::Host => palette::HOST,
            Self::Scene => palette::SKY_BLUE,
            Self::Chain => palette::GREEN,
            Self::Present => palette::BLUE,
        }
    }
}

impl Signal {
    fn name(self) -> &'static str {
        match self {
            Self::Rendered => "rendered",
            Self::Processed => "processed",
            Self::Retired => "retired",
        }
    }

    /// Colour, and the lengths of dashes and gaps.
    fn line(self) -> (Stroke, Option<[f32; 2]>) {
        match self {
            Self::Rendered => (Stroke::new(1.5, palette::TEXT), None),
            Self::Processed => (Stroke::new(1.5, palette::YELLOW), Some([4.0, 2.0])),
            Self::Retired => (Stroke::new(1.5, palette::VERMILLION), Some([1.5, 3.0])),
        }
    }
}

pub(super) fn paint(pen: &mut Pen<'_>, figures: &Figures) {
    let heading_y = pen.y + LINE / 2.0;
    pen.heading("the last frames on the device's clock", "");
    signals(pen, heading_y);
    let height = TRACK * 4.0 + BETWEEN * 4.0;
    let mut area = pen.take(height);
    area.min.x += NAMES;
    pen.fill(area, palette::WELL);
    for track in Track::ALL {
        let at = pos2(area.left() - 6.0, row_of(area, track).center().y);
        pen.text(at, Align2::RIGHT_CENTER, track.name(), palette::TEXT);
    }
    let axis = pen.take(LINE);
    let Some(timeline) = &figures.timeline else {
        pen.text(
            area.center(),
            Align2::CENTER_CENTER,
            "no stamps of the GPU",
            palette::DIM,
        );
        return;
    };
    let length_ns = (timeline.interval.end_ns - timeline.interval.start_ns).max(1) as f64;
    let x_of = |at_ns: u64| {
        let since_ns = at_ns.saturating_sub(timeline.interval.start_ns) as f64;
        area.left() + (since_ns / length_ns).min(1.0) as f32 * area.width()
    };
    let length_ms = length_ns * 1e-6;
    let step = ticks::step(length_ms, 6);
    let mut tick = 0.0;
    while step > 0.0 && tick <= length_ms {
        let x = area.left() + (tick / length_ms) as f32 * area.width();
        pen.vline(x, area.y_range(), palette::GRID);
        let label = format!("{} ms", ticks::tick_label(tick, step));
        // The last label may leave the panel.
        if x + label_width(&label) <= pen.right {
            pen.text(pos2(x + 2.0, axis.center().y), Align2::LEFT_CENTER, label, palette::DIM);
        }
        tick += step;
    }
    bars(pen, area, timeline, &x_of);
    for arrow in &timeline.arrows {
        self::arrow(pen, area, arrow, &x_of);
    }
    pen.y += 4.0;
}

/// Points that a short text takes, with a little air: a digit is 0.6 of its size wide.
fn label_width(label: &str) -> f32 {
    label.len() as f32 * SMALL * 0.62 + 4.0
}

/// What the three kinds of arrows mean, at the right of the heading.
fn signals(pen: &Pen<'_>, y: f32) {
    let mut x = pen.right;
    for signal in [Signal::Retired, Signal::Processed, Signal::Rendered] {
        let name = pen.text(pos2(x, y), Align2::RIGHT_CENTER, signal.name(), palette::DIM);
        let from = pos2(name.left() - 30.0, y);
        line(pen, signal, from, vec2(25.0, 0.0));
        x = from.x - 12.0;
    }
}

fn row_of(area: Rect, track: Track) -> Rect {
    let number = Track::ALL.iter().position(|one| *one == track).unwrap_or_default() as f32;
    let top = area.top() + BETWEEN / 2.0 + number * (TRACK + BETWEEN);
    Rect::from_x_y_ranges(area.x_range(), top..=top + TRACK)
}

fn bars(pen: &Pen<'_>, area: Rect, timeline: &Timeline, x_of: &impl Fn(u64) -> f32) {
    for Bar {
        track,
        frame,
        interval,
        is_wait,
    } in &timeline.bars
    {
        let (from, to) = (x_of(interval.start_ns), x_of(interval.end_ns));
        // What is too short to be seen is shown all the same.
        let bar = Rect::from_x_y_ranges(from..=to.max(from + 1.0), row_of(area, *track).y_range());
        if *is_wait {
            pen.outline(bar, palette::IDLE);
        } else {
            pen.fill(bar, track.color());
            // Frames follow one another without a gap: each begins with a dark line.
            pen.vline(from, bar.y_range(), palette::WELL);
        }
        let label = frame.to_string();
        if bar.width() >= label_width(&label) && (*track != Track::Host || *is_wait) {
            let color = if *is_wait {
                palette::DIM
            } else {
                palette::text_on(track.color())
            };
            pen.text(bar.center(), Align2::CENTER_CENTER, label, color);
        }
    }
}

fn arrow(pen: &Pen<'_>, area: Rect, arrow: &Arrow, x_of: &impl Fn(u64) -> f32) {
    let (from, to) = (row_of(area, arrow.from.0), row_of(area, arrow.to.0));
    let is_down = from.top() < to.top();
    let (from_y, to_y) = if is_down {
        (from.bottom(), to.top())
    } else {
        (from.top(), to.bottom())
    };
    let from = pos2(x_of(arrow.from.1), from_y);
    line(pen, arrow.signal, from, pos2(x_of(arrow.to.1), to_y) - from);
}

/// A line with a head.
fn line(pen: &Pen<'_>, signal: Signal, from: egui::Pos2, along: Vec2) {
    let (stroke, dashes) = signal.line();
    let to = from + along;
    match dashes {
        None => {
            pen.painter.line_segment([from, to], stroke);
        }
        Some([dash, gap]) => pen.painter.extend(Shape::dashed_line(&[from, to], stroke, dash, gap)),
    }
    let direction = along.normalized();
    let side = direction.rot90() * HEAD * 0.6;
    let base = to - direction * HEAD;
    pen.painter.add(Shape::convex_polygon(
        vec![to, base + side, base - side],
        stroke.color,
        Stroke::NONE,
    ));
}
