//! Gaussian blur: normalised samples of the Gaussian, along rows and then along columns.

use super::{ReferencePass, Texel};
use multiversion::multiversion;

/// `w(i) = exp(-i² / (2 sigma²))` for `i` from 0 to `radius`, divided by the sum over both sides.
pub(super) fn weights(sigma: f32, radius: u32) -> Vec<f32> {
    let sample = |i: u32| (-(f64::from(i) * f64::from(i)) / (2.0 * f64::from(sigma).powi(2))).exp();
    let samples: Vec<f64> = (0..=radius).map(sample).collect();
    let total: f64 = samples[1..].iter().rev().chain(&samples).sum();
    samples.iter().map(|sample| (sample / total) as f32).collect()
}

/// Floats that are summed at a time: few enough that their sums stay close, so many that rows are read in long runs.
const TOGETHER: usize = 128;

/// The two taps of a weight: their rows.
struct Sides<'a> {
    weight: f32,
    before: &'a [f32],
    after: &'a [f32],
}

/// `out` from its float `from` on: the middle row times its weight, and both rows of each weight.
#[inline(always)]
fn sum<const N: usize>(out: &mut [[f32; N]], from: usize, (middle, weight): (&[f32], f32), sides: &[Sides]) {
    for (index, out) in out.iter_mut().enumerate() {
        let part = from + index * N..from + (index + 1) * N;
        let mut sums = [0.0; N];
        for (sum, value) in sums.iter_mut().zip(&middle[part.clone()]) {
            *sum = value * weight;
        }
        for Sides { weight, before, after } in sides {
            let taps = before[part.clone()].iter().zip(&after[part.clone()]);
            for (sum, (before, after)) in sums.iter_mut().zip(taps) {
                *sum += (before + after) * weight;
            }
        }
        *out = sums;
    }
}

/// The sum of both sides' rows times their weights; `tap` gives the row of an offset.
#[inline(always)]
pub(super) fn blur<'a>(weights: &[f32], out: &mut [Texel], tap: impl Fn(i64) -> &'a [Texel]) {
    let sides = (1..).zip(&weights[1..]).map(|(offset, weight)| Sides {
        weight: *weight,
        before: tap(-offset).as_flattened(),
        after: tap(offset).as_flattened(),
    });
    let (sides, middle) = (sides.collect::<Vec<_>>(), (tap(0).as_flattened(), weights[0]));
    let (blocks, rest) = out.as_flattened_mut().as_chunks_mut::<TOGETHER>();
    sum(blocks, 0, middle, &sides);
    sum(rest.as_chunks_mut::<4>().0, blocks.len() * TOGETHER, middle, &sides);
}

/// The sum along a row whose edge texels continue outwards.
#[inline(always)]
pub(super) fn blur_row(weights: &[f32], out: &mut [Texel], row: impl ExactSizeIterator<Item = Texel>) {
    let (padding, width) = (weights.len() - 1, row.len());
    let mut padded = vec![[0.0; 4]; width + 2 * padding];
    let (first, last) = (padding, padding + width - 1);
    for (place, texel) in padded[first..=last].iter_mut().zip(row) {
        *place = texel;
    }
    let (before, after) = (padded[first], padded[last]);
    padded[..first].fill(before);
    padded[last + 1..].fill(after);
    blur(weights, out, |offset| &padded[(padding as i64 + offset) as usize..]);
}

fn parameters(pass: &ReferencePass) -> Vec<f32> {
    weights(pass.parameter(0), pass.parameter(1))
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn rows(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let source = pass.source.row(i64::from(y));
    blur_row(&parameters(pass), out, source.iter().copied());
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn columns(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    blur(&parameters(pass), out, |offset| pass.source.row(i64::from(y) + offset));
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
