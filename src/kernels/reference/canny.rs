//! Canny: ridges of the blurred tone's gradient, with hysteresis.
//!
//! Canny, *A Computational Approach to Edge Detection*, 1986. What is decided hangs on values whose steps are part of the
//! definition, in float: those of [`gaussian`] and [`gradient`].

use super::{ReferencePass, Texel, luminance};
use rayon::prelude::*;

const SIGMA: usize = 0;
const LOW: usize = 1;
const HIGH: usize = 2;
const INK: usize = 3;
const PICTURE: usize = 4;

/// What a texel is, in the buffer of marks.
const WEAK: u32 = 1;
const STRONG: u32 = 2;
/// A weak or strong texel that hangs together with a strong one.
const KEPT: u32 = 4;

/// The weights of a Gaussian from the centre to four sigma, as SciPy cuts it off, and their sum over both sides.
fn gaussian(sigma: f32) -> (Vec<f32>, f32) {
    // exp(-1 / (2 sigma^2)) by eight terms of the series for an eighth of the exponent, of which the eighth power is taken.
    let eighth = 1.0 / (16.0 * sigma * sigma);
    let series = (1..=8).rev().fold(1.0, |sum, term| 1.0 + sum * eighth / term as f32);
    let squared: f32 = series * series;
    let q = 1.0 / ((squared * squared) * (squared * squared));
    let radius = (4.0 * sigma + 0.5) as usize;
    let mut weights = vec![1.0];
    let (mut factor, mut total) = (q, 1.0);
    for offset in 1..=radius {
        weights.push(weights[offset - 1] * factor);
        factor *= q * q;
        total += 2.0 * weights[offset];
    }
    (weights, total)
}

/// Values of one channel, row after row; positions outside are clamped to the edge.
struct Plane<'a> {
    values: &'a [f32],
    extent: [i64; 2],
}

impl Plane<'_> {
    fn of<'a>(pass: &ReferencePass, bytes: &'a [u8]) -> Plane<'a> {
        Plane {
            values: bytemuck::cast_slice(bytes),
            extent: pass.source.extent.map(i64::from),
        }
    }

    fn at(&self, x: i64, y: i64) -> f32 {
        let [width, height] = self.extent;
        self.values[(y.clamp(0, height - 1) * width + x.clamp(0, width - 1)) as usize]
    }
}

/// Computes a value for each texel, rows in parallel.
fn fill<T: Send + bytemuck::Pod>(pass: &ReferencePass, out: &mut [u8], value: impl Fn(i64, i64) -> T + Sync) {
    let out: &mut [T] = bytemuck::cast_slice_mut(out);
    let rows = out.par_chunks_mut(pass.source.extent[0] as usize).enumerate();
    rows.for_each(|(y, row)| {
        for (x, out) in row.iter_mut().enumerate() {
            *out = value(x as i64, y as i64);
        }
    });
}

pub(super) fn tone(pass: &ReferencePass, _: &mut [Texel], [tones, ..]: [&mut [u8]; 4]) {
    fill(pass, tones, |x, y| luminance(pass.source.at(x, y)).min(1.0).sqrt());
}

/// The Gaussian along one axis: opposite neighbours are added first.
fn blur(pass: &ReferencePass, from: &[u8], to: &mut [u8], [dx, dy]: [i64; 2]) {
    let (weights, total) = gaussian(pass.parameter(SIGMA));
    let plane = Plane::of(pass, from);
    fill(pass, to, |x, y| {
        let pair = |i: i64| plane.at(x - i * dx, y - i * dy) + plane.at(x + i * dx, y + i * dy);
        let sides = (1..).zip(&weights[1..]);
        sides.fold(plane.at(x, y), |sum, (i, weight)| sum + weight * pair(i)) / total
    });
}

pub(super) fn rows(pass: &ReferencePass, _: &mut [Texel], [tones, rows, ..]: [&mut [u8]; 4]) {
    blur(pass, tones, rows, [1, 0]);
}

pub(super) fn columns(pass: &ReferencePass, _: &mut [Texel], [rows, smooth, ..]: [&mut [u8]; 4]) {
    blur(pass, rows, smooth, [0, 1]);
}

