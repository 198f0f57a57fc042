//! Sharpen: AMD FidelityFX CAS without scaling, exact, with better diagonals and a weight per channel.
//!
//! CAS is defined for [0, 1]. Above, its amplitude is 0 and it returns the pixel; its final cut to [0, 1] is raised to
//! the pixel's own value, so that light above 1 is left alone.

use super::{ReferencePass, Texel};

/// One channel; `texels` row by row, the pixel in the middle, `peak` from -1/8 to -1/5.
fn cas(texels: [f32; 9], peak: f32) -> f32 {
    let [a, b, c, d, e, f, g, h, i] = texels;
    // Soft minimum and maximum: that of the cross and that of all nine, added.
    let cross = [b, d, e, f, h];
    let corners = [a, c, g, i];
    let cross_minimum = cross.into_iter().fold(e, f32::min);
    let cross_maximum = cross.into_iter().fold(e, f32::max);
    let minimum = cross_minimum + corners.into_iter().fold(cross_minimum, f32::min);
    let maximum = cross_maximum + corners.into_iter().fold(cross_maximum, f32::max);
    // All black: 0/0 in the original, which its saturation turns into 0.
    if maximum == 0.0 {
        return e;
    }
    let weight = (minimum.min(2.0 - maximum) / maximum).clamp(0.0, 1.0).sqrt() * peak;
    let filtered = (b * weight + d * weight + f * weight + h * weight + e) / (1.0 + 4.0 * weight);
    filtered.clamp(0.0, e.max(1.0))
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let sharpness = pass.parameter::<f32>(0);
    // CasSetup: -1 / lerp(8, 5, sharpness).
    let peak = -1.0 / (8.0 - 3.0 * sharpness);
    let y = i64::from(y);
    let rows = [-1, 0, 1].map(|dy| pass.source.row(y + dy));
    let last = rows[0].len() - 1;
    for (x, out) in out.iter_mut().enumerate() {
        let columns = [x.saturating_sub(1), x, (x + 1).min(last)];
        let channel = |channel: usize| {
            let mut texels = [0.0; 9];
            for (j, row) in rows.iter().enumerate() {
                for (i, column) in columns.iter().enumerate() {
                    texels[3 * j + i] = row[*column][channel];
                }
            }
            cas(texels, peak)
        };
        *out = [channel(0), channel(1), channel(2), rows[1][x][3]];
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
