//! The panel: its sections from the top, and what they share.

use egui::emath::GuiRounding;
use egui::{Align2, Color32, FontId, Mesh, Painter, Pos2, Rangef, Rect, Shape, pos2, vec2};

use super::figures::Figures;
use super::typesetter::Job;
use super::{Facts, frame_times, legend, palette, ticks, tracks};
use crate::timing::{ClockProof, ClockRelation, ProvenBy};

/// Points. Wide enough for a kernel's row; half of the window that opens by default. A narrower one cuts it off.
pub(super) const WIDTH: f32 = 600.0;
/// From the window's edge, and within the panel.
pub(super) const MARGIN: f32 = 10.0;
/// Of small text.
pub(super) const SMALL: f32 = 11.0;
/// Of headings.
const HEADING: f32 = 12.5;
/// From one line of text to the next.
pub(super) const LINE: f32 = 16.0;

/// What paints, and where the next section goes.
pub(super) struct Pen<'a> {
    pub painter: &'a Painter,
    /// Left and right of all sections.
    pub left: f32,
    pub right: f32,
    /// The top of what comes next.
    pub y: f32,
}

impl Pen<'_> {
    /// Text in digits of one width.
    pub fn text(&self, at: Pos2, anchor: Align2, text: impl ToString, color: Color32) -> Rect {
        self.painter.text(at, anchor, text, FontId::monospace(SMALL), color)
    }

    /// A heading, with what belongs to it at the right.
    pub fn heading(&mut self, text: &str, note: &str) {
        let font = FontId::proportional(HEADING);
        let at = pos2(self.left, self.y + LINE / 2.0);
        self.painter.text(at, Align2::LEFT_CENTER, text, font, palette::TEXT);
        self.text(pos2(self.right, at.y), Align2::RIGHT_CENTER, note, palette::DIM);
        self.y += LINE + 3.0;
    }

    /// The next so many points of height, over the whole width.
    pub fn take(&mut self, height: f32) -> Rect {
        let rect = Rect::from_min_max(pos2(self.left, self.y), pos2(self.right, self.y + height));
        self.y += height;
        rect
    }

    /// A plain rectangle on whole pixels. Not as a shape of egui's, whose soft edges take triangles.
    pub fn fill(&self, rect: Rect, color: Color32) {
        self.painter
            .add(filled(rect.round_to_pixels(self.painter.pixels_per_point()), color));
    }

    /// A line down, a point wide.
    pub fn vline(&self, x: f32, y: Rangef, color: Color32) {
        self.fill(Rect::from_x_y_ranges(x - 0.5..=x + 0.5, y), color);
    }

    /// A line across, so many points high.
    pub fn hline(&self, x: Rangef, y: f32, height: f32, color: Color32) {
        self.fill(Rect::from_x_y_ranges(x, y - height / 2.0..=y + height / 2.0), color);
    }

    /// The inside of a rectangle's edge, a point wide.
    pub fn outline(&self, rect: Rect, color: Color32) {
        let (x, y) = (rect.x_range(), rect.y_range());
        self.hline(x, y.min + 0.5, 1.0, color);
        self.hline(x, y.max - 0.5, 1.0, color);
        self.vline(x.min + 0.5, y, color);
        self.vline(x.max - 0.5, y, color);
    }
}

fn filled(rect: Rect, color: Color32) -> Shape {
    let mut mesh = Mesh::default();
    mesh.add_colored_rect(rect, color);
    Shape::mesh(mesh)
}

/// A plain rectangle on whole pixels, of a panel.
pub(super) fn plain(painter: &Painter, rect: Rect, color: Color32) {
    painter.add(filled(rect.round_to_pixels(painter.pixels_per_point()), color));
}

/// Sections on a panel of their own, whose height is theirs.
pub(super) fn backed(painter: &Painter, corner: Pos2, width: f32, sections: impl FnOnce(&mut Pen<'_>)) {
    let background = painter.add(Shape::Noop);
    let mut pen = Pen {
        painter,
        left: corner.x + MARGIN,
        right: corner.x + width - MARGIN,
        y: corner.y + MARGIN / 2.0,
    };
    sections(&mut pen);
    let rect = Rect::from_min_max(corner, pos2(corner.x + width, pen.y + MARGIN / 2.0));
    painter.set(
        background,
        filled(rect.round_to_pixels(painter.pixels_per_point()), palette::PANEL),
    );
}

/// What the frames cost, at the upper left.
pub(super) fn panel(painter: &Painter, job: &Job) {
    let Job { facts, figures, .. } = job;
    let corner = painter.clip_rect().min + vec2(MARGIN, MARGIN);
    backed(painter, corner, WIDTH, |pen| {
        let fps = figures.fps.map_or_else(String::new, |fps| format!("{fps:.1} frames/s"));
        pen.heading(&facts.title, &fps);
        frame_times::paint(pen, figures, &job.frame_times);
        legend::paint(pen, facts, figures);
        tracks::paint(pen, figures);
        footer(pen, facts, figures);
    });
}

/// Memory, frames in flight, the clock's proof, and what the overlay costs itself.
fn footer(pen: &mut Pen<'_>, facts: &Facts, figures: &Figures) {
    let memory = figures.memory_used.map_or_else(
        || "GPU memory: not told by the driver".to_owned(),
        |used| {
            let total = ticks::memory(facts.memory_total);
            format!("GPU memory: {} of {total}", ticks::memory(used))
        },
    );
    pen.hline(Rangef::new(pen.left, pen.right), pen.y + 3.0, 1.0, palette::GRID);
    pen.y += 6.0;
    let layout = figures.layout_ms.map_or_else(String::new, |layout_ms| {
        format!("laid out on the host in {} ms", ticks::milliseconds(layout_ms))
    });
    let clock = facts.clock.as_ref().map_or_else(String::new, clock_text);
    let in_flight = format!("{} in flight", figures.in_flight);
    for (text, note) in [(memory, layout), (clock, in_flight)] {
        let line = pen.take(LINE);
        pen.text(line.left_center(), Align2::LEFT_CENTER, text, palette::TEXT);
        pen.text(line.right_center(), Align2::RIGHT_CENTER, note, palette::DIM);
    }
}

/// What was proven about the clocks, in a line.
fn clock_text(proof: &ClockProof) -> String {
    let half_us = |width_ns: i64| width_ns as f64 / 2e3;
    let by = match proof.by {
        ProvenBy::Semaphores => "by semaphores",
        ProvenBy::HostClock => "by the host's clock",
        ProvenBy::OneClock => return "clocks: the device stamps the chain itself".into(),
        ProvenBy::Nothing => "nothing was stamped",
    };
    match proof.relation {
        ClockRelation::Shared { width_ns } => {
            format!(
                "clocks: one, proven to ±{:.1} µs {by}, {} rounds",
                half_us(width_ns),
                proof.rounds
            )
        }
        ClockRelation::Corrected { offset_ns, width_ns } => {
            let offset_us = offset_ns as f64 * 1e-3;
            format!(
                "clocks: {offset_us:+.1} µs apart, known to ±{:.1} µs {by}",
                half_us(width_ns)
            )
        }
        ClockRelation::Unrelated => format!("clocks: not related ({by})"),
    }
}
