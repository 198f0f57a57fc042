//! An image that Vulkan draws into and CUDA kernels read and write, without a copy.

use std::sync::Arc;

use ash::vk;
use cudarc::driver::{CudaContext, sys};

use crate::cuda::{self, ImageViews, ResultExt};
use crate::vulkan::Device;

use super::external_memory::ExternalMemory;
use super::handle::MemoryHandle;
use super::{Error, ExportedImage, SharedImageDescription};

/// An OPTIMAL image in both APIs: a dedicated, exported Vulkan image, and what CUDA mapped of it. (CUDA guide, 4.19.2.1.3 and
/// 4.19.2.1.7.)
///
/// **Owner.** It owns both sides, and the descriptor in between was CUDA's from the import on. Drop it when both sides have
/// reached their last use of it.
///
/// **Units and ranges.** Extents are in texels; levels and layers from 1 to what the driver makes. On a queue the layout is
/// GENERAL while CUDA has the image; kernels address x in *bytes* on surfaces.
///
/// **Errors.** [`Error::Unsupported`] with the limits for what the driver does not share; [`Error::NotExportable`]; a failed
/// call with its arguments.
///
/// ```no_run
/// use handover::cuda::launch;
/// use handover::interop::{SharedFormat, SharedImage, SharedImageDescription};
/// use handover::proof::Pair;
/// use handover::vulkan::{Buffer, BufferMemory, ownership, transfer, vk};
///
/// const ADD: &str = r#"extern "C" __global__ void add(unsigned long long surface) {
///     unsigned texel = surf2Dread<unsigned>(surface, threadIdx.x * 4, blockIdx.y);
///     surf2Dwrite(texel + 1, surface, threadIdx.x * 4, blockIdx.y);
/// }"#;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let (device, family) = (&pair.device, pair.device.scene_queue.family);
///     let extent = vk::Extent2D { width: 64, height: 32 };
///     let usage = vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
///     let description = SharedImageDescription::new(SharedFormat::R32Uint, extent, usage);
///     let image = SharedImage::new(device, &pair.context, description, "image")?;
///     let (bytes, to_host) = (64 * 32 * 4, vk::BufferUsageFlags::TRANSFER_DST);
///     let texels = Buffer::new(device, bytes, to_host, BufferMemory::ReadBack, "texels")?;
///     let [add] = pair.kernels("add.cu", ADD, ["add"])?;
///     let (all, surface) = ((image.vulkan.raw, description.range()), image.views().surface.to_ne_bytes());
///     pair.round_trip(
///         |commands| {
///             ownership::discard_for_copies(device, commands, all);
///             transfer::clear(device, commands, all, vk::ClearColorValue { uint32: [41; 4] });
///             ownership::release_to_external(device, commands, family, &[all], &[]);
///         },
///         // SAFETY: the kernel takes a surface; the image outlives the round trip.
///         |stream| Ok(unsafe { launch(stream, &add, [64, 32], [64, 1], &[&surface]) }?),
///         |commands| {
///             ownership::acquire_from_external(device, commands, family, &[all], &[]);
///             transfer::image_to_buffer(device, commands, all.0, extent, texels.raw);
///         },
///     )?;
///     assert!(texels.bytes().chunks(4).all(|texel| texel == 42u32.to_ne_bytes()));
///     Ok(())
/// }
/// ```
///
/// The two go together, CUDA's first. Freeing Vulkan's memory before does not compile:
///
/// ```compile_fail,E0509
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

/// CUDA's side of a shared image: external memory, a mipmapped array over it, and surface and texture objects of each level.
/// (CUDA guide, 4.19.2.1.7.)
///
/// [`SharedImage`] has one. By itself it is for a process that CUDA runs in and Vulkan does not, as in the example
/// `child_process`.
///
/// **Owner.** It owns what it names, and took the descriptor. Vulkan's image must live as long: in another process, that is for
/// the two programs to keep. Drop it when the stream has done its last use.
///
/// **Units and ranges.** The description is that of the exported image, all of it: format, extent in texels, levels, layers, usage.
///
/// **Errors.** The driver refused: the message has description, bytes, and whether the memory is dedicated. The handle is
/// closed.
///
/// ```no_run
/// use handover::interop::{ExportedImage, ImportedImage, SharedFormat, SharedImageDescription};
/// use handover::proof::Pair;
/// use handover::vulkan::vk;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let extent = vk::Extent2D { width: 256, height: 128 };
///     let description = SharedImageDescription {
///         mip_levels: 3,
///         ..SharedImageDescription::new(SharedFormat::Rgba16Float, extent, vk::ImageUsageFlags::STORAGE)
///     };
///     let exported = ExportedImage::new(&pair.device, description, "image")?;
///     let imported = ImportedImage::new(&pair.context, exported.export()?, &description)?;
///     for (level, views) in imported.level_views().iter().enumerate() {
///         println!("level {level}: surface {:#x}, texture {:#x}", views.surface, views.texture);
///     }
///     drop(imported); // CUDA's side first.
///     drop(exported);
///     Ok(())
/// }
/// ```
/// Fields in drop order.
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
