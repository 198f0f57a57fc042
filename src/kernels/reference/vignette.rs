//! Vignette and grain: darker corners, and noise that changes with each frame.

use super::{ReferencePass, Texel, luminance, smoothstep};

const DARKENING: usize = 0;
const START: usize = 1;
const GRAIN: usize = 2;
const GRAIN_SIZE: usize = 3;

/// One step of PCG's 32-bit generator and its RXS-M-XS output (O'Neill, HMC-CS-2014-0905), used as a hash as in
/// Jarzynski and Olano, *Hash Functions for GPU Rendering*, JCGT 9(3), 2020.
fn pcg(value: u32) -> u32 {
    let state = value.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// The sum of two uniform numbers: triangular in [-1, 1].
fn noise(x: u32, y: u32, frame: u64) -> f32 {
    let hash = pcg(x.wrapping_add(pcg(y.wrapping_add(pcg(frame as u32)))));
    let sum = (hash & 0xffff) + (hash >> 16);
    (sum as f32 - 65535.0) / 65535.0
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (darkening, start) = (pass.parameter::<f32>(DARKENING), pass.parameter::<f32>(START));
    let (amount, size) = (pass.parameter::<f32>(GRAIN), pass.parameter::<u32>(GRAIN_SIZE));
    let center = pass.extent.map(|length| 0.5 * length as f32);
    let corner_squared = center[0] * center[0] + center[1] * center[1];
    let dy = y as f32 + 0.5 - center[1];
    for ((x, out), color) in (0u32..).zip(out).zip(pass.source.row(i64::from(y))) {
        let dx = x as f32 + 0.5 - center[0];
        let distance = ((dx * dx + dy * dy) / corner_squared).sqrt();
        let factor = 1.0 - darkening * smoothstep((distance - start) / (1.0 - start));
        let dimmed = color.map(|value| value * factor);
        let level = luminance(dimmed).min(1.0);
        let response = 2.0 * (level * (1.0 - level)).sqrt();
        let grain = amount * response * noise(x / size, y / size, pass.frame.frame);
        *out = [dimmed[0] + grain, dimmed[1] + grain, dimmed[2] + grain, color[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::{apply, apply_at};

    /// The first numbers of the check file that comes with the PCG library for this generator
    /// (pcg-c, test-high/expected/check-pcg32si.out, seed 42).
    #[test]
    fn pcg_gives_its_published_numbers() {
        let published = [
            0x256b_5357,
            0xa5ef_ad32,
            0x170b_7830,
            0x334a_5b22,
            0x3de5_c680,
            0x9b47_b7b3,
        ];
        let step = |state: u32| state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        // Seeding takes one step from 0, adds the seed and takes another; the hash takes the step before its output.
        let mut state = step(0).wrapping_add(42);
        for expected in published {
            assert_eq!(pcg(state), expected);
            state = step(state);
        }
    }

    #[test]
    fn the_centre_is_left_and_the_corner_darkened_by_the_formula() {
        let (width, height) = (65usize, 49usize);
        let settings = [("grain", 0.0), ("darkening", 0.8), ("start", 0.25)];
        let out = apply("vignette", &settings, [65, 49], &vec![[1.0; 4]; width * height]);
        assert_eq!(out[24 * width + 32], [1.0; 4]);
        let corner = (32f64 * 32.0 + 24.0 * 24.0).sqrt() / (32.5f64 * 32.5 + 24.5 * 24.5).sqrt();
        let t = (corner - 0.25) / 0.75;
        let expected = 1.0 - 0.8 * t * t * (3.0 - 2.0 * t);
        for index in [0, width - 1, (height - 1) * width, height * width - 1] {
            assert!((f64::from(out[index][0]) - expected).abs() < 5e-4);
        }
    }

    #[test]
    fn grain_is_centred_and_depends_on_position_and_frame_alone() {
        let image = vec![[0.5, 0.5, 0.5, 1.0]; 64 * 64];
        let settings = [("grain", 0.1), ("darkening", 0.0)];
        let first = apply_at("vignette", &settings, [64, 64], &image, 1);
        assert_eq!(first, apply_at("vignette", &settings, [64, 64], &image, 1));
        assert_ne!(first, apply_at("vignette", &settings, [64, 64], &image, 2));
        let mean = first.iter().map(|texel| f64::from(texel[0]) - 0.5).sum::<f64>() / 4096.0;
        let variance = first
            .iter()
            .map(|texel| (f64::from(texel[0]) - 0.5).powi(2))
            .sum::<f64>()
            / 4096.0;
        // A triangular distribution over [-a, a] has the variance a²/6.
        assert!(
            mean.abs() < 0.003 && (variance / (0.01 / 6.0) - 1.0).abs() < 0.1,
            "{mean} {variance}"
        );
    }
}
