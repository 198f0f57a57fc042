//! Bloom: the light above a threshold, spread over five halved images and added.
//!
//! Jimenez, *Next Generation Post Processing in Call of Duty: Advanced Warfare*, SIGGRAPH 2014. Texel (x, y) of a
//! halved image covers texels (2x, 2y) to (2x + 1, 2y + 1), whatever the extents.

use super::{FloatImage, ReferencePass, Texel, rounded};
use rayon::prelude::*;

const THRESHOLD: usize = 0;
const KNEE: usize = 1;
const INTENSITY: usize = 2;
const SCATTER: usize = 3;
const LIMIT: usize = 4;

fn add(a: Texel, b: Texel) -> Texel {
    [a[0] + b[0], a[1] + b[1], a[2] + b[2], a[3] + b[3]]
}

fn scale(a: Texel, s: f32) -> Texel {
    a.map(|value| value * s)
}

/// The paper's 13 bilinear taps: four at ±1 with weight 1/8 each, nine at -2, 0, 2 with weights 1, 2, 1 squared, /32.
/// A tap lies on a corner, so it is the mean of four texels. Both sets are separable: columns first, then rows.
fn half_row(pass: &ReferencePass, y: u32, limit: f32, out: &mut [Texel]) {
    let width = pass.source.extent[0] as usize;
    let limited = |texel: Texel| [texel[0].min(limit), texel[1].min(limit), texel[2].min(limit), texel[3]];
    let column_taps = |taps: &[(i64, f32)]| -> Vec<Texel> {
        let mut sums = vec![[0.0; 4]; width];
        for (tap, weight) in taps {
            let [upper, lower] = [0, 1].map(|side| pass.source.row(2 * i64::from(y) + tap + side));
            for ((sum, upper), lower) in sums.iter_mut().zip(upper).zip(lower) {
                *sum = add(*sum, scale(add(limited(*upper), limited(*lower)), weight * 0.5));
            }
        }
        sums
    };
    const INNER: [(i64, f32); 2] = [(-1, 1.0), (1, 1.0)];
    const OUTER: [(i64, f32); 3] = [(-2, 1.0), (0, 2.0), (2, 1.0)];
    let (inner, outer) = (column_taps(&INNER), column_taps(&OUTER));
    let row_taps = |sums: &[Texel], taps: &[(i64, f32)], x: i64| {
        taps.iter().fold([0.0; 4], |total, (tap, weight)| {
            let at = |side: i64| sums[(2 * x + tap + side).clamp(0, width as i64 - 1) as usize];
            add(total, scale(add(at(0), at(1)), weight * 0.5))
        })
    };
    for (x, out) in (0..).zip(out) {
        let inner = scale(row_taps(&inner, &INNER, x), 1.0 / 8.0);
        *out = add(inner, scale(row_taps(&outer, &OUTER, x), 1.0 / 32.0));
    }
}

/// The taps along one axis of a 3-texel tent (1, 2, 1) over the bilinearly doubled source, as (texel, weight).
fn doubled_taps(position: u32) -> [(i64, f32); 6] {
    let center = (position as f32 + 0.5) / 2.0 - 0.5;
    let (whole, fraction) = (center.floor(), center - center.floor());
    let mut taps = [(0, 0.0); 6];
    for (tap, weight) in [(-1i64, 0.25), (0, 0.5), (1, 0.25)] {
        let first = whole as i64 + tap;
        let slot = (tap + 1) as usize * 2;
        taps[slot] = (first, weight * (1.0 - fraction));
        taps[slot + 1] = (first + 1, weight * fraction);
    }
    taps
}

fn doubled_row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let width = pass.source.extent[0] as usize;
    let mut column = vec![[0.0; 4]; width];
    for (row, weight) in doubled_taps(y) {
        for (sum, texel) in column.iter_mut().zip(pass.source.row(row)) {
            *sum = add(*sum, scale(*texel, weight));
        }
    }
    // Two texels further the taps are one source texel further.
    let taps = [doubled_taps(0), doubled_taps(1)];
    for (x, out) in out.iter_mut().enumerate() {
        let weigh = |sum, (at, weight): &(i64, f32)| {
            let at = (x as i64 / 2 + at).clamp(0, width as i64 - 1);
            add(sum, scale(column[at as usize], *weight))
        };
        *out = taps[x % 2].iter().fold([0.0; 4], weigh);
    }
}

pub(super) fn bright(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let threshold = pass.parameter::<f32>(THRESHOLD);
    let knee = threshold * pass.parameter::<f32>(KNEE);
    half_row(pass, y, pass.parameter(LIMIT), out);
    for out in out {
        let brightest = out[0].max(out[1]).max(out[2]);
        let above = if brightest <= threshold - knee {
            0.0
        } else if brightest < threshold + knee {
            // The parabola that leaves 0 level and meets the line `brightest - threshold` with its slope.
            ((brightest - (threshold - knee)).powi(2) / (4.0 * knee)).max(brightest - threshold)
        } else {
            brightest - threshold
        };
        *out = if brightest > 0.0 {
            scale(*out, above / brightest)
        } else {
            [0.0; 4]
        };
    }
}

