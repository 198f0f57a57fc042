//! The scene `studio`: metal, stone and lamps on a polished floor, drawn by rasterization.

mod arrangement;
mod passes;
mod pipelines;
mod shapes;
#[cfg(test)]
mod tests;
mod uniforms;

use std::ops::Range;
use std::sync::Arc;

use ash::vk;
use glam::Mat4;

use self::arrangement::Object;
use self::passes::PassImages;
use self::pipelines::{DEPTH_FORMAT, Pipelines, binding};
use self::shapes::{Shape, Shapes};
use self::uniforms::{FrameUniforms, Instance, SHADOW_SIZE, view_projection};
use super::{Scene, SceneFrame, SceneTargets};
use crate::vulkan::barrier::Barriers;
use crate::vulkan::{
    self, Buffer, BufferMemory, ColorAttachment, DepthAttachment, DescriptorSets, Device, Image, Rendering, Sampler,
};

/// What a slot's frame reads: written by the host before it is submitted.
struct SlotBuffers {
    frame: Buffer,
    mirrored_frame: Buffer,
    instances: Buffer,
}

/// Objects that are drawn by one call.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Batch {
    shape: Shape,
    casts_shadow: bool,
    instances: Range<u32>,
}

/// What dies with the extent or with the number of slots.
struct Targets {
    slots: Vec<SceneTargets>,
    extent: vk::Extent2D,
    sets: DescriptorSets,
    mirror_sets: DescriptorSets,
    buffers: Vec<SlotBuffers>,
    images: PassImages,
}

/// What the last recorded frame looked like, for motion.
struct Previous {
    view_projection: Mat4,
    models: Vec<Mat4>,
}

/// The scene.
pub struct Studio {
    targets: Option<Targets>,
    /// `None` before the first frame of an extent, whose motion is zero.
    previous: Option<Previous>,
    batches: Vec<Batch>,
    shapes: Shapes,
    shadow_map: Image,
    shadow_sampler: Sampler,
    mirror_sampler: Sampler,
    pipelines: Pipelines,
    device: Arc<Device>,
}

impl Studio {
    /// Its name on the command line.
    pub const NAME: &'static str = "studio";

