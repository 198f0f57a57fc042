//! Auto exposure: the trimmed mean of the logarithm of luminance is brought to a key value, over time.

use super::{ReferencePass, Texel, luminance};
use rayon::prelude::*;

const KEY: usize = 0;
const LOW: usize = 1;
const HIGH: usize = 2;
const TO_BRIGHT: usize = 3;
const TO_DARK: usize = 4;
const LOWEST: usize = 5;
const HIGHEST: usize = 6;

/// 32 octaves from 2⁻¹⁶, each in eight bins of one width.
const BINS: usize = 256;

/// The lower edge of a bin; of bin 256, the upper edge of the last.
fn edge(bin: usize) -> f64 {
    2f64.powi(bin as i32 / 8 - 16) * (1.0 + (bin % 8) as f64 / 8.0)
}

/// The bin of a luminance, and where in it: of 256 steps. What is below the first edge counts as that edge.
fn bin_of(edges: &[f64], luminance: f64) -> (usize, u64) {
    let bin = edges.partition_point(|edge| *edge <= luminance);
    match bin {
        0 => (0, 0),
        _ => {
            let (lower, upper) = (edges[bin - 1], edges[bin]);
            (bin - 1, (256.0 * (luminance - lower) / (upper - lower)) as u64)
        }
    }
}

/// Counts, then sums of the places.
fn histogram(pass: &ReferencePass) -> Vec<u64> {
    let edges: Vec<f64> = (0..=BINS).map(edge).collect();
    let count_row = |mut sums: Vec<u64>, row: &[Texel]| {
        for color in row {
            let (bin, place) = bin_of(&edges, f64::from(luminance(*color)));
            sums[bin] += 1;
            sums[BINS + bin] += place;
        }
        sums
    };
    let zero = || vec![0; 2 * BINS];
    let add = |a: Vec<u64>, b: Vec<u64>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let rows = pass.source.texels.par_chunks(pass.source.extent[0] as usize);
    rows.fold(zero, count_row).reduce(zero, add)
}

pub(super) fn count(pass: &ReferencePass, _: &mut [Texel], [histograms, ..]: [&mut [u8]; 4]) {
    let histogram = histogram(pass);
    let bytes: &[u8] = bytemuck::cast_slice(&histogram);
    histograms[..bytes.len()].copy_from_slice(bytes);
}

pub(super) fn gather(_: &ReferencePass, _: &mut [Texel], [histograms, bins, ..]: [&mut [u8]; 4]) {
    let histogram: &[u64] = bytemuck::cast_slice(histograms);
    let bins: &mut [[f32; 2]] = bytemuck::cast_slice_mut(bins);
    for (bin, out) in bins.iter_mut().enumerate() {
        let (count, places) = (histogram[bin] as f64, histogram[BINS + bin] as f64);
        let place = if count > 0.0 {
            (places / count + 0.5) / 256.0
        } else {
            0.0
        };
        let mean = edge(bin) + place * (edge(bin + 1) - edge(bin));
        *out = [count as f32, mean.log2() as f32];
    }
}

pub(super) fn adapt(pass: &ReferencePass, _: &mut [Texel], [bins, previous, adapted, _]: [&mut [u8]; 4]) {
    let bins: &[[f32; 2]] = bytemuck::cast_slice(bins);
    let parameter = |index| f64::from(pass.parameter::<f32>(index));
    let total: f64 = bins.iter().map(|[count, _]| f64::from(*count)).sum();
    let counted = parameter(LOW) * total..parameter(HIGH) * total;
    let (mut before, mut sum) = (0.0, 0.0);
    for [count, logarithm] in bins {
        let after = before + f64::from(*count);
        let share = (after.min(counted.end) - counted.start.max(before)).max(0.0);
        sum += share * f64::from(*logarithm);
        before = after;
    }
    let mean = sum / (counted.end - counted.start);
    let target = (parameter(KEY).log2() - mean).clamp(parameter(LOWEST), parameter(HIGHEST));
    let stops = if pass.kept_frames == 0 {
        target
    } else {
        let before = f64::from(bytemuck::pod_read_unaligned::<f32>(&previous[..4]));
        let constant = parameter(if target < before { TO_BRIGHT } else { TO_DARK });
        target + (before - target) * (-f64::from(pass.frame.time_delta) / constant).exp()
    };
    adapted.copy_from_slice(bytemuck::bytes_of(&[stops as f32, stops.exp2() as f32]));
}

