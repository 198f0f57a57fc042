//! ACES, approximated: Narkowicz, *ACES Filmic Tone Mapping Curve*, 2015.

use super::{ReferencePass, Texel};

fn curve(x: f32) -> f32 {
    let (a, b, c, d, e) = (2.51, 0.03, 2.43, 0.59, 0.14);
    ((x * (a * x + b)) / (x * (c * x + d) + e)).clamp(0.0, 1.0)
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    for (out, [red, green, blue, alpha]) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        *out = [curve(*red), curve(*green), curve(*blue), *alpha];
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::test_images::{apply, assert_fixture};

    /// `tests/fixtures/tone.csv` holds the published constants evaluated in float64; `tests/fixtures/make-tone` made it.
    #[test]
    fn colours_equal_the_published_curve_in_float64() {
        let fixture = include_str!("../../../tests/fixtures/tone.csv");
        assert_fixture(fixture, "aces_approximation", &[], 64);
    }

    /// 1 becomes 2.54 / 3.16, and the curve meets 1 where 2.51 x² + 0.03 x = 2.43 x² + 0.59 x + 0.14.
    #[test]
    fn one_and_the_white_point_are_the_curve_s() {
        let white = (0.56 + (0.56f64 * 0.56 + 4.0 * 0.08 * 0.14).sqrt()) / 0.16;
        let shown = |value: f64| f64::from(apply("aces_approximation", &[], [1, 1], &[[value as f32; 4]])[0][0]);
        assert!((shown(1.0) - 2.54 / 3.16).abs() < 5e-4);
        assert!(shown(white * 0.9) < 1.0 && shown(white * 1.01) == 1.0);
    }
}
