//! ACES: Stephen Hill's fit of the reference rendering transform and the sRGB output device transform.

use super::{ReferencePass, Texel};

/// Linear sRGB to AP1, with the rendering transform's desaturation (RRT_SAT).
const INPUT: [[f32; 3]; 3] = [
    [0.59719, 0.35458, 0.04823],
    [0.07600, 0.90834, 0.01566],
    [0.02840, 0.13383, 0.83777],
];

/// AP1 to linear sRGB, with the output transform's desaturation (ODT_SAT).
const OUTPUT: [[f32; 3]; 3] = [
    [1.60475, -0.53108, -0.07367],
    [-0.10208, 1.10813, -0.00605],
    [-0.00327, -0.07276, 1.07602],
];

fn multiply(matrix: [[f32; 3]; 3], [x, y, z]: [f32; 3]) -> [f32; 3] {
    matrix.map(|row| row[0] * x + row[1] * y + row[2] * z)
}

/// RRTAndODTFit.
fn fit(v: f32) -> f32 {
    let a = v * (v + 0.024_578_6) - 0.000_090_537;
    let b = v * (0.983_729 * v + 0.432_951) + 0.238_081;
    a / b
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    for (out, [red, green, blue, alpha]) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        let shown = multiply(OUTPUT, multiply(INPUT, [*red, *green, *blue]).map(fit));
        let [red, green, blue] = shown.map(|value| value.clamp(0.0, 1.0));
        *out = [red, green, blue, *alpha];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::{apply, assert_fixture};

    /// `tests/fixtures/tone.csv` holds the published constants evaluated in float64; `tests/fixtures/make-tone` made it.
    #[test]
    fn colours_equal_the_published_fit_in_float64() {
        assert_fixture(include_str!("../../../tests/fixtures/tone.csv"), "aces", &[], 64);
    }

    #[test]
    fn the_rows_of_both_matrices_add_to_1_so_grey_stays_grey() {
        for row in INPUT.iter().chain(&OUTPUT) {
            assert!((row.iter().sum::<f32>() - 1.0).abs() < 2e-5, "{row:?}");
        }
        let [red, green, blue, _] = apply("aces", &[], [1, 1], &[[0.18; 4]])[0];
        assert!((red - green).abs() < 2e-4 && (green - blue).abs() < 2e-4);
    }

    /// 1 / 0.983729 is above 1: the fit's asymptote is cut off.
    #[test]
    fn the_brightest_light_is_white_and_black_is_black() {
        assert_eq!(apply("aces", &[], [1, 1], &[[65504.0; 4]])[0][..3], [1.0; 3]);
        assert_eq!(apply("aces", &[], [1, 1], &[[0.0; 4]])[0], [0.0; 4]);
    }
}
