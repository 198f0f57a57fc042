//! False colour: stops of luminance from middle grey, coloured by Turbo.

use super::turbo::turbo;
use super::{ReferencePass, Texel, luminance, srgb};

const LOWEST: usize = 0;
const HIGHEST: usize = 1;

/// The light of a photographer's grey card.
const MIDDLE_GREY: f32 = 0.18;

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (lowest, highest) = (pass.parameter::<f32>(LOWEST), pass.parameter::<f32>(HIGHEST));
    for (out, color) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        let stops = (luminance(*color) / MIDDLE_GREY).log2();
        let share = ((stops - lowest) / (highest - lowest)).clamp(0.0, 1.0);
        let [red, green, blue] = turbo(share).map(|encoded| srgb::decode(encoded.clamp(0.0, 1.0)));
        *out = [red, green, blue, color[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn stops_are_spread_evenly_and_cut_off_at_the_ends() {
        let grey = |stops: f32| {
            let level = 0.18 * stops.exp2();
            apply(
                "false_colour",
                &[("lowest", -8.0), ("highest", 8.0)],
                [1, 1],
                &[[level, level, level, 0.5]],
            )[0]
        };
        for stops in [-8.0f32, -4.0, 0.0, 3.0, 8.0] {
            let expected = turbo((stops + 8.0) / 16.0).map(|value| srgb::decode(value.clamp(0.0, 1.0)));
            let out = grey(stops);
            // The level was rounded to half: by up to 7e-4 stops.
            assert!(
                (0..3).all(|channel| (out[channel] - expected[channel]).abs() < 2e-3),
                "{stops}: {out:?}"
            );
            assert_eq!(out[3], 0.5);
        }
        assert_eq!(grey(-20.0), grey(-9.0));
        assert_eq!(grey(9.0), grey(15.0));
        let [red, green, blue, _] = grey(0.0);
        assert!(green > red && green > blue, "middle grey is in the green middle");
    }
}