pub(super) fn down(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    half_row(pass, y, f32::INFINITY, out);
}

pub(super) fn up(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let scatter = pass.parameter::<f32>(SCATTER);
    doubled_row(pass, y, out);
    let narrow = pass.second.expect("bloom_up has two inputs").row(i64::from(y));
    for (out, narrow) in out.iter_mut().zip(narrow) {
        *out = add(scale(*narrow, 1.0 - scatter), scale(*out, scatter));
    }
}

/// An image between passes, as halves hold it.
fn image(pass: &ReferencePass, extent: [u32; 2], row: impl Fn(&ReferencePass, u32, &mut [Texel]) + Sync) -> Vec<Texel> {
    let [width, height] = extent.map(|length| length as usize);
    let mut texels = vec![[0.0; 4]; width * height];
    texels.par_chunks_mut(width).enumerate().for_each(|(y, out)| {
        row(pass, y as u32, out);
        rounded::to_halves(out, true);
    });
    texels
}

/// Down from the eighth to the 32nd, and up again.
pub(super) fn small(pass: &ReferencePass, out: &mut [Texel], _: [&mut [u8]; 4]) {
    let half = |extent: [u32; 2]| extent.map(|length| length.div_ceil(2));
    let with = |source, second| ReferencePass {
        source,
        second,
        ..*pass
    };
    let eighth = pass.source;
    let extent = half(eighth.extent);
    let texels = image(pass, extent, down);
    let sixteenth = FloatImage {
        texels: &texels,
        extent,
    };
    let extent = half(extent);
    let texels = image(&with(sixteenth, None), extent, down);
    let thirty_second = FloatImage {
        texels: &texels,
        extent,
    };
    let texels = image(&with(thirty_second, Some(sixteenth)), sixteenth.extent, up);
    let lit = FloatImage {
        texels: &texels,
        ..sixteenth
    };
    out.copy_from_slice(&image(&with(lit, Some(eighth)), eighth.extent, up));
}

pub(super) fn composite(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let intensity = pass.parameter::<f32>(INTENSITY);
    doubled_row(pass, y, out);
    let color = pass.second.expect("bloom_composite has two inputs").row(i64::from(y));
    for (out, color) in out.iter_mut().zip(color) {
        let lit = add(*color, scale(*out, intensity));
        *out = [lit[0], lit[1], lit[2], color[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn below_threshold_and_knee_nothing_is_added() {
        let image: Vec<Texel> = (0..64 * 48)
            .map(|index| [0.499 * (index % 7) as f32 / 6.0, 0.25, 0.0, 1.0])
            .collect();
        let held: Vec<Texel> = image
            .iter()
            .map(|texel| texel.map(|value| half::f16::from_f32(value).to_f32()))
            .collect();
        assert_eq!(apply("bloom", &[("intensity", 4.0)], [64, 48], &image), held);
    }

    #[test]
    fn the_light_added_is_intensity_times_the_light_above_the_threshold() {
        // A square bright enough to be above the knee everywhere would have to fill the picture; so no threshold.
        let extent = [256, 256];
        let mut image = vec![[0.0, 0.0, 0.0, 1.0]; 256 * 256];
        (96..160).for_each(|y| (96..160).for_each(|x| image[y * 256 + x] = [4.0, 2.0, 1.0, 1.0]));
        for scatter in [0.0, 0.5, 1.0] {
            let settings = [("threshold", 0.0), ("intensity", 0.5), ("scatter", scatter)];
            let out = apply("bloom", &settings, extent, &image);
            for (channel, light) in [4.0, 2.0, 1.0].into_iter().enumerate() {
                let total = |image: &[Texel]| image.iter().map(|texel| f64::from(texel[channel])).sum::<f64>();
                let added = total(&out) - total(&image);
                // The wide images reach the edge, where clamping changes a little.
                let expected = 0.5 * light * 64.0 * 64.0;
                assert!(
                    (added / expected - 1.0).abs() < 5e-3,
                    "scatter {scatter}: {added} for {expected}"
                );
            }
        }
    }

    #[test]
    fn an_even_picture_gains_its_excess_everywhere() {
        let out = apply(
            "bloom",
            &[("intensity", 1.0), ("scatter", 1.0)],
            [37, 23],
            &[[3.0, 3.0, 3.0, 0.5]; 37 * 23],
        );
        assert!(out.iter().all(|texel| *texel == [5.0, 5.0, 5.0, 0.5]));
    }

    #[test]
    fn a_broken_pixel_adds_at_most_what_the_limit_allows() {
        let mut image = vec![[0.1, 0.1, 0.1, 1.0]; 64 * 64];
        image[32 * 64 + 32] = [f32::NAN, f32::INFINITY, 0.0, 1.0];
        let out = apply("bloom", &[("limit", 64.0)], [64, 64], &image);
        let broken = |(index, _): &(usize, &Texel)| *index != 32 * 64 + 32;
        assert!(
            out.iter()
                .enumerate()
                .filter(broken)
                .all(|(_, texel)| texel.iter().all(|value| *value < 3.0))
        );
    }
}