    /// Makes meshes and pipelines. It has no targets yet.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn new(device: &Arc<Device>) -> Result<Self, vulkan::Error> {
        let shadow_extent = vk::Extent2D {
            width: SHADOW_SIZE,
            height: SHADOW_SIZE,
        };
        let usage = vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT | vk::ImageUsageFlags::SAMPLED;
        // Filtering depth is optional in Vulkan; without it the shadow's edge is a little rougher.
        let shadow_filter = if device.filters_linearly(DEPTH_FORMAT) {
            vk::Filter::LINEAR
        } else {
            vk::Filter::NEAREST
        };
        let clamped = vk::SamplerCreateInfo::default()
            .address_mode_u(vk::SamplerAddressMode::CLAMP_TO_EDGE)
            .address_mode_v(vk::SamplerAddressMode::CLAMP_TO_EDGE);
        let comparing = clamped
            .mag_filter(shadow_filter)
            .min_filter(shadow_filter)
            .compare_enable(true)
            .compare_op(vk::CompareOp::LESS_OR_EQUAL);
        let filtering = clamped.mag_filter(vk::Filter::LINEAR).min_filter(vk::Filter::LINEAR);
        Ok(Self {
            targets: None,
            previous: None,
            batches: batches(&arrangement::objects(0.0)),
            shapes: Shapes::new(device)?,
            shadow_map: passes::image(device, shadow_extent, DEPTH_FORMAT, usage, "studio shadow map")?,
            shadow_sampler: Sampler::new(device, &comparing, "studio shadow")?,
            mirror_sampler: Sampler::new(device, &filtering, "studio mirror")?,
            pipelines: Pipelines::new(device)?,
            device: Arc::clone(device),
        })
    }

    /// Fills a slot's buffers and remembers the frame for the next one's motion.
    fn write_buffers(&mut self, slot: usize, frame: &SceneFrame) {
        let targets = self.targets.as_mut().expect("retarget came before the first frame");
        let size = [targets.extent.width as f32, targets.extent.height as f32];
        let now = view_projection(&frame.camera, size);
        let first = || Previous {
            view_projection: now,
            models: Vec::new(),
        };
        let previous = self.previous.get_or_insert_with(first);
        let before = std::mem::replace(&mut previous.view_projection, now);
        let uniforms = FrameUniforms::new(frame, size, before);
        let buffers = &mut targets.buffers[slot];
        write(&mut buffers.frame, bytemuck::bytes_of(&uniforms));
        write(&mut buffers.mirrored_frame, bytemuck::bytes_of(&uniforms.mirrored()));
        let mut instances = buffers.instances.bytes_mut().chunks_exact_mut(size_of::<Instance>());
        let mut place = 0;
        arrangement::each_object(frame.time, |object| {
            if previous.models.len() == place {
                // Nothing has moved before the first frame.
                previous.models.push(object.model);
            }
            let before = std::mem::replace(&mut previous.models[place], object.model);
            if let Some(bytes) = instances.next() {
                bytes.copy_from_slice(bytemuck::bytes_of(&Instance::new(&object, before)));
            }
            place += 1;
        });
    }

    fn draw(&self, rendering: &Rendering<'_>, set: vk::DescriptorSet, wanted: impl Fn(&Batch) -> bool) {
        rendering.bind_set(&self.pipelines.layout, set);
        rendering.bind_mesh_buffers(&self.shapes.vertices, &self.shapes.indices);
        for batch in self.batches.iter().filter(|batch| wanted(batch)) {
            rendering.draw_mesh(self.shapes.range(batch.shape), batch.instances.clone());
        }
    }

    fn record_shadow(&self, commands: vk::CommandBuffer, set: vk::DescriptorSet) {
        let image = &self.shadow_map;
        let depth = DepthAttachment {
            image,
            clear: 1.0,
            store: true,
        };
        let rendering = Rendering::begin(&self.device, commands, image.description.extent, &[], depth);
        rendering.bind_pipeline(&self.pipelines.shadow);
        self.draw(&rendering, set, |batch| batch.casts_shadow);
        rendering.end();
    }

    fn record_mirror(&self, commands: vk::CommandBuffer, images: &PassImages, set: vk::DescriptorSet) {
        let color = ColorAttachment {
            view: images.mirror.view,
            clear: Some([0.0; 4]),
        };
        let depth = DepthAttachment {
            image: &images.mirror_depth,
            clear: 0.0,
            store: false,
        };
        let extent = images.mirror.description.extent;
        let rendering = Rendering::begin(&self.device, commands, extent, &[color], depth);
        rendering.bind_pipeline(&self.pipelines.mirror);
        self.draw(&rendering, set, |batch| batch.shape != Shape::Floor);
        rendering.end();
    }

    fn record_picture(&self, commands: vk::CommandBuffer, targets: &Targets, slot: usize) {
        // The backdrop covers what objects and floor leave, so nothing is cleared.
        let colors = targets.slots[slot].all().map(|target| ColorAttachment {
            view: target.view,
            clear: None,
        });
        let depth = DepthAttachment {
            image: &targets.images.depth,
            clear: 0.0,
            store: false,
        };
        let set = targets.sets.sets[slot];
        let rendering = Rendering::begin(&self.device, commands, targets.extent, &colors, depth);
        rendering.bind_pipeline(&self.pipelines.object);
        self.draw(&rendering, set, |batch| batch.shape != Shape::Floor);
        rendering.bind_pipeline(&self.pipelines.floor);
        self.draw(&rendering, set, |batch| batch.shape == Shape::Floor);
        rendering.bind_pipeline(&self.pipelines.backdrop);
        rendering.draw_full_screen();
        rendering.end();
    }
}

