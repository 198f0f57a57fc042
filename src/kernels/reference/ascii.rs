//! ASCII: cells of 8x8 texels, each a letter with as much ink as the cell has light.
//!
//! A letter is chosen by the mean of its cell, so the order of that sum is part of the definition: in float, row after
//! row, from the left; the mean is rounded to half.

use super::{ReferencePass, Texel, luminance};

/// Texels of a cell along each axis.
const CELL: usize = 8;

/// From the least ink to the most.
const RAMP: [char; 16] = [
    ' ', '.', '-', ':', ';', '=', '+', '!', 'c', 'o', '*', 'k', 'A', '@', '#', 'M',
];

/// The rows of a letter from the top, in each the leftmost texel in the lowest bit: font8x8_basic by Hepper, public
/// domain.
fn glyph(letter: char) -> [u8; CELL] {
    match letter {
        '.' => [0x00, 0x00, 0x00, 0x00, 0x00, 0x0c, 0x0c, 0x00],
        '-' => [0x00, 0x00, 0x00, 0x3f, 0x00, 0x00, 0x00, 0x00],
        ':' => [0x00, 0x0c, 0x0c, 0x00, 0x00, 0x0c, 0x0c, 0x00],
        ';' => [0x00, 0x0c, 0x0c, 0x00, 0x00, 0x0c, 0x0c, 0x06],
        '=' => [0x00, 0x00, 0x3f, 0x00, 0x00, 0x3f, 0x00, 0x00],
        '+' => [0x00, 0x0c, 0x0c, 0x3f, 0x0c, 0x0c, 0x00, 0x00],
        '!' => [0x18, 0x3c, 0x3c, 0x18, 0x18, 0x00, 0x18, 0x00],
        'c' => [0x00, 0x00, 0x1e, 0x33, 0x03, 0x33, 0x1e, 0x00],
        'o' => [0x00, 0x00, 0x1e, 0x33, 0x33, 0x33, 0x1e, 0x00],
        '*' => [0x00, 0x66, 0x3c, 0xff, 0x3c, 0x66, 0x00, 0x00],
        'k' => [0x07, 0x06, 0x66, 0x36, 0x1e, 0x36, 0x67, 0x00],
        'A' => [0x0c, 0x1e, 0x33, 0x33, 0x3f, 0x33, 0x33, 0x00],
        '@' => [0x3e, 0x63, 0x7b, 0x7b, 0x7b, 0x03, 0x1e, 0x00],
        '#' => [0x36, 0x36, 0x7f, 0x36, 0x7f, 0x36, 0x36, 0x00],
        'M' => [0x63, 0x77, 0x7f, 0x7f, 0x6b, 0x63, 0x63, 0x00],
        _ => [0; CELL],
    }
}

pub(super) fn cells(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let height = pass.source.extent[1] as usize;
    let top = y as usize * CELL;
    let rows = top..height.min(top + CELL);
    out.fill([0.0; 4]);
    for row in rows.clone() {
        for (sum, texels) in out.iter_mut().zip(pass.source.row(row as i64).chunks(CELL)) {
            for texel in texels {
                *sum = std::array::from_fn(|channel| sum[channel] + texel[channel]);
            }
        }
    }
    for (sum, texels) in out.iter_mut().zip(pass.source.row(0).chunks(CELL)) {
        *sum = sum.map(|value| value / (texels.len() * rows.len()) as f32);
    }
}

pub(super) fn letters(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let colour = pass.parameter::<f32>(0);
    let y = y as usize;
    let cells = pass.source.row((y / CELL) as i64);
    let alphas = pass.second.expect("ascii_letters has two inputs").row(y as i64);
    for ((out, alphas), color) in out.chunks_mut(CELL).zip(alphas.chunks(CELL)).zip(cells) {
        let tone = luminance(*color).min(1.0).sqrt();
        let row = glyph(RAMP[((tone * 16.0) as usize).min(15)])[y % CELL];
        let brightest = color[0].max(color[1]).max(color[2]);
        let lit = |value: f32| {
            let full = if brightest > 0.0 { value / brightest } else { 0.0 };
            1.0 - colour + colour * full
        };
        for (x, (out, before)) in out.iter_mut().zip(alphas).enumerate() {
            *out = [0.0, 0.0, 0.0, before[3]];
            if row >> x & 1 == 1 {
                *out = [lit(color[0]), lit(color[1]), lit(color[2]), before[3]];
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;

    fn ink(letter: char) -> u32 {
        glyph(letter).iter().map(|row| row.count_ones()).sum()
    }

    #[test]
    fn the_ramp_rises_in_ink() {
        let inks = RAMP.map(ink);
        assert!(inks.windows(2).all(|pair| pair[0] < pair[1]), "{inks:?}");
        assert_eq!((inks[0], inks[15]), (0, 37));
    }

    /// A flat grey shows one letter, upright, in every cell; the letters go through the ramp in order.
    #[test]
    fn greys_show_the_letters_of_the_ramp() {
        for (index, letter) in RAMP.into_iter().enumerate() {
            let tone = (index as f32 + 0.5) / 16.0;
            let level = tone * tone;
            let out = apply(
                "ascii",
                &[("colour", 0.0)],
                [24, 16],
                &[[level, level, level, 0.5]; 24 * 16],
            );
            for (at, texel) in out.iter().enumerate() {
                let inked = glyph(letter)[at / 24 % 8] >> (at % 24 % 8) & 1 == 1;
                let expected = if inked { 1.0 } else { 0.0 };
                assert_eq!(*texel, [expected, expected, expected, 0.5], "{letter:?} at {at}");
            }
        }
        // The stem of a k is on the left and its foot at the bottom.
        assert!(glyph('k')[0] & 1 == 1 && glyph('k')[0] >> 7 == 0 && glyph('k')[7] == 0);
    }

    #[test]
    fn a_letter_has_its_cell_s_colour_at_full_brightness() {
        let out = apply("ascii", &[("colour", 1.0)], [8, 8], &[[0.5, 0.25, 0.125, 1.0]; 64]);
        let lit: Vec<&Texel> = out.iter().filter(|texel| texel[0] > 0.0).collect();
        assert!(!lit.is_empty() && lit.iter().all(|texel| **texel == [1.0, 0.5, 0.25, 1.0]));
    }
}
