//! Barriers around CUDA kernels that run in a Vulkan queue. A launch has no pipeline stage of its own, so each of them names
//! ALL_COMMANDS on the kernels' side. Those of a chain are of all memory: its images stay in GENERAL, and nothing changes hands.

use ash::vk;

use super::barrier::{Barriers, SAME};
use super::image::COLOR;
use super::{Buffer, Device};

use vk::{AccessFlags2 as Access, ImageLayout as Layout, PipelineStageFlags2 as Stage};

const ANY: Access = Access::from_raw(Access::MEMORY_READ.as_raw() | Access::MEMORY_WRITE.as_raw());

impl Barriers {
    /// What was copied to the image will be read and written by a CUDA kernel in this queue, which has no stage of its own.
    pub fn transfer_to_kernel(self, image: vk::Image) -> Self {
        let from = (
            Stage::TRANSFER,
            Access::TRANSFER_WRITE,
            Layout::TRANSFER_DST_OPTIMAL,
            SAME,
        );
        self.push(image, from, (Stage::ALL_COMMANDS, ANY, Layout::GENERAL, SAME))
    }

    /// What a CUDA kernel in this queue wrote will be copied from.
    pub fn kernel_to_transfer(self, image: vk::Image) -> Self {
        let from = (Stage::ALL_COMMANDS, Access::MEMORY_WRITE, Layout::GENERAL, SAME);
        let to = (
            Stage::TRANSFER,
            Access::TRANSFER_READ,
            Layout::TRANSFER_SRC_OPTIMAL,
            SAME,
        );
        self.push(image, from, to)
    }
}

/// What was written before in the queue, by whatever, may be read and overwritten by kernels and by fills of buffers.
pub fn to_kernels(device: &Device, commands: vk::CommandBuffer) {
    memory(device, commands, (Stage::ALL_COMMANDS, ANY));
}

/// What kernels wrote will be read by compute shaders.
pub fn kernels_to_compute(device: &Device, commands: vk::CommandBuffer) {
    memory(device, commands, (Stage::COMPUTE_SHADER, Access::SHADER_READ));
}

fn memory(device: &Device, commands: vk::CommandBuffer, to: (Stage, Access)) {
    let barriers = [vk::MemoryBarrier2::default()
        .src_stage_mask(Stage::ALL_COMMANDS)
        .src_access_mask(Access::MEMORY_WRITE)
        .dst_stage_mask(to.0)
        .dst_access_mask(to.1)];
    record(
        device,
        commands,
        &vk::DependencyInfo::default().memory_barriers(&barriers),
    );
}

/// New images, without contents, go to GENERAL: kernels and transfers use them there from now on.
pub fn make_general(device: &Device, commands: vk::CommandBuffer, images: &[vk::Image]) {
    let barrier = |image: &vk::Image| {
        vk::ImageMemoryBarrier2::default()
            .image(*image)
            .subresource_range(COLOR)
            .src_queue_family_index(SAME)
            .dst_queue_family_index(SAME)
            .old_layout(Layout::UNDEFINED)
            .new_layout(Layout::GENERAL)
            .dst_stage_mask(Stage::ALL_COMMANDS)
            .dst_access_mask(ANY)
    };
    let barriers: Vec<_> = images.iter().map(barrier).collect();
    record(
        device,
        commands,
        &vk::DependencyInfo::default().image_memory_barriers(&barriers),
    );
}

/// Gives all channels of an image in GENERAL the value.
pub fn clear_general(device: &Device, commands: vk::CommandBuffer, image: vk::Image, value: f32) {
    let color = vk::ClearColorValue { float32: [value; 4] };
    // SAFETY: the caller's command buffer is recording, and the image lives as long as it may run (V2).
    unsafe {
        device
            .raw
            .cmd_clear_color_image(commands, image, Layout::GENERAL, &color, &[COLOR]);
    }
}

/// Which way [`copy_general`] copies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// From the buffer to the image.
    ToImage,
    /// From the image to the buffer.
    ToBuffer,
}

/// Copies all texels between an image in GENERAL and the start of a buffer, row after row without gaps.
pub fn copy_general(
    device: &Device,
    commands: vk::CommandBuffer,
    direction: Direction,
    (image, extent): (vk::Image, [u32; 2]),
    buffer: &Buffer,
) {
    let region = [vk::BufferImageCopy::default()
        .image_subresource(vk::ImageSubresourceLayers {
            aspect_mask: vk::ImageAspectFlags::COLOR,
            mip_level: 0,
            base_array_layer: 0,
            layer_count: 1,
        })
        .image_extent(vk::Extent3D {
            width: extent[0],
            height: extent[1],
            depth: 1,
        })];
    let (raw, general, buffer) = (&device.raw, Layout::GENERAL, buffer.raw);
    // SAFETY: the caller's command buffer is recording, and image and buffer live as long as it may run (V2).
    unsafe {
        match direction {
            Direction::ToImage => raw.cmd_copy_buffer_to_image(commands, buffer, image, general, &region),
            Direction::ToBuffer => raw.cmd_copy_image_to_buffer(commands, image, general, buffer, &region),
        }
    }
}

fn record(device: &Device, commands: vk::CommandBuffer, dependency: &vk::DependencyInfo<'_>) {
    // SAFETY: the caller's command buffer is recording, and images live as long as it may run (V2).
    unsafe { device.raw.cmd_pipeline_barrier2(commands, dependency) };
}
