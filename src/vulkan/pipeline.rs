//! Pipeline layouts, compute pipelines, samplers and descriptor sets.

use std::ffi::CStr;
use std::sync::Arc;

use ash::vk;

use super::{Device, Error, ResultExt, ShaderModule};

/// A pipeline layout with one descriptor set layout (set 0) and one range of push constants.
pub struct PipelineLayout {
    /// The raw handle.
    pub raw: vk::PipelineLayout,
    /// Stages that the push constants are for.
    pub push_stages: vk::ShaderStageFlags,
    set_layout: vk::DescriptorSetLayout,
    bindings: Vec<(vk::DescriptorType, vk::ShaderStageFlags)>,
    device: Arc<Device>,
}

impl PipelineLayout {
    /// Creates the layout. Binding numbers are the places in `bindings`; `push_bytes` may be 0.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(
        device: &Arc<Device>,
        bindings: &[(vk::DescriptorType, vk::ShaderStageFlags)],
        push_stages: vk::ShaderStageFlags,
        push_bytes: u32,
        name: &str,
    ) -> Result<Self, Error> {
        let layout_bindings: Vec<_> = bindings
            .iter()
            .zip(0..)
            .map(|((kind, stages), binding)| {
                vk::DescriptorSetLayoutBinding::default()
                    .binding(binding)
                    .descriptor_type(*kind)
                    .descriptor_count(1)
                    .stage_flags(*stages)
            })
            .collect();
        let set_info = vk::DescriptorSetLayoutCreateInfo::default().bindings(&layout_bindings);
        // SAFETY: V3.
        let set_layout = unsafe { device.raw.create_descriptor_set_layout(&set_info, None) }
            .during(|| format!("create the descriptor set layout of {name}"))?;
        let mut layout = Self {
            raw: vk::PipelineLayout::null(),
            push_stages,
            set_layout,
            bindings: bindings.to_vec(),
            device: Arc::clone(device),
        };
        let set_layouts = [set_layout];
        let ranges = [vk::PushConstantRange::default()
            .stage_flags(push_stages)
            .size(push_bytes)];
        let mut create_info = vk::PipelineLayoutCreateInfo::default().set_layouts(&set_layouts);
        if push_bytes > 0 {
            create_info = create_info.push_constant_ranges(&ranges);
        }
        // SAFETY: V3; a failure drops `layout`, which destroys the set layout.
        layout.raw = unsafe { device.raw.create_pipeline_layout(&create_info, None) }
            .during(|| format!("create the pipeline layout of {name}"))?;
        device.name(layout.raw, name);
        device.name(layout.set_layout, name);
        Ok(layout)
    }

    /// Records the push constants.
    pub fn push<T: bytemuck::Pod>(&self, commands: vk::CommandBuffer, constants: &T) {
        let bytes = bytemuck::bytes_of(constants);
        // SAFETY: the caller's command buffer is recording; the range is the one of `new`.
        unsafe {
            self.device
                .raw
                .cmd_push_constants(commands, self.raw, self.push_stages, 0, bytes)
        };
    }
}

impl Drop for PipelineLayout {
    fn drop(&mut self) {
        // SAFETY: V1, V2; null handles are ignored.
        unsafe {
            self.device.raw.destroy_pipeline_layout(self.raw, None);
            self.device.raw.destroy_descriptor_set_layout(self.set_layout, None);
        }
    }
}

/// A compute pipeline.
pub struct ComputePipeline {
    /// The raw handle.
    pub raw: vk::Pipeline,
    device: Arc<Device>,
}

impl ComputePipeline {
    /// Creates it from a module's entry point.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(
        device: &Arc<Device>,
        layout: &PipelineLayout,
        module: &ShaderModule,
        entry: &CStr,
        name: &str,
    ) -> Result<Self, Error> {
        let stage = vk::PipelineShaderStageCreateInfo::default()
            .stage(vk::ShaderStageFlags::COMPUTE)
            .module(module.raw)
            .name(entry);
        let create_info = [vk::ComputePipelineCreateInfo::default().stage(stage).layout(layout.raw)];
        // SAFETY: V3.
        let pipelines = unsafe {
            device
                .raw
                .create_compute_pipelines(device.pipeline_cache.raw, &create_info, None)
        }
        .map_err(|(_, result)| result)
        .during(|| format!("create the compute pipeline {name}"))?;
        device.name(pipelines[0], name);
        Ok(Self {
            raw: pipelines[0],
            device: Arc::clone(device),
        })
    }

    /// Binds pipeline and set, and dispatches one invocation a texel of `extent` in groups of 16×16: of smaller ones a GPU with many
    /// processors starts fewer texels at a time than it could write.
    pub fn dispatch(
        &self,
        commands: vk::CommandBuffer,
        layout: &PipelineLayout,
        set: vk::DescriptorSet,
        extent: vk::Extent2D,
    ) {
        let groups = [extent.width.div_ceil(16), extent.height.div_ceil(16)];
        self.dispatch_groups(commands, layout, set, groups);
    }

    /// Binds pipeline and set, and dispatches so many groups across and down.
    pub fn dispatch_groups(
        &self,
        commands: vk::CommandBuffer,
        layout: &PipelineLayout,
        set: vk::DescriptorSet,
        groups: [u32; 2],
    ) {
        let (raw, point) = (&self.device.raw, vk::PipelineBindPoint::COMPUTE);
        // SAFETY: the caller's command buffer is recording; layout and set were made for this pipeline.
        unsafe {
            raw.cmd_bind_pipeline(commands, point, self.raw);
            raw.cmd_bind_descriptor_sets(commands, point, layout.raw, 0, &[set], &[]);
            raw.cmd_dispatch(commands, groups[0], groups[1], 1);
        }
    }
}

