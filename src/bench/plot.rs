//! Cost against pixels and memory against frames in flight as pictures: SVG files that stand alone.

use maud::{Markup, PreEscaped, html};

use crate::report::chart::COLOURS;
use crate::report::chart::axes::{Axes, WIDTH};
use crate::timing::statistics::sorted;

use super::interval::median;
use super::{Results, growth, memory};

/// From here on times are in milliseconds: longer numbers have no room.
const LONGEST_US: f64 = 1e5;

/// Height of a plot without its heading, and of a line of that.
const HEIGHT: f64 = 480.0;
const LINE: f64 = 18.0;

/// A file has no page around it, and viewers of SVG know no variables: the colours are those of the page's light side.
const STYLE: &str = "\
text { font: 12px system-ui, 'Segoe UI', Roboto, 'Noto Sans', 'DejaVu Sans', sans-serif; fill: #1b1f24 }
.title { font-size: 16px; font-weight: 600 } .soft, .name, .tick { fill: #5b6470 } .tick { font-size: 11px }
.ground { fill: #ffffff } .area { fill: #f6f7f9 } .grid { stroke: #d9dde3 } .axis { stroke: #5b6470 }
.line { fill: none; stroke-width: 2; stroke-linejoin: round } .whisker { fill: none; stroke-width: 1.4 }
.guide { fill: none; stroke: #5b6470; stroke-width: 1.2; stroke-dasharray: 6 4 }
.c0 { stroke: #0072b2 } .c1 { stroke: #d55e00 } .c2 { stroke: #009e73 }
.c3 { stroke: #cc79a7 } .c4 { stroke: #e69f00 } .c5 { stroke: #56b4e9 }
.dot { stroke: none } .dot.c0 { fill: #0072b2 } .dot.c1 { fill: #d55e00 } .dot.c2 { fill: #009e73 }
.dot.c3 { fill: #cc79a7 } .dot.c4 { fill: #e69f00 } .dot.c5 { fill: #56b4e9 }
.d1 { stroke-dasharray: 10 4 } .d2 { stroke-dasharray: 3 3 }";

/// A line of a plot.
struct Line {
    name: String,
    /// Along, up, and from where to where upwards it was seen.
    points: Vec<(f64, f64, [f64; 2])>,
}

/// Time a frame against pixels, both logarithmic, with a line in proportion to pixels. `None` where no work was measured at two extents.
pub fn pixels(results: &Results) -> Option<String> {
    let mut ticks: Vec<(f64, String)> = Vec::new();
    let mut lines = Vec::new();
    for series in growth::series(results).iter().filter(|series| series.cases.len() > 1) {
        let points = series.cases.iter().filter_map(|case| {
            let (pixels, times) = (case.case.pixels() as f64, case.frame_us());
            if !ticks.iter().any(|(other, _)| *other == pixels) {
                ticks.push((pixels, case.case.size_text()));
            }
            let ascending = sorted(&times);
            Some((pixels, median(&times)?.value, [*ascending.first()?, *ascending.last()?]))
        });
        let points = points.collect();
        lines.push(Line {
            name: series.name.clone(),
            points,
        });
    }
    let longest = lines.iter().flat_map(|line| &line.points).map(|(.., [_, high])| *high);
    let is_long = longest.fold(0.0, f64::max) >= LONGEST_US;
    if is_long {
        for (_, y, [low, high]) in lines.iter_mut().flat_map(|line| &mut line.points) {
            [y, low, high].into_iter().for_each(|us| *us *= 1e-3);
        }
    }
    let unit = if is_long { "ms a frame" } else { "µs a frame" };
    let mut axes = axes(&lines, |[first, last]| [first / 1.15, last * 1.15])?;
    axes.x.is_logarithmic = true;
    let points = || lines.iter().flat_map(|line| &line.points);
    let (pixels, time, _) = points().max_by(|one, other| one.0.total_cmp(&other.0))?;
    let fewest = points().map(|(pixels, ..)| *pixels).fold(f64::MAX, f64::min);
    // Down to where it leaves the plot.
    let least = fewest.max(pixels * axes.y.values[0] / time);
    let guide = axes.path([(least, time * least / pixels), (*pixels, *time)]);
    let guide = html! { path.guide d=(guide) {} };
    let heading = [
        "Cost against pixels",
        "Dashed: in proportion to pixels. Points: medians of rounds; thin lines: from the lowest to the highest.",
    ];
    Some(file(
        results,
        heading,
        (&axes, ["size of a frame", unit], &ticks),
        &lines,
        &guide,
    ))
}

/// Memory against frames in flight, the memory logarithmic. `None` where it was not measured at two numbers of frames.
pub fn memory(results: &Results) -> Option<String> {
    let all = memory::series(results);
    let lines = all.iter().filter(|series| series.cases.len() > 1).map(|series| {
        let points = series.cases.iter().filter_map(|case| {
            let mib = case.memory_mib()?;
            Some((case.case.frames_in_flight as f64, mib, [mib; 2]))
        });
        Line {
            name: format!("{}, {}", series.size, series.name),
            points: points.collect(),
        }
    });
    let lines: Vec<Line> = lines.collect();
    let axes = axes(&lines, |[first, last]| [first - 0.25, last + 0.25])?;
    let [first, last] = axes.x.values.map(|value| value.round() as i32);
    let ticks: Vec<(f64, String)> = (first..=last)
        .map(|count| (f64::from(count), count.to_string()))
        .collect();
    let heading = [
        "GPU memory against frames in flight",
        "What a renderer takes after its first frames.",
    ];
    let axes = (&axes, ["frames in flight", "MiB"], &ticks[..]);
    Some(file(results, heading, axes, &lines, &html! {}))
}

/// Axes around all points, upwards logarithmic from one power of ten to another.
fn axes(lines: &[Line], widen: impl Fn([f64; 2]) -> [f64; 2]) -> Option<Axes> {
    let points = || lines.iter().flat_map(|line| &line.points);
    let ends = |values: &mut dyn Iterator<Item = f64>| {
        let [low, high] = values.fold([f64::MAX, 0.0], |[low, high], value| [value.min(low), value.max(high)]);
        (low > 0.0 && low <= high).then_some([low, high])
    };
    let x = ends(&mut points().map(|(x, ..)| *x))?;
    let [low, high] = ends(&mut points().flat_map(|(.., ends)| *ends))?;
    let power = |value: f64, round: fn(f64) -> f64| 10_f64.powf(round(value.log10()));
    let (low, high) = (power(low, f64::floor), power(high, f64::ceil));
    let mut axes = Axes::new(widen(x), [low, high.max(10.0 * low)], HEIGHT, 24.0);
    axes.y.is_logarithmic = true;
    Some(axes)
}

/// The whole file.
fn file(
    results: &Results,
    [title, note]: [&str; 2],
    (axes, names, ticks): (&Axes, [&str; 2], &[(f64, String)]),
    lines: &[Line],
    behind: &Markup,
) -> String {
    let machine = &results.machine;
    let made = format!(
        "{}, {}; handover {}, {}",
        machine.gpu, machine.vulkan_driver, results.handover, results.date
    );
    let class = |number: usize| format!("c{} d{}", number % COLOURS, number / COLOURS);
    let plot_top = 68.0 + LINE * lines.len() as f64;
    let view = format!("0 0 {WIDTH} {}", plot_top + HEIGHT);
    let content = html! {
        (behind)
        @for (number, line) in lines.iter().enumerate() {
            path.line.{ (class(number)) } d=(axes.path(line.points.iter().map(|(x, y, _)| (*x, *y)))) {}
            @for (x, y, [low, high]) in &line.points {
                @let (x, y) = (axes.x.place(*x), axes.y.place(*y));
                @if low < high {
                    path.whisker.{ (class(number)) } d=(format!("M{x} {}V{}", axes.y.place(*low), axes.y.place(*high))) {}
                }
                circle.dot.{ (class(number)) } cx=(x) cy=(y) r="3.5" {}
            }
        }
    };
    let picture = html! {
        svg xmlns="http://www.w3.org/2000/svg" viewBox=(view) role="img" aria-label=(title) {
            style { (PreEscaped(STYLE)) }
            rect.ground width="100%" height="100%" {}
            text.title x="16" y="24" { (title) }
            text.soft x="16" y="42" { (made) }
            text.soft x="16" y="60" { (note) }
            @for (number, line) in lines.iter().enumerate() {
                @let y = 78.0 + LINE * number as f64;
                path.line.{ (class(number)) } d=(format!("M16 {y}H44")) {}
                text x="52" y=(y + 4.0) { (line.name) }
            }
            g transform=(format!("translate(0 {plot_top})")) { (axes.within(names, ticks, &content)) }
        }
    };
    picture.into_string() + "\n"
}

#[cfg(test)]
#[path = "plot_tests.rs"]
mod tests;
