//! Chromatic aberration: red is displaced outwards and blue inwards, by the cube of the distance from the centre.

use super::{FloatImage, ReferencePass, Texel};

/// Bilinear filter of one channel, `offset` texels from texel (x, y). Positions outside are clamped to the edge.
fn between(image: &FloatImage, x: i32, y: i32, offset: [f32; 2], channel: usize) -> f32 {
    let whole = offset.map(f32::floor);
    let [tx, ty] = [offset[0] - whole[0], offset[1] - whole[1]];
    let [last_x, last_y] = image.extent.map(|length| length as i32 - 1);
    let (left, top) = (x + whole[0] as i32, y + whole[1] as i32);
    let [x0, x1] = [left, left + 1].map(|x| x.clamp(0, last_x) as usize);
    let row = |y: i32| {
        let start = y.clamp(0, last_y) as usize * image.extent[0] as usize;
        image.texels[start + x0][channel] * (1.0 - tx) + image.texels[start + x1][channel] * tx
    };
    row(top) * (1.0 - ty) + row(top + 1) * ty
}

/// The order of the float operations up to the offset is part of the definition: between a bright and a dark texel the
/// last bit of a coordinate shows.
pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let shift = pass.parameter::<f32>(0);
    let source = pass.source;
    let center = source.extent.map(|length| 0.5 * length as f32);
    let corner_squared = center[0] * center[0] + center[1] * center[1];
    let dy = y as f32 + 0.5 - center[1];
    let y = y as i32;
    for ((x, out), color) in (0..).zip(out).zip(source.row(i64::from(y))) {
        let dx = x as f32 + 0.5 - center[0];
        let scale = 0.01 * shift * ((dx * dx + dy * dy) / corner_squared);
        *out = [
            between(&source, x, y, [dx * scale, dy * scale], 0),
            color[1],
            between(&source, x, y, [-dx * scale, -dy * scale], 2),
            color[3],
        ];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    /// Over a linear ramp a bilinear filter is exact, so the displacement can be read off the values.
    #[test]
    fn a_ramp_shows_the_displacement() {
        let (width, height) = (65u32, 33u32);
        let image: Vec<Texel> = (0..width * height)
            .map(|index| [(index % width) as f32 / 64.0 + 1.0; 4])
            .collect();
        let out = apply("chromatic_aberration", &[("shift", 5.0)], [width, height], &image);
        for y in 0..height {
            for x in 8..width - 8 {
                let (dx, dy) = (f64::from(x) - 32.0, f64::from(y) - 16.0);
                let share = (dx * dx + dy * dy) / (32.5 * 32.5 + 16.5 * 16.5);
                let moved = dx * 0.05 * share / 64.0;
                let [red, green, blue, alpha] = out[(y * width + x) as usize].map(f64::from);
                assert_eq!((green, alpha), (f64::from(x) / 64.0 + 1.0, green));
                assert!((red - (green + moved)).abs() < 1e-3 && (blue - (green - moved)).abs() < 1e-3);
            }
        }
    }

    #[test]
    fn no_shift_is_the_identity() {
        let image: Vec<Texel> = (0..12).map(|index| [index as f32; 4]).collect();
        assert_eq!(apply("chromatic_aberration", &[("shift", 0.0)], [4, 3], &image), image);
    }
}
