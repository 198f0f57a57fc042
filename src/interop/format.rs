//! Formats that both APIs know.

use ash::vk;
use cudarc::driver::sys::CUarray_format;

/// A texel format with its name on both sides.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SharedFormat {
    /// Four half floats: `color`, `normal`, `processed`.
    Rgba16Float,
    /// One float: `depth`.
    R32Float,
    /// Four bytes as 0..1: `albedo`.
    Rgba8Unorm,
    /// Two half floats: `motion`.
    Rg16Float,
}

impl SharedFormat {
    /// Vulkan's name.
    pub fn vulkan(self) -> vk::Format {
        match self {
            Self::Rgba16Float => vk::Format::R16G16B16A16_SFLOAT,
            Self::R32Float => vk::Format::R32_SFLOAT,
            Self::Rgba8Unorm => vk::Format::R8G8B8A8_UNORM,
            Self::Rg16Float => vk::Format::R16G16_SFLOAT,
        }
    }

    /// CUDA's name: the format of a channel, and how many there are.
    pub fn cuda(self) -> (CUarray_format, u32) {
        match self {
            Self::Rgba16Float => (CUarray_format::CU_AD_FORMAT_HALF, 4),
            Self::R32Float => (CUarray_format::CU_AD_FORMAT_FLOAT, 1),
            Self::Rgba8Unorm => (CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8, 4),
            Self::Rg16Float => (CUarray_format::CU_AD_FORMAT_HALF, 2),
        }
    }
}