/// Sobel's sums in x and y.
fn gradient(plane: &Plane, x: i64, y: i64) -> [f32; 2] {
    let across = |dy| plane.at(x + 1, y + dy) - plane.at(x - 1, y + dy);
    let down = |dx| plane.at(x + dx, y + 1) - plane.at(x + dx, y - 1);
    [
        across(-1) + 2.0 * across(0) + across(1),
        down(-1) + 2.0 * down(0) + down(1),
    ]
}

fn length([x, y]: [f32; 2]) -> f32 {
    (x * x + y * y).sqrt()
}

/// Whether the gradient is nowhere longer one step along it to either side: a step ends between a texel that is straight
/// beside this one and one that is diagonal.
fn is_ridge(plane: &Plane, x: i64, y: i64) -> bool {
    let [gx, gy] = gradient(plane, x, y);
    let here = length([gx, gy]);
    // Each neighbour's own place, with clamped texels around it.
    let magnitude = |dx: i64, dy: i64| length(gradient(plane, x + dx, y + dy));
    let [toward_x, toward_y] = [gx, gy].map(|part| if part >= 0.0 { 1 } else { -1 });
    let (straight, share) = if gy.abs() > gx.abs() {
        ([0, toward_y], gx.abs() / gy.abs())
    } else {
        ([toward_x, 0], gy.abs() / gx.abs())
    };
    here > 0.0
        && [1, -1].into_iter().all(|side| {
            let diagonal = magnitude(side * toward_x, side * toward_y);
            let between = diagonal * share + magnitude(side * straight[0], side * straight[1]) * (1.0 - share);
            between <= here
        })
}

pub(super) fn suppress(pass: &ReferencePass, _: &mut [Texel], [smooth, marks, ..]: [&mut [u8]; 4]) {
    let (low, high) = (pass.parameter::<f32>(LOW), pass.parameter::<f32>(HIGH));
    let plane = Plane::of(pass, smooth);
    let [width, height] = plane.extent;
    fill(pass, marks, |x, y| {
        let is_inner = (1..width - 1).contains(&x) && (1..height - 1).contains(&y);
        let magnitude = length(gradient(&plane, x, y));
        match is_inner && magnitude >= low && is_ridge(&plane, x, y) {
            true if magnitude >= high => STRONG,
            true => WEAK,
            false => 0,
        }
    });
}

/// Components are found by [`hysteresis`], which needs no labels.
pub(super) fn no_labels(_: &ReferencePass, _: &mut [Texel], _: [&mut [u8]; 4]) {}

/// Spreads from every strong texel over all that hang together with it, by side or corner.
pub(super) fn hysteresis(pass: &ReferencePass, _: &mut [Texel], [marks, ..]: [&mut [u8]; 4]) {
    let marks: &mut [u32] = bytemuck::cast_slice_mut(marks);
    let width = pass.source.extent[0] as usize;
    let mut open: Vec<usize> = (0..marks.len()).filter(|at| marks[*at] == STRONG).collect();
    while let Some(at) = open.pop() {
        if marks[at] & KEPT == 0 {
            marks[at] |= KEPT;
            // None is outermost, so all neighbours are inside.
            let beside = [at - width, at, at + width].into_iter().flat_map(|at| at - 1..=at + 1);
            open.extend(beside.filter(|at| matches!(marks[*at], WEAK | STRONG)));
        }
    }
}

