//! Barriers by intent. Access and stage masks live here, and for copies of whole images and buffers in [`super::ownership`].

use std::ops::Range;

use ash::vk;
use smallvec::SmallVec;

use super::Device;
use super::image::COLOR;

use vk::{AccessFlags2 as Access, ImageLayout as Layout, PipelineStageFlags2 as Stage};

/// Before or after a barrier: stages, accesses, layout, owner.
pub(super) type Side = (Stage, Access, Layout, u32);

pub(super) const SAME: u32 = vk::QUEUE_FAMILY_IGNORED;

/// The other API's side of a transfer of ownership. Its half is the semaphore, with which ALL_COMMANDS chains: without a
/// stage the change of owner would be ordered after nothing.
const EXTERNAL: Side = (
    Stage::ALL_COMMANDS,
    Access::NONE,
    Layout::GENERAL,
    vk::QUEUE_FAMILY_EXTERNAL,
);

/// How scenes write their images.
const WRITERS: Stage = Stage::from_raw(Stage::COLOR_ATTACHMENT_OUTPUT.as_raw() | Stage::COMPUTE_SHADER.as_raw());
const WRITTEN: Access =
    Access::from_raw(Access::COLOR_ATTACHMENT_WRITE.as_raw() | Access::SHADER_STORAGE_WRITE.as_raw());

/// Where a submission waits for `image_acquired`: nothing before the copy to the swapchain image needs the image.
pub const IMAGE_ACQUIRED: Stage = Stage::TRANSFER;

/// After what a submission signals `present_ready`: the change to the layout of presenting belongs to no narrower stage.
pub const PRESENT_READY: Stage = Stage::ALL_COMMANDS;

