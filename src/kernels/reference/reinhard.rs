//! Reinhard: the extended photographic operator on luminance.
//!
//! Reinhard, Stark, Shirley and Ferwerda, *Photographic Tone Reproduction for Digital Images*, SIGGRAPH 2002,
//! equation 4: `Ld = L (1 + L / Lwhite²) / (1 + L)`. The colour is scaled by `Ld / L`; what is above 1 then is 1.

use super::{ReferencePass, Texel, luminance};

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let white = pass.parameter::<f32>(0);
    for (out, color) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        let world = luminance(*color);
        // L cancels, and black stays black.
        let scale = (1.0 + world / (white * white)) / (1.0 + world);
        let [red, green, blue, alpha] = *color;
        let shown = |value: f32| (value * scale).min(1.0);
        *out = [shown(red), shown(green), shown(blue), alpha];
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn the_white_point_becomes_1_and_greys_follow_equation_4() {
        for white in [0.5, 1.0, 4.0, 16.0, 64.0] {
            let grey = |value: f64| apply("reinhard", &[("white", white)], [1, 1], &[[value as f32; 4]])[0];
            // The weights of the luminance add to 1 but for a float's last digit.
            assert!((grey(white)[0] - 1.0).abs() <= 4.9e-4, "{white}: {:?}", grey(white));
            assert_eq!(grey(2.0 * white)[..3], [1.0; 3]);
            for level in [0.0, 0.015625, 0.25, 0.5] {
                let expected = level * (1.0 + level / (white * white)) / (1.0 + level);
                let shown = f64::from(grey(level)[1]);
                assert!(
                    (shown - expected.min(1.0)).abs() <= 5e-4 * expected,
                    "{white}, {level}: {shown}"
                );
            }
        }
    }

    #[test]
    fn a_colour_keeps_the_ratios_of_its_channels() {
        let out = apply("reinhard", &[], [1, 1], &[[2.0, 1.0, 0.5, 0.75]])[0];
        let level = 0.2126 * 2.0 + 0.7152 + 0.0722 * 0.5;
        let scale = (1.0 + level / 16.0) / (1.0 + level);
        for (value, color) in out[..3].iter().zip([2.0, 1.0, 0.5]) {
            assert!((value / (color * scale) - 1.0).abs() < 5e-4, "{out:?}");
        }
        assert_eq!(out[3], 0.75);
    }
}
