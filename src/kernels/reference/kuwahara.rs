//! Kuwahara: the mean of the square with the least variance, of the four that have the texel in a corner.
//!
//! Kuwahara, Hachimura, Eiho and Kinoshita, *Processing of RI-angiocardiographic images*, 1976. The variance is the mean
//! of the squared luminances less their squared mean. Which square is chosen hangs on its last digits, so the order of
//! the sums is part of the definition: in float, row after row, from the left. Of equal ones the first is chosen: upper
//! left, upper right, lower left, lower right.

use super::{ReferencePass, Texel, luminance};

/// What is summed of a texel: red, green, blue, luminance, its square.
type Sums = [f32; 5];

fn summands(color: &Texel) -> Sums {
    let level = luminance(*color);
    [color[0], color[1], color[2], level, level * level]
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let radius = pass.parameter::<u32>(0) as usize;
    let side = radius + 1;
    let count = (side * side) as f32;
    let y = i64::from(y);
    let reach = radius as i64;
    // All rows of the squares, with the edge texels `radius` more times on both sides.
    let rows: Vec<Vec<Sums>> = (y - reach..=y + reach)
        .map(|row| {
            let row = pass.source.row(row);
            let padding = |texel: Option<&Texel>| texel.map(summands).into_iter().cycle().take(radius);
            padding(row.first())
                .chain(row.iter().map(summands))
                .chain(padding(row.last()))
                .collect()
        })
        .collect();
    let square = |left: usize, top: usize| {
        rows[top..top + side]
            .iter()
            .flat_map(|row| &row[left..left + side])
            .fold([0.0; 5], |sums: Sums, texel| {
                std::array::from_fn(|index| sums[index] + texel[index])
            })
    };
    let variance = |sums: &Sums| sums[4] / count - (sums[3] / count) * (sums[3] / count);
    for ((x, out), color) in out.iter_mut().enumerate().zip(pass.source.row(y)) {
        let squares = [[0, 0], [radius, 0], [0, radius], [radius, radius]].map(|[dx, dy]| square(x + dx, dy));
        let [first, rest @ ..] = squares;
        let quietest = rest.into_iter().fold(first, |least, other| {
            if variance(&other) < variance(&least) {
                other
            } else {
                least
            }
        });
        *out = [quietest[0] / count, quietest[1] / count, quietest[2] / count, color[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn a_step_and_a_corner_stay_as_sharp_as_they_were() {
        let image: Vec<Texel> = (0..24 * 20)
            .map(|index| {
                if index % 24 < 11 || index / 24 < 9 {
                    [0.25, 0.5, 0.125, 1.0]
                } else {
                    [1.0, 0.5, 0.25, 0.5]
                }
            })
            .collect();
        for radius in [1.0, 3.0, 8.0] {
            assert_eq!(
                apply("kuwahara", &[("radius", radius)], [24, 20], &image),
                image,
                "{radius}"
            );
        }
    }

    #[test]
    fn a_speck_that_no_quiet_square_contains_vanishes_elsewhere() {
        let mut image = vec![[0.25, 0.25, 0.25, 1.0]; 15 * 15];
        image[7 * 15 + 7] = [4.0, 4.0, 4.0, 1.0];
        let out = apply("kuwahara", &[("radius", 2.0)], [15, 15], &image);
        for (index, texel) in out.iter().enumerate() {
            if index != 7 * 15 + 7 {
                assert_eq!(*texel, [0.25, 0.25, 0.25, 1.0], "{index}");
            }
        }
        // Every square of the speck's own contains it: the mean of eight and one.
        assert!((out[7 * 15 + 7][0] - (8.0 * 0.25 + 4.0) / 9.0).abs() < 5e-4);
    }

    /// `tests/fixtures/kuwahara.csv` is numpy's answer in float64; `tests/fixtures/make-kuwahara` made it.
    #[test]
    fn a_noisy_picture_equals_numpy() {
        let fixture = include_str!("../../../tests/fixtures/kuwahara.csv");
        let parsed = fixture.lines().skip(1).map(|line| {
            let fields = line.split(',').map(|field| field.parse().expect("a number"));
            fields.collect::<Vec<f32>>()
        });
        let lines: Vec<Vec<f32>> = parsed.collect();
        assert_eq!(lines.len(), 16 * 12);
        let image: Vec<Texel> = lines.iter().map(|line| [line[0], line[1], line[2], 1.0]).collect();
        let out = apply("kuwahara", &[("radius", 2.0)], [16, 12], &image);
        for (texel, line) in out.iter().zip(&lines) {
            let error = (0..3).map(|channel| (texel[channel] - line[3 + channel]).abs() / line[3 + channel]);
            assert!(error.fold(0.0, f32::max) < 5.5e-4, "{texel:?} for {line:?}");
        }
    }
}
