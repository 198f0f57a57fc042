//! Transfers of ownership between a queue family and another API, around copies: of whole images, with all levels and layers,
//! and of whole buffers. [`super::barrier`] has those of the frame's images, around drawing.
//!
//! What the other API does is not Vulkan's to name: its half of a transfer is the semaphore. So that side of each barrier is
//! ALL_COMMANDS, which chains with the semaphore's stages, without accesses. CUDA takes and leaves images in GENERAL; copies
//! have layouts of their own. The change between them is a barrier apart, since one that is part of a transfer of ownership
//! would have to be named by both sides, and CUDA names none.

use ash::vk;
use smallvec::SmallVec;

use super::Device;
use vk::{AccessFlags2 as Access, ImageLayout as Layout, PipelineStageFlags2 as Stage};

/// An image with the part of it that is meant.
pub type ImagePart = (vk::Image, vk::ImageSubresourceRange);

/// Stages, accesses, layout and owner before or after a barrier.
type Side = (Stage, Access, Layout, u32);

/// Of a side whose owner does not change.
const SAME: u32 = vk::QUEUE_FAMILY_IGNORED;
const WRITTEN: (Stage, Access, Layout) = (Stage::TRANSFER, Access::TRANSFER_WRITE, Layout::TRANSFER_DST_OPTIMAL);
const READ: (Stage, Access, Layout) = (Stage::TRANSFER, Access::TRANSFER_READ, Layout::TRANSFER_SRC_OPTIMAL);
const EXTERNAL: Side = (
    Stage::ALL_COMMANDS,
    Access::NONE,
    Layout::GENERAL,
    vk::QUEUE_FAMILY_EXTERNAL,
);

fn side((stage, access, layout): (Stage, Access, Layout), family: u32) -> Side {
    (stage, access, layout, family)
}

/// The same in GENERAL.
fn general((stage, access, _): (Stage, Access, Layout), family: u32) -> Side {
    (stage, access, Layout::GENERAL, family)
}

/// The image's old contents are given up; copies will write it, in TRANSFER_DST_OPTIMAL.
pub fn discard_for_copies(device: &Device, commands: vk::CommandBuffer, image: ImagePart) {
    let from = (Stage::NONE, Access::NONE, Layout::UNDEFINED, SAME);
    record(device, commands, &[image], &[], from, side(WRITTEN, SAME));
}

/// What copies wrote, images in TRANSFER_DST_OPTIMAL, goes from `family` to another API.
pub fn release_to_external(
    device: &Device,
    commands: vk::CommandBuffer,
    family: u32,
    images: &[ImagePart],
    buffers: &[vk::Buffer],
) {
    record(
        device,
        commands,
        images,
        &[],
        side(WRITTEN, SAME),
        general(WRITTEN, SAME),
    );
    record(device, commands, images, buffers, general(WRITTEN, family), EXTERNAL);
}

/// What another API wrote comes to `family`, to be read by copies, images in TRANSFER_SRC_OPTIMAL.
pub fn acquire_from_external(
    device: &Device,
    commands: vk::CommandBuffer,
    family: u32,
    images: &[ImagePart],
    buffers: &[vk::Buffer],
) {
    record(device, commands, images, buffers, EXTERNAL, general(READ, family));
    record(device, commands, images, &[], general(READ, SAME), side(READ, SAME));
}

/// What copies wrote to a buffer stays the family's own, and will be read by copies.
pub fn keep_for_copies(device: &Device, commands: vk::CommandBuffer, buffer: vk::Buffer) {
    record(device, commands, &[], &[buffer], side(WRITTEN, SAME), side(READ, SAME));
}

/// What copies wrote to a buffer will be overwritten by copies.
pub fn overwrite(device: &Device, commands: vk::CommandBuffer, buffer: vk::Buffer) {
    record(
        device,
        commands,
        &[],
        &[buffer],
        side(WRITTEN, SAME),
        side(WRITTEN, SAME),
    );
}

fn record(
    device: &Device,
    commands: vk::CommandBuffer,
    images: &[ImagePart],
    buffers: &[vk::Buffer],
    from: Side,
    to: Side,
) {
    if images.is_empty() && buffers.is_empty() {
        return;
    }
    let of_image = |(image, range): &ImagePart| {
        vk::ImageMemoryBarrier2::default()
            .image(*image)
            .subresource_range(*range)
            .src_stage_mask(from.0)
            .src_access_mask(from.1)
            .old_layout(from.2)
            .src_queue_family_index(from.3)
            .dst_stage_mask(to.0)
            .dst_access_mask(to.1)
            .new_layout(to.2)
            .dst_queue_family_index(to.3)
    };
    let of_buffer = |buffer: &vk::Buffer| {
        vk::BufferMemoryBarrier2::default()
            .buffer(*buffer)
            .size(vk::WHOLE_SIZE)
            .src_stage_mask(from.0)
            .src_access_mask(from.1)
            .src_queue_family_index(from.3)
            .dst_stage_mask(to.0)
            .dst_access_mask(to.1)
            .dst_queue_family_index(to.3)
    };
    let images: SmallVec<[_; 8]> = images.iter().map(of_image).collect();
    let buffers: SmallVec<[_; 8]> = buffers.iter().map(of_buffer).collect();
    let dependency = vk::DependencyInfo::default()
        .image_memory_barriers(&images)
        .buffer_memory_barriers(&buffers);
    // SAFETY: the caller's command buffer is recording, and images and buffers live as long as it may run (V2).
    unsafe { device.raw.cmd_pipeline_barrier2(commands, &dependency) };
}