impl Scene for Studio {
    fn name(&self) -> &'static str {
        Self::NAME
    }

    fn writes_guides(&self) -> bool {
        true
    }

    fn retarget(&mut self, slots: &[SceneTargets], extent: vk::Extent2D) -> Result<(), vulkan::Error> {
        // The old ones go first: large extents may not fit twice.
        (self.targets, self.previous) = (None, None);
        let (device, layout) = (&self.device, &self.pipelines.layout);
        let images = PassImages::new(device, extent)?;
        let sets = DescriptorSets::new(device, layout, slots.len(), Self::NAME)?;
        let mirror_sets = DescriptorSets::new(device, layout, slots.len(), "studio mirror")?;
        let objects = self.batches.last().map_or(0, |batch| batch.instances.end);
        let mut buffers = Vec::new();
        for slot in 0..slots.len() {
            let slot_buffers = SlotBuffers::new(device, u64::from(objects))?;
            for (sets, frame) in [
                (&sets, &slot_buffers.frame),
                (&mirror_sets, &slot_buffers.mirrored_frame),
            ] {
                let depth_layout = vk::ImageLayout::DEPTH_READ_ONLY_OPTIMAL;
                let color_layout = vk::ImageLayout::SHADER_READ_ONLY_OPTIMAL;
                let (shadow, mirror) = (self.shadow_map.view, images.mirror.view);
                let (undefined, no_view, no_sampler) =
                    (vk::ImageLayout::UNDEFINED, vk::ImageView::null(), vk::Sampler::null());
                sets.write_buffer(slot, binding::FRAME, frame.raw);
                sets.write_buffer(slot, binding::INSTANCES, slot_buffers.instances.raw);
                sets.write_image(slot, binding::SHADOW_MAP, shadow, depth_layout, no_sampler);
                sets.write_image(
                    slot,
                    binding::SHADOW_SAMPLER,
                    no_view,
                    undefined,
                    self.shadow_sampler.raw,
                );
                sets.write_image(slot, binding::MIRROR, mirror, color_layout, no_sampler);
                sets.write_image(
                    slot,
                    binding::MIRROR_SAMPLER,
                    no_view,
                    undefined,
                    self.mirror_sampler.raw,
                );
            }
            buffers.push(slot_buffers);
        }
        self.targets = Some(Targets {
            slots: slots.to_vec(),
            extent,
            sets,
            mirror_sets,
            buffers,
            images,
        });
        Ok(())
    }

    fn record(&mut self, commands: vk::CommandBuffer, slot: usize, frame: &SceneFrame) {
        self.write_buffers(slot, frame);
        let targets = self.targets.as_ref().expect("retarget came before the first frame");
        let (device, images) = (&self.device, &targets.images);

        let mut barriers = Barriers::new()
            .sampled_to_depth(self.shadow_map.raw)
            .sampled_to_attachment(images.mirror.raw)
            .discard_for_depth(images.mirror_depth.raw)
            .discard_for_depth(images.depth.raw);
        for target in targets.slots[slot].all() {
            barriers = barriers.discard_for_attachment(target.image);
        }
        barriers.record(device, commands);

        self.record_shadow(commands, targets.sets.sets[slot]);
        Barriers::new()
            .depth_to_sampled(self.shadow_map.raw)
            .record(device, commands);
        self.record_mirror(commands, images, targets.mirror_sets.sets[slot]);
        Barriers::new()
            .attachment_to_sampled(images.mirror.raw)
            .record(device, commands);
        self.record_picture(commands, targets, slot);
    }
}

impl SlotBuffers {
    fn new(device: &Arc<Device>, objects: u64) -> Result<Self, vulkan::Error> {
        let (uniform, storage) = (
            vk::BufferUsageFlags::UNIFORM_BUFFER,
            vk::BufferUsageFlags::STORAGE_BUFFER,
        );
        let (frame, instances) = (
            size_of::<FrameUniforms>() as u64,
            objects * size_of::<Instance>() as u64,
        );
        let upload = BufferMemory::Upload;
        Ok(Self {
            frame: Buffer::new(device, frame, uniform, upload, "studio frame")?,
            mirrored_frame: Buffer::new(device, frame, uniform, upload, "studio mirrored frame")?,
            instances: Buffer::new(device, instances, storage, upload, "studio instances")?,
        })
    }
}

fn write(buffer: &mut Buffer, bytes: &[u8]) {
    buffer.bytes_mut()[..bytes.len()].copy_from_slice(bytes);
}

/// Neighbours of one shape become one draw.
fn batches(objects: &[Object]) -> Vec<Batch> {
    let mut batches: Vec<Batch> = Vec::new();
    for (object, index) in objects.iter().zip(0..) {
        let (shape, casts_shadow) = (object.shape, object.casts_shadow());
        match batches.last_mut() {
            Some(last) if last.shape == shape && last.casts_shadow == casts_shadow => last.instances.end += 1,
            _ => batches.push(Batch {
                shape,
                casts_shadow,
                instances: index..index + 1,
            }),
        }
    }
    batches
}
