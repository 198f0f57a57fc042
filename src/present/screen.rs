//! The picture that presenters take: a slot's 8-bit screen image.

use ash::vk;

use crate::vulkan::Image;

/// A slot's screen image: RGBA8, sRGB-encoded. Whoever wrote it, presenters find it in TRANSFER_SRC_OPTIMAL, readable by copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Screen {
    /// The image, of one level and one layer.
    pub image: vk::Image,
    /// Texels across and down.
    pub extent: vk::Extent2D,
}

impl From<&Image> for Screen {
    fn from(image: &Image) -> Self {
        Self {
            image: image.raw,
            extent: image.description.extent,
        }
    }
}
