//! The studio's pipelines: shadow, mirror image, objects, floor, backdrop. All share one layout.

use std::sync::Arc;

use ash::vk;

use super::Studio;
use super::shapes::Shapes;
use crate::scene::SceneTargets;
use crate::shaders;
use crate::vulkan::{self, Device, GraphicsPipeline, GraphicsPipelineDescription, PipelineLayout, ShaderModule};

/// Format of the depth buffers and of the shadow map.
pub const DEPTH_FORMAT: vk::Format = vk::Format::D32_SFLOAT;
/// Format of the mirror image.
pub const MIRROR_FORMAT: vk::Format = vk::Format::R16G16B16A16_SFLOAT;

/// Bindings of the one descriptor set, by number.
pub mod binding {
    /// `FrameUniforms`.
    pub const FRAME: usize = 0;
    /// `Instance`s.
    pub const INSTANCES: usize = 1;
    /// The shadow map.
    pub const SHADOW_MAP: usize = 2;
    /// Compares with the shadow map.
    pub const SHADOW_SAMPLER: usize = 3;
    /// The mirror image.
    pub const MIRROR: usize = 4;
    /// Filters the mirror image.
    pub const MIRROR_SAMPLER: usize = 5;
}

/// The pipelines and their layout.
pub struct Pipelines {
    /// Depth from the key light.
    pub shadow: GraphicsPipeline,
    /// Objects as the floor mirrors them.
    pub mirror: GraphicsPipeline,
    /// Objects.
    pub object: GraphicsPipeline,
    /// The floor.
    pub floor: GraphicsPipeline,
    /// What is seen where nothing is.
    pub backdrop: GraphicsPipeline,
    /// Of all of them.
    pub layout: PipelineLayout,
}

impl Pipelines {
    /// Creates them.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>) -> Result<Self, vulkan::Error> {
        let (vertex, fragment) = (vk::ShaderStageFlags::VERTEX, vk::ShaderStageFlags::FRAGMENT);
        let bindings = [
            (vk::DescriptorType::UNIFORM_BUFFER, vertex | fragment),
            (vk::DescriptorType::STORAGE_BUFFER, vertex | fragment),
            (vk::DescriptorType::SAMPLED_IMAGE, fragment),
            (vk::DescriptorType::SAMPLER, fragment),
            (vk::DescriptorType::SAMPLED_IMAGE, fragment),
            (vk::DescriptorType::SAMPLER, fragment),
        ];
        let layout = PipelineLayout::new(device, &bindings, vk::ShaderStageFlags::empty(), 0, Studio::NAME)?;
        let module = ShaderModule::new(device, Studio::NAME, shaders::STUDIO)?;
        let object = GraphicsPipelineDescription {
            layout: &layout,
            module: &module,
            vertex_entry: c"vertex_surface",
            fragment_entry: Some(c"fragment_object"),
            attributes: &Shapes::ATTRIBUTES,
            stride: Shapes::ATTRIBUTES.iter().map(|(_, bytes)| bytes).sum(),
            color_formats: &SceneTargets::FORMATS,
            depth_format: DEPTH_FORMAT,
            depth_compare: vk::CompareOp::GREATER,
            depth_write: true,
            cull_mode: vk::CullModeFlags::BACK,
            front_face: vk::FrontFace::COUNTER_CLOCKWISE,
            depth_bias: [0.0; 2],
        };
        let floor = GraphicsPipelineDescription {
            fragment_entry: Some(c"fragment_floor"),
            ..object
        };
        let backdrop = GraphicsPipelineDescription {
            vertex_entry: c"vertex_backdrop",
            fragment_entry: Some(c"fragment_backdrop"),
            attributes: &[],
            // It lies on the far plane itself, which is what depth is cleared to.
            depth_compare: vk::CompareOp::GREATER_OR_EQUAL,
            depth_write: false,
            cull_mode: vk::CullModeFlags::NONE,
            ..object
        };
        let mirror = GraphicsPipelineDescription {
            fragment_entry: Some(c"fragment_mirror"),
            color_formats: &[MIRROR_FORMAT],
            // A mirror swaps left and right.
            front_face: vk::FrontFace::CLOCKWISE,
            ..object
        };
        let shadow = GraphicsPipelineDescription {
            vertex_entry: c"vertex_shadow",
            fragment_entry: None,
            // The position alone.
            attributes: &Shapes::ATTRIBUTES[..1],
            color_formats: &[],
            depth_compare: vk::CompareOp::LESS,
            // Slanted faces differ by more than a texel's depth within one texel.
            depth_bias: [0.0, 1.75],
            ..object
        };
        let create = |description, name| GraphicsPipeline::new(device, description, name);
        Ok(Self {
            shadow: create(&shadow, "studio shadow")?,
            mirror: create(&mirror, "studio mirror")?,
            object: create(&object, "studio object")?,
            floor: create(&floor, "studio floor")?,
            backdrop: create(&backdrop, "studio backdrop")?,
            layout,
        })
    }
}
