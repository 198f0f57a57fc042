//! CRT: Lottes's public-domain scanline shader, 2014, with an aperture grille.
//!
//! The tube has a pixel for every `size` texels. A point of the glass sees three lines, of each the Gaussian mean of
//! some pixels, and weighs them by another Gaussian that is not normalised: between lines it is dark.

use super::{ReferencePass, Texel};

const SIZE: usize = 0;
const SCANLINES: usize = 1;
const MASK: usize = 2;
const CURVATURE: usize = 3;

/// Lottes's hardPix: a pixel's light a whole pixel away, as an exponent of 2.
const HARD_PIX: f32 = -3.0;

/// Lottes's warp, of which the parameter is a multiple.
const WARP: [f32; 2] = [32.0, 24.0];

fn gauss(distance: f32, scale: f32) -> f32 {
    (scale * (distance * distance)).exp2()
}

/// A pixel of the tube; there is no light outside.
fn fetch(pass: &ReferencePass, [i, j]: [i64; 2], size: i64) -> Texel {
    let [x, y] = [i, j].map(|index| index * size + size / 2);
    let [width, height] = pass.source.extent.map(i64::from);
    if i < 0 || j < 0 || x >= width || y >= height {
        return [0.0; 4];
    }
    pass.source.row(y)[x as usize]
}

/// The mean of pixels from `-reach` to `reach` around one, seen from `off` pixels beside its middle.
fn horizontal(pass: &ReferencePass, [i, j]: [i64; 2], size: i64, off: f32, reach: i64) -> [f32; 3] {
    let weighted: Vec<(f32, Texel)> = (-reach..=reach)
        .map(|tap| (gauss(tap as f32 - off, HARD_PIX), fetch(pass, [i + tap, j], size)))
        .collect();
    let total: f32 = weighted.iter().map(|(weight, _)| weight).sum();
    std::array::from_fn(|channel| {
        weighted
            .iter()
            .map(|(weight, pixel)| weight * pixel[channel])
            .sum::<f32>()
            / total
    })
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (size, scanlines) = (i64::from(pass.parameter::<u32>(SIZE)), pass.parameter::<f32>(SCANLINES));
    let (mask, curvature) = (pass.parameter::<f32>(MASK), pass.parameter::<f32>(CURVATURE));
    let [width, height] = pass.source.extent.map(|length| length as f32);
    let flat_y = (y as f32 + 0.5) / height * 2.0 - 1.0;
    for ((x, out), color) in (0u32..).zip(out).zip(pass.source.row(i64::from(y))) {
        let flat_x = (x as f32 + 0.5) / width * 2.0 - 1.0;
        let bent_x = flat_x * (1.0 + flat_y * flat_y * (curvature / WARP[0]));
        let bent_y = flat_y * (1.0 + flat_x * flat_x * (curvature / WARP[1]));
        let tube_x = (bent_x * 0.5 + 0.5) * width / size as f32;
        let tube_y = (bent_y * 0.5 + 0.5) * height / size as f32;
        let [i, j] = [tube_x.floor() as i64, tube_y.floor() as i64];
        let [off_x, off_y] = [tube_x - tube_x.floor() - 0.5, tube_y - tube_y.floor() - 0.5];
        // Horz3, Horz5, Horz3 of the original.
        let mut seen = [0.0; 3];
        for (line, reach) in [(-1, 1), (0, 2), (1, 1)] {
            let weight = gauss(line as f32 - off_y, -scanlines);
            let light = horizontal(pass, [i, j + line], size, off_x, reach);
            seen = std::array::from_fn(|channel| seen[channel] + light[channel] * weight);
        }
        for (channel, value) in seen.iter_mut().enumerate() {
            *value *= if x as usize % 3 == channel {
                1.0 + mask
            } else {
                1.0 - mask
            };
        }
        *out = [seen[0], seen[1], seen[2], color[3]];
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::test_images::apply;

    const PLAIN: [(&str, f64); 3] = [("mask", 0.0), ("curvature", 0.0), ("scanlines", 8.0)];

    /// Over a flat picture, a texel `d` pixels below the middle of its line has the light of three Gaussians.
    #[test]
    fn scanlines_are_lottes_s_gaussians() {
        let mut settings = PLAIN.to_vec();
        settings.push(("size", 4.0));
        let out = apply("crt", &settings, [32, 32], &[[1.0; 4]; 32 * 32]);
        for y in 8..24 {
            let d = (y % 4) as f64 / 4.0 + 0.125 - 0.5;
            let expected: f64 = [-1.0, 0.0, 1.0]
                .map(|line: f64| (-8.0 * (line - d).powi(2)).exp2())
                .iter()
                .sum();
            for x in 8..24 {
                let found = f64::from(out[y * 32 + x][1]);
                assert!(
                    (found / expected - 1.0).abs() < 6e-4,
                    "({x}, {y}): {found} for {expected}"
                );
            }
        }
    }

    #[test]
    fn the_mask_has_a_lit_stripe_of_each_colour() {
        let settings = [("mask", 0.5), ("curvature", 0.0), ("scanlines", 0.0), ("size", 1.0)];
        let out = apply("crt", &settings, [12, 9], &[[1.0; 4]; 12 * 9]);
        for x in 3..9 {
            // Three lines of weight 1 each.
            let expected = [0, 1, 2].map(|channel| if x % 3 == channel { 4.5 } else { 1.5 });
            for (channel, expected) in expected.into_iter().enumerate() {
                assert!((out[4 * 12 + x][channel] - expected).abs() < 5e-3);
            }
        }
    }

    /// The corner of the glass lies 1/32 and 1/24 of the half extent outside of the picture; the centre stays.
    #[test]
    fn bent_glass_has_a_black_border_at_the_corners_and_not_at_the_centre() {
        let settings = [("mask", 0.0), ("curvature", 4.0), ("size", 1.0), ("scanlines", 8.0)];
        let out = apply("crt", &settings, [65, 65], &vec![[1.0; 4]; 65 * 65]);
        for corner in [0, 64, 64 * 65, 65 * 65 - 1] {
            assert_eq!(out[corner], [0.0, 0.0, 0.0, 1.0]);
        }
        assert!(out[32 * 65 + 32][0] > 0.9 && out[32 * 65][0] > 0.5);
    }
}
