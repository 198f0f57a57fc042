//! Normal view: the normal guide, coded as normal maps are.

use super::{ReferencePass, Texel, srgb};

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let y = i64::from(y);
    for ((out, source), normal) in out.iter_mut().zip(pass.source.row(y)).zip(pass.guides.normal.row(y)) {
        let shown = |component: f32| srgb::decode(((component + 1.0) / 2.0).max(0.0).min(1.0));
        let [red, green, blue] = match normal[..3] {
            [0.0, 0.0, 0.0] => [0.0; 3],
            _ => [normal[0], normal[1], normal[2]].map(shown),
        };
        *out = [red, green, blue, source[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::Bench;
    use crate::kernels::{FrameExtents, TestGuides};

    /// The colours that normal maps are known by, as bytes of the display.
    #[test]
    fn axes_have_the_colours_of_normal_maps() {
        let axes = [
            [0.0, 0.0, 1.0],
            [1.0, 0.0, 0.0],
            [0.0, -1.0, 0.0],
            [-1.0, 0.0, 0.0],
            [0.0; 3],
        ];
        let bytes = [[128, 128, 255], [255, 128, 128], [128, 0, 128], [0, 128, 128], [0; 3]];
        let guides = TestGuides::new(5, &[1.0; 5], &axes, &[[0.0; 3]; 5], &[[0.0; 2]; 5]);
        let mut bench = Bench::new("normal_view", &[], FrameExtents::same([5, 1]));
        let out = bench.frame(&[[3.0, 3.0, 3.0, 0.25]; 5], Some(&guides), &FrameParameters::default());
        for (texel, expected) in out.iter().zip(bytes) {
            let byte = [0, 1, 2].map(|channel| (255.0 * srgb::encode(texel[channel])).round() as i32);
            assert!(
                byte.iter().zip(expected).all(|(a, b): (&i32, i32)| (a - b).abs() <= 1),
                "{byte:?} for {expected:?}"
            );
            assert_eq!(texel[3], 0.25);
        }
    }
}
