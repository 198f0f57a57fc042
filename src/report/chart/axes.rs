//! The frame of a plot: its scales, grid and words.

use std::fmt::Write as _;

use maud::{Markup, html};

/// Width of every plot in its own units; the page scales it.
pub const WIDTH: f64 = 960.0;
/// Room above the plot for half a line of words.
const TOP: f64 = 12.0;
/// Room below: tick words and the axis's name.
const BOTTOM: f64 = 44.0;

/// From values to places.
#[derive(Debug, Clone, Copy)]
pub struct Scale {
    /// Value at the beginning and at the end.
    pub values: [f64; 2],
    /// Place of these.
    pub places: [f64; 2],
    /// Equal factors are equal steps; both values are then above 0.
    pub is_logarithmic: bool,
}

impl Scale {
    /// The place of a value, with two decimals; values outside are put to the end.
    pub fn place(&self, value: f64) -> f64 {
        let along = |value: f64| if self.is_logarithmic { value.log10() } else { value };
        let [first, last] = self.values.map(along);
        let part = ((along(value) - first) / (last - first)).clamp(0.0, 1.0);
        let [from, to] = self.places;
        ((from + part * (to - from)) * 100.0).round() / 100.0
    }

    /// Round values within, about so many.
    pub fn ticks(&self, about: usize) -> Vec<f64> {
        let [first, last] = self.values;
        if self.is_logarithmic {
            let powers = (first.log10().ceil() as i32)..=(last.log10().floor() as i32);
            return powers.map(|power| 10_f64.powi(power)).collect();
        }
        let step = round_step((last - first) / about.max(1) as f64);
        let numbers = ((first / step).ceil() as i64)..=((last / step).floor() as i64);
        numbers.map(|number| number as f64 * step).collect()
    }
}

/// The next of 1, 2, 5, 10 and so on.
fn round_step(least: f64) -> f64 {
    let power = 10_f64.powf(least.log10().floor());
    let factors = [1.0, 2.0, 5.0, 10.0];
    let factor = factors
        .into_iter()
        .find(|factor| factor * power >= least * (1.0 - 1e-9));
    factor.unwrap_or(10.0) * power
}

/// A number without needless zeros.
pub fn words(value: f64) -> String {
    let text = format!("{value:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// An area with an axis below and one to the left.
#[derive(Debug, Clone, Copy)]
pub struct Axes {
    /// To the right.
    pub x: Scale,
    /// Upwards.
    pub y: Scale,
    height: f64,
}

impl Axes {
    /// Axes for these ranges in a plot so high, with room to the right for words.
    pub fn new(x: [f64; 2], y: [f64; 2], height: f64, right: f64) -> Axes {
        let scale = |values, places| Scale {
            values,
            places,
            is_logarithmic: false,
        };
        Axes {
            x: scale(x, [64.0, WIDTH - right]),
            y: scale(y, [height - BOTTOM, TOP]),
            height,
        }
    }

    /// The plot: the grid and the axes' names, what is in it, and a description for those who do not see it.
    pub fn plot(&self, description: &str, names: [&str; 2], ticks: &[(f64, String)], content: &Markup) -> Markup {
        let view = format!("0 0 {WIDTH} {}", self.height);
        html! {
            svg.plot viewBox=(view) role="img" aria-label=(description) { (self.within(names, ticks, content)) }
        }
    }

    /// What the plot's element holds: the grid and the axes' names, and what is in it.
    pub fn within(&self, names: [&str; 2], ticks: &[(f64, String)], content: &Markup) -> Markup {
        let [left, right] = self.x.places;
        let [bottom, top] = self.y.places;
        let middle = (bottom + top) / 2.0;
        let upright = format!("rotate(-90 16 {middle})");
        html! {
            rect.area x=(left) y=(top) width=(right - left) height=(bottom - top) {}
            @for value in self.y.ticks(6) {
                @let y = self.y.place(value);
                line.grid x1=(left) x2=(right) y1=(y) y2=(y) {}
                text.tick x=(left - 8.0) y=(y + 4.0) text-anchor="end" { (words(value)) }
            }
            @for (value, word) in ticks {
                @let x = self.x.place(*value);
                line.grid x1=(x) x2=(x) y1=(top) y2=(bottom) {}
                text.tick x=(x) y=(bottom + 18.0) text-anchor="middle" { (word) }
            }
            (content)
            line.axis x1=(left) x2=(right) y1=(bottom) y2=(bottom) {}
            text.name x=((left + right) / 2.0) y=(bottom + 38.0) text-anchor="middle" { (names[0]) }
            text.name x="16" y=(middle) text-anchor="middle" transform=(upright) { (names[1]) }
        }
    }

    /// Ticks of the axis below, at round values.
    pub fn x_ticks(&self) -> Vec<(f64, String)> {
        self.x
            .ticks(10)
            .into_iter()
            .map(|value| (value, words(value)))
            .collect()
    }

    /// A line through points, as a path's data.
    pub fn path(&self, points: impl IntoIterator<Item = (f64, f64)>) -> String {
        let mut data = String::new();
        for (x, y) in points {
            let command = if data.is_empty() { 'M' } else { 'L' };
            // Writing to a string cannot fail.
            let _ = write!(data, "{command}{} {}", self.x.place(x), self.y.place(y));
        }
        data
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round_and_within() {
        let mut scale = Scale {
            values: [0.0, 17.0],
            places: [0.0, 100.0],
            is_logarithmic: false,
        };
        assert_eq!(scale.ticks(6), [0.0, 5.0, 10.0, 15.0]);
        scale.values = [0.0, 0.9];
        assert_eq!(
            scale.ticks(6).into_iter().map(words).collect::<Vec<_>>(),
            ["0", "0.2", "0.4", "0.6", "0.8"]
        );
        scale.values = [0.5, 2000.0];
        scale.is_logarithmic = true;
        assert_eq!(scale.ticks(6), [1.0, 10.0, 100.0, 1000.0]);
    }

    #[test]
    fn values_outside_are_put_to_the_end() {
        let scale = Scale {
            values: [0.0, 10.0],
            places: [200.0, 0.0],
            is_logarithmic: false,
        };
        assert_eq!(
            [-1.0, 0.0, 2.5, 11.0].map(|value| scale.place(value)),
            [200.0, 200.0, 150.0, 0.0]
        );
    }
}
