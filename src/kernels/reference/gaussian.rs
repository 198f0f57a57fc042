//! Gaussian blur: normalised samples of the Gaussian, along rows and then along columns.

use super::{ReferencePass, Texel};

/// `w(i) = exp(-i² / (2 sigma²))` for `i` from 0 to `radius`, divided by the sum over both sides.
pub(super) fn weights(sigma: f32, radius: u32) -> Vec<f32> {
    let radius = i64::from(radius);
    let sample = |i: i64| (-((i * i) as f64) / (2.0 * f64::from(sigma).powi(2))).exp();
    let total: f64 = (-radius..=radius).map(sample).sum();
    (0..=radius).map(|i| (sample(i) / total) as f32).collect()
}

/// The sum of both sides' rows times their weights; `tap` gives the row of an offset.
fn blur<'a>(pass: &ReferencePass, out: &mut [Texel], tap: impl Fn(i64) -> &'a [Texel]) {
    let weights = weights(pass.parameter(0), pass.parameter(1));
    let out: &mut [f32] = out.as_flattened_mut();
    for (out, value) in out.iter_mut().zip(tap(0).as_flattened()) {
        *out = value * weights[0];
    }
    for (offset, weight) in (1..).zip(&weights[1..]) {
        let sides = tap(-offset).as_flattened().iter().zip(tap(offset).as_flattened());
        for (out, (before, after)) in out.iter_mut().zip(sides) {
            *out += (before + after) * weight;
        }
    }
}

pub(super) fn rows(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let padding = pass.parameter::<u32>(1) as usize;
    let source = pass.source.row(i64::from(y));
    let mut padded = Vec::with_capacity(source.len() + 2 * padding);
    padded.resize(padding, source[0]);
    padded.extend_from_slice(source);
    padded.resize(source.len() + 2 * padding, source[source.len() - 1]);
    blur(pass, out, |offset| &padded[(padding as i64 + offset) as usize..]);
}

pub(super) fn columns(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    blur(pass, out, |offset| pass.source.row(i64::from(y) + offset));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    fn side(radius: u32) -> usize {
        2 * radius.max(16) as usize + 1
    }

    /// An impulse of 1000 in the middle of 33x33, or of a square that holds its blur.
    fn impulse(sigma: f64, radius: u32) -> Vec<Texel> {
        let side = side(radius);
        let mut image = vec![[0.0; 4]; side * side];
        image[side * side / 2] = [1000.0; 4];
        apply(
            "gaussian",
            &[("sigma", sigma), ("radius", f64::from(radius))],
            [side as u32; 2],
            &image,
        )
    }

    #[test]
    fn an_impulse_keeps_its_sum() {
        for (sigma, radius) in [(0.1, 1), (1.0, 3), (3.0, 8), (5.0, 16), (32.0, 12), (20.0, 64)] {
            let sum: f32 = impulse(sigma, radius).iter().map(|texel| texel[0]).sum();
            assert!((sum - 1000.0).abs() < 0.5, "sigma {sigma}, radius {radius}: {sum}");
        }
    }

    /// `tests/fixtures/gaussian.csv` is SciPy's answer; `tests/fixtures/make-gaussian` made it.
    #[test]
    fn an_impulse_equals_scipy() {
        let fixture = include_str!("../../../tests/fixtures/gaussian.csv");
        let mut cases = 0;
        for line in fixture.lines().skip(1) {
            let fields: Vec<f64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
            let (sigma, radius) = (fields[0], fields[1] as u32);
            let (blurred, side) = (impulse(sigma, radius), side(radius));
            let weights = &fields[2..];
            for offset in 0..=side / 2 {
                // Along the row, and along the diagonal, where both passes weigh.
                for (step, expected) in [
                    (1, 1000.0 * weights[offset] * weights[0]),
                    (side + 1, 1000.0 * weights[offset] * weights[offset]),
                ] {
                    let found = f64::from(blurred[side * side / 2 + step * offset][0]);
                    assert!(
                        (found - expected).abs() <= 1e-3 * expected + 1e-6,
                        "sigma {sigma}, radius {radius}, {offset} times {step}: {found} for {expected}"
                    );
                }
            }
            cases += 1;
        }
        assert_eq!(cases, 5);
    }

    #[test]
    fn a_flat_image_stays_and_radius_0_is_the_identity() {
        let flat = [[0.5, 2.0, 60000.0, 1.0]; 15];
        assert_eq!(
            apply("gaussian", &[("sigma", 4.0), ("radius", 64.0)], [5, 3], &flat),
            flat.map(|texel| { texel.map(|value| half::f16::from_f32(value).to_f32()) })
        );
        let image: Vec<Texel> = (0..15).map(|index| [index as f32, 1.0, 0.25, 1.0]).collect();
        assert_eq!(apply("gaussian", &[("radius", 0.0)], [5, 3], &image), image);
    }
}
