//! An image that Vulkan draws into and CUDA kernels read and write, without a copy.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use ash::vk;
use cudarc::driver::{CudaContext, sys};

use crate::cuda::{self, ImageViews, ResultExt};
use crate::vulkan::{Device, ImageDescription};

use super::{Error, ExportedImage, SharedFormat};

/// A dedicated, exported Vulkan image, and what CUDA made of it.
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
        format: SharedFormat,
        extent: vk::Extent2D,
        usage: vk::ImageUsageFlags,
        name: &str,
    ) -> Result<Self, Error> {
        let description = ImageDescription {
            extent,
            format: format.vulkan(),
            usage,
        };
        let vulkan = ExportedImage::new(device, description, name)?;
        let imported = ImportedImage::new(context, vulkan.export()?, &vulkan, format)?;
        Ok(Self { imported, vulkan })
    }

    /// Surface and texture object, for kernels.
    pub fn views(&self) -> &ImageViews {
        &self.imported.views
    }
}

/// CUDA's side of a shared image. Fields in drop order.
struct ImportedImage {
    views: ImageViews,
    _array: MipmappedArray,
    _memory: ExternalMemory,
}

struct MipmappedArray {
    raw: sys::CUmipmappedArray,
    context: Arc<CudaContext>,
}

struct ExternalMemory {
    raw: sys::CUexternalMemory,
    context: Arc<CudaContext>,
}

/// `CUDA_ARRAY3D_SURFACE_LDST`: kernels store to it.
const SURFACE_LDST: u32 = 0x02;
/// `CUDA_ARRAY3D_COLOR_ATTACHMENT`: must be set exactly when the Vulkan image can be a colour attachment.
const COLOR_ATTACHMENT: u32 = 0x20;

impl ImportedImage {
    fn new(
        context: &Arc<CudaContext>,
        fd: OwnedFd,
        image: &ExportedImage,
        format: SharedFormat,
    ) -> Result<Self, cuda::Error> {
        let text = image.description.text();
        context
            .bind_to_thread()
            .during(|| format!("import a shared image ({text})"))?;
        let memory = ExternalMemory::import(context, fd, image.allocation_size, &text)?;

        let attachment = image.description.usage.contains(vk::ImageUsageFlags::COLOR_ATTACHMENT);
        let (channel, channels) = format.cuda();
        let description = sys::CUDA_EXTERNAL_MEMORY_MIPMAPPED_ARRAY_DESC {
            offset: 0,
            arrayDesc: sys::CUDA_ARRAY3D_DESCRIPTOR {
                Width: image.description.extent.width as usize,
                Height: image.description.extent.height as usize,
                Depth: 0,
                Format: channel,
                NumChannels: channels,
                Flags: SURFACE_LDST | if attachment { COLOR_ATTACHMENT } else { 0 },
            },
            numLevels: 1,
            reserved: [0; 16],
        };
        let what = || {
            let size = image.allocation_size;
            format!("map the shared image into CUDA: {text}, 1 level, {size} bytes at offset 0, dedicated")
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4; extent, format and flags are the image's own.
        unsafe { sys::cuExternalMemoryGetMappedMipmappedArray(&raw mut raw, memory.raw, &raw const description) }
            .during(what)?;
        let array = MipmappedArray {
            raw,
            context: Arc::clone(context),
        };
        let mut level = std::ptr::null_mut();
        // SAFETY: C3, C4; the array has a level 0, and its handle lives as long as `array`.
        unsafe { sys::cuMipmappedArrayGetLevel(&raw mut level, array.raw, 0) }.during(what)?;
        Ok(Self {
            views: ImageViews::new(context, level, &text)?,
            _array: array,
            _memory: memory,
        })
    }
}

impl ExternalMemory {
    fn import(context: &Arc<CudaContext>, fd: OwnedFd, size: u64, image: &str) -> Result<Self, cuda::Error> {
        use sys::CUexternalMemoryHandleType::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD as OPAQUE_FD;
        let mut description = MaybeUninit::<sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC>::zeroed();
        // The enum `type_` has no 0, so it is written in place before the whole counts as initialized.
        // SAFETY: the pointer is valid for writes; all-zero is a valid value for what is not written here.
        let description = unsafe {
            (&raw mut (*description.as_mut_ptr()).type_).write(OPAQUE_FD);
            (&raw mut (*description.as_mut_ptr()).handle.fd).write(fd.as_raw_fd());
            (&raw mut (*description.as_mut_ptr()).size).write(size);
            (&raw mut (*description.as_mut_ptr()).flags).write(sys::CUDA_EXTERNAL_MEMORY_DEDICATED);
            description.assume_init()
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4.
        unsafe { sys::cuImportExternalMemory(&raw mut raw, &raw const description) }
            .during(|| format!("import the memory of a shared image into CUDA: {image}, {size} bytes, dedicated"))?;
        // The import succeeded: the descriptor is CUDA's now.
        let _ = fd.into_raw_fd();
        Ok(Self {
            raw,
            context: Arc::clone(context),
        })
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

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2; the array mapped from it is gone.
            let _ = unsafe { sys::cuDestroyExternalMemory(self.raw) };
        }
    }
}
