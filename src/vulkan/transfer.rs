//! Copies between images and buffers, and what else transfers write. Barriers around them are the caller's.

use std::ops::Range;

use ash::vk;

use super::ownership::ImagePart;
use super::{Buffer, Device, Image};

const LAYERS: vk::ImageSubresourceLayers = vk::ImageSubresourceLayers {
    aspect_mask: vk::ImageAspectFlags::COLOR,
    mip_level: 0,
    base_array_layer: 0,
    layer_count: 1,
};

/// An image's handle, and its extent.
pub type WholeImage = (vk::Image, vk::Extent2D);

/// Copies all of `source` (TRANSFER_SRC_OPTIMAL) to all of `target` (TRANSFER_DST_OPTIMAL), converting the order of its channels,
/// and scaling where the extents differ. Needs a queue that can draw.
pub fn blit(device: &Device, commands: vk::CommandBuffer, source: WholeImage, target: WholeImage) {
    let same = source.1 == target.1;
    // Texels that meet one to one are not to be mixed with their neighbours by rounding.
    let filter = if same { vk::Filter::NEAREST } else { vk::Filter::LINEAR };
    let region = [vk::ImageBlit::default()
        .src_subresource(LAYERS)
        .src_offsets(corners(source.1))
        .dst_subresource(LAYERS)
        .dst_offsets(corners(target.1))];
    // SAFETY: the caller's command buffer is recording, and both images live as long as it may run (V2).
    unsafe {
        device.raw.cmd_blit_image(
            commands,
            source.0,
            vk::ImageLayout::TRANSFER_SRC_OPTIMAL,
            target.0,
            vk::ImageLayout::TRANSFER_DST_OPTIMAL,
            &region,
            filter,
        );
    }
}

/// Copies all of `source` (TRANSFER_SRC_OPTIMAL) to all of `target` (TRANSFER_DST_OPTIMAL), of the same extent and format. Any queue
/// can do it.
pub fn copy_image(
    device: &Device,
    commands: vk::CommandBuffer,
    source: vk::Image,
    target: vk::Image,
    extent: vk::Extent2D,
) {
    let region = [vk::ImageCopy::default()
        .src_subresource(LAYERS)
        .dst_subresource(LAYERS)
        .extent(extent.into())];
    // SAFETY: the caller's command buffer is recording, and both images live as long as it may run (V2).
    unsafe {
        device.raw.cmd_copy_image(
            commands,
            source,
            vk::ImageLayout::TRANSFER_SRC_OPTIMAL,
            target,
            vk::ImageLayout::TRANSFER_DST_OPTIMAL,
            &region,
        );
    }
}

/// Copies all of `source` (TRANSFER_SRC_OPTIMAL) to the start of `target`, row after row without gaps.
pub fn copy_to_buffer(device: &Device, commands: vk::CommandBuffer, source: &Image, target: &Buffer) {
    image_to_buffer(device, commands, source.raw, source.description.extent, target.raw);
}

/// Copies level 0 of layer 0 of an image (TRANSFER_SRC_OPTIMAL) to the start of `target`, row after row without gaps.
pub fn image_to_buffer(
    device: &Device,
    commands: vk::CommandBuffer,
    image: vk::Image,
    extent: vk::Extent2D,
    target: vk::Buffer,
) {
    let region = [vk::BufferImageCopy::default()
        .image_subresource(LAYERS)
        .image_extent(extent.into())];
    regions_to_buffer(device, commands, image, target, &region);
}

/// Copies regions of an image (TRANSFER_SRC_OPTIMAL) to where they lie in `target`.
pub fn regions_to_buffer(
    device: &Device,
    commands: vk::CommandBuffer,
    image: vk::Image,
    target: vk::Buffer,
    regions: &[vk::BufferImageCopy],
) {
    let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
    // SAFETY: the caller's command buffer is recording, and image and buffer live as long as it may run (V2).
    unsafe {
        device
            .raw
            .cmd_copy_image_to_buffer(commands, image, layout, target, regions)
    };
}

/// Copies regions of an image (TRANSFER_DST_OPTIMAL) from where they lie in `source`.
pub fn regions_from_buffer(
    device: &Device,
    commands: vk::CommandBuffer,
    source: vk::Buffer,
    image: vk::Image,
    regions: &[vk::BufferImageCopy],
) {
    let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
    // SAFETY: the caller's command buffer is recording, and image and buffer live as long as it may run (V2).
    unsafe {
        device
            .raw
            .cmd_copy_buffer_to_image(commands, source, image, layout, regions)
    };
}

/// Gives all texels of a part of an image (TRANSFER_DST_OPTIMAL) one value.
pub fn clear(device: &Device, commands: vk::CommandBuffer, (image, range): ImagePart, color: vk::ClearColorValue) {
    let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
    // SAFETY: the caller's command buffer is recording, and the image lives as long as it may run (V2).
    unsafe {
        device
            .raw
            .cmd_clear_color_image(commands, image, layout, &color, &[range])
    };
}

/// Writes `word` to all of bytes `range` of a buffer: multiples of 4.
pub fn fill(device: &Device, commands: vk::CommandBuffer, buffer: vk::Buffer, range: Range<u64>, word: u32) {
    let size = range.end - range.start;
    // SAFETY: the caller's command buffer is recording, and the buffer lives as long as it may run (V2).
    unsafe { device.raw.cmd_fill_buffer(commands, buffer, range.start, size, word) };
}

/// Copies `size` bytes from a place in one buffer to a place in another.
pub fn copy_buffer(
    device: &Device,
    commands: vk::CommandBuffer,
    (source, from): (vk::Buffer, u64),
    (target, to): (vk::Buffer, u64),
    size: u64,
) {
    let region = vk::BufferCopy::default().src_offset(from).dst_offset(to);
    // SAFETY: the caller's command buffer is recording, and both buffers live as long as it may run (V2).
    unsafe {
        device
            .raw
            .cmd_copy_buffer(commands, source, target, &[region.size(size)])
    };
}

/// Copies rows without gaps from the start of `source` to all of `target` (TRANSFER_DST_OPTIMAL).
pub fn copy_from_buffer(device: &Device, commands: vk::CommandBuffer, source: vk::Buffer, target: &Image) {
    let region = [vk::BufferImageCopy::default()
        .image_subresource(LAYERS)
        .image_extent(target.description.extent.into())];
    regions_from_buffer(device, commands, source, target.raw, &region);
}

fn corners(extent: vk::Extent2D) -> [vk::Offset3D; 2] {
    let far = vk::Offset3D {
        // Vulkan's extents of images stay far under 2^31.
        x: extent.width as i32,
        y: extent.height as i32,
        z: 1,
    };
    [vk::Offset3D::default(), far]
}
