//! Edges: a Sobel operator over the square root of the luminance, drawn over the picture.

use super::{ReferencePass, Texel, luminance, smoothstep};

const STRENGTH: usize = 0;
const THRESHOLD: usize = 1;
const SOFTNESS: usize = 2;
const INK: usize = 3;

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (strength, ink) = (pass.parameter::<f32>(STRENGTH), pass.parameter::<f32>(INK));
    let (threshold, softness) = (pass.parameter::<f32>(THRESHOLD), pass.parameter::<f32>(SOFTNESS));
    let y = i64::from(y);
    // The tones of three rows, each with its edge texel once more on both sides.
    let tones = [-1, 0, 1].map(|dy| {
        let row = pass.source.row(y + dy);
        let padded = row.first().into_iter().chain(row).chain(row.last());
        padded
            .map(|color| luminance(*color).min(1.0).sqrt())
            .collect::<Vec<f32>>()
    });
    for ((x, out), color) in out.iter_mut().enumerate().zip(pass.source.row(y)) {
        let tone = |dx: usize, dy: usize| tones[dy][x + dx];
        // Differences of opposite texels first: where both are alike, nothing is left over.
        let across = |a: [usize; 2], b: [usize; 2]| tone(b[0], b[1]) - tone(a[0], a[1]);
        let gx = across([0, 0], [2, 0]) + 2.0 * across([0, 1], [2, 1]) + across([0, 2], [2, 2]);
        let gy = across([0, 0], [0, 2]) + 2.0 * across([1, 0], [1, 2]) + across([2, 0], [2, 2]);
        let gradient = (gx * gx + gy * gy).sqrt() / 4.0;
        let edge = strength * smoothstep((gradient - threshold) / softness);
        let drawn = |value: f32| value * (1.0 - edge) + ink * edge;
        *out = [drawn(color[0]), drawn(color[1]), drawn(color[2]), color[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    /// Tones that rise by `step` a column have the gradient 8 step / 4, whatever the row.
    #[test]
    fn a_ramp_of_tones_gives_the_analytic_edge() {
        let step = 1.0 / 32.0;
        let image: Vec<Texel> = (0..16 * 5)
            .map(|index| {
                let tone = (index % 16) as f32 * step + 0.25;
                [tone * tone, tone * tone, tone * tone, 1.0]
            })
            .collect();
        let settings = [("strength", 1.0), ("threshold", 0.0), ("softness", 0.25), ("ink", 1.0)];
        let out = apply("sobel", &settings, [16, 5], &image);
        let t: f32 = 8.0 * step / 4.0 / 0.25;
        let edge = t * t * (3.0 - 2.0 * t);
        for y in 0..5 {
            for x in 1..15 {
                let before = image[y * 16 + x][0];
                let expected = before * (1.0 - edge) + edge;
                let drawn = out[y * 16 + x][0];
                // The tones were squared and rounded to half before the operator saw them.
                assert!((drawn - expected).abs() < 5e-3, "({x}, {y}): {drawn} for {expected}");
            }
        }
    }

    #[test]
    fn a_flat_picture_has_no_edge_and_a_step_is_inked() {
        let flat = [[0.25, 0.5, 4.0, 0.5]; 12];
        assert_eq!(apply("sobel", &[("threshold", 0.0)], [4, 3], &flat), flat);
        let step: Vec<Texel> = (0..12)
            .map(|index| if index % 4 < 2 { [0.0; 4] } else { [1.0; 4] })
            .collect();
        let out = apply("sobel", &[("strength", 1.0), ("ink", 0.5)], [4, 3], &step);
        for y in 0..3 {
            assert_eq!([0, 1, 2, 3].map(|x| out[y * 4 + x][0]), [0.0, 0.5, 0.5, 1.0]);
        }
    }
}
