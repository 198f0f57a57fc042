//! The present pass: `processed` (linear light, RGBA16F) becomes the slot's 8-bit, sRGB-encoded screen image.

use std::sync::Arc;

use ash::vk;

use crate::kernels::SrgbTable;
use crate::shaders;
use crate::vulkan::barrier::Barriers;
use crate::vulkan::{
    Buffer, ComputePipeline, DescriptorSets, Device, Error, Image, ImageDescription, PipelineLayout, Queue,
    ShaderModule,
};

/// The pipeline, and a screen image a slot.
pub struct PresentPass {
    screens: Vec<Image>,
    sets: Option<DescriptorSets>,
    /// The bytes of halves.
    table: Buffer,
    pipeline: ComputePipeline,
    layout: PipelineLayout,
    device: Arc<Device>,
}

impl PresentPass {
    /// Creates the pipeline for a queue; [`PresentPass::retarget`] gives it images.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn new(device: &Arc<Device>, queue: Queue) -> Result<Self, Error> {
        let compute = vk::ShaderStageFlags::COMPUTE;
        let bindings = [
            (vk::DescriptorType::SAMPLED_IMAGE, compute),
            (vk::DescriptorType::STORAGE_IMAGE, compute),
            (vk::DescriptorType::STORAGE_BUFFER, compute),
        ];
        let layout = PipelineLayout::new(device, &bindings, compute, 0, "present pass")?;
        let module = ShaderModule::new(device, "present.wgsl", shaders::PRESENT)?;
        let pipeline = ComputePipeline::new(device, &layout, &module, c"main", "present pass")?;
        Ok(Self {
            screens: Vec::new(),
            sets: None,
            table: Buffer::with_data_on(
                device,
                queue,
                SrgbTable::get().bytes(),
                vk::BufferUsageFlags::STORAGE_BUFFER,
                "bytes of halves",
            )?,
            pipeline,
            layout,
            device: Arc::clone(device),
        })
    }

    /// New images of a new extent, one of `processed` a slot. The GPU is idle.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn retarget(&mut self, processed: &[vk::ImageView], extent: vk::Extent2D) -> Result<(), Error> {
        self.screens.clear();
        let sets = DescriptorSets::new(&self.device, &self.layout, processed.len(), "present pass")?;
        let description = ImageDescription {
            extent,
            format: vk::Format::R8G8B8A8_UNORM,
            usage: vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC,
        };
        for (slot, view) in processed.iter().enumerate() {
            let screen = Image::new(&self.device, description, &format!("screen of slot {slot}"))?;
            sets.write_image(slot, 0, *view, vk::ImageLayout::GENERAL, vk::Sampler::null());
            sets.write_image(slot, 1, screen.view, vk::ImageLayout::GENERAL, vk::Sampler::null());
            sets.write_buffer(slot, 2, self.table.raw);
            self.screens.push(screen);
        }
        self.sets = Some(sets);
        Ok(())
    }

    /// Records the pass of a slot. `processed` was acquired for compute reads.
    pub fn record(&self, commands: vk::CommandBuffer, slot: usize) {
        let Some(sets) = &self.sets else { return };
        let screen = &self.screens[slot];
        Barriers::new()
            .discard_for_compute(screen.raw)
            .record(&self.device, commands);
        self.pipeline
            .dispatch(commands, &self.layout, sets.sets[slot], screen.description.extent);
    }

    /// The screen image of a slot: GENERAL once recorded.
    pub fn screen(&self, slot: usize) -> &Image {
        &self.screens[slot]
    }
}