pub(super) fn draw(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (ink, picture) = (pass.parameter::<f32>(INK), pass.parameter::<f32>(PICTURE));
    let marks: &[u32] = bytemuck::cast_slice(pass.buffers[0]);
    let marks = marks.chunks(pass.source.extent[0] as usize).nth(y as usize);
    let row = pass.source.row(i64::from(y));
    for ((out, color), mark) in out.iter_mut().zip(row).zip(marks.expect("a row of marks")) {
        let [red, green, blue] = match mark & KEPT {
            0 => [color[0], color[1], color[2]].map(|light| light * picture),
            _ => [ink; 3],
        };
        *out = [red, green, blue, color[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn weights_are_the_gaussian_s() {
        for sigma in [0.5f32, 0.8, 1.4, 2.7, 4.0] {
            let (weights, total) = gaussian(sigma);
            let exact = |i: usize| (-0.5 * (i as f64 / f64::from(sigma)).powi(2)).exp();
            for (i, weight) in weights.iter().enumerate() {
                assert!(
                    (f64::from(*weight) / exact(i) - 1.0).abs() < 1e-4,
                    "{sigma}, {i}: {weight}"
                );
                assert!((f64::from(*weight) - exact(i)).abs() < 2e-6, "{sigma}, {i}: {weight}");
            }
            let sum = (1..weights.len()).map(|i| 2.0 * exact(i)).sum::<f64>() + 1.0;
            assert!((f64::from(total) / sum - 1.0).abs() < 1e-5, "{sigma}");
        }
    }

    /// `tests/fixtures/canny.txt` is what scikit-image's `feature.canny` finds; `make-canny` made it.
    #[test]
    fn edges_are_those_of_scikit_image() {
        let fixture = include_str!("../../../tests/fixtures/canny.txt");
        let mut blocks = fixture.trim_end().split("\n\n");
        let rows: Vec<Vec<f32>> = blocks
            .next()
            .expect("the picture")
            .lines()
            .map(|line| {
                line.split(' ')
                    .map(|light| light.parse::<f32>().expect("a number") / 1024.0)
                    .collect()
            })
            .collect();
        let extent = [rows[0].len() as u32, rows.len() as u32];
        let image: Vec<Texel> = rows
            .iter()
            .flatten()
            .map(|light| [*light, *light, *light, 1.0])
            .collect();
        let mut cases = 0;
        for block in blocks {
            let (settings, expected) = block.split_once('\n').expect("settings, then edges");
            let values: Vec<f64> = settings
                .split(' ')
                .map(|value| value.parse().expect("a number"))
                .collect();
            let settings = [
                ("sigma", values[0]),
                ("low", values[1]),
                ("high", values[2]),
                ("ink", 4.0),
                ("picture", 0.0),
            ];
            let out = apply("canny", &settings, extent, &image);
            let edges: Vec<bool> = out.iter().map(|texel| texel[0] == 4.0).collect();
            let expected: Vec<bool> = expected.chars().filter(|c| *c != '\n').map(|c| c == '#').collect();
            assert_eq!(edges.len(), expected.len());
            let count = expected.iter().filter(|edge| **edge).count();
            let wrong = edges.iter().zip(&expected).filter(|(a, b)| a != b).count();
            assert!(
                count > 100 && wrong == 0,
                "{values:?}: {wrong} texels differ, of {count} edges"
            );
            cases += 1;
        }
        assert_eq!(cases, 4);
    }

    /// A line that fades is kept as far as it hangs together with its strong end; alone, its weak end is nothing.
    #[test]
    fn weak_edges_are_kept_where_they_hang_together_with_strong_ones() {
        let extent = [64, 16];
        let step = |x: usize| 0.5 * (1.0 - x as f32 / 63.0) + 0.12;
        let image = |cut: bool| -> Vec<Texel> {
            let texel = |index: usize| {
                let (x, y) = (index % 64, index / 64);
                let tone = if y < 8 || (cut && (28..36).contains(&x)) {
                    0.1
                } else {
                    0.1 + step(x)
                };
                [tone * tone, tone * tone, tone * tone, 1.0]
            };
            (0..64 * 16).map(texel).collect()
        };
        let settings = [
            ("sigma", 1.0),
            ("low", 0.1),
            ("high", 1.4),
            ("ink", 1.0),
            ("picture", 0.0),
        ];
        let edge_at = |out: &[Texel], x: usize| (6..10).any(|y| out[y * 64 + x][0] == 1.0);
        let whole = apply("canny", &settings, extent, &image(false));
        assert!((2..62).all(|x| edge_at(&whole, x)));
        let none = apply(
            "canny",
            &[&settings[..2], &[("high", 4.0)], &settings[3..]].concat(),
            extent,
            &image(false),
        );
        assert!(none.iter().all(|texel| texel[0] == 0.0));
        let cut = apply("canny", &settings, extent, &image(true));
        assert!(
            edge_at(&cut, 5) && !edge_at(&cut, 50),
            "the weak end has lost its strong one"
        );
    }
}
