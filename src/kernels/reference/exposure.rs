//! Exposure: light times two to the power of the stops.

use super::{ReferencePass, Texel};

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let gain = f64::from(pass.parameter::<f32>(0)).exp2() as f32;
    for (out, [red, green, blue, alpha]) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        *out = [red * gain, green * gain, blue * gain, *alpha];
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn whole_stops_are_exact_powers_of_two() {
        let color = [[0.1, 0.7, 3.0, 0.4]];
        for stops in -10..=10 {
            let out = apply("exposure", &[("stops", f64::from(stops))], [1, 1], &color);
            let gain = 2f32.powi(stops);
            // Values that halves hold; 0.1 is not one, so it goes through the same rounding as the input.
            let held = half::f16::from_f32(0.1).to_f32();
            assert_eq!(out[0][0], half::f16::from_f32(held * gain).to_f32());
            assert_eq!(out[0][2], 3.0 * gain);
            assert_eq!(out[0][3], half::f16::from_f32(0.4).to_f32());
        }
    }

    #[test]
    fn broken_pixels_become_finite() {
        let color = [[f32::NAN, f32::INFINITY, -1.0, 1.0]];
        assert_eq!(
            apply("exposure", &[("stops", 1.0)], [1, 1], &color),
            [[0.0, 65504.0, 0.0, 1.0]]
        );
    }
}
