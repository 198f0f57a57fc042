//! The images of a frame in host memory: mapped, with a row pitch.

use super::HostScratch;
use crate::kernels::FrameExtents;

/// Bytes of an RGBA16F texel.
pub(super) const TEXEL_SIZE: usize = 8;

/// An image in memory that is mapped or borrowed, rows `pitch` bytes apart.
#[derive(Clone, Copy, Debug)]
pub struct MappedImage<'a> {
    /// From the first texel on; the last row need not be padded.
    pub bytes: &'a [u8],
    /// From one row to the next, bytes.
    pub pitch: usize,
}

/// The scene's guides, for the effects that use them.
#[derive(Clone, Copy, Debug, Default)]
pub struct HostGuides<'a> {
    /// R32F, metres.
    pub depth: Option<MappedImage<'a>>,
    /// RGBA16F, world space.
    pub normal: Option<MappedImage<'a>>,
    /// RGBA8, linear.
    pub albedo: Option<MappedImage<'a>>,
    /// RG16F, pixels.
    pub motion: Option<MappedImage<'a>>,
}

/// The images a plan runs on.
#[derive(Debug)]
pub struct HostImages<'a> {
    pub(super) extents: FrameExtents,
    pub(super) color: MappedImage<'a>,
    pub(super) processed: &'a mut [u8],
    pub(super) processed_pitch: usize,
    pub(super) guides: HostGuides<'a>,
    pub(super) scratch: &'a mut HostScratch,
}

/// Memory that does not hold the image it is said to hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostImageError {
    /// Nothing to compute.
    #[error("an image of {0}x{1} texels has no texel")]
    Empty(u32, u32),
    /// A pitch that a row does not fit in, or that halves cannot be aligned to.
    #[error("{image}: a row pitch of {pitch} bytes for rows of {row} bytes: expected an even number of at least that")]
    Pitch {
        /// Which image.
        image: &'static str,
        /// The pitch given, bytes.
        pitch: usize,
        /// The bytes of a row.
        row: usize,
    },
    /// Too few bytes.
    #[error("{image}: {found} bytes; {needed} are needed")]
    TooShort {
        /// Which image.
        image: &'static str,
        /// The bytes given.
        found: usize,
        /// The bytes of all rows.
        needed: usize,
    },
    /// An odd address.
    #[error("{0}: the memory is not aligned to 2 bytes")]
    Unaligned(&'static str),
}

impl<'a> HostImages<'a> {
    /// Images of RGBA16F texels. `color` is read; `processed` is written, its padding left alone. Pitches in bytes.
    pub fn new(
        extents: FrameExtents,
        color: MappedImage<'a>,
        (processed, processed_pitch): (&'a mut [u8], usize),
        scratch: &'a mut HostScratch,
    ) -> Result<Self, HostImageError> {
        for extent in [extents.scene, extents.display] {
            if extent.contains(&0) {
                return Err(HostImageError::Empty(extent[0], extent[1]));
            }
        }
        check("color", extents.scene, color.bytes, color.pitch)?;
        check("processed", extents.display, processed, processed_pitch)?;
        Ok(Self {
            extents,
            color,
            processed,
            processed_pitch,
            guides: HostGuides::default(),
            scratch,
        })
    }

    /// Adds the scene's guides.
    pub fn with_guides(self, guides: HostGuides<'a>) -> Self {
        Self { guides, ..self }
    }
}

fn check(image: &'static str, extent: [u32; 2], bytes: &[u8], pitch: usize) -> Result<(), HostImageError> {
    let row = extent[0] as usize * TEXEL_SIZE;
    if pitch < row || !pitch.is_multiple_of(2) {
        return Err(HostImageError::Pitch { image, pitch, row });
    }
    let needed = (extent[1] as usize - 1) * pitch + row;
    if bytes.len() < needed {
        return Err(HostImageError::TooShort {
            image,
            found: bytes.len(),
            needed,
        });
    }
    if !bytes.as_ptr().addr().is_multiple_of(2) {
        return Err(HostImageError::Unaligned(image));
    }
    Ok(())
}
