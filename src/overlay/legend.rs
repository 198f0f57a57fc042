//! The mean frame as one bar of parts, and a row for each part: its time, and what a kernel moves.

use egui::{Align2, Color32, Rect, pos2, vec2};

use super::figures::Figures;
use super::paint::{LINE, Pen, SMALL};
use super::stack::Part;
use super::{Facts, palette, ticks};

/// Points of the bar.
const BAR: f32 = 24.0;
/// Points of a row's number.
const SWATCH: f32 = 20.0;
/// Points of the column of all parts but kernels.
const PARTS: f32 = 240.0;
/// Points from the one column to the other.
const GUTTER: f32 = 20.0;
/// Points of a kernel's bar of throughput.
const THROUGHPUT: f32 = 46.0;

/// A part with its place in the stack, which numbers it, and its colour.
struct Row {
    number: usize,
    part: Part,
    time_ms: f64,
    color: Color32,
}

pub(super) fn paint(pen: &mut Pen<'_>, facts: &Facts, figures: &Figures) {
    let total_ms: f64 = figures.parts.iter().map(|(_, time_ms)| time_ms).sum();
    let mean = format!(
        "{} ms, mean of {} frames",
        ticks::milliseconds(total_ms),
        figures.mean_frames
    );
    pen.heading("one frame, from the host's start to its end on the GPU", &mean);
    let mut kernels = 0;
    let rows: Vec<_> = figures
        .parts
        .iter()
        .enumerate()
        .map(|(index, (part, time_ms))| {
            let color = part.color(kernels);
            kernels += usize::from(part.is_kernel());
            Row {
                number: index + 1,
                part: *part,
                time_ms: *time_ms,
                color,
            }
        })
        .collect();
    let bar = pen.take(BAR);
    stack(pen, bar, &rows, total_ms);
    pen.y += 5.0;

    let top = pen.y;
    let (kernels, others): (Vec<_>, Vec<_>) = rows.iter().partition(|row| row.part.is_kernel());
    for row in others {
        let line = Rect::from_min_size(pos2(pen.left, pen.y), vec2(PARTS, LINE));
        name_and_time(pen, line, row, &facts.effects);
        pen.y += LINE;
    }
    let bottom = std::mem::replace(&mut pen.y, top);
    let mut line = Rect::from_min_max(pos2(pen.left + PARTS + GUTTER, top), pos2(pen.right, top + LINE));
    if kernels.is_empty() {
        pen.text(
            line.left_center(),
            Align2::LEFT_CENTER,
            "no kernel was timed",
            palette::DIM,
        );
    } else {
        let copy = facts.copy_bandwidth.map_or_else(
            || "a copy: not measured".to_owned(),
            |copy| format!("a copy: {}", ticks::gigabytes_a_second(copy)),
        );
        pen.text(line.left_center(), Align2::LEFT_CENTER, "kernel", palette::DIM);
        pen.text(line.right_center(), Align2::RIGHT_CENTER, copy, palette::DIM);
    }
    for row in kernels {
        line = line.translate(vec2(0.0, LINE));
        kernel(pen, line, row, facts, figures);
    }
    pen.y = bottom.max(line.bottom()) + 5.0;
}

/// The parts side by side; those with room for it are numbered.
fn stack(pen: &Pen<'_>, bar: Rect, rows: &[Row], total_ms: f64) {
    pen.fill(bar, palette::WELL);
    let x_of = |time_ms: f64| bar.left() + (time_ms / total_ms) as f32 * bar.width();
    let mut so_far_ms = 0.0;
    for row in rows.iter().filter(|row| row.time_ms > 0.0) {
        let x = x_of(so_far_ms)..=x_of(so_far_ms + row.time_ms);
        so_far_ms += row.time_ms;
        let part = Rect::from_x_y_ranges(*x.start()..=*x.end(), bar.y_range());
        pen.fill(part, row.color);
        // A line between two parts: neighbours may have similar colours.
        pen.vline(*x.end(), bar.y_range(), palette::WELL);
        if part.width() >= 16.0 {
            let color = palette::text_on(row.color);
            pen.text(part.center(), Align2::CENTER_CENTER, row.number, color);
        }
    }
}

/// As many letters as a kernel's row has room for.
const NAME_LETTERS: usize = 20;

/// The name of a launch of several effects, with the last ones counted where they are too long.
fn shortened(name: &str) -> String {
    let parts: Vec<&str> = name.split('+').collect();
    if parts.len() < 2 || name.len() <= NAME_LETTERS {
        return name.to_owned();
    }
    let short = |count: usize| format!("{} +{}", parts[..count].join("+"), parts.len() - count);
    let fitting = (1..parts.len())
        .rev()
        .map(short)
        .find(|short| short.len() <= NAME_LETTERS);
    fitting.unwrap_or_else(|| short(1))
}

/// Number, name and milliseconds.
fn name_and_time(pen: &Pen<'_>, line: Rect, row: &Row, effects: &[String]) {
    let swatch = Rect::from_min_size(line.min + vec2(0.0, 1.0), vec2(SWATCH, LINE - 2.0));
    pen.fill(swatch, row.color);
    let color = palette::text_on(row.color);
    pen.text(swatch.center(), Align2::CENTER_CENTER, row.number, color);
    let name = shortened(&row.part.name(effects).replace('_', " "));
    let at = pos2(swatch.right() + 6.0, line.center().y);
    pen.text(at, Align2::LEFT_CENTER, name, palette::TEXT);
    let time = format!("{} ms", ticks::milliseconds(row.time_ms));
    pen.text(line.right_center(), Align2::RIGHT_CENTER, time, palette::TEXT);
}

/// A kernel's row: besides, what it moves, and that as a part of what a copy moves.
fn kernel(pen: &Pen<'_>, line: Rect, row: &Row, facts: &Facts, figures: &Figures) {
    let time = Rect::from_min_max(line.min, pos2(line.right() - THROUGHPUT - 78.0, line.bottom()));
    name_and_time(pen, time, row, &facts.effects);
    let found = figures
        .throughputs
        .iter()
        .find(|throughput| throughput.part == row.part);
    let Some(throughput) = found else { return };
    let at = pos2(line.right() - THROUGHPUT - 6.0, line.center().y);
    let moved = ticks::gigabytes_a_second(throughput.bytes_a_second);
    pen.text(at, Align2::RIGHT_CENTER, moved, palette::TEXT);
    let Some(copy) = facts.copy_bandwidth else { return };
    let part = throughput.bytes_a_second / copy;
    let size = vec2(THROUGHPUT, SMALL + 2.0);
    let well = Rect::from_min_size(pos2(line.right() - THROUGHPUT, line.center().y - size.y / 2.0), size);
    pen.fill(well, palette::WELL);
    let filled = Rect::from_min_size(well.min, vec2(size.x * part.min(1.0) as f32, size.y));
    pen.fill(filled, palette::BLUE);
    pen.outline(well, palette::GRID);
    let percent = format!("{:.0} %", part * 100.0);
    pen.text(well.center(), Align2::CENTER_CENTER, percent, palette::TEXT);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_too_long_end_with_a_count() {
        for (name, short) in [
            ("chromatic aberration", "chromatic aberration"),
            ("a name without parts that is long", "a name without parts that is long"),
            ("exposure+tonemap", "exposure+tonemap"),
            ("exposure+tonemap+vignette", "exposure+tonemap +1"),
            ("aces approximation+film grain+lut", "aces approximation +2"),
        ] {
            assert_eq!(shortened(name), short);
        }
    }
}
