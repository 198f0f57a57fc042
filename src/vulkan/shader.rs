//! Shader modules from the SPIR-V that the build script made of `shaders/*.wgsl`.

use std::sync::Arc;

use ash::vk;

use super::{Device, Error, ResultExt};

/// `VkShaderModule`.
pub struct ShaderModule {
    /// The raw handle.
    pub raw: vk::ShaderModule,
    device: Arc<Device>,
}

impl ShaderModule {
    /// Creates it from SPIR-V words.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, name: &str, spirv: &[u32]) -> Result<Self, Error> {
        let create_info = vk::ShaderModuleCreateInfo::default().code(spirv);
        // SAFETY: V3; naga's validator passed the module at build time.
        let raw = unsafe { device.raw.create_shader_module(&create_info, None) }
            .during(|| format!("create the shader module {name}"))?;
        device.name(raw, name);
        Ok(Self {
            raw,
            device: Arc::clone(device),
        })
    }
}

impl Drop for ShaderModule {
    fn drop(&mut self) {
        // SAFETY: V1; pipelines keep no reference to the module they were made from.
        unsafe { self.device.raw.destroy_shader_module(self.raw, None) };
    }
}
