//! Zebra: black stripes that move over what is too bright.

use super::{ReferencePass, Texel};

const LEVEL: usize = 0;
const WIDTH: usize = 1;
const SPEED: usize = 2;

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (level, width) = (pass.parameter::<f32>(LEVEL), pass.parameter::<u32>(WIDTH));
    // Whole texels that the pattern has moved by, to the left.
    let moved = (pass.frame.time * pass.parameter::<f32>(SPEED)).floor() as u32;
    for ((x, out), color) in (0u32..).zip(out).zip(pass.source.row(i64::from(y))) {
        *out = *color;
        let stripe = (x + y).wrapping_add(moved) / width;
        if stripe % 2 == 1 && color[..3].iter().any(|value| *value >= level) {
            *out = [0.0, 0.0, 0.0, color[3]];
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::test_images::{apply, apply_at};

    #[test]
    fn half_of_what_is_bright_is_black_in_diagonal_stripes_and_the_rest_is_kept() {
        let image: Vec<[f32; 4]> = (0..32 * 16)
            .map(|index| {
                if index % 32 < 16 {
                    [0.5, 0.25, 0.5, 1.0]
                } else {
                    [0.25, 1.0, 0.5, 1.0]
                }
            })
            .collect();
        let settings = [("level", 1.0), ("width", 4.0), ("speed", 0.0)];
        let out = apply("zebra", &settings, [32, 16], &image);
        let mut black = 0;
        for (index, (texel, before)) in out.iter().zip(&image).enumerate() {
            let (x, y) = (index % 32, index / 32);
            let striped = x >= 16 && (x + y) % 8 >= 4;
            assert_eq!(
                *texel,
                if striped { [0.0, 0.0, 0.0, 1.0] } else { *before },
                "({x}, {y})"
            );
            black += usize::from(striped);
        }
        assert_eq!(black, 16 * 16 / 2);
    }

    #[test]
    fn stripes_move_with_time() {
        let image = [[2.0; 4]; 64];
        let settings = [("width", 4.0), ("speed", 60.0)];
        // Frames are 1/60 s apart: one texel.
        let first = apply_at("zebra", &settings, [64, 1], &image, 1);
        let later = apply_at("zebra", &settings, [64, 1], &image, 4);
        assert_eq!(first[3..], later[..61]);
        assert_ne!(first, later);
    }
}
