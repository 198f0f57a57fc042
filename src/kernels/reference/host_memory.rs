//! The chain's own images and buffers in host memory.

use super::Texel;
use crate::kernels::{ChainMemory, Memory, TexelFormat};
use std::convert::Infallible;

/// What chains use between `color` and `processed`, and the float copies of what is read. Keep it between frames: what effects
/// keep is in it.
#[derive(Debug, Default)]
pub struct HostScratch {
    pub(super) memory: ChainMemory<HostMemory>,
    /// `color`, as it is stored and as light.
    pub(super) colors: [Vec<Texel>; 2],
    /// The light of sources that hold other values.
    pub(super) sources: [Vec<Texel>; 3],
    pub(super) guides: [Vec<Texel>; 4],
}

/// Makes images and buffers of vectors.
#[derive(Debug, Default)]
pub(super) struct HostMemory;

/// An image, rows without gaps.
#[derive(Debug)]
pub(super) enum HostImage {
    /// RGBA16F, as floats that halves hold exactly: who reads them need not convert them.
    Rounded {
        texels: Vec<Texel>,
        /// All are [`light`](super::light) already.
        is_light: bool,
    },
    /// RGBA32F.
    Float(Vec<Texel>),
}

/// Memory aligned to 8 bytes.
#[derive(Debug, Default)]
pub(super) struct HostBuffer {
    words: Vec<u64>,
    size: usize,
}

impl Memory for HostMemory {
    type Image = HostImage;
    type Buffer = HostBuffer;
    type Error = Infallible;

    fn image(&mut self, extent: [u32; 2], format: TexelFormat) -> Result<HostImage, Infallible> {
        let texels = extent[0] as usize * extent[1] as usize;
        Ok(match format {
            TexelFormat::Rgba16f => HostImage::Rounded {
                texels: vec![[0.0; 4]; texels],
                is_light: true,
            },
            TexelFormat::Rgba32f => HostImage::Float(vec![[0.0; 4]; texels]),
        })
    }

    fn buffer(&mut self, bytes: u64) -> Result<HostBuffer, Infallible> {
        let size = bytes as usize;
        Ok(HostBuffer {
            words: vec![0; size.div_ceil(8)],
            size,
        })
    }
}

impl Default for HostImage {
    fn default() -> Self {
        Self::Float(Vec::new())
    }
}

impl HostImage {
    /// Makes every value NaN, so that reading what was never written shows.
    pub fn poison(&mut self) {
        match self {
            Self::Rounded { texels, is_light } => {
                texels.fill([f32::NAN; 4]);
                *is_light = false;
            }
            Self::Float(texels) => texels.fill([f32::NAN; 4]),
        }
    }
}

impl HostBuffer {
    pub fn bytes(&self) -> &[u8] {
        &bytemuck::cast_slice(&self.words)[..self.size]
    }

    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut bytemuck::cast_slice_mut(&mut self.words)[..self.size]
    }
}
