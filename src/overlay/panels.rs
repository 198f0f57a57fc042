//! The small panels: the effect that keys change, and what went wrong with a file.

use egui::{Align2, FontId, Painter, Rect, Shape, pos2, vec2};

use super::paint::{LINE, MARGIN, Pen, SMALL, WIDTH, backed};
use super::palette;

/// Points of the chosen effect's panel.
const CHOSEN_WIDTH: f32 = 330.0;
/// Points of a parameter's name.
const NAME: f32 = 120.0;
/// Points of the bar that shows where in its range a value is.
const BAR: f32 = 90.0;

/// The effect that keys change.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Chosen {
    /// Its name on the command line.
    pub effect: String,
    /// Its name for people.
    pub title: String,
    /// Its place among those that run, from 1, while it runs.
    pub place: Option<usize>,
    /// How many run.
    pub count: usize,
    /// Its parameters, in their order.
    pub parameters: Vec<ChosenParameter>,
}

/// A parameter of the chosen effect.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ChosenParameter {
    /// Its name.
    pub name: String,
    /// Its value.
    pub value: String,
    /// What it can be, with the unit.
    pub range: String,
    /// Where in its range the value is, 0 to 1.
    pub fraction: f32,
    /// It is what keys change.
    pub is_chosen: bool,
}

/// What went wrong, and stays so until it is put right.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Notice {
    /// What, in a line.
    pub heading: String,
    /// More about it: lines of any length.
    pub lines: Vec<String>,
}

/// The chosen effect, at the upper right; at the upper left where the window is too narrow for that.
pub(super) fn chosen(painter: &Painter, chosen: &Chosen) {
    let window = painter.clip_rect();
    let left = (window.right() - MARGIN - CHOSEN_WIDTH).max(window.left() + MARGIN);
    let corner = pos2(left, window.top() + MARGIN);
    backed(painter, corner, CHOSEN_WIDTH, |pen| {
        let state = match chosen.place {
            Some(place) => format!("{place} of {}", chosen.count),
            None => "off".into(),
        };
        pen.heading(&chosen.title, &state);
        if chosen.parameters.is_empty() {
            let line = pen.take(LINE);
            pen.text(line.left_center(), Align2::LEFT_CENTER, "no parameters", palette::DIM);
        }
        for parameter in &chosen.parameters {
            row(pen, parameter);
        }
    });
}

/// Name, bar and value; below the chosen one its range. The chosen one has a mark besides its brighter text.
fn row(pen: &mut Pen<'_>, parameter: &ChosenParameter) {
    let line = pen.take(LINE);
    let color = if parameter.is_chosen {
        palette::TEXT
    } else {
        palette::DIM
    };
    let mark = if parameter.is_chosen { "> " } else { "  " };
    let name = format!("{mark}{}", parameter.name.replace('_', " "));
    pen.text(line.left_center(), Align2::LEFT_CENTER, name, color);
    let size = vec2(BAR, SMALL - 2.0);
    let well = Rect::from_min_size(pos2(line.left() + NAME, line.center().y - size.y / 2.0), size);
    pen.fill(well, palette::WELL);
    let filled = Rect::from_min_size(well.min, vec2(size.x * parameter.fraction, size.y));
    pen.fill(
        filled,
        if parameter.is_chosen {
            palette::SKY_BLUE
        } else {
            palette::IDLE
        },
    );
    pen.outline(well, palette::GRID);
    pen.text(line.right_center(), Align2::RIGHT_CENTER, &parameter.value, color);
    if parameter.is_chosen {
        let line = pen.take(LINE);
        pen.text(
            line.right_center(),
            Align2::RIGHT_CENTER,
            &parameter.range,
            palette::DIM,
        );
    }
}

/// What went wrong, at the bottom, as wide as it needs.
pub(super) fn notice(painter: &Painter, notice: &Notice) {
    let window = painter.clip_rect().shrink(MARGIN);
    let width = window.width() - 2.0 * MARGIN;
    let galleys = Vec::from_iter(
        notice
            .lines
            .iter()
            .map(|line| painter.layout(line.clone(), FontId::monospace(SMALL), palette::TEXT, width)),
    );
    let heading = painter.layout(
        notice.heading.clone(),
        FontId::proportional(SMALL + 1.5),
        palette::ORANGE,
        width,
    );
    let all = || std::iter::once(&heading).chain(&galleys);
    let text = all().fold(vec2(WIDTH.min(width), 0.0), |sum, galley| {
        vec2(sum.x.max(galley.size().x), sum.y + galley.size().y + 2.0)
    });
    let size = text + vec2(2.0, 1.0) * MARGIN;
    let panel = Rect::from_min_size(pos2(window.left(), (window.bottom() - size.y).max(window.top())), size);
    let mut at = panel.min + vec2(MARGIN, MARGIN / 2.0);
    super::paint::plain(painter, panel, palette::PANEL);
    // A mark that is seen without colour vision too.
    super::paint::plain(
        painter,
        Rect::from_min_size(panel.min, vec2(3.0, size.y)),
        palette::ORANGE,
    );
    for galley in all() {
        let height = galley.size().y + 2.0;
        painter.add(Shape::galley(at, galley.clone(), palette::TEXT));
        at.y += height;
    }
}
