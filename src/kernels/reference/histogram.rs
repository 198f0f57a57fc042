//! Histogram: how often each encoded value of red, green and blue is in the picture.

use super::panel::{Corner, Panel, over};
use super::{FloatImage, ReferencePass, Texel, srgb};
use rayon::prelude::*;

const SIZE: usize = 0;
const OPACITY: usize = 1;

/// Values of a channel.
const VALUES: usize = 256;

/// Counts of the values of red, then green, then blue.
fn counts(picture: FloatImage) -> Vec<u32> {
    let zero = || vec![0; 3 * VALUES];
    let count_row = |mut counts: Vec<u32>, row: &[Texel]| {
        for color in row {
            for (channel, light) in color[..3].iter().enumerate() {
                let value = (srgb::encode(light.min(1.0)) * 255.0 + 0.5) as usize;
                counts[channel * VALUES + value] += 1;
            }
        }
        counts
    };
    let add = |a: Vec<u32>, b: Vec<u32>| a.iter().zip(&b).map(|(a, b)| a + b).collect();
    let rows = picture.texels.par_chunks(picture.extent[0] as usize);
    rows.fold(zero, count_row).reduce(zero, add)
}

pub(super) fn count(pass: &ReferencePass, _: &mut [Texel], [copies, ..]: [&mut [u8]; 4]) {
    let counts = counts(pass.source);
    copies[..4 * counts.len()].copy_from_slice(bytemuck::cast_slice(&counts));
}

pub(super) fn gather(_: &ReferencePass, _: &mut [Texel], [copies, counts, ..]: [&mut [u8]; 4]) {
    let copies: &[u32] = bytemuck::cast_slice(copies);
    let counts: &mut [u32] = bytemuck::cast_slice_mut(counts);
    counts[..3 * VALUES].copy_from_slice(&copies[..3 * VALUES]);
    counts[3 * VALUES] = *copies.iter().max().expect("there are counts");
}

pub(super) fn draw(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let opacity = pass.parameter::<f32>(OPACITY);
    let panel = Panel::new(pass.source.extent, pass.parameter(SIZE), Corner::LowerLeft);
    let (counts, most): (&[u32], _) = {
        let all: &[u32] = bytemuck::cast_slice(pass.buffers[0]);
        (&all[..3 * VALUES], f64::from(all[3 * VALUES]))
    };
    let y = i64::from(y);
    for ((x, out), color) in (0..).zip(out).zip(pass.source.row(y)) {
        *out = *color;
        let Some([column, up]) = panel.at(x, y) else { continue };
        // The values that a column stands for, at least one.
        let [width, height] = panel.extent;
        let first = column * VALUES as i64 / width;
        let end = ((column + 1) * VALUES as i64 / width).max(first + 1);
        let ground = if panel.is_line([column, up], 0) { 0.1 } else { 0.01 };
        let drawn = [0, 1, 2].map(|channel| {
            let values = &counts[channel * VALUES..][first as usize..end as usize];
            let count = f64::from(*values.iter().max().expect("at least one value"));
            let bar = height as f64 * (1.0 + count).log2() / (1.0 + most).log2();
            ground + 0.6 * (bar - up as f64).clamp(0.0, 1.0) as f32
        });
        *out = over(*color, drawn, opacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    /// A picture of two values: bars stand at their columns, their heights as the logarithms of the counts.
    #[test]
    fn bars_stand_at_their_values_as_high_as_the_logarithm_of_their_counts() {
        let (width, height) = (256usize, 64usize);
        let few = 63;
        let value = |byte: u32| srgb::decode(byte as f32 / 255.0);
        let mut image = vec![[value(40), value(90), value(200), 1.0]; width * height];
        image[..few].fill([value(250), value(90), value(200), 1.0]);
        let out = apply("histogram", &[("size", 1.0), ("opacity", 1.0)], [256, 64], &image);
        // The margin is one texel; each of 254 columns shows one or two values.
        let panel = Panel::new([256, 64], 1.0, Corner::LowerLeft);
        assert_eq!(panel.extent, [254, 62]);
        let height_of = |channel: usize, byte: usize| {
            // The first whose values end behind it; the margin is before it.
            let column = ((byte + 1) * 254).div_ceil(256);
            let lit = |y: &usize| f64::from(out[y * width + column][channel]);
            // What is left of the ground: a bar adds 0.6.
            let ground = f64::from(out[width + column][channel]).min(0.1);
            (2..62)
                .map(|y| ((lit(&y) - ground).max(0.0) / 0.6).round())
                .sum::<f64>()
        };
        let total = (width * height) as f64;
        for (channel, byte, count) in [(0, 40, total - 63.0), (0, 250, 63.0), (1, 90, total), (2, 200, total)] {
            let expected = 62.0 * (1.0 + count).log2() / (1.0 + total).log2();
            let found = height_of(channel, byte);
            // The first and last row are the frame's.
            assert!(
                (found - expected).abs() <= 2.5,
                "channel {channel}, {byte}: {found} for {expected}"
            );
        }
        for (channel, byte) in [(0, 90), (1, 40), (2, 250), (0, 128)] {
            assert_eq!(height_of(channel, byte), 0.0, "channel {channel}, {byte}");
        }
    }

    #[test]
    fn a_ramp_of_bytes_has_one_texel_of_each_and_the_picture_beside_the_panel_is_left_alone() {
        let image: Vec<Texel> = (0..256 * 40)
            .map(|index| [srgb::decode((index % 256) as f32 / 255.0), 0.5, 7.0, 0.25])
            .collect();
        let held: Vec<Texel> = image
            .iter()
            .map(|texel| texel.map(|value| half::f16::from_f32(value).to_f32()))
            .collect();
        let counts = counts(FloatImage {
            texels: &held,
            extent: [256, 40],
        });
        assert_eq!(counts[..256], [40; 256]);
        // 0.5 is encoded as 187.5 and a half rounds it to 188; what is above 1 is 255.
        assert_eq!((counts[256 + 188], counts[512 + 255]), (256 * 40, 256 * 40));
        let out = apply("histogram", &[("size", 0.5)], [256, 40], &image);
        let panel = Panel::new([256, 40], 0.5, Corner::LowerLeft);
        for (index, (out, before)) in out.iter().zip(&held).enumerate() {
            if panel.at(index as i64 % 256, index as i64 / 256).is_none() {
                assert_eq!(out, before);
            }
            assert_eq!(out[3], 0.25);
        }
    }
}