impl Drop for ComputePipeline {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.destroy_pipeline(self.raw, None) };
    }
}

/// `VkSampler`.
pub struct Sampler {
    /// The raw handle.
    pub raw: vk::Sampler,
    device: Arc<Device>,
}

impl Sampler {
    /// Creates it.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, create_info: &vk::SamplerCreateInfo<'_>, name: &str) -> Result<Self, Error> {
        // SAFETY: V3.
        let raw =
            unsafe { device.raw.create_sampler(create_info, None) }.during(|| format!("create the sampler {name}"))?;
        device.name(raw, name);
        Ok(Self {
            raw,
            device: Arc::clone(device),
        })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.destroy_sampler(self.raw, None) };
    }
}

/// One descriptor set a slot, all of one layout, with the pool they are from.
pub struct DescriptorSets {
    /// The sets, by slot.
    pub sets: Vec<vk::DescriptorSet>,
    types: Vec<vk::DescriptorType>,
    pool: vk::DescriptorPool,
    device: Arc<Device>,
}

impl DescriptorSets {
    /// Allocates `count` sets.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, layout: &PipelineLayout, count: usize, name: &str) -> Result<Self, Error> {
        let sizes: Vec<_> = layout
            .bindings
            .iter()
            .map(|(kind, _)| {
                vk::DescriptorPoolSize::default()
                    .ty(*kind)
                    .descriptor_count(count as u32)
            })
            .collect();
        let pool_info = vk::DescriptorPoolCreateInfo::default()
            .max_sets(count as u32)
            .pool_sizes(&sizes);
        // SAFETY: V3.
        let pool = unsafe { device.raw.create_descriptor_pool(&pool_info, None) }
            .during(|| format!("create the descriptor pool of {name}"))?;
        device.name(pool, name);
        let types = layout.bindings.iter().map(|(kind, _)| *kind).collect();
        let mut sets = Self {
            sets: Vec::new(),
            types,
            pool,
            device: Arc::clone(device),
        };
        let layouts = vec![layout.set_layout; count];
        let allocate_info = vk::DescriptorSetAllocateInfo::default()
            .descriptor_pool(pool)
            .set_layouts(&layouts);
        // SAFETY: V3; the sets go with their pool.
        sets.sets = unsafe { device.raw.allocate_descriptor_sets(&allocate_info) }
            .during(|| format!("allocate the descriptor sets of {name}"))?;
        for set in &sets.sets {
            device.name(*set, name);
        }
        Ok(sets)
    }

    /// Points a binding of one slot's set at an image. The set must not be in use.
    pub fn write_image(
        &self,
        slot: usize,
        binding: usize,
        view: vk::ImageView,
        layout: vk::ImageLayout,
        sampler: vk::Sampler,
    ) {
        let info = [vk::DescriptorImageInfo::default()
            .image_view(view)
            .image_layout(layout)
            .sampler(sampler)];
        self.write(self.descriptor(slot, binding).image_info(&info));
    }

    /// Points a binding of one slot's set at a whole buffer. The set must not be in use.
    pub fn write_buffer(&self, slot: usize, binding: usize, buffer: vk::Buffer) {
        let info = [vk::DescriptorBufferInfo::default().buffer(buffer).range(vk::WHOLE_SIZE)];
        self.write(self.descriptor(slot, binding).buffer_info(&info));
    }

    fn descriptor(&self, slot: usize, binding: usize) -> vk::WriteDescriptorSet<'static> {
        vk::WriteDescriptorSet::default()
            .dst_set(self.sets[slot])
            .dst_binding(binding as u32)
            .descriptor_type(self.types[binding])
    }

    fn write(&self, write: vk::WriteDescriptorSet<'_>) {
        // SAFETY: V2, V3: the caller's promise that the set is not in use.
        unsafe { self.device.raw.update_descriptor_sets(&[write], &[]) };
    }
}

impl Drop for DescriptorSets {
    fn drop(&mut self) {
        // SAFETY: V1, V2; the sets go with the pool.
        unsafe { self.device.raw.destroy_descriptor_pool(self.pool, None) };
    }
}
