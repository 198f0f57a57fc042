//! The overlay's pass: a draw list over a slot's screen image, by compute.
//!
//! Not by drawing: without a swapchain the present queue is of a family that may not draw, and the largest GPUs draw slowly.

use std::sync::Arc;

use ash::vk;

use crate::overlay::{Atlas, DrawList, Layout};
use crate::shaders;
use crate::vulkan::barrier::{self, Barriers};
use crate::vulkan::transfer::copy_buffer;
use crate::vulkan::{
    Buffer, BufferMemory, ComputePipeline, DescriptorSets, Device, Error, Image, PipelineLayout, ShaderModule,
};

/// Groups that every device dispatches in one direction (`maxComputeWorkGroupCount`).
const MOST_GROUPS: u32 = 65_535;

/// The pipeline, and what each slot draws from.
pub struct OverlayPass {
    slots: Vec<Slot>,
    sets: DescriptorSets,
    pipeline: ComputePipeline,
    layout: PipelineLayout,
    device: Arc<Device>,
}

/// A slot's copies of a list and an atlas; frames in flight may have others.
#[derive(Default)]
struct Slot {
    list: Option<Arc<DrawList>>,
    shapes: Option<Mirror>,
    atlas: Option<Arc<Atlas>>,
    texels: Option<Mirror>,
}

/// Words in device memory, and where the host writes them.
struct Mirror {
    upload: Buffer,
    device: Buffer,
}

impl OverlayPass {
    /// Creates the pass for so many slots.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn new(device: &Arc<Device>, slots: usize) -> Result<Self, Error> {
        let (compute, name) = (vk::ShaderStageFlags::COMPUTE, "overlay");
        let bindings = [
            (vk::DescriptorType::STORAGE_IMAGE, compute),
            (vk::DescriptorType::STORAGE_BUFFER, compute),
            (vk::DescriptorType::STORAGE_BUFFER, compute),
        ];
        let layout = PipelineLayout::new(device, &bindings, compute, size_of::<Layout>() as u32, name)?;
        let module = ShaderModule::new(device, "overlay.wgsl", shaders::OVERLAY)?;
        Ok(Self {
            slots: (0..slots).map(|_| Slot::default()).collect(),
            sets: DescriptorSets::new(device, &layout, slots, name)?,
            pipeline: ComputePipeline::new(device, &layout, &module, c"main", name)?,
            layout,
            device: Arc::clone(device),
        })
    }

    /// Records the list over the slot's screen image, which a compute shader has just written: GENERAL before and after. The
    /// slot's last frame has retired. A list made for another extent is cut off at the image's edge.
    ///
    /// # Errors
    /// No memory.
    pub fn record(
        &mut self,
        commands: vk::CommandBuffer,
        slot: usize,
        screen: &Image,
        list: &Arc<DrawList>,
    ) -> Result<(), Error> {
        if list.layout.tile_count == 0 {
            return Ok(());
        }
        let Slot {
            list: held,
            shapes,
            atlas,
            texels,
        } = &mut self.slots[slot];
        if !held.as_ref().is_some_and(|held| Arc::ptr_eq(held, list)) {
            Mirror::hold(
                shapes,
                &self.device,
                commands,
                list.fours.as_flattened(),
                "overlay list",
            )?;
            *held = Some(Arc::clone(list));
        }
        if !atlas.as_ref().is_some_and(|held| Arc::ptr_eq(held, &list.atlas)) {
            Mirror::hold(texels, &self.device, commands, &list.atlas.texels, "overlay atlas")?;
            *atlas = Some(Arc::clone(&list.atlas));
        }
        barrier::transfer_to_compute(&self.device, commands);
        let (general, no_sampler) = (vk::ImageLayout::GENERAL, vk::Sampler::null());
        self.sets.write_image(slot, 0, screen.view, general, no_sampler);
        for (binding, mirror) in [(1, shapes), (2, texels)] {
            if let Some(mirror) = mirror {
                self.sets.write_buffer(slot, binding, mirror.device.raw);
            }
        }
        Barriers::new()
            .compute_to_compute(screen.raw)
            .record(&self.device, commands);
        self.layout.push(commands, &list.layout);
        let across = list.layout.tile_count.min(MOST_GROUPS);
        let groups = [across, list.layout.tile_count.div_ceil(across)];
        self.pipeline
            .dispatch_groups(commands, &self.layout, self.sets.sets[slot], groups);
        Ok(())
    }
}

impl Mirror {
    /// Records the copy of `words` into the mirror, which is made anew where it is too small. The GPU does not use it.
    fn hold(
        mirror: &mut Option<Self>,
        device: &Arc<Device>,
        commands: vk::CommandBuffer,
        words: &[u32],
        name: &str,
    ) -> Result<(), Error> {
        use vk::BufferUsageFlags as Usage;
        let bytes: &[u8] = bytemuck::cast_slice(words);
        let held = match mirror.take() {
            Some(held) if held.upload.size >= bytes.len() as u64 => held,
            _ => {
                // Lists change their length a little all the time.
                let size = (bytes.len() as u64).next_power_of_two();
                let buffer = |usage, memory| Buffer::new(device, size, usage, memory, name);
                Self {
                    upload: buffer(Usage::TRANSFER_SRC, BufferMemory::Upload)?,
                    device: buffer(Usage::TRANSFER_DST | Usage::STORAGE_BUFFER, BufferMemory::Device)?,
                }
            }
        };
        let held = mirror.insert(held);
        held.upload.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
        let (from, to) = ((held.upload.raw, 0), (held.device.raw, 0));
        copy_buffer(device, commands, from, to, bytes.len() as u64);
        Ok(())
    }
}
