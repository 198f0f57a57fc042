//! Waveform: the luma of each of the picture's columns.

use super::panel::{Corner, Panel, over};
use super::{ReferencePass, Texel, luminance, srgb};

const SIZE: usize = 0;
const OPACITY: usize = 1;

/// Most columns that are told apart, and levels of luma.
const MOST_COLUMNS: i64 = 512;
const LEVELS: i64 = 256;

/// BT.709's luma, of 255: the weights of luminance, over encoded values.
fn level(color: Texel) -> i64 {
    let encoded = [0, 1, 2].map(|channel: usize| srgb::encode(color[channel].min(1.0)));
    (luminance([encoded[0], encoded[1], encoded[2], 0.0]) * 255.0 + 0.5) as i64
}

fn columns(pass: &ReferencePass) -> [i64; 2] {
    let width = i64::from(pass.source.extent[0]);
    [width, width.min(MOST_COLUMNS)]
}

pub(super) fn count(pass: &ReferencePass, _: &mut [Texel], [cells, ..]: [&mut [u8]; 4]) {
    let cells: &mut [u32] = bytemuck::cast_slice_mut(cells);
    let [width, columns] = columns(pass);
    for row in pass.source.texels.chunks(width as usize) {
        for (x, color) in (0..).zip(row) {
            cells[(x * columns / width * LEVELS + level(*color)) as usize] += 1;
        }
    }
}

pub(super) fn draw(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let opacity = pass.parameter::<f32>(OPACITY);
    let panel = Panel::new(pass.source.extent, pass.parameter(SIZE), Corner::LowerRight);
    let cells: &[u32] = bytemuck::cast_slice(pass.buffers[0]);
    let [width, columns] = columns(pass);
    // What a texel of the panel stands for along one axis, at least one of `count`.
    let covered = |at: i64, length: i64, count: i64| {
        let first = at * count / length;
        first..((at + 1) * count / length).max(first + 1)
    };
    let y = i64::from(y);
    for ((x, out), color) in (0..).zip(out).zip(pass.source.row(y)) {
        *out = *color;
        let Some([right, up]) = panel.at(x, y) else { continue };
        let its_columns = covered(right, panel.extent[0], columns);
        let its_levels = covered(up, panel.extent[1], LEVELS);
        let cells = its_columns.clone().flat_map(|column| {
            let levels = its_levels.clone();
            levels.map(move |level| cells[(column * LEVELS + level) as usize])
        });
        let count: u32 = cells.sum();
        let texels = (0..width)
            .filter(|x| its_columns.contains(&(x * columns / width)))
            .count();
        let share = count as f32 / (texels as f32 * pass.source.extent[1] as f32);
        // Half as bright where a hundredth of the texels is.
        let bright = share / (share + 0.01);
        let ground = if panel.is_line([right, up], 1) { 0.08 } else { 0.01 };
        let phosphor = [0.35, 0.9, 0.45].map(|part| ground + part * bright);
        *out = over(*color, phosphor, opacity);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    /// A ramp of luma from left to right is a line from the lower left to the upper right.
    #[test]
    fn a_ramp_is_a_diagonal_line() {
        let (width, height) = (256i64, 64i64);
        let image: Vec<Texel> = (0..width * height)
            .map(|index| {
                let light = srgb::decode((index % width) as f32 / 255.0);
                [light, light, light, 0.5]
            })
            .collect();
        let out = apply("waveform", &[("size", 1.0), ("opacity", 1.0)], [256, 64], &image);
        let panel = Panel::new([256, 64], 1.0, Corner::LowerRight);
        assert_eq!(panel.extent, [254, 62]);
        for y in 0..height {
            for x in 0..width {
                let Some([right, up]) = panel.at(x, y) else { continue };
                let is_lit = out[(y * width + x) as usize][1] > 0.3;
                // Column and row of the panel as shares of it.
                let off = (right as f64 + 0.5) / 254.0 * 62.0 - (up as f64 + 0.5);
                assert!(
                    if is_lit { off.abs() < 1.1 } else { off.abs() > 0.3 },
                    "{right}, {up}: {is_lit}"
                );
            }
        }
    }

    /// All of a column at one level is nearly as bright as can be; half at one and half at another less, but both alike.
    #[test]
    fn brightness_follows_the_share_of_a_column() {
        let image: Vec<Texel> = (0..64 * 64)
            .map(|index| {
                let (x, y) = (index % 64, index / 64);
                let light = if x < 32 { 1.0 } else { (y % 2) as f32 };
                [light, light, light, 1.0]
            })
            .collect();
        let out = apply("waveform", &[("size", 1.0), ("opacity", 1.0)], [64, 64], &image);
        let green = |x: usize, y: usize| out[y * 64 + x][1];
        // The top and bottom rows of the panel are of its frame, whose ground is 0.08.
        let whole = 0.08 + 0.9 * (1.0 / 1.01);
        let half = 0.08 + 0.9 * (0.5 / 0.51);
        for (x, y, expected) in [
            (16, 1, whole),
            (48, 1, half),
            (48, 62, half),
            (16, 62, 0.08),
            (16, 30, 0.01),
        ] {
            assert!(
                (green(x, y) - expected).abs() < 1e-3,
                "{x}, {y}: {} for {expected}",
                green(x, y)
            );
        }
    }

    /// BT.709's primaries, and a colour whose luma is not its luminance's.
    #[test]
    fn luma_weighs_encoded_values() {
        let levels = [
            [1.0, 0.0, 0.0, 0.0],
            [0.0, 1.0, 0.0, 0.0],
            [0.0, 0.0, 1.0, 0.0],
            [9.0; 4],
        ]
        .map(level);
        assert_eq!(levels, [54, 182, 18, 255]);
        // A quarter of the light is encoded as 0.537.
        assert_eq!(level([0.25, 0.0, 0.0, 0.0]), 29);
    }
}
