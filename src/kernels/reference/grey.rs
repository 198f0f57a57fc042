//! Luminance: the picture in grey, by ITU-R BT.709.

use super::{ReferencePass, Texel, luminance};

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    for (out, color) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        let grey = luminance(*color);
        *out = [grey, grey, grey, color[3]];
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::test_images::apply;

    /// BT.709-6, section 3.2: E'Y = 0.2126 E'R + 0.7152 E'G + 0.0722 E'B; the same weights hold for linear light.
    #[test]
    fn the_primaries_have_their_weights_and_white_is_1() {
        let image = [
            [1.0, 0.0, 0.0, 0.5],
            [0.0, 1.0, 0.0, 0.5],
            [0.0, 0.0, 1.0, 0.5],
            [1.0, 1.0, 1.0, 0.5],
            [f32::NAN, 2.0, -1.0, 0.5],
        ];
        let out = apply("luminance", &[], [5, 1], &image);
        for (texel, expected) in out.iter().zip([0.2126, 0.7152, 0.0722, 1.0, 1.4304]) {
            assert!((texel[0] / expected - 1.0).abs() < 5e-4, "{texel:?}");
            assert!(texel[..3] == [texel[0]; 3] && texel[3] == 0.5);
        }
    }
}
