//! Dual filter: Bjorge's 5 taps to half the extent and 8 taps back, each a bilinear sample.
//!
//! Bjorge, *Bandwidth-efficient rendering*, SIGGRAPH 2015. The taps' distance is half a pixel of the smaller image: one
//! texel of the source on the way down, half a texel of the source on the way up.

use super::{FloatImage, ReferencePass, Texel};

/// A tap: its offset from the pixel's centre in quarters of a texel of the source, and its weight.
type Tap = ([i64; 2], f32);

const DOWN: [Tap; 5] = [
    ([0, 0], 4.0 / 8.0),
    ([-4, -4], 1.0 / 8.0),
    ([4, -4], 1.0 / 8.0),
    ([-4, 4], 1.0 / 8.0),
    ([4, 4], 1.0 / 8.0),
];

const UP: [Tap; 8] = [
    ([-4, 0], 1.0 / 12.0),
    ([4, 0], 1.0 / 12.0),
    ([0, -4], 1.0 / 12.0),
    ([0, 4], 1.0 / 12.0),
    ([-2, -2], 2.0 / 12.0),
    ([2, -2], 2.0 / 12.0),
    ([-2, 2], 2.0 / 12.0),
    ([2, 2], 2.0 / 12.0),
];

/// Two texels and the second one's share, at a position in quarters of a texel. Positions outside are clamped.
fn between(quarters: i64, length: usize) -> ([usize; 2], f32) {
    // Texel i's centre is at 4 i + 2.
    let from_first_center = quarters - 2;
    let texel = |index: i64| index.clamp(0, length as i64 - 1) as usize;
    let first = from_first_center.div_euclid(4);
    (
        [texel(first), texel(first + 1)],
        from_first_center.rem_euclid(4) as f32 / 4.0,
    )
}

/// Weighs the taps around one row's pixels, which are `quarters` of a texel of the source wide.
fn filter(source: &FloatImage, quarters: i64, taps: &[Tap], y: u32, out: &mut [Texel]) {
    let width = source.extent[0] as usize;
    out.fill([0.0; 4]);
    let center = |position: i64| position * quarters + quarters / 2;
    for ([dx, dy], weight) in taps {
        let (rows, lower) = between(center(i64::from(y)) + dy, source.extent[1] as usize);
        let [upper_row, lower_row] = rows.map(|row| source.row(row as i64));
        for (x, out) in (0..).zip(out.iter_mut()) {
            let ([left, right], share) = between(center(x) + dx, width);
            for (channel, out) in out.iter_mut().enumerate() {
                let along = |row: &[Texel]| row[left][channel] * (1.0 - share) + row[right][channel] * share;
                *out += (along(upper_row) * (1.0 - lower) + along(lower_row) * lower) * weight;
            }
        }
    }
}

pub(super) fn down(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    filter(&pass.source, 8, &DOWN, y, out);
}

pub(super) fn up(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    filter(&pass.source, 2, &UP, y, out);
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::test_images::apply;
    use crate::kernels::reference::test_picture::{assert_as_in_fixture, halves};

    /// The fixture samples the taps in f64 and rounds nothing between the levels; each of eight passes rounds here.
    #[test]
    fn a_picture_equals_numpy() {
        let fixture = include_str!("../../../tests/fixtures/dual_filter.csv");
        assert_as_in_fixture("dual_filter", fixture, 1, 2e-3);
    }

    #[test]
    fn an_impulse_keeps_its_light_and_a_flat_image_stays() {
        let mut image = vec![[0.0; 4]; 256 * 256];
        image[128 * 256 + 128] = [16384.0; 4];
        let out = apply("dual_filter", &[], [256, 256], &image);
        let sum: f32 = out.iter().map(|texel| texel[0]).sum();
        assert!((sum / 16384.0 - 1.0).abs() < 2e-3, "{sum}");
        let flat = [[0.3, 2.0, 60000.0, 1.0]; 21];
        assert_eq!(apply("dual_filter", &[], [7, 3], &flat), halves(&flat));
    }
}
