//! Sharpen: AMD FidelityFX CAS without scaling, exact, with better diagonals and a weight per channel.
//!
//! CAS is defined for [0, 1]. Above, its amplitude is 0 and it returns the pixel; its final cut to [0, 1] is raised to
//! the pixel's own value, so that light above 1 is left alone.

use super::{ReferencePass, Texel};
use multiversion::multiversion;

/// One channel; `texels` row by row, the pixel in the middle, `peak` from -1/8 to -1/5. Without a branch, so that the
/// compiler computes several channels at once.
#[expect(clippy::manual_clamp, reason = "clamp's check of its bounds is a branch")]
#[inline(always)]
fn cas(texels: [f32; 9], peak: f32) -> f32 {
    let [a, b, c, d, e, f, g, h, i] = texels;
    // Soft minimum and maximum: that of the cross and that of all nine, added.
    let cross_minimum = b.min(d).min(e).min(f).min(h);
    let cross_maximum = b.max(d).max(e).max(f).max(h);
    let minimum = cross_minimum + cross_minimum.min(a).min(c).min(g).min(i);
    let maximum = cross_maximum + cross_maximum.max(a).max(c).max(g).max(i);
    let amplitude = (minimum.min(2.0 - maximum) / maximum).max(0.0).min(1.0).sqrt();
    // All black: 0/0 in the original, which its saturation turns into 0.
    let weight = if maximum > 0.0 { amplitude * peak } else { 0.0 };
    let filtered = (b * weight + d * weight + f * weight + h * weight + e) / (1.0 + 4.0 * weight);
    filtered.max(0.0).min(e.max(1.0))
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let sharpness = pass.parameter::<f32>(0);
    // CasSetup: -1 / lerp(8, 5, sharpness).
    let peak = -1.0 / (8.0 - 3.0 * sharpness);
    let y = i64::from(y);
    // Three rows, each with its edge texel once more on both sides.
    let rows = [-1, 0, 1].map(|dy| {
        let row = pass.source.row(y + dy);
        row.first()
            .into_iter()
            .chain(row)
            .chain(row.last())
            .copied()
            .collect::<Vec<Texel>>()
    });
    let flat = out.as_flattened_mut();
    let length = flat.len();
    // The same channel of the texel to the left, here and to the right stands four values further each.
    let [above, here, below] = [0, 1, 2].map(|row: usize| {
        let values = rows[row].as_flattened();
        [&values[..length], &values[4..length + 4], &values[8..length + 8]]
    });
    for (index, out) in flat.iter_mut().enumerate() {
        let three = |row: [&[f32]; 3]| [row[0][index], row[1][index], row[2][index]];
        let ([a, b, c], [d, e, f], [g, h, i]) = (three(above), three(here), three(below));
        *out = cas([a, b, c, d, e, f, g, h, i], peak);
    }
    for (out, source) in out.iter_mut().zip(pass.source.row(y)) {
        out[3] = source[3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn a_flat_picture_and_light_above_1_are_left_alone() {
        let flat = [[0.25, 0.75, 1.0, 0.5]; 20];
        let out = apply("sharpen", &[("sharpness", 1.0)], [5, 4], &flat);
        assert!(
            out.iter()
                .flatten()
                .zip(flat.iter().flatten())
                .all(|(a, b)| (a - b).abs() < 5e-4)
        );
        let bright: Vec<Texel> = (0..20).map(|index| [1.0 + index as f32, 2.0, 60000.0, 1.0]).collect();
        let held: Vec<Texel> = bright
            .iter()
            .map(|texel| texel.map(|value| half::f16::from_f32(value).to_f32()))
            .collect();
        assert_eq!(apply("sharpen", &[("sharpness", 1.0)], [5, 4], &bright), held);
    }

    /// `tests/fixtures/cas.csv` is CasFilter's published arithmetic in 40 digits; `tests/fixtures/make-cas` made it.
    #[test]
    fn vectors_of_the_published_arithmetic() {
        let fixture = include_str!("../../../tests/fixtures/cas.csv");
        let mut cases = 0;
        for line in fixture.lines().skip(1) {
            let fields: Vec<f32> = line.split(',').map(|field| field.parse().expect("a number")).collect();
            let texels: [f32; 9] = fields[1..10].try_into().expect("nine texels");
            let sharpened = cas(texels, -1.0 / (8.0 - 3.0 * fields[0]));
            assert!((sharpened - fields[10]).abs() < 2e-6, "{line}: {sharpened}");
            cases += 1;
        }
        assert!(cases >= 60);
    }
}
