//! Formats that both APIs know.

use ash::vk;
use cudarc::driver::sys::CUarray_format;

use super::Error;

/// A texel format with its name on both sides: `VkFormat`, and `CUarray_format` with a number of channels. (CUDA guide, 4.19.2.1.7.)
///
/// Only formats that both APIs have are here, so a mismatch cannot be said. Kernels see the same bytes as Vulkan: `Unorm` texels are
/// bytes to a surface, and 0 to 1 to a texture. Depth formats are Vulkan's alone.
///
/// ```
/// use handover::interop::SharedFormat;
/// use handover::vulkan::vk;
///
/// let format = SharedFormat::from_vulkan(vk::Format::R16G16B16A16_SFLOAT).unwrap();
/// assert_eq!((format, format.texel_bytes()), (SharedFormat::Rgba16Float, 8));
///
/// let advice = SharedFormat::from_vulkan(vk::Format::D32_SFLOAT).unwrap_err().to_string();
/// assert!(advice.contains("write its depth to an R32_SFLOAT colour attachment"));
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SharedFormat {
    /// One byte as 0..1.
    R8Unorm,
    /// Two bytes as 0..1.
    Rg8Unorm,
    /// Four bytes as 0..1: `albedo`.
    Rgba8Unorm,
    /// Four bytes.
    Rgba8Uint,
    /// One half float.
    R16Float,
    /// Two half floats: `motion`.
    Rg16Float,
    /// Four half floats: `color`, `normal`, `processed`.
    Rgba16Float,
    /// One float: `depth`.
    R32Float,
    /// Two floats.
    Rg32Float,
    /// Four floats.
    Rgba32Float,
    /// One 32-bit word.
    R32Uint,
}

impl SharedFormat {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::R8Unorm,
        Self::Rg8Unorm,
        Self::Rgba8Unorm,
        Self::Rgba8Uint,
        Self::R16Float,
        Self::Rg16Float,
        Self::Rgba16Float,
        Self::R32Float,
        Self::Rg32Float,
        Self::Rgba32Float,
        Self::R32Uint,
    ];

    /// Vulkan's name.
    pub fn vulkan(self) -> vk::Format {
        match self {
            Self::R8Unorm => vk::Format::R8_UNORM,
            Self::Rg8Unorm => vk::Format::R8G8_UNORM,
            Self::Rgba8Unorm => vk::Format::R8G8B8A8_UNORM,
            Self::Rgba8Uint => vk::Format::R8G8B8A8_UINT,
            Self::R16Float => vk::Format::R16_SFLOAT,
            Self::Rg16Float => vk::Format::R16G16_SFLOAT,
            Self::Rgba16Float => vk::Format::R16G16B16A16_SFLOAT,
            Self::R32Float => vk::Format::R32_SFLOAT,
            Self::Rg32Float => vk::Format::R32G32_SFLOAT,
            Self::Rgba32Float => vk::Format::R32G32B32A32_SFLOAT,
            Self::R32Uint => vk::Format::R32_UINT,
        }
    }

    /// The format of a Vulkan image that is to be shared.
    ///
    /// # Errors
    /// CUDA has no such format; for depth formats the error names the colour format to copy the depth to.
    pub fn from_vulkan(format: vk::Format) -> Result<Self, Error> {
        if let Some(shared) = Self::ALL.into_iter().find(|shared| shared.vulkan() == format) {
            return Ok(shared);
        }
        let advice = match format {
            vk::Format::D32_SFLOAT | vk::Format::D32_SFLOAT_S8_UINT | vk::Format::X8_D24_UNORM_PACK32 => {
                "write its depth to an R32_SFLOAT colour attachment beside it, and share that".to_owned()
            }
            vk::Format::D16_UNORM => "write its depth to an R16_SFLOAT or R32_SFLOAT attachment, and share that".into(),
            _ => {
                let names: Vec<_> = Self::ALL
                    .iter()
                    .map(|shared| format!("{:?}", shared.vulkan()))
                    .collect();
                format!("shared formats are {}", names.join(", "))
            }
        };
        Err(Error::NoTwin { format, advice })
    }

    /// CUDA's name: the format of a channel, and how many there are.
    pub fn cuda(self) -> (CUarray_format, u32) {
        use CUarray_format as Cuda;
        match self {
            Self::R8Unorm => (Cuda::CU_AD_FORMAT_UNSIGNED_INT8, 1),
            Self::Rg8Unorm => (Cuda::CU_AD_FORMAT_UNSIGNED_INT8, 2),
            Self::Rgba8Unorm | Self::Rgba8Uint => (Cuda::CU_AD_FORMAT_UNSIGNED_INT8, 4),
            Self::R16Float => (Cuda::CU_AD_FORMAT_HALF, 1),
            Self::Rg16Float => (Cuda::CU_AD_FORMAT_HALF, 2),
            Self::Rgba16Float => (Cuda::CU_AD_FORMAT_HALF, 4),
            Self::R32Float => (Cuda::CU_AD_FORMAT_FLOAT, 1),
            Self::Rg32Float => (Cuda::CU_AD_FORMAT_FLOAT, 2),
            Self::Rgba32Float => (Cuda::CU_AD_FORMAT_FLOAT, 4),
            Self::R32Uint => (Cuda::CU_AD_FORMAT_UNSIGNED_INT32, 1),
        }
    }

    /// OpenGL's name: its sized internal format.
    #[cfg(feature = "gl")]
    pub fn opengl(self) -> u32 {
        match self {
            Self::R8Unorm => glow::R8,
            Self::Rg8Unorm => glow::RG8,
            Self::Rgba8Unorm => glow::RGBA8,
            Self::Rgba8Uint => glow::RGBA8UI,
            Self::R16Float => glow::R16F,
            Self::Rg16Float => glow::RG16F,
            Self::Rgba16Float => glow::RGBA16F,
            Self::R32Float => glow::R32F,
            Self::Rg32Float => glow::RG32F,
            Self::Rgba32Float => glow::RGBA32F,
            Self::R32Uint => glow::R32UI,
        }
    }

    /// Bytes of a texel: those of Vulkan's format and of CUDA's are the same.
    pub fn texel_bytes(self) -> usize {
        let (format, channels) = self.cuda();
        let channel = match format {
            CUarray_format::CU_AD_FORMAT_UNSIGNED_INT8 => 1,
            CUarray_format::CU_AD_FORMAT_HALF => 2,
            _ => 4,
        };
        channel * channels as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texels_have_the_bytes_that_the_name_of_vulkans_format_says() {
        for format in SharedFormat::ALL {
            let name = format!("{:?}", format.vulkan());
            let bits: usize = name
                .split('_')
                .next()
                .unwrap()
                .split(|letter: char| letter.is_ascii_alphabetic())
                .filter_map(|bits| bits.parse::<usize>().ok())
                .sum();
            assert_eq!(format.texel_bytes() * 8, bits, "{name}");
            assert_eq!(SharedFormat::from_vulkan(format.vulkan()).unwrap(), format);
        }
    }

    #[test]
    fn depth_is_refused_with_its_colour_twin_and_others_with_the_list() {
        let depth = SharedFormat::from_vulkan(vk::Format::D32_SFLOAT)
            .unwrap_err()
            .to_string();
        assert!(depth.contains("D32_SFLOAT") && depth.contains("R32_SFLOAT"), "{depth}");
        let packed = SharedFormat::from_vulkan(vk::Format::B10G11R11_UFLOAT_PACK32)
            .unwrap_err()
            .to_string();
        assert!(packed.contains("R16G16B16A16_SFLOAT"), "{packed}");
    }
}
