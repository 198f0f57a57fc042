//! Unsharp mask: the difference from a Gaussian blur, added. Blurs what the display shows, light up to 1.

use super::{ReferencePass, Texel, gaussian};
use multiversion::multiversion;

const SIGMA: usize = 0;
const RADIUS: usize = 1;
const AMOUNT: usize = 2;
const THRESHOLD: usize = 3;

fn shown(texel: &Texel) -> Texel {
    [texel[0].min(1.0), texel[1].min(1.0), texel[2].min(1.0), texel[3]]
}

fn weights(pass: &ReferencePass) -> Vec<f32> {
    gaussian::weights(pass.parameter(SIGMA), pass.parameter(RADIUS))
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn rows(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let source = pass.source.row(i64::from(y));
    gaussian::blur_row(&weights(pass), out, source.iter().map(shown));
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn combine(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    gaussian::blur(&weights(pass), out, |offset| pass.source.row(i64::from(y) + offset));
    let (amount, threshold) = (pass.parameter::<f32>(AMOUNT), pass.parameter::<f32>(THRESHOLD));
    let colors = pass.second.expect("unsharp_combine has two inputs").row(i64::from(y));
    for (out, value) in out.as_flattened_mut().iter_mut().zip(colors.as_flattened()) {
        let difference = value.min(1.0) - *out;
        let shrunk = (difference.abs() - threshold).max(0.0).copysign(difference);
        *out = (value + amount * shrunk).max(0.0).min(value.max(1.0));
    }
    for (out, color) in out.iter_mut().zip(colors) {
        out[3] = color[3];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;
    use crate::kernels::reference::test_picture::{assert_as_in_fixture, halves};

    /// The blur's rows are rounded to half, up to 2.4e-4, which an amount of 2 doubles.
    #[test]
    fn a_picture_equals_scipy_and_scikit_image() {
        let fixture = include_str!("../../../tests/fixtures/unsharp.csv");
        assert_as_in_fixture("unsharp", fixture, 2, 3e-3);
    }

    #[test]
    fn what_is_within_the_threshold_and_above_1_is_left_alone() {
        let image: Vec<Texel> = (0..60)
            .map(|index| [0.5 + 0.05 * (index % 2) as f32, 2.0 + index as f32, 1.5, 0.5])
            .collect();
        let settings = [("amount", 2.0), ("threshold", 0.06)];
        assert_eq!(apply("unsharp", &settings, [10, 6], &image), halves(&image));
        let out = apply("unsharp", &[("amount", 2.0), ("threshold", 0.01)], [10, 6], &image);
        assert!(out[24][0] < 0.475 && out[25][0] > 0.575, "{:?}", &out[24..26]);
    }

    /// Far from a step the picture stays; beside it the dark side is darker and the bright one brighter, by the share
    /// of the Gaussian that lies on the other side.
    #[test]
    fn a_step_overshoots_by_the_weights_on_its_other_side() {
        let step: Vec<Texel> = (0..40 * 5)
            .map(|index| [if index % 40 < 20 { 0.25 } else { 0.5 }, 0.0, 0.0, 1.0])
            .collect();
        let settings = [("sigma", 2.0), ("radius", 8.0), ("amount", 1.0)];
        let out = apply("unsharp", &settings, [40, 5], &step);
        let weights = gaussian::weights(2.0, 8);
        for x in 0..40usize {
            let distance = if x < 20 { 20 - x } else { x - 19 };
            let beyond: f32 = weights.iter().skip(distance).sum();
            let expected = step[x][0] + 0.25 * beyond * if x < 20 { -1.0 } else { 1.0 };
            assert!(
                (out[80 + x][0] - expected).abs() < 6e-4,
                "{x}: {} for {expected}",
                out[80 + x][0]
            );
        }
    }
}
