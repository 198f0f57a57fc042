//! Pixelate: square blocks that show their mean.
//!
//! Along rows first: texel (i, y) of what that gives is the mean of texels i·size to (i + 1)·size - 1 of row y. Then
//! along columns. Beyond the blocks all is 0.

use super::{ReferencePass, Texel};

const SIZE: usize = 0;

fn divided(sum: Texel, count: usize) -> Texel {
    sum.map(|value| value / count as f32)
}

fn added(sum: Texel, texel: &Texel) -> Texel {
    std::array::from_fn(|channel| sum[channel] + texel[channel])
}

pub(super) fn rows(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let means = pass
        .source
        .row(i64::from(y))
        .chunks(pass.parameter::<u32>(SIZE) as usize)
        .map(|block| divided(block.iter().fold([0.0; 4], added), block.len()));
    out.fill([0.0; 4]);
    out.iter_mut().zip(means).for_each(|(out, mean)| *out = mean);
}

pub(super) fn columns(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (size, height) = (pass.parameter::<u32>(SIZE), pass.source.extent[1]);
    out.fill([0.0; 4]);
    let block = y.saturating_mul(size)..y.saturating_add(1).saturating_mul(size).min(height);
    for row in block.clone() {
        for (out, texel) in out.iter_mut().zip(pass.source.row(i64::from(row))) {
            *out = added(*out, texel);
        }
    }
    out.iter_mut().for_each(|out| *out = divided(*out, block.len().max(1)));
}

pub(super) fn show(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let size = pass.parameter::<u32>(SIZE);
    let blocks = pass.source.row(i64::from(y / size));
    for (block, out) in blocks.iter().zip(out.chunks_mut(size as usize)) {
        out.fill(*block);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn every_texel_is_the_mean_of_its_block_also_where_the_edge_cuts_it_off() {
        let [width, height] = [37usize, 23];
        let image: Vec<Texel> = (0..width * height)
            .map(|index| [(index * 7 % 64) as f32, (index % 5) as f32, (index % width) as f32, 1.0])
            .collect();
        for size in [1usize, 2, 5, 8, 64] {
            let out = apply("pixelate", &[("size", size as f64)], [37, 23], &image);
            for (index, texel) in out.iter().enumerate() {
                let [left, top] = [index % width / size * size, index / width / size * size];
                let block: Vec<&Texel> = (top..height.min(top + size))
                    .flat_map(|y| &image[y * width + left..y * width + width.min(left + size)])
                    .collect();
                for (channel, value) in texel.iter().enumerate() {
                    let mean = block.iter().map(|texel| f64::from(texel[channel])).sum::<f64>() / block.len() as f64;
                    // Rounded to half twice.
                    assert!((f64::from(*value) - mean).abs() <= 1e-3 * mean, "size {size}, {index}");
                }
            }
        }
    }
}
