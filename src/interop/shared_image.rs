//! An image that Vulkan draws into and CUDA kernels read and write, without a copy.

use std::sync::Arc;

use ash::vk;
use cudarc::driver::{CudaContext, sys};

use crate::cuda::{self, ImageViews, ResultExt};
use crate::vulkan::Device;

use super::external_memory::ExternalMemory;
use super::handle::MemoryHandle;
use super::{Error, ExportedImage, SharedImageDescription};

/// A dedicated, exported Vulkan image, and what CUDA made of it.
///
/// The two go together, CUDA's first. Freeing Vulkan's memory before does not compile:
///
/// ```compile_fail
/// # use handover::interop::SharedImage;
/// fn vulkan_first(image: SharedImage) {
///     drop(image.vulkan);
/// }
/// ```
pub struct SharedImage {
    // CUDA's side first: it must be gone before Vulkan frees the memory.
    imported: ImportedImage,
    /// Vulkan's side.
    pub vulkan: ExportedImage,
}

impl SharedImage {
    /// Creates an OPTIMAL image, exports it, and imports it into the CUDA context of the same GPU.
    ///
    /// # Errors
    /// What cannot be shared, or the call that failed with its arguments; nothing is left open.
    pub fn new(
        device: &Arc<Device>,
        context: &Arc<CudaContext>,
        description: SharedImageDescription,
        name: &str,
    ) -> Result<Self, Error> {
        let vulkan = ExportedImage::new(device, description, name)?;
        let imported = ImportedImage::new(context, vulkan.export()?, &description)?;
        Ok(Self { imported, vulkan })
    }

    /// Surface and texture object of level 0, for kernels.
    pub fn views(&self) -> &ImageViews {
        &self.imported.levels[0]
    }

    /// Surface and texture object of each level. Of an image with several layers they are layered: kernels reach them
    /// with `surf2DLayeredread` and its like.
    pub fn level_views(&self) -> &[ImageViews] {
        &self.imported.levels
    }
}

impl Drop for SharedImage {
    /// Nothing to do: that there is a `drop` keeps the public field from being moved out, and freed before CUDA's side.
    fn drop(&mut self) {}
}

/// CUDA's side of a shared image. Fields in drop order.
pub struct ImportedImage {
    levels: Vec<ImageViews>,
    _array: MipmappedArray,
    _memory: ExternalMemory,
}

struct MipmappedArray {
    raw: sys::CUmipmappedArray,
    context: Arc<CudaContext>,
}

/// `CUDA_ARRAY3D_LAYERED`: the depth counts layers.
const LAYERED: u32 = 0x01;
/// `CUDA_ARRAY3D_SURFACE_LDST`: kernels store to it.
const SURFACE_LDST: u32 = 0x02;
/// `CUDA_ARRAY3D_COLOR_ATTACHMENT`: must be set exactly when the Vulkan image can be a colour attachment.
const COLOR_ATTACHMENT: u32 = 0x20;

impl ImportedImage {
    /// Imports an image's memory and maps it as what it was made of, in this process or in another than Vulkan's.
    ///
    /// # Errors
    /// The driver refused; the handle is closed.
    pub fn new(
        context: &Arc<CudaContext>,
        handle: MemoryHandle,
        description: &SharedImageDescription,
    ) -> Result<Self, cuda::Error> {
        let text = description.text();
        let memory = ExternalMemory::import(context, handle, &text)?;
        let attachment = description.usage.contains(vk::ImageUsageFlags::COLOR_ATTACHMENT);
        let layered = description.array_layers > 1;
        let (channel, channels) = description.format.cuda();
        let mapping = sys::CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC {
            offset: 0,
            arrayDesc: sys::CUDA_ARRAY3D_DESCRIPTOR {
                Width: description.extent.width as usize,
                Height: description.extent.height as usize,
                Depth: if layered { description.array_layers as usize } else { 0 },
                Format: channel,
                NumChannels: channels,
                Flags: SURFACE_LDST | if attachment { COLOR_ATTACHMENT } else { 0 } | if layered { LAYERED } else { 0 },
            },
            numLevels: description.made_levels(),
            reserved: [0; 16],
        };
        let what = || {
            format!(
                "map the shared image into CUDA: {text}, {} bytes at offset 0",
                memory.size
            )
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4; extent, format and flags are the image's own.
        unsafe { sys::cuExternalMemoryGetMappedMipmappedArray(&raw mut raw, memory.raw, &raw const mapping) }
            .during(what)?;
        let array = MipmappedArray {
            raw,
            context: Arc::clone(context),
        };
        let level_views = |level: u32| {
            let mut of_level = std::ptr::null_mut();
            // SAFETY: C3, C4; the array has the level, whose handle lives as long as `array`.
            unsafe { sys::cuMipmappedArrayGetLevel(&raw mut of_level, array.raw, level) }.during(what)?;
            ImageViews::new(context, of_level, &text)
        };
        let levels = (0..description.mip_levels).map(level_views).collect::<Result<_, _>>()?;
        Ok(Self {
            levels,
            _array: array,
            _memory: memory,
        })
    }

    /// Surface and texture object of each level.
    pub fn level_views(&self) -> &[ImageViews] {
        &self.levels
    }
}

impl Drop for MipmappedArray {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2.
            let _ = unsafe { sys::cuMipmappedArrayDestroy(self.raw) };
        }
    }
}
