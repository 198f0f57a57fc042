//! Non-local means: Buades, Coll and Morel, *A non-local algorithm for image denoising*, CVPR 2005.

use super::{ReferencePass, Texel, gaussian};

const PATCH_RADIUS: usize = 0;
const SEARCH_RADIUS: usize = 1;
const H: usize = 2;

/// A row of the source by channels, its edges continued by `margin` texels. Alpha is none of the filter's.
fn planes(row: &[Texel], margin: usize) -> [Vec<f32>; 3] {
    [0, 1, 2].map(|channel| {
        let (first, last) = (row[0][channel], row[row.len() - 1][channel]);
        let mut plane = vec![first; margin];
        plane.extend(row.iter().map(|texel| texel[channel]));
        plane.resize(row.len() + 2 * margin, last);
        plane
    })
}

/// Adds `weight` times the squared distance of two rows' colours to `sums`, texel by texel from `own` and `other` on.
fn add_squares(sums: &mut [f32], weight: f32, a: &[Vec<f32>; 3], own: usize, b: &[Vec<f32>; 3], other: usize) {
    let length = sums.len();
    let [a0, a1, a2] = [0, 1, 2].map(|channel| &a[channel][own..own + length]);
    let [b0, b1, b2] = [0, 1, 2].map(|channel| &b[channel][other..other + length]);
    for x in 0..length {
        let (red, green, blue) = (a0[x] - b0[x], a1[x] - b1[x], a2[x] - b2[x]);
        sums[x] += weight * (red * red + green * green + blue * blue);
    }
}

/// Adds `weight` times `values` to `sums`.
fn add(sums: &mut [f32], weight: f32, values: &[f32]) {
    sums.iter_mut()
        .zip(values)
        .for_each(|(sum, value)| *sum += weight * value);
}

/// The patch's Gaussian is separable: for every offset in the search window, differences are summed along columns once,
/// and then along the row for each texel.
pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let patch = pass.parameter::<u32>(PATCH_RADIUS);
    let weights = gaussian::weights(patch as f32 / 2.0, patch);
    let (patch, search) = (patch as usize, pass.parameter::<u32>(SEARCH_RADIUS) as usize);
    // The distance is the mean over three channels.
    let scale = -1.0 / (3.0 * pass.parameter::<f32>(H).powi(2));
    let (width, margin) = (out.len(), patch + search);
    // All rows that are met.
    let rows: Vec<[Vec<f32>; 3]> = (0..=2 * margin)
        .map(|row| planes(pass.source.row(i64::from(y) + row as i64 - margin as i64), margin))
        .collect();
    let mut sums = [0, 1, 2].map(|_| vec![0.0; width]);
    let mut totals = vec![0.0; width];
    let mut columns = vec![0.0; width + 2 * patch];
    let mut likeness = vec![0.0; width];
    for dy in 0..=2 * search {
        for dx in 0..=2 * search {
            columns.fill(0.0);
            for j in 0..=2 * patch {
                let weight = weights[j.abs_diff(patch)];
                add_squares(&mut columns, weight, &rows[search + j], search, &rows[dy + j], dx);
            }
            likeness.fill(0.0);
            for i in 0..=2 * patch {
                add(&mut likeness, weights[i.abs_diff(patch)], &columns[i..]);
            }
            for (likeness, total) in likeness.iter_mut().zip(&mut totals) {
                *likeness = (*likeness * scale).exp();
                *total += *likeness;
            }
            for (sums, plane) in sums.iter_mut().zip(&rows[dy + patch]) {
                let others = &plane[dx + patch..];
                for ((sum, likeness), other) in sums.iter_mut().zip(&likeness).zip(others) {
                    *sum += likeness * other;
                }
            }
        }
    }
    let [red, green, blue] = sums;
    for (x, (out, source)) in out.iter_mut().zip(pass.source.row(i64::from(y))).enumerate() {
        let total = totals[x];
        *out = [red[x] / total, green[x] / total, blue[x] / total, source[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;
    use crate::kernels::reference::test_picture::{assert_as_in_fixture, halves};

    /// The fixture is the definition in float64, with which scikit-image agreed.
    #[test]
    fn a_picture_equals_numpy() {
        let fixture = include_str!("../../../tests/fixtures/nlm.csv");
        assert_as_in_fixture("nlm", fixture, 3, 6e-4);
    }

    /// Two texels a step apart in a checkerboard look like half of their neighbours, and like no other.
    #[test]
    fn a_pattern_stays_where_a_blur_would_erase_it() {
        let board: Vec<Texel> = (0..16 * 16)
            .map(|index| {
                let tone = if (index / 16 + index % 16) % 2 == 0 { 0.25 } else { 0.75 };
                [tone, tone, 0.5, 0.5]
            })
            .collect();
        let out = apply("nlm", &[("h", 0.05)], [16, 16], &board);
        assert_eq!(out, board);
    }

    #[test]
    fn a_broken_pixel_stays_alone() {
        let mut image = vec![[0.5, 0.25, 0.125, 1.0]; 225];
        image[112] = [f32::INFINITY, 0.25, 0.125, 1.0];
        assert_eq!(apply("nlm", &[("h", 1.0)], [15, 15], &image), {
            image[112][0] = 65504.0;
            halves(&image)
        });
    }
}