pub(super) fn apply(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let gain = bytemuck::pod_read_unaligned::<[f32; 2]>(&pass.buffers[0][..8])[1];
    for (out, [red, green, blue, alpha]) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        *out = [red * gain, green * gain, blue * gain, *alpha];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::{Bench, apply};
    use crate::kernels::{BrokenPixels, FrameExtents, random_image};

    const EVERYTHING: [(&str, f64); 4] = [("low", 0.0), ("high", 1.0), ("lowest", -16.0), ("highest", 16.0)];

    #[test]
    fn an_even_picture_comes_to_the_key_value() {
        for value in [3e-4, 0.02, 0.18, 0.7, 1.0, 9.5, 300.0] {
            let out = apply(
                "auto_exposure",
                &EVERYTHING[2..],
                [9, 7],
                &[[value, value, value, 1.0]; 63],
            );
            // A step of the histogram is 2^-11 of an octave, of which the middle is taken; halves add 2^-11.
            assert!(
                (out[0][0] / 0.18 - 1.0).abs() < 1.0 / 4096.0 + 1.0 / 2048.0,
                "{value}: {}",
                out[0][0]
            );
        }
        // Colours by their luminance.
        let key = apply("auto_exposure", &[("key", 0.5)], [1, 1], &[[2.0, 0.5, 1.0, 1.0]]);
        assert!((luminance(key[0]) / 0.5 - 1.0).abs() < 1e-3);
    }

    /// `value` in the first frame, then `next` for a second at that rate: the gain at its end.
    fn gain_after_a_second(value: f32, next: f32, rate: u32) -> f64 {
        let frame = FrameParameters {
            time_delta: 1.0 / rate as f32,
            ..Default::default()
        };
        let mut bench = Bench::new("auto_exposure", &EVERYTHING, FrameExtents::same([2, 2]));
        let at_once = bench.frame(&[[value, value, value, 1.0]; 4], None, &frame)[0][0];
        assert!(
            (at_once / 0.18 - 1.0).abs() < 1e-3,
            "the first frame adapts at once: {at_once}"
        );
        let mut out = 0.0;
        for _ in 0..rate {
            out = bench.frame(&[[next, next, next, 1.0]; 4], None, &frame)[0][0];
        }
        f64::from(out / next)
    }

    #[test]
    fn adaptation_is_exponential_in_time_whatever_the_frame_rate() {
        for (value, next, constant) in [(0.25f32, 4.0f32, 0.4f64), (4.0, 0.25, 1.2)] {
            let [before, after] = [value, next].map(|value| (0.18 / f64::from(value)).log2());
            let expected = (after + (before - after) * (-1.0 / constant).exp()).exp2();
            for rate in [30, 120] {
                let gain = gain_after_a_second(value, next, rate);
                // As above: the histogram's step, and the result's rounding to half.
                assert!(
                    (gain / expected - 1.0).abs() < 8e-4,
                    "{rate} a second: {gain} for {expected}"
                );
            }
        }
    }

    /// The mean of what is left of the sorted logarithms when shares of both ends are cut off.
    #[test]
    fn the_mean_is_the_trimmed_mean_of_the_sorted_logarithms() {
        let extent = [80, 50];
        let image: Vec<Texel> = random_image(3, extent, BrokenPixels::Absent)
            .iter()
            .map(|texel| texel.map(half::f16::to_f32))
            .collect();
        let mut logarithms: Vec<f64> = image
            .iter()
            .map(|color| f64::from(luminance(*color)).max(2f64.powi(-16)).log2())
            .collect();
        logarithms.sort_by(f64::total_cmp);
        for (low, high) in [(0.0, 1.0), (0.1, 0.9), (0.45, 0.55), (0.25, 1.0)] {
            let counted = &logarithms[(low * 4000.0) as usize..(high * 4000.0) as usize];
            let mean = counted.iter().sum::<f64>() / counted.len() as f64;
            let settings = [("low", low), ("high", high), EVERYTHING[2], EVERYTHING[3]];
            let out = apply("auto_exposure", &settings, extent, &image);
            let brightest = (0..4000).find(|index| (0.5..60.0).contains(&image[*index][1]));
            let index = brightest.expect("a texel that is neither dim nor huge");
            let gain = f64::from(out[index][1] / image[index][1]).log2();
            // Within the bin that a cut falls into, its mean stands for all: an eighth of an octave at most, of few texels.
            assert!(
                (gain - (0.18f64.log2() - mean)).abs() < 4e-3,
                "{low} to {high}: {gain}, {mean}"
            );
        }
    }

    #[test]
    fn bins_are_exponent_and_fraction_of_the_float() {
        let edges: Vec<f64> = (0..=BINS).map(edge).collect();
        assert_eq!((edges[0], edges[256]), (2f64.powi(-16), 65536.0));
        for bits in (0x3700_0000u32..0x4780_0000).step_by(4099) {
            let (bin, place) = bin_of(&edges, f64::from(f32::from_bits(bits)));
            let expected = if bits < 0x3780_0000 {
                (0, 0)
            } else {
                ((bits - 0x3780_0000) >> 20, bits >> 12 & 255)
            };
            assert_eq!((bin as u32, place as u32), expected, "{bits:#x}");
        }
    }

    #[test]
    fn the_shares_cut_off_have_no_say() {
        let mut image = vec![[0.5, 0.5, 0.5, 1.0]; 1000];
        image[..90].fill([60000.0, 60000.0, 60000.0, 1.0]);
        image[900..990].fill([0.0, 0.0, 0.0, 1.0]);
        let out = apply("auto_exposure", &[], [100, 10], &image);
        assert!((out[500][0] / 0.18 - 1.0).abs() < 1e-3, "{}", out[500][0]);
    }
}
