//! Tone map: the Khronos PBR Neutral Tone Mapper.

use super::colors::map_colors;
use super::{ReferencePass, Texel};
use multiversion::multiversion;

/// The specification's function, its two constants being parameters: 0.8 - 0.04 and 0.15. Without a branch, so that the
/// compiler computes several colours at once.
#[inline(always)]
fn pbr_neutral(color: [f32; 3], start_compression: f32, desaturation: f32) -> [f32; 3] {
    let x = color[0].min(color[1]).min(color[2]);
    let offset = if x < 0.08 { x - 6.25 * x * x } else { 0.04 };
    let color = color.map(|value| value - offset);
    let peak = color[0].max(color[1]).max(color[2]);
    let is_kept = (peak < start_compression) | (peak <= 0.0);
    let d = 1.0 - start_compression;
    let new_peak = 1.0 - d * d / (peak + d - start_compression);
    let g = 1.0 - 1.0 / (desaturation * (peak - new_peak) + 1.0);
    color.map(|value| {
        let compressed = value * (new_peak / peak) * (1.0 - g) + new_peak * g;
        if is_kept { value } else { compressed }
    })
}

#[multiversion(targets("x86_64+avx2"))]
pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (start_compression, desaturation) = (pass.parameter(0), pass.parameter(1));
    map_colors(pass.source.row(i64::from(y)), out, |color| {
        pbr_neutral(color, start_compression, desaturation)
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    fn spec(color: [f32; 3]) -> [f32; 3] {
        pbr_neutral(color, 0.76, 0.15)
    }

    #[test]
    fn white_is_the_specification_s_value() {
        // 1 - 0.24² / (0.96 + 0.24 - 0.76) = 0.869090…
        assert!(spec([1.0; 3]).iter().all(|value| (value - 0.869_090_9).abs() < 1e-6));
    }

    #[test]
    fn grey_stays_grey_and_the_peak_never_reaches_1() {
        for exponent in -140..160 {
            let [red, green, blue] = spec([2f32.powf(exponent as f32 / 10.0); 3]);
            assert!(red == green && green == blue && (0.0..=1.0).contains(&red));
        }
    }

    #[test]
    fn below_the_compression_only_the_toe_is_taken_off() {
        let held = spec([0.5, 0.3, 0.1]);
        assert!(
            held.iter()
                .zip([0.46, 0.26, 0.06])
                .all(|(value, expected)| (value - expected).abs() < 1e-6)
        );
        // In the toe: x - (x - 6.25 x²) = 6.25 x² for the darkest channel.
        assert!((spec([0.5, 0.3, 0.04])[2] - 0.01).abs() < 1e-6);
        assert_eq!(spec([0.0; 3]), [0.0; 3]);
    }

    /// The specification's function evaluated with 40 digits outside this program.
    #[test]
    fn a_saturated_highlight_turns_paler() {
        let out = apply("tonemap", &[], [1, 1], &[[10.0, 1.0, 0.5, 0.25]])[0];
        let expected = [0.993_898_3, 0.610_899, 0.589_621_3, 0.25];
        assert!(
            out.iter()
                .zip(expected)
                .all(|(value, expected)| (value - expected).abs() < 6e-4),
            "{out:?}"
        );
    }
}
