//! Graphics pipelines for dynamic rendering: triangles, one sample, no blending.

use std::ffi::CStr;
use std::sync::Arc;

use ash::vk;

use super::{Device, Error, PipelineLayout, ResultExt, ShaderModule};

/// What a [`GraphicsPipeline`] is made of. Viewport and scissor are dynamic.
#[derive(Clone, Copy)]
pub struct GraphicsPipelineDescription<'a> {
    /// Descriptor sets and push constants.
    pub layout: &'a PipelineLayout,
    /// Holds both entry points.
    pub module: &'a ShaderModule,
    /// The vertex shader's entry point.
    pub vertex_entry: &'a CStr,
    /// The fragment shader's entry point; `None` where only depth is written.
    pub fragment_entry: Option<&'a CStr>,
    /// Formats of the vertex attributes that the vertex shader reads, packed in the order of their locations, with the
    /// bytes of each; empty: none.
    pub attributes: &'a [(vk::Format, u32)],
    /// Bytes from one vertex to the next.
    pub stride: u32,
    /// Formats of the colour attachments.
    pub color_formats: &'a [vk::Format],
    /// The depth attachment's format; UNDEFINED: none.
    pub depth_format: vk::Format,
    /// A fragment passes when `its depth OP the stored depth`.
    pub depth_compare: vk::CompareOp,
    /// A fragment that passes stores its depth.
    pub depth_write: bool,
    /// Faces that are left out.
    pub cull_mode: vk::CullModeFlags,
    /// How a front face's corners run as seen on the screen.
    pub front_face: vk::FrontFace,
    /// Constant and slope-scaled depth bias; zeros: none.
    pub depth_bias: [f32; 2],
}

/// A graphics pipeline.
pub struct GraphicsPipeline {
    /// The raw handle.
    pub raw: vk::Pipeline,
    device: Arc<Device>,
}

impl GraphicsPipeline {
    /// Creates it.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, description: &GraphicsPipelineDescription<'_>, name: &str) -> Result<Self, Error> {
        let stage = |stage, entry| {
            vk::PipelineShaderStageCreateInfo::default()
                .stage(stage)
                .module(description.module.raw)
                .name(entry)
        };
        let mut stages = vec![stage(vk::ShaderStageFlags::VERTEX, description.vertex_entry)];
        stages.extend(
            description
                .fragment_entry
                .map(|entry| stage(vk::ShaderStageFlags::FRAGMENT, entry)),
        );

        let mut offset = 0;
        let mut attributes = Vec::new();
        for ((format, bytes), location) in description.attributes.iter().zip(0..) {
            attributes.push(
                vk::VertexInputAttributeDescription::default()
                    .location(location)
                    .format(*format)
                    .offset(offset),
            );
            offset += bytes;
        }
        let bindings = [vk::VertexInputBindingDescription::default().stride(description.stride)];
        let mut vertex_input = vk::PipelineVertexInputStateCreateInfo::default();
        if !attributes.is_empty() {
            vertex_input = vertex_input
                .vertex_binding_descriptions(&bindings)
                .vertex_attribute_descriptions(&attributes);
        }

        let assembly =
            vk::PipelineInputAssemblyStateCreateInfo::default().topology(vk::PrimitiveTopology::TRIANGLE_LIST);
        let viewport = vk::PipelineViewportStateCreateInfo::default()
            .viewport_count(1)
            .scissor_count(1);
        let [bias_constant, bias_slope] = description.depth_bias;
        let rasterization = vk::PipelineRasterizationStateCreateInfo::default()
            .polygon_mode(vk::PolygonMode::FILL)
            .cull_mode(description.cull_mode)
            .front_face(description.front_face)
            .depth_bias_enable(description.depth_bias != [0.0; 2])
            .depth_bias_constant_factor(bias_constant)
            .depth_bias_slope_factor(bias_slope)
            .line_width(1.0);
        let multisample =
            vk::PipelineMultisampleStateCreateInfo::default().rasterization_samples(vk::SampleCountFlags::TYPE_1);
        let depth = vk::PipelineDepthStencilStateCreateInfo::default()
            .depth_test_enable(description.depth_format != vk::Format::UNDEFINED)
            .depth_write_enable(description.depth_write)
            .depth_compare_op(description.depth_compare);
        let write_all =
            vk::PipelineColorBlendAttachmentState::default().color_write_mask(vk::ColorComponentFlags::RGBA);
        let blends = vec![write_all; description.color_formats.len()];
        let blend = vk::PipelineColorBlendStateCreateInfo::default().attachments(&blends);
        let dynamic = vk::PipelineDynamicStateCreateInfo::default()
            .dynamic_states(&[vk::DynamicState::VIEWPORT, vk::DynamicState::SCISSOR]);
        let mut rendering = vk::PipelineRenderingCreateInfo::default()
            .color_attachment_formats(description.color_formats)
            .depth_attachment_format(description.depth_format);
        let create_info = [vk::GraphicsPipelineCreateInfo::default()
            .stages(&stages)
            .vertex_input_state(&vertex_input)
            .input_assembly_state(&assembly)
            .viewport_state(&viewport)
            .rasterization_state(&rasterization)
            .multisample_state(&multisample)
            .depth_stencil_state(&depth)
            .color_blend_state(&blend)
            .dynamic_state(&dynamic)
            .layout(description.layout.raw)
            .push_next(&mut rendering)];
        // SAFETY: V3.
        let pipelines = unsafe {
            device
                .raw
                .create_graphics_pipelines(device.pipeline_cache.raw, &create_info, None)
        }
        .map_err(|(_, result)| result)
        .during(|| format!("create the graphics pipeline {name}"))?;
        device.name(pipelines[0], name);
        Ok(Self {
            raw: pipelines[0],
            device: Arc::clone(device),
        })
    }
}

impl Drop for GraphicsPipeline {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.destroy_pipeline(self.raw, None) };
    }
}
