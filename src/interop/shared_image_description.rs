//! What a shared image is made of, said once for both APIs.

use ash::vk;

use super::SharedFormat;

/// What a shared image is made of, on both sides: 2-D, OPTIMAL, one sample. (CUDA guide, 4.19.2.1.7: format, extent, levels, layers
/// and flags must be the image's.)
///
/// **Units and ranges.** Extents in texels, each side at least 1; `mip_levels` and `array_layers` at least 1. What the driver
/// makes at most is asked for when the image is made: [`Error::Unsupported`](super::Error::Unsupported).
///
/// ```
/// use handover::interop::{SharedFormat, SharedImageDescription};
/// use handover::vulkan::vk;
///
/// let usage = vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_DST;
/// let extent = vk::Extent2D { width: 1920, height: 1080 };
/// let description = SharedImageDescription {
///     mip_levels: 5,
///     array_layers: 3,
///     ..SharedImageDescription::new(SharedFormat::Rgba16Float, extent, usage)
/// };
/// assert_eq!(description.text(), "1920x1080 R16G16B16A16_SFLOAT, 5 levels, 3 layers");
/// assert_eq!(description.level_extent(4), vk::Extent2D { width: 120, height: 67 });
/// assert_eq!(description.level_texels(4), 120 * 67 * 3);
/// // The second level follows the first in a buffer that all of it is copied to: 8 bytes a texel.
/// assert_eq!(description.copy_regions()[1].buffer_offset, 1920 * 1080 * 3 * 8);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SharedImageDescription {
    /// Texel format.
    pub format: SharedFormat,
    /// Texels across and down of level 0.
    pub extent: vk::Extent2D,
    /// Levels, at least 1; each is half as wide and high as the one before, rounded down, and at least 1.
    pub mip_levels: u32,
    /// Layers, at least 1.
    pub array_layers: u32,
    /// What Vulkan uses it for. CUDA is told of COLOR_ATTACHMENT, as it must be.
    pub usage: vk::ImageUsageFlags,
}

impl SharedImageDescription {
    /// One level, one layer.
    pub fn new(format: SharedFormat, extent: vk::Extent2D, usage: vk::ImageUsageFlags) -> Self {
        Self {
            format,
            extent,
            mip_levels: 1,
            array_layers: 1,
            usage,
        }
    }

    /// The extent of a level.
    pub fn level_extent(&self, level: u32) -> vk::Extent2D {
        let side = |length: u32| (length >> level).max(1);
        vk::Extent2D {
            width: side(self.extent.width),
            height: side(self.extent.height),
        }
    }

    /// Levels that the image is made with.
    ///
    /// Of an image with several levels *and* several layers, NVIDIA's CUDA takes the layers to lie apart as if the chain of
    /// levels were complete, Vulkan as far as the levels there are (seen with driver 580.159 at many extents and formats). So
    /// such an image is made with the complete chain on both sides, of which the levels asked for are used.
    pub(super) fn made_levels(&self) -> u32 {
        if self.array_layers > 1 && self.mip_levels > 1 {
            full_chain(self.extent)
        } else {
            self.mip_levels
        }
    }

    /// All levels and layers.
    pub fn range(&self) -> vk::ImageSubresourceRange {
        vk::ImageSubresourceRange {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            base_mip_level: 0,
            level_count: self.mip_levels,
            base_array_layer: 0,
            layer_count: self.array_layers,
        }
    }

    /// Texels of a level in all layers.
    pub fn level_texels(&self, level: u32) -> u64 {
        let vk::Extent2D { width, height } = self.level_extent(level);
        u64::from(width) * u64::from(height) * u64::from(self.array_layers)
    }

    /// Copies of all texels between the image and a buffer, a region a level. In the buffer they follow each other without
    /// gaps: level by level, in it layer by layer, in that row by row.
    pub fn copy_regions(&self) -> Vec<vk::BufferImageCopy> {
        let layers = vk::ImageSubresourceLayers::default()
            .aspect_mask(vk::ImageAspectFlags::COLOR)
            .layer_count(self.array_layers);
        let mut offset = 0;
        let region = |level| {
            let region = vk::BufferImageCopy::default()
                .buffer_offset(offset)
                .image_subresource(layers.mip_level(level))
                .image_extent(self.level_extent(level).into());
            offset += self.level_texels(level) * self.format.texel_bytes() as u64;
            region
        };
        (0..self.mip_levels).map(region).collect()
    }

    /// For messages: `1920x1080 R16G16B16A16_SFLOAT, 5 levels, 3 layers`.
    pub fn text(&self) -> String {
        let vk::Extent2D { width, height } = self.extent;
        let mut text = format!("{width}x{height} {:?}", self.format.vulkan());
        if self.mip_levels != 1 || self.array_layers != 1 {
            text += &format!(", {} levels, {} layers", self.mip_levels, self.array_layers);
        }
        text
    }
}

/// Levels until both sides are 1.
pub(super) fn full_chain(extent: vk::Extent2D) -> u32 {
    u32::BITS - extent.width.max(extent.height).leading_zeros()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_of_all_levels_leave_no_gap_and_do_not_overlap() {
        let extent = vk::Extent2D { width: 10, height: 3 };
        let description = SharedImageDescription {
            mip_levels: 3,
            array_layers: 2,
            ..SharedImageDescription::new(SharedFormat::Rgba16Float, extent, vk::ImageUsageFlags::STORAGE)
        };
        // 10 x 3, 5 x 1 and 2 x 1 texels, twice each, of 8 bytes.
        let regions = description.copy_regions();
        let found: Vec<_> = regions
            .iter()
            .map(|region| {
                (
                    region.buffer_offset,
                    region.image_extent.width,
                    region.image_extent.height,
                )
            })
            .collect();
        assert_eq!(found, [(0, 10, 3), (480, 5, 1), (560, 2, 1)]);
        for (level, region) in (0..).zip(regions) {
            let layers = region.image_subresource;
            assert_eq!(
                (layers.mip_level, layers.base_array_layer, layers.layer_count),
                (level, 0, 2)
            );
        }
    }
}
