//! Non-local means: Buades, Coll and Morel, *A non-local algorithm for image denoising*, CVPR 2005.

use super::{ReferencePass, Texel, gaussian};

const PATCH_RADIUS: usize = 0;
const SEARCH_RADIUS: usize = 1;
const H: usize = 2;

/// Sums over the patch along one axis, `weights[|i|]` for the i-th.
fn weighted(weights: &[f32], value: impl Fn(usize) -> f32) -> f32 {
    let radius = weights.len() - 1;
    (0..=2 * radius).map(|i| weights[i.abs_diff(radius)] * value(i)).sum()
}

/// The patch's Gaussian is separable: for every offset in the search window, differences are summed along columns once,
/// and then along the row for each texel.
pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (patch, search) = (
        pass.parameter::<u32>(PATCH_RADIUS),
        pass.parameter::<u32>(SEARCH_RADIUS) as usize,
    );
    let weights = gaussian::weights(patch as f32 / 2.0, patch);
    let patch = patch as usize;
    let h_squared = pass.parameter::<f32>(H).powi(2);
    let margin = patch + search;
    let width = out.len();
    // All rows that are met, with their edges continued. Alpha is none of the filter's.
    let rows: Vec<Vec<Texel>> = (0..=2 * margin)
        .map(|row| {
            let source = pass.source.row(i64::from(y) + row as i64 - margin as i64);
            let at = |x: usize| source[x.saturating_sub(margin).min(width - 1)];
            (0..width + 2 * margin)
                .map(at)
                .map(|[red, green, blue, _]| [red, green, blue, 0.0])
                .collect()
        })
        .collect();
    let mut totals = vec![0.0; width];
    out.fill([0.0; 4]);
    let mut columns = vec![0.0; width + 2 * patch];
    for dy in 0..=2 * search {
        for dx in 0..=2 * search {
            columns.fill(0.0);
            for j in 0..=2 * patch {
                let weight = weights[j.abs_diff(patch)];
                let own = &rows[search + j][search..];
                let other = &rows[dy + j][dx..];
                for (column, (own, other)) in columns.iter_mut().zip(own.iter().zip(other)) {
                    let squares = [0, 1, 2, 3].map(|channel| (own[channel] - other[channel]).powi(2));
                    *column += weight * (squares[0] + squares[1] + squares[2] + squares[3]);
                }
            }
            let others = &rows[dy + patch][dx + patch..];
            for (x, (out, total)) in out.iter_mut().zip(&mut totals).enumerate() {
                // The mean over three channels.
                let distance = weighted(&weights, |i| columns[x + i]) / 3.0;
                let weight = (-distance / h_squared).exp();
                for (out, value) in out.iter_mut().zip(others[x]) {
                    *out += weight * value;
                }
                *total += weight;
            }
        }
    }
    for ((out, total), source) in out.iter_mut().zip(totals).zip(pass.source.row(i64::from(y))) {
        *out = out.map(|sum| sum / total);
        out[3] = source[3];
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
