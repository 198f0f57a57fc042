//! Bilateral filter: Tomasi and Manduchi, *Bilateral Filtering for Gray and Color Images*, ICCV 1998.

use super::{ReferencePass, Texel};

const RADIUS: usize = 0;
const SIGMA_SPACE: usize = 1;
const SIGMA_RANGE: usize = 2;

/// The Gaussian's exponent is minus the square over this.
fn twice_squared(sigma: f32) -> f32 {
    2.0 * sigma * sigma
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let radius = i64::from(pass.parameter::<u32>(RADIUS));
    let space = twice_squared(pass.parameter(SIGMA_SPACE));
    let range = twice_squared(pass.parameter(SIGMA_RANGE));
    let y = i64::from(y);
    let centers = pass.source.row(y);
    let width = centers.len();
    let padding = radius as usize;
    let mut weights = vec![0.0; width];
    let mut totals = vec![0.0; width];
    out.fill([0.0; 4]);
    for dy in -radius..=radius {
        let source = pass.source.row(y + dy);
        let sides = [source[0], source[width - 1]].map(|edge| vec![edge; padding]);
        let row = [&sides[0], source, &sides[1]].concat();
        for dx in -radius..=radius {
            let far = (dx * dx + dy * dy) as f32 / space;
            let others = &row[(radius + dx) as usize..];
            for ((weight, center), other) in weights.iter_mut().zip(centers).zip(others) {
                let (red, green, blue) = (other[0] - center[0], other[1] - center[1], other[2] - center[2]);
                *weight = -far - (red * red + green * green + blue * blue) / range;
            }
            for (weight, total) in weights.iter_mut().zip(&mut totals) {
                *weight = weight.exp();
                *total += *weight;
            }
            for ((out, weight), other) in out.iter_mut().zip(&weights).zip(others) {
                out[0] += weight * other[0];
                out[1] += weight * other[1];
                out[2] += weight * other[2];
            }
        }
    }
    for ((out, total), center) in out.iter_mut().zip(totals).zip(centers) {
        *out = [out[0] / total, out[1] / total, out[2] / total, center[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;
    use crate::kernels::reference::test_picture::{assert_as_in_fixture, halves};

    /// The fixture is the definition in float64, with which OpenCV agreed.
    #[test]
    fn a_picture_equals_numpy() {
        let fixture = include_str!("../../../tests/fixtures/bilateral.csv");
        assert_as_in_fixture("bilateral", fixture, 2, 6e-4);
    }

    #[test]
    fn differences_far_above_the_range_stay_and_far_below_are_blurred_as_by_the_gaussian() {
        let image = |step: f32| -> Vec<Texel> {
            (0..20 * 12)
                .map(|index| [0.5 + step * (index * index % 7) as f32, 0.25, 0.5, 1.0])
                .collect()
        };
        let coarse = image(0.5);
        let out = apply("bilateral", &[("sigma_range", 0.05)], [20, 12], &coarse);
        assert_eq!(out, halves(&coarse));

        let fine = image(1.0 / 256.0);
        let both = [("radius", 4.0)];
        let filtered = apply(
            "bilateral",
            &[both[0], ("sigma_space", 2.0), ("sigma_range", 4.0)],
            [20, 12],
            &fine,
        );
        let blurred = apply("gaussian", &[both[0], ("sigma", 2.0)], [20, 12], &fine);
        for (filtered, blurred) in filtered.iter().flatten().zip(blurred.iter().flatten()) {
            // The Gaussian rounds its rows too.
            assert!((filtered - blurred).abs() <= 1e-3 * blurred, "{filtered} for {blurred}");
        }
    }

    #[test]
    fn a_broken_pixel_stays_alone() {
        let mut image = vec![[0.5, 0.25, 0.125, 1.0]; 81];
        image[40] = [f32::INFINITY, 0.25, 0.125, 1.0];
        let out = apply("bilateral", &[], [9, 9], &image);
        assert_eq!(out[40], [65504.0, 0.25, 0.125, 1.0]);
        assert!(
            out.iter()
                .enumerate()
                .all(|(index, texel)| index == 40 || *texel == image[0])
        );
    }
}
