//! Film grain: noise that changes with each frame.

use super::{ReferencePass, Texel, luminance};

const AMOUNT: usize = 0;
const SIZE: usize = 1;
const COLOUR: usize = 2;

/// One step of PCG's 32-bit generator and its RXS-M-XS output (O'Neill, HMC-CS-2014-0905), used as a hash as in
/// Jarzynski and Olano, *Hash Functions for GPU Rendering*, JCGT 9(3), 2020.
fn pcg(value: u32) -> u32 {
    let state = value.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

/// The sum of two uniform numbers, the halves of a hash: triangular in [-1, 1].
fn noise(hash: u32) -> f32 {
    let sum = (hash & 0xffff) + (hash >> 16);
    (sum as f32 - 65535.0) / 65535.0
}

/// The noise of a grain: that of all three channels, red's own, green's and blue's. Each hash is that of the one before.
fn grain(x: u32, y: u32, frame: u64) -> [f32; 4] {
    let mut hash = x.wrapping_add(pcg(y.wrapping_add(pcg(frame as u32))));
    std::array::from_fn(|_| {
        hash = pcg(hash);
        noise(hash)
    })
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (amount, size) = (pass.parameter::<f32>(AMOUNT), pass.parameter::<u32>(SIZE));
    let colour = pass.parameter::<f32>(COLOUR);
    for ((x, out), color) in (0u32..).zip(out).zip(pass.source.row(i64::from(y))) {
        // A grain is opaque or not: a share p of opaque ones deviates by sqrt(p (1 - p)), at most by 1/2.
        let level = luminance(*color).min(1.0);
        let response = 2.0 * (level * (1.0 - level)).sqrt();
        let [common, red, green, blue] = grain(x / size, y / size, pass.frame.frame);
        let grained = |value: f32, own: f32| {
            let noise = common * (1.0 - colour) + own * colour;
            value + amount * response * noise
        };
        *out = [
            grained(color[0], red),
            grained(color[1], green),
            grained(color[2], blue),
            color[3],
        ];
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
    fn grain_is_centred_and_depends_on_position_and_frame_alone() {
        let image = vec![[0.5, 0.5, 0.5, 1.0]; 64 * 64];
        let settings = [("amount", 0.1)];
        let first = apply_at("film_grain", &settings, [64, 64], &image, 1);
        assert_eq!(first, apply_at("film_grain", &settings, [64, 64], &image, 1));
        assert_ne!(first, apply_at("film_grain", &settings, [64, 64], &image, 2));
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

    #[test]
    fn black_and_white_have_no_grain_and_the_middle_has_the_most() {
        let deviation = |level: f32| {
            let image = vec![[level, level, level, 1.0]; 64 * 64];
            let out = apply("film_grain", &[("amount", 0.1)], [64, 64], &image);
            (out.iter().map(|texel| f64::from(texel[0] - level).powi(2)).sum::<f64>() / 4096.0).sqrt()
        };
        assert_eq!(deviation(0.0), 0.0);
        // The weights of the luminance may add to a float below 1.
        assert!(deviation(1.0) < 1e-3 && deviation(2.0) == 0.0);
        // sqrt(p (1 - p)) at 1/2 and 1/8.
        let ratio = deviation(0.125) / deviation(0.5);
        assert!((ratio - 2.0 * (0.125f64 * 0.875).sqrt()).abs() < 0.01, "{ratio}");
    }

    #[test]
    fn grains_are_as_large_and_as_colourful_as_asked_for() {
        let image = vec![[0.5, 0.5, 0.5, 1.0]; 64 * 64];
        let out = apply(
            "film_grain",
            &[("amount", 0.1), ("size", 4.0), ("colour", 1.0)],
            [64, 64],
            &image,
        );
        for (index, texel) in out.iter().enumerate() {
            assert_eq!(*texel, out[index / 256 * 256 + index % 64 / 4 * 4]);
        }
        let correlation = |settings: &[(&str, f64)]| {
            let out = apply("film_grain", settings, [64, 64], &image);
            let sum = |a: usize, b: usize| {
                let product = |texel: &Texel| f64::from(texel[a] - 0.5) * f64::from(texel[b] - 0.5);
                out.iter().map(product).sum::<f64>()
            };
            [(0, 1), (1, 2), (0, 2)].map(|(a, b)| sum(a, b) / (sum(a, a) * sum(b, b)).sqrt())
        };
        assert!(correlation(&[("amount", 0.1)]).iter().all(|value| *value > 0.999));
        let coloured = correlation(&[("amount", 0.1), ("colour", 1.0)]);
        // Of 4096 independent samples the deviation is 1/64.
        assert!(coloured.iter().all(|value| value.abs() < 4.0 / 64.0), "{coloured:?}");
    }
}