/// Several transitions, recorded as one `vkCmdPipelineBarrier2`.
#[derive(Default)]
pub struct Barriers(SmallVec<[vk::ImageMemoryBarrier2<'static>; 12]>);

impl Barriers {
    /// None yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Records them.
    pub fn record(self, device: &Device, commands: vk::CommandBuffer) {
        if !self.0.is_empty() {
            let dependency = vk::DependencyInfo::default().image_memory_barriers(&self.0);
            record(device, commands, &dependency);
        }
    }

    pub(super) fn push(self, image: vk::Image, from: Side, to: Side) -> Self {
        self.push_aspect(image, vk::ImageAspectFlags::COLOR, from, to)
    }

    fn push_aspect(mut self, image: vk::Image, aspect_mask: vk::ImageAspectFlags, from: Side, to: Side) -> Self {
        let barrier = vk::ImageMemoryBarrier2::default()
            .image(image)
            .subresource_range(vk::ImageSubresourceRange { aspect_mask, ..COLOR })
            .src_stage_mask(from.0)
            .src_access_mask(from.1)
            .old_layout(from.2)
            .src_queue_family_index(from.3)
            .dst_stage_mask(to.0)
            .dst_access_mask(to.1)
            .new_layout(to.2)
            .dst_queue_family_index(to.3);
        self.0.push(barrier);
        self
    }

    /// The old contents are given up; a compute shader will write the image.
    pub fn discard_for_compute(self, image: vk::Image) -> Self {
        // What used the image before is ordered by the host, which waited for the slot's last frame: so no source stage.
        let to = (
            Stage::COMPUTE_SHADER,
            Access::SHADER_STORAGE_WRITE,
            Layout::GENERAL,
            SAME,
        );
        self.push(image, (Stage::NONE, Access::NONE, Layout::UNDEFINED, SAME), to)
    }

    /// What a compute shader wrote will be read and written by another one.
    pub fn compute_to_compute(self, image: vk::Image) -> Self {
        let (read, write) = (Access::SHADER_STORAGE_READ, Access::SHADER_STORAGE_WRITE);
        self.push(
            image,
            (Stage::COMPUTE_SHADER, write, Layout::GENERAL, SAME),
            (Stage::COMPUTE_SHADER, read | write, Layout::GENERAL, SAME),
        )
    }

    /// The old contents are given up; the image will be a colour attachment.
    pub fn discard_for_attachment(self, image: vk::Image) -> Self {
        let access = Access::COLOR_ATTACHMENT_WRITE | Access::COLOR_ATTACHMENT_READ;
        let to = (Stage::COLOR_ATTACHMENT_OUTPUT, access, Layout::GENERAL, SAME);
        self.push(image, (Stage::NONE, Access::NONE, Layout::UNDEFINED, SAME), to)
    }

    /// The old contents are given up; the image will be the depth attachment. It is used again by the next frame of the
    /// same queue, so the last frame's tests must have finished.
    pub fn discard_for_depth(self, image: vk::Image) -> Self {
        let stages = Stage::EARLY_FRAGMENT_TESTS | Stage::LATE_FRAGMENT_TESTS;
        let write = Access::DEPTH_STENCIL_ATTACHMENT_WRITE;
        let from = (stages, write, Layout::UNDEFINED, SAME);
        let to = (
            stages,
            write | Access::DEPTH_STENCIL_ATTACHMENT_READ,
            Layout::DEPTH_ATTACHMENT_OPTIMAL,
            SAME,
        );
        self.push_aspect(image, vk::ImageAspectFlags::DEPTH, from, to)
    }

    /// A depth image (a shadow map) goes from being written to being sampled in fragment shaders.
    pub fn depth_to_sampled(self, image: vk::Image) -> Self {
        let from = (
            Stage::EARLY_FRAGMENT_TESTS | Stage::LATE_FRAGMENT_TESTS,
            Access::DEPTH_STENCIL_ATTACHMENT_WRITE,
            Layout::DEPTH_ATTACHMENT_OPTIMAL,
            SAME,
        );
        let to = (
            Stage::FRAGMENT_SHADER,
            Access::SHADER_SAMPLED_READ,
            Layout::DEPTH_READ_ONLY_OPTIMAL,
            SAME,
        );
        self.push_aspect(image, vk::ImageAspectFlags::DEPTH, from, to)
    }

    /// A sampled depth image (a shadow map) is given up to be written again by the same queue's next frame.
    pub fn sampled_to_depth(self, image: vk::Image) -> Self {
        let stages = Stage::EARLY_FRAGMENT_TESTS | Stage::LATE_FRAGMENT_TESTS;
        let from = (Stage::FRAGMENT_SHADER, Access::NONE, Layout::UNDEFINED, SAME);
        let access = Access::DEPTH_STENCIL_ATTACHMENT_WRITE | Access::DEPTH_STENCIL_ATTACHMENT_READ;
        let to = (stages, access, Layout::DEPTH_ATTACHMENT_OPTIMAL, SAME);
        self.push_aspect(image, vk::ImageAspectFlags::DEPTH, from, to)
    }

    /// A colour attachment of this pass becomes a texture of the next.
    pub fn attachment_to_sampled(self, image: vk::Image) -> Self {
        self.push(
            image,
            (
                Stage::COLOR_ATTACHMENT_OUTPUT,
                Access::COLOR_ATTACHMENT_WRITE,
                Layout::GENERAL,
                SAME,
            ),
            (
                Stage::FRAGMENT_SHADER,
                Access::SHADER_SAMPLED_READ,
                Layout::SHADER_READ_ONLY_OPTIMAL,
                SAME,
            ),
        )
    }

    /// A sampled colour image is given up to be drawn into again by the same queue's next frame.
    pub fn sampled_to_attachment(self, image: vk::Image) -> Self {
        let access = Access::COLOR_ATTACHMENT_WRITE | Access::COLOR_ATTACHMENT_READ;
        self.push(
            image,
            (Stage::FRAGMENT_SHADER, Access::NONE, Layout::UNDEFINED, SAME),
            (Stage::COLOR_ATTACHMENT_OUTPUT, access, Layout::GENERAL, SAME),
        )
    }

    /// What the scene wrote (attachments or compute) goes to another API on the same device. Its queues are a family of
    /// their own to Vulkan, so this is a transfer of ownership from `family`.
    pub fn release_to_external(self, image: vk::Image, family: u32) -> Self {
        self.push(image, (WRITERS, WRITTEN, Layout::GENERAL, family), EXTERNAL)
    }

    /// An image goes to another API without contents: all of it will be written there.
    ///
    /// Contents that nobody needs can be taken over without a transfer of ownership (Vulkan 1.3, 7.7.4), so there is only
    /// the change of layout.
    pub fn discard_to_external(self, image: vk::Image) -> Self {
        let from = (Stage::NONE, Access::NONE, Layout::UNDEFINED, SAME);
        self.push(image, from, (Stage::NONE, Access::NONE, Layout::GENERAL, SAME))
    }

    /// What another API wrote comes back to `family`, to be read by a compute shader.
    pub fn acquire_from_external(self, image: vk::Image, family: u32) -> Self {
        self.push(
            image,
            EXTERNAL,
            (
                Stage::COMPUTE_SHADER,
                Access::SHADER_SAMPLED_READ,
                Layout::GENERAL,
                family,
            ),
        )
    }

    /// What the scene wrote (attachments or compute) will be copied from.
    pub fn scene_to_transfer(self, image: vk::Image) -> Self {
        self.push(
            image,
            (WRITERS, WRITTEN, Layout::GENERAL, SAME),
            (
                Stage::TRANSFER,
                Access::TRANSFER_READ,
                Layout::TRANSFER_SRC_OPTIMAL,
                SAME,
            ),
        )
    }

    /// The old contents are given up; the image will be copied to.
    pub fn discard_for_transfer(self, image: vk::Image) -> Self {
        self.push(
            image,
            (Stage::NONE, Access::NONE, Layout::UNDEFINED, SAME),
            (
                Stage::TRANSFER,
                Access::TRANSFER_WRITE,
                Layout::TRANSFER_DST_OPTIMAL,
                SAME,
            ),
        )
    }

    /// What was copied to the image will be copied from it.
    pub fn copied_to_source(self, image: vk::Image) -> Self {
        let (stage, access) = (Stage::TRANSFER, Access::TRANSFER_WRITE);
        let from = (stage, access, Layout::TRANSFER_DST_OPTIMAL, SAME);
        let to = (stage, Access::TRANSFER_READ, Layout::TRANSFER_SRC_OPTIMAL, SAME);
        self.push(image, from, to)
    }

    /// What was copied to the image will be read by a compute shader.
    pub fn transfer_to_compute(self, image: vk::Image) -> Self {
        self.push(
            image,
            (
                Stage::TRANSFER,
                Access::TRANSFER_WRITE,
                Layout::TRANSFER_DST_OPTIMAL,
                SAME,
            ),
            (
                Stage::COMPUTE_SHADER,
                Access::SHADER_SAMPLED_READ,
                Layout::GENERAL,
                SAME,
            ),
        )
    }

    /// The screen image, written by the present pass, will be copied from, in TRANSFER_SRC_OPTIMAL. Nothing is lost by
    /// leaving GENERAL: the next frame of the slot discards the contents.
    pub fn screen_to_transfer(self, image: vk::Image) -> Self {
        self.push(
            image,
            (
                Stage::COMPUTE_SHADER,
                Access::SHADER_STORAGE_WRITE,
                Layout::GENERAL,
                SAME,
            ),
            (
                Stage::TRANSFER,
                Access::TRANSFER_READ,
                Layout::TRANSFER_SRC_OPTIMAL,
                SAME,
            ),
        )
    }

    /// A swapchain image, just acquired, will be copied to. Its acquire semaphore is waited for at TRANSFER.
    pub fn swapchain_to_transfer(self, image: vk::Image) -> Self {
        let (stage, write) = (Stage::TRANSFER, Access::TRANSFER_WRITE);
        let from = (stage, Access::NONE, Layout::UNDEFINED, SAME);
        self.push(image, from, (stage, write, Layout::TRANSFER_DST_OPTIMAL, SAME))
    }

    /// A swapchain image, copied to, will be presented.
    pub fn to_present(self, image: vk::Image) -> Self {
        self.push(
            image,
            (
                Stage::TRANSFER,
                Access::TRANSFER_WRITE,
                Layout::TRANSFER_DST_OPTIMAL,
                SAME,
            ),
            (Stage::NONE, Access::NONE, Layout::PRESENT_SRC_KHR, SAME),
        )
    }
}

fn record(device: &Device, commands: vk::CommandBuffer, dependency: &vk::DependencyInfo<'_>) {
    // SAFETY: the caller's command buffer is recording, and images and buffers live as long as it may run (V2).
    unsafe { device.raw.cmd_pipeline_barrier2(commands, dependency) };
}

/// Makes what the host wrote to buffers readable by transfers. Needed where the host writes after the submission: only
/// what it wrote before is made visible by the submission itself.
pub fn host_to_transfer(device: &Device, commands: vk::CommandBuffer) {
    let barriers = [vk::MemoryBarrier2::default()
        .src_stage_mask(Stage::HOST)
        .src_access_mask(Access::HOST_WRITE)
        .dst_stage_mask(Stage::TRANSFER)
        .dst_access_mask(Access::TRANSFER_READ)];
    let dependency = vk::DependencyInfo::default().memory_barriers(&barriers);
    record(device, commands, &dependency);
}

/// Makes what transfers wrote to buffers readable by compute shaders.
pub fn transfer_to_compute(device: &Device, commands: vk::CommandBuffer) {
    let barriers = [vk::MemoryBarrier2::default()
        .src_stage_mask(Stage::TRANSFER)
        .src_access_mask(Access::TRANSFER_WRITE)
        .dst_stage_mask(Stage::COMPUTE_SHADER)
        .dst_access_mask(Access::SHADER_STORAGE_READ)];
    let dependency = vk::DependencyInfo::default().memory_barriers(&barriers);
    record(device, commands, &dependency);
}

/// Makes what copies wrote to buffers readable by the host after the submission, on a queue that need not do anything but copy.
pub fn copies_to_host(device: &Device, commands: vk::CommandBuffer) {
    let barriers = [vk::MemoryBarrier2::default()
        .src_stage_mask(Stage::TRANSFER)
        .src_access_mask(Access::TRANSFER_WRITE)
        .dst_stage_mask(Stage::HOST)
        .dst_access_mask(Access::HOST_READ)];
    let dependency = vk::DependencyInfo::default().memory_barriers(&barriers);
    record(device, commands, &dependency);
}

/// Makes what transfers and compute shaders wrote to buffers readable by the host after the submission.
pub fn transfer_to_host(device: &Device, commands: vk::CommandBuffer) {
    let barriers = [vk::MemoryBarrier2::default()
        .src_stage_mask(Stage::TRANSFER | Stage::COMPUTE_SHADER)
        .src_access_mask(Access::TRANSFER_WRITE | Access::SHADER_STORAGE_WRITE)
        .dst_stage_mask(Stage::HOST)
        .dst_access_mask(Access::HOST_READ)];
    let dependency = vk::DependencyInfo::default().memory_barriers(&barriers);
    record(device, commands, &dependency);
}

/// What transfers wrote to bytes `range` of a buffer goes to another API on the same device, from `family`.
pub fn release_buffer_to_external(
    device: &Device,
    commands: vk::CommandBuffer,
    buffer: vk::Buffer,
    range: Range<u64>,
    family: u32,
) {
    let barriers = [of_buffer(buffer, range)
        .src_stage_mask(Stage::TRANSFER)
        .src_access_mask(Access::TRANSFER_WRITE)
        .src_queue_family_index(family)
        .dst_queue_family_index(vk::QUEUE_FAMILY_EXTERNAL)];
    let dependency = vk::DependencyInfo::default().buffer_memory_barriers(&barriers);
    record(device, commands, &dependency);
}

/// What another API wrote to bytes `range` of a buffer comes back to `family`, to be copied from.
pub fn acquire_buffer_from_external(
    device: &Device,
    commands: vk::CommandBuffer,
    buffer: vk::Buffer,
    range: Range<u64>,
    family: u32,
) {
    // ALL_COMMANDS is where submissions wait for the other API's semaphore, so the transfer of ownership comes after it.
    let barriers = [of_buffer(buffer, range)
        .src_stage_mask(Stage::ALL_COMMANDS)
        .dst_stage_mask(Stage::TRANSFER)
        .dst_access_mask(Access::TRANSFER_READ)
        .src_queue_family_index(vk::QUEUE_FAMILY_EXTERNAL)
        .dst_queue_family_index(family)];
    let dependency = vk::DependencyInfo::default().buffer_memory_barriers(&barriers);
    record(device, commands, &dependency);
}

fn of_buffer(buffer: vk::Buffer, range: Range<u64>) -> vk::BufferMemoryBarrier2<'static> {
    vk::BufferMemoryBarrier2::default()
        .buffer(buffer)
        .offset(range.start)
        .size(range.end - range.start)
}
