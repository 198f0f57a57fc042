//! Dithering: few levels of the sRGB encoding, so mixed that areas keep their mean.
//!
//! A channel becomes the level below its encoded value or the one above: the latter where the rest between them is more
//! than what the texel's threshold leaves of 1. Thresholds are spread evenly over (0, 1).

use super::blue_noise_mask::BLUE_NOISE;
use super::{ReferencePass, Texel, srgb};

/// Rank of a texel of Bayer's matrix of `size` by `size`, a power of 2: 4 times that of half the size, plus 0 2 / 3 1.
fn bayer(x: usize, y: usize, size: usize) -> u32 {
    if size == 1 {
        return 0;
    }
    let half = size / 2;
    4 * bayer(x % half, y % half, half) + [[0, 2], [3, 1]][y % size / half][x % size / half]
}

/// Dithers a row with thresholds that repeat along it.
fn quantize(pass: &ReferencePass, y: u32, thresholds: &[f32], out: &mut [Texel]) {
    let highest = (pass.parameter::<u32>(0) - 1) as f32;
    let source = pass.source.row(i64::from(y));
    for ((out, color), threshold) in out.iter_mut().zip(source).zip(thresholds.iter().cycle()) {
        let level = |value: f32| {
            let scaled = srgb::encode(value.min(1.0)) * highest;
            srgb::decode((scaled + threshold).floor().min(highest) / highest)
        };
        *out = [level(color[0]), level(color[1]), level(color[2]), color[3]];
    }
}

pub(super) fn bayer_row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let thresholds: [f32; 8] = std::array::from_fn(|x| (bayer(x, y as usize % 8, 8) as f32 + 0.5) / 64.0);
    quantize(pass, y, &thresholds, out);
}

pub(super) fn blue_noise_row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let row = &BLUE_NOISE[y as usize % 64 * 64..][..64];
    let thresholds: Vec<f32> = row.iter().map(|rank| (f32::from(*rank) + 0.5) / 4096.0).collect();
    quantize(pass, y, &thresholds, out);
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;
    use std::f64::consts::TAU;

    const BOTH: [&str; 2] = ["dither_bayer", "dither_blue_noise"];

    /// Bayer, 1973, as it is printed in textbooks.
    #[test]
    fn the_matrix_is_the_published_one() {
        let published = [
            [0, 32, 8, 40, 2, 34, 10, 42],
            [48, 16, 56, 24, 50, 18, 58, 26],
            [12, 44, 4, 36, 14, 46, 6, 38],
            [60, 28, 52, 20, 62, 30, 54, 22],
            [3, 35, 11, 43, 1, 33, 9, 41],
            [51, 19, 59, 27, 49, 17, 57, 25],
            [15, 47, 7, 39, 13, 45, 5, 37],
            [63, 31, 55, 23, 61, 29, 53, 21],
        ];
        assert_eq!(
            published,
            [0, 1, 2, 3, 4, 5, 6, 7].map(|y| [0, 1, 2, 3, 4, 5, 6, 7].map(|x| bayer(x, y, 8)))
        );
    }

    /// The encoded value of a stored one.
    fn encoded(light: f32) -> f64 {
        let light = f64::from(light);
        if light <= 0.003_130_8 {
            12.92 * light
        } else {
            1.055 * light.powf(1.0 / 2.4) - 0.055
        }
    }

    #[test]
    fn only_the_levels_asked_for_are_left_and_the_two_nearest_alone() {
        let ramp: Vec<Texel> = (0..64 * 64).map(|index| [index as f32 / 4095.0; 4]).collect();
        for (effect, levels) in BOTH
            .into_iter()
            .flat_map(|effect| [2, 5, 256].map(|levels| (effect, levels)))
        {
            let highest = f64::from(levels - 1);
            let out = apply(effect, &[("levels", f64::from(levels))], [64, 64], &ramp);
            for (texel, before) in out.iter().zip(&ramp) {
                let scaled = encoded(texel[0]) * highest;
                // A stored half is off its level by up to 2^-11 of its light, 2^-11 / 2.4 of its encoded value.
                assert!(
                    (scaled - scaled.round()).abs() < 2.1e-4 * highest,
                    "{effect}, {levels}: {scaled}"
                );
                assert!((scaled - encoded(before[0]) * highest).abs() < 1.0 + 4.2e-4 * highest);
            }
        }
    }

    #[test]
    fn a_flat_area_keeps_its_encoded_mean_and_so_does_a_ramp() {
        for (effect, period) in [("dither_bayer", 64.0), ("dither_blue_noise", 4096.0)] {
            for light in [0.0, 0.001, 0.02, 0.21404, 0.5, 1.0f32] {
                let out = apply(effect, &[("levels", 4.0)], [64, 64], &[[light; 4]; 64 * 64]);
                let mean = out.iter().map(|texel| encoded(texel[1])).sum::<f64>() / 4096.0;
                let held = encoded(half::f16::from_f32(light).to_f32());
                // The thresholds stand 1/period of a step apart; the levels are rounded to half.
                assert!(
                    (mean - held).abs() < 0.5 / period / 3.0 + 1.5e-4,
                    "{effect}, {light}: {mean} for {held}"
                );
            }
            // Along a row from black to white, the means of blocks.
            let ramp: Vec<Texel> = (0..512 * 64).map(|index| [(index % 512) as f32 / 511.0; 4]).collect();
            let out = apply(effect, &[("levels", 8.0)], [512, 64], &ramp);
            for block in 0..8 {
                let mean = |image: &[Texel]| {
                    let rows = (0..64).flat_map(|y| &image[y * 512 + block * 64..][..64]);
                    rows.map(|texel| encoded(texel[0])).sum::<f64>() / 4096.0
                };
                assert!((mean(&out) - mean(&ramp)).abs() < 0.01, "{effect}, {block}");
            }
        }
    }

    #[test]
    fn every_rank_of_the_mask_is_given_once() {
        let mut ranks = BLUE_NOISE.to_vec();
        ranks.sort_unstable();
        assert!(
            ranks
                .iter()
                .enumerate()
                .all(|(index, rank)| index == usize::from(*rank))
        );
    }

    /// What makes noise blue: at every level of grey there is little energy at low frequencies. White noise has the mean
    /// energy at all of them.
    #[test]
    fn the_mask_s_noise_is_blue_at_every_level() {
        for share in [0.1, 0.25, 0.5, 0.75, 0.9] {
            let ones = BLUE_NOISE.map(|rank| f64::from(u8::from(f64::from(rank) < share * 4096.0)));
            let energy = |u: i32, v: i32| {
                let (mut real, mut imaginary) = (0.0, 0.0);
                for (index, one) in ones.iter().enumerate() {
                    let phase = TAU * f64::from(u * (index as i32 % 64) + v * (index as i32 / 64)) / 64.0;
                    real += one * phase.cos();
                    imaginary += one * phase.sin();
                }
                real * real + imaginary * imaginary
            };
            let low = (-5..=5).flat_map(|u| (-5..=5).map(move |v| (u, v)));
            let low: Vec<f64> = low
                .filter(|(u, v)| (1..=25).contains(&(u * u + v * v)))
                .map(|(u, v)| energy(u, v))
                .collect();
            let mean = low.iter().sum::<f64>() / low.len() as f64;
            // Parseval: the mean energy of frequencies other than 0 is that of the deviations, times the count.
            let white = 4096.0 * share * (1.0 - share);
            assert!(mean < 0.05 * white, "{share}: {mean} against {white}");
        }
    }
}
