//! Vignette: darker corners.

use super::{ReferencePass, Texel, smoothstep};

const DARKENING: usize = 0;
const START: usize = 1;

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (darkening, start) = (pass.parameter::<f32>(DARKENING), pass.parameter::<f32>(START));
    let center = pass.extent.map(|length| 0.5 * length as f32);
    let corner_squared = center[0] * center[0] + center[1] * center[1];
    let dy = y as f32 + 0.5 - center[1];
    for ((x, out), color) in (0u32..).zip(out).zip(pass.source.row(i64::from(y))) {
        let dx = x as f32 + 0.5 - center[0];
        let distance = ((dx * dx + dy * dy) / corner_squared).sqrt();
        let factor = 1.0 - darkening * smoothstep((distance - start) / (1.0 - start));
        *out = [color[0] * factor, color[1] * factor, color[2] * factor, color[3]];
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn the_centre_is_left_and_the_corner_darkened_by_the_formula() {
        let (width, height) = (65usize, 49usize);
        let settings = [("darkening", 0.8), ("start", 0.25)];
        let out = apply("vignette", &settings, [65, 49], &vec![[1.0; 4]; width * height]);
        assert_eq!(out[24 * width + 32], [1.0; 4]);
        let corner = (32f64 * 32.0 + 24.0 * 24.0).sqrt() / (32.5f64 * 32.5 + 24.5 * 24.5).sqrt();
        let t = (corner - 0.25) / 0.75;
        let expected = 1.0 - 0.8 * t * t * (3.0 - 2.0 * t);
        for index in [0, width - 1, (height - 1) * width, height * width - 1] {
            assert!((f64::from(out[index][0]) - expected).abs() < 5e-4);
        }
    }
}
