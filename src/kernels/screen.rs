//! The picture in 8 bits: how light becomes the bytes of the screen image, the same on every processor.
//!
//! What is encoded are halves, and of those only 15,361 lie from 0 to 1. So the byte of each is known, and nothing is left to how a
//! processor rounds a power: [`SrgbTable`] says where among the halves the bytes change, and `shaders/present.wgsl`,
//! `kernels/screen/encode.cu` and [`SrgbTable::byte`] read it alike, with integers alone.

use std::sync::LazyLock;

use half::f16;
use rayon::prelude::*;

use super::{SCREEN_SOURCES, Source};

/// The bits of the least half that the table has: 2⁻¹⁴. What is smaller is black: the first byte above it begins at 1.5 · 10⁻⁴.
const FIRST: u16 = 0x0400;
/// The bits of the half 1.0: from it on all is white.
const ONE: u16 = 0x3c00;
/// The bits of the half +∞. What has larger ones is NaN or negative, and black.
const INFINITY: u16 = 0x7c00;
/// Halves of an entry. Nowhere are there fewer than 12 halves of one byte, so the byte changes at most once in an entry.
const HALVES: usize = 8;
/// Bytes of an RGBA16F texel, and of one of the screen image.
const TEXEL_BYTES: [usize; 2] = [8, 4];

/// The byte of every half: IEC 61966-2-1 (sRGB), the nearest of 0 to 255. NaN and what is negative are 0, what is above 1 is 255.
///
/// An entry is of eight halves that follow one another. Its lower byte is theirs; its upper byte says how many of them have it, and
/// those after them have the next one.
pub struct SrgbTable {
    entries: Vec<u16>,
}

impl SrgbTable {
    /// The table, which is made once.
    pub fn get() -> &'static Self {
        static TABLE: LazyLock<SrgbTable> = LazyLock::new(SrgbTable::new);
        &TABLE
    }

    fn new() -> Self {
        let mut byte = 0_u8;
        let bytes = (FIRST..ONE).map(|bits| {
            let light = f16::from_bits(bits).to_f64();
            while byte < u8::MAX && light >= decode((f64::from(byte) + 0.5) / 255.0) {
                byte += 1;
            }
            byte
        });
        let bytes: Vec<u8> = bytes.collect();
        let entry = |halves: &[u8; HALVES]| {
            let alike = halves.iter().take_while(|byte| **byte == halves[0]).count();
            u16::from(halves[0]) | (alike as u16) << 8
        };
        let entries = bytes.as_chunks().0.iter().map(entry).collect();
        Self { entries }
    }

    /// The entries, as the GPU reads them: 16 bits each, little-endian, an even number of them.
    pub fn bytes(&self) -> &[u8] {
        bytemuck::cast_slice(&self.entries)
    }

    /// The byte of a half.
    pub fn byte(&self, light: f16) -> u8 {
        let bits = light.to_bits();
        if !(FIRST..=INFINITY).contains(&bits) {
            return 0;
        }
        if bits >= ONE {
            return u8::MAX;
        }
        let half = usize::from(bits - FIRST);
        let entry = self.entries[half / HALVES];
        entry as u8 + u8::from(half % HALVES >= usize::from(entry >> 8))
    }

    /// Encodes rows of RGBA16F texels, without gaps, into as many of RGBA8, whose alpha is 255.
    pub fn encode(&self, processed: &[u8], screen: &mut [u8]) {
        /// Texels that a thread takes at a time.
        const PART: usize = 1 << 12;
        let parts = screen.par_chunks_mut(PART * TEXEL_BYTES[1]);
        parts
            .zip(processed.par_chunks(PART * TEXEL_BYTES[0]))
            .for_each(|(screen, processed)| {
                let (screen, _) = screen.as_chunks_mut::<4>();
                let (processed, _) = processed.as_chunks::<8>();
                for (screen, texel) in screen.iter_mut().zip(processed) {
                    let byte =
                        |channel: usize| self.byte(f16::from_le_bytes([texel[2 * channel], texel[2 * channel + 1]]));
                    *screen = [byte(0), byte(1), byte(2), u8::MAX];
                }
            });
    }
}

