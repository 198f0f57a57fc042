//! Halftone: dots of ink whose areas are what the light lacks.
//!
//! A screen is a grid of cells turned by an angle. Inside a cell the diamond spot function is `|u| + |v|`, with u and v
//! from -1/2 to 1/2 around the dot's centre. Murray and Davies: paper inked over the area a reflects the light 1 - a.

use super::{ReferencePass, Texel, luminance};

const SIZE: usize = 0;
const INKS: usize = 1;

/// Cosine and sine of a screen's angle.
type Angle = [f32; 2];

/// 15 degrees, for cyan.
const ANGLE_15: Angle = [0.965_925_8, 0.258_819_04];
/// 75 degrees, for magenta.
const ANGLE_75: Angle = [ANGLE_15[1], ANGLE_15[0]];
/// 0 degrees, for yellow.
const ANGLE_0: Angle = [1.0, 0.0];
/// 45 degrees, for black.
const ANGLE_45: Angle = [std::f32::consts::FRAC_1_SQRT_2; 2];

/// How far the diamond that inks an area reaches: the area is 2 r² up to r = 1/2, and 1 - 2 (1 - r)² beyond.
fn reach(area: f32) -> f32 {
    if area <= 0.5 {
        (0.5 * area).sqrt()
    } else {
        1.0 - (0.5 * (1.0 - area)).sqrt()
    }
}

/// The share of the texel at (x, y) that is inked, its edge one texel wide.
fn inked(x: u32, y: u32, area: f32, [cosine, sine]: Angle, size: f32) -> f32 {
    let (x, y) = (x as f32 + 0.5, y as f32 + 0.5);
    let across = |turned: f32| (turned / size - (turned / size).floor() - 0.5).abs();
    let spot = across(x * cosine + y * sine) + across(y * cosine - x * sine);
    // The spot function rises by √2 a cell: by 1 in `size / √2` texels. The edge moves outwards with the reach, from
    // the dot's inside to its outside.
    let texels = size * std::f32::consts::FRAC_1_SQRT_2;
    (reach(area) * (texels + 1.0) - spot * texels).clamp(0.0, 1.0)
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (size, four) = (pass.parameter::<f32>(SIZE), pass.parameter::<u32>(INKS) == 1);
    for ((x, out), color) in (0u32..).zip(out).zip(pass.source.row(i64::from(y))) {
        let paper = |area: f32, angle: Angle| 1.0 - inked(x, y, area, angle, size);
        let alpha = color[3];
        if !four {
            let grey = paper(1.0 - luminance(*color).min(1.0), ANGLE_45);
            *out = [grey, grey, grey, alpha];
            continue;
        }
        let light = [color[0], color[1], color[2]].map(|value| value.min(1.0));
        let brightest = light[0].max(light[1]).max(light[2]);
        let black = paper(1.0 - brightest, ANGLE_45);
        // What a channel lacks beside what black takes from all.
        let lacks = |value: f32| {
            if brightest > 0.0 {
                (brightest - value) / brightest
            } else {
                0.0
            }
        };
        *out = [
            paper(lacks(light[0]), ANGLE_15) * black,
            paper(lacks(light[1]), ANGLE_75) * black,
            paper(lacks(light[2]), ANGLE_0) * black,
            alpha,
        ];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    /// The mean light of a flat picture, by channel.
    fn mean(settings: &[(&str, f64)], color: Texel) -> [f64; 3] {
        let out = apply("halftone", settings, [256, 256], &vec![color; 256 * 256]);
        std::array::from_fn(|channel| out.iter().map(|texel| f64::from(texel[channel])).sum::<f64>() / 65536.0)
    }

    #[test]
    fn a_flat_grey_keeps_its_light() {
        for inks in [0.0, 1.0] {
            for (grey, tolerance) in [(0.0, 0.0), (0.125, 0.03), (0.5, 0.005), (0.75, 0.03), (1.0, 0.0)] {
                let level = grey as f32;
                for found in mean(&[("size", 16.0), ("inks", inks)], [level, level, level, 1.0]) {
                    assert!((found - grey).abs() <= tolerance, "{grey}: {found}");
                }
            }
        }
    }

    #[test]
    fn an_ink_takes_its_own_channel_and_leaves_the_others() {
        let [red, green, blue] = mean(&[("size", 16.0)], [1.0, 0.5, 1.0, 1.0]);
        assert!((red, blue) == (1.0, 1.0) && (green - 0.5).abs() < 0.005, "{green}");
    }

    /// Yellow stands at 0 degrees: its pattern repeats after `size` texels along rows and columns, with its dot in the
    /// middle.
    #[test]
    fn the_yellow_screen_has_the_period_asked_for() {
        let out = apply(
            "halftone",
            &[("size", 8.0)],
            [32, 32],
            &[[1.0, 1.0, 0.75, 1.0]; 32 * 32],
        );
        for (index, texel) in out.iter().enumerate() {
            let (x, y) = (index % 32, index / 32);
            assert_eq!(texel[2], out[y % 8 * 32 + x % 8][2]);
            // Symmetric around the middle of a cell.
            assert_eq!(texel[2], out[y * 32 + 31 - x][2]);
        }
        assert!(out[3 * 32 + 3][2] == 0.0 && out[0][2] == 1.0);
    }

    #[test]
    fn angles_are_those_of_their_names() {
        for (angle, degrees) in [(ANGLE_15, 15.0f64), (ANGLE_75, 75.0), (ANGLE_0, 0.0), (ANGLE_45, 45.0)] {
            let (sine, cosine) = degrees.to_radians().sin_cos();
            assert!((f64::from(angle[0]) - cosine).abs() < 5e-8 && (f64::from(angle[1]) - sine).abs() < 5e-8);
        }
    }
}
