//! Floats rounded to the values that halves hold, without halves: many at once, where a conversion there and back takes two.

use super::{Texel, light};
use multiversion::multiversion;

/// Limits texels to [`light`].
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn limit(texels: &mut [Texel]) {
    texels
        .as_flattened_mut()
        .iter_mut()
        .for_each(|value| *value = light(*value));
}

/// Rounds texels to the values of halves, first limited to [`light`] if they are to be.
#[multiversion(targets("x86_64+avx2"))]
pub(super) fn to_halves(texels: &mut [Texel], is_light: bool) {
    let values = texels.as_flattened_mut();
    if is_light {
        values.iter_mut().for_each(|value| *value = to_half(light(*value)));
    } else {
        values.iter_mut().for_each(|value| *value = to_half(*value));
    }
}

/// The nearest value of IEEE 754's binary16, ties to the even one. Without a branch, so that the compiler rounds several at once.
#[inline(always)]
fn to_half(value: f32) -> f32 {
    const INFINITY: u32 = f32::INFINITY.to_bits();
    /// 2^-14: what is below it is subnormal as a half.
    const SMALLEST_NORMAL: u32 = 0x3880_0000;
    /// 2^16: what is rounded to it is too large for a half.
    const TOO_LARGE: u32 = 0x4780_0000;
    /// The bits of a float's fraction that a half has not.
    const LOST: u32 = 0x1fff;
    const QUIET: u32 = 0x0040_0000;
    let bits = value.to_bits();
    let magnitude = bits & 0x7fff_ffff;
    let is_odd = (magnitude >> 13) & 1;
    let normal = magnitude.wrapping_add(LOST / 2 + is_odd) & !LOST;
    // Halves below 2^-14 are 2^-24 apart, as floats from 0.5 to 1 are.
    let subnormal = ((f32::from_bits(magnitude) + 0.5) - 0.5).to_bits();
    let finite = if magnitude < SMALLEST_NORMAL { subnormal } else { normal };
    let rounded = if finite >= TOO_LARGE { INFINITY } else { finite };
    let rounded = if magnitude > INFINITY {
        (magnitude | QUIET) & !LOST
    } else {
        rounded
    };
    f32::from_bits(rounded | (bits ^ magnitude))
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    /// Of every half: itself, the middle between it and the next, and the floats beside both.
    #[test]
    fn every_rounding_is_that_of_a_conversion_to_half_and_back() {
        let mut checked = 0;
        for half in 0..=u16::MAX {
            let (value, next) = (f16::from_bits(half), f16::from_bits(half.wrapping_add(1)));
            let middle = (value.to_f32() + next.to_f32()) / 2.0;
            for center in [value.to_f32(), middle, value.to_f32() * 1.0003] {
                for step in -2..=2 {
                    let near = f32::from_bits(center.to_bits().wrapping_add_signed(step));
                    let expected = f16::from_f32(near).to_f32();
                    assert_eq!(to_half(near).to_bits(), expected.to_bits(), "{near:e} of {half:#06x}");
                    checked += 1;
                }
            }
        }
        assert_eq!(checked, 65536 * 15);
    }

    #[test]
    fn light_is_limited_first_and_other_values_are_not() {
        let values = [f32::NAN, -2.0, 1e9, 0.333_333];
        let mut texels = [values; 37];
        to_halves(&mut texels, true);
        assert!(texels.iter().all(|texel| *texel == [0.0, 0.0, 65504.0, 0.333_251_95]));
        let mut texels = [values; 37];
        to_halves(&mut texels, false);
        assert!(
            texels
                .iter()
                .all(|texel| texel[0].is_nan() && texel[1..] == [-2.0, f32::INFINITY, 0.333_251_95])
        );
    }
}