/// From the encoded value to light: IEC 61966-2-1.
fn decode(encoded: f64) -> f64 {
    if encoded <= 0.04045 {
        encoded / 12.92
    } else {
        ((encoded + 0.055) / 1.055).powf(2.4)
    }
}

/// A CUDA kernel that writes the screen image: no effect, since no effect writes bytes.
pub struct ScreenKernel {
    /// Its entry, and the stem of its file.
    pub name: &'static str,
    /// CUDA C++.
    pub code: &'static str,
    /// Its PTX.
    pub ptx: &'static str,
}

impl ScreenKernel {
    /// `processed` becomes the screen image: [`SrgbTable::encode`].
    pub const ENCODE: &str = "encode";
    /// The overlay over the screen image: [`DrawList::draw_over`](crate::overlay::DrawList::draw_over).
    pub const OVERLAY: &str = "overlay";

    /// The kernel of that name.
    ///
    /// # Panics
    /// If there is none of it, which a test keeps from being.
    pub fn named(name: &str) -> Self {
        let found = SCREEN_SOURCES.iter().find(|source| source.name == name);
        let &Source { name, code, ptx } = found.expect("the names are those of the files");
        Self { name, code, ptx }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// IEC 61966-2-1, in steps of a byte.
    fn steps(light: f64) -> f64 {
        let encoded = match light {
            low if low <= 0.003_130_8 => 12.92 * low,
            high => 1.055 * high.powf(1.0 / 2.4) - 0.055,
        };
        255.0 * encoded
    }

    #[test]
    fn every_half_has_the_byte_nearest_to_the_standard_s_value() {
        let (table, mut least_margin) = (SrgbTable::get(), f64::MAX);
        for half in (0..=u16::MAX).map(f16::from_bits) {
            let light = half.to_f64();
            // NaN is no light; -0 is none either.
            let exact = if light > 0.0 { steps(light.min(1.0)) } else { 0.0 };
            assert_eq!(f64::from(table.byte(half)), exact.round(), "{half:?}");
            least_margin = least_margin.min((exact - exact.floor() - 0.5).abs());
        }
        // No half is so near to where two bytes meet that a rounding in double could decide.
        assert!(least_margin > 1e-6, "{least_margin}");
    }

    #[test]
    fn the_table_is_as_the_gpu_reads_it() {
        let entries = (usize::from(ONE) - usize::from(FIRST)) / HALVES;
        assert_eq!(SrgbTable::get().bytes().len(), 2 * entries);
        assert!(entries.is_multiple_of(2), "the shader reads two at a time");
        for entry in &SrgbTable::get().entries {
            assert!((1..=HALVES as u16).contains(&(entry >> 8)), "{entry:#x}");
        }
    }

    #[test]
    fn rows_are_encoded_texel_by_texel() {
        let texels: Vec<[f16; 4]> = (0..5000_u16)
            .map(|texel| [3 * texel, 7 * texel + 1, 13 * texel, texel].map(f16::from_bits))
            .collect();
        let mut screen = vec![0; texels.len() * 4];
        SrgbTable::get().encode(bytemuck::cast_slice(&texels), &mut screen);
        for (screen, texel) in screen.chunks(4).zip(texels) {
            let [red, green, blue, _] = texel.map(|channel| SrgbTable::get().byte(channel));
            assert_eq!(screen, [red, green, blue, 255]);
        }
    }

    #[test]
    fn the_kernels_are_there() {
        for name in [ScreenKernel::ENCODE, ScreenKernel::OVERLAY] {
            let kernel = ScreenKernel::named(name);
            assert!(kernel.ptx.contains(&format!(".entry {name}(")), "{name}");
            assert!(kernel.code.contains(&format!("void {name}(")), "{name}");
        }
        assert_eq!(SCREEN_SOURCES.len(), 2);
    }
}
