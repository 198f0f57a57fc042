//! The images that the studio draws through, all of one frame at a time: the queue runs its frames in order.

use std::sync::Arc;

use ash::vk;

use super::pipelines::{DEPTH_FORMAT, MIRROR_FORMAT};
use crate::vulkan::{self, Device, Image, ImageDescription};

/// The mirror image has half the picture's width and height: it is blurred anyway.
const MIRROR_DIVISOR: u32 = 2;

/// Images that go with the extent.
pub struct PassImages {
    /// The picture's depth buffer.
    pub depth: Image,
    /// The mirror image: radiance, and 1 in alpha where an object is.
    pub mirror: Image,
    /// Its depth buffer.
    pub mirror_depth: Image,
}

impl PassImages {
    /// Creates them for a picture of `extent`.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn new(device: &Arc<Device>, extent: vk::Extent2D) -> Result<Self, vulkan::Error> {
        let half = vk::Extent2D {
            width: extent.width.div_ceil(MIRROR_DIVISOR),
            height: extent.height.div_ceil(MIRROR_DIVISOR),
        };
        let depth_usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT;
        let mirror_usage = vk::ImageUsageFlags::COLOR_ATTACHMENT | vk::ImageUsageFlags::SAMPLED;
        Ok(Self {
            depth: image(device, extent, DEPTH_FORMAT, depth_usage, "studio depth")?,
            mirror: image(device, half, MIRROR_FORMAT, mirror_usage, "studio mirror")?,
            mirror_depth: image(device, half, DEPTH_FORMAT, depth_usage, "studio mirror depth")?,
        })
    }
}

/// An image in device memory.
///
/// # Errors
/// No memory, or a failed call.
pub fn image(
    device: &Arc<Device>,
    extent: vk::Extent2D,
    format: vk::Format,
    usage: vk::ImageUsageFlags,
    name: &str,
) -> Result<Image, vulkan::Error> {
    let description = ImageDescription { extent, format, usage };
    Image::new(device, description, name)
}
