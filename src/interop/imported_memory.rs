//! Memory of CUDA's, imported into Vulkan as a buffer or as a LINEAR image.

use std::sync::Arc;

use ash::vk;

use crate::vulkan::{Device, ResultExt};

use super::exported_image::{HANDLE_TYPE, Handed, check};
use super::handle::{MemoryHandle, Offered};
use super::{Error, SharedFormat, SharedImageDescription};

/// A `VkDeviceMemory` over memory of CUDA's. It keeps the memory alive, whichever side lets go first.
struct ImportedMemory {
    raw: vk::DeviceMemory,
    device: Arc<Device>,
}

/// A `VkBuffer` over all of an allocation of CUDA's. (Vulkan 1.3, `VkImportMemoryFdInfoKHR`; the CUDA guide has no section on this
/// way.)
///
/// **Owner.** It owns buffer and imported memory, and took the descriptor. It keeps the memory, also after the
/// [`CudaAllocation`](super::CudaAllocation) is gone.
///
/// **Units.** `size` in bytes: all of the allocation.
///
/// **Errors.** [`Error::NotExportable`], [`Error::Range`] when Vulkan needs more than there is, or a failed call. The handle is
/// closed.
///
/// ```no_run
/// use handover::interop::{CudaAllocation, ImportedBuffer};
/// use handover::proof::Pair;
/// use handover::vulkan::vk;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let allocation = CudaAllocation::new(&pair.context, 1 << 20)?;
///     let usage = vk::BufferUsageFlags::STORAGE_BUFFER;
///     let buffer = ImportedBuffer::new(&pair.device, allocation.export()?, usage, "CUDA's")?;
///     assert_eq!(buffer.size, allocation.size() as u64);
///     drop(allocation); // The buffer keeps the memory.
///     println!("{:?} still has {} bytes", buffer.raw, buffer.size);
///     Ok(())
/// }
/// ```
pub struct ImportedBuffer {
    /// The buffer.
    pub raw: vk::Buffer,
    /// Bytes.
    pub size: u64,
    memory: ImportedMemory,
}

/// A LINEAR `VkImage` at the start of an allocation of CUDA's. (Vulkan 1.3, `VkImportMemoryFdInfoKHR`.)
///
/// CUDA writes its rows by address: texel (x, y) is at `offset + y * row_pitch + x * texel_bytes`. Before CUDA writes, Vulkan must
/// bring the image from UNDEFINED to GENERAL, as in the example `cuda_to_vulkan`: leaving UNDEFINED later loses what is in it.
///
/// **Owner.** As [`ImportedBuffer`].
///
/// **Units and ranges.** `row_pitch` and `offset` in bytes; one level, one layer; extents to the driver's limit for LINEAR images.
///
/// **Errors.** [`Error::Unsupported`] when the driver imports no such image; [`Error::Range`] when it does not fit. The handle
/// is closed.
///
/// ```no_run
/// use handover::interop::{CudaAllocation, LinearImage, SharedFormat};
/// use handover::proof::Pair;
/// use handover::vulkan::vk;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let allocation = CudaAllocation::new(&pair.context, 1 << 20)?;
///     let (extent, usage) = (vk::Extent2D { width: 100, height: 60 }, vk::ImageUsageFlags::TRANSFER_SRC);
///     let (handle, format) = (allocation.export()?, SharedFormat::Rgba8Unorm);
///     let image = LinearImage::new(&pair.device, handle, format, extent, usage, "CUDA's")?;
///     let (x, y) = (7, 3);
///     let address = allocation.address + image.offset + y * image.row_pitch + x * format.texel_bytes() as u64;
///     println!("kernels write texel ({x}, {y}) at {address:#x}");
///     Ok(())
/// }
/// ```
pub struct LinearImage {
    /// The image: one level, one layer.
    pub raw: vk::Image,
    /// Bytes from row to row, as CUDA must write them.
    pub row_pitch: u64,
    /// Bytes from the allocation's start to texel (0, 0).
    pub offset: u64,
    memory: ImportedMemory,
}

impl ImportedMemory {
    fn new(device: &Arc<Device>, handle: MemoryHandle, type_bits: u32, what: &str) -> Result<Self, Error> {
        let MemoryHandle { fd, size, .. } = handle;
        let message = || format!("import memory of CUDA's into Vulkan: {what}, {size} bytes");
        if device.external_memory_fd.is_none() {
            let device = device.physical.name.clone();
            return Err(Error::NotExportable {
                device,
                extension: "VK_KHR_external_memory_fd",
            });
        }
        let memory_type = device
            .physical
            .memory_type(type_bits, vk::MemoryPropertyFlags::DEVICE_LOCAL)
            .ok_or_else(|| Error::Unsupported {
                device: device.physical.name.clone(),
                image: what.to_owned(),
                reason: "no memory type is DEVICE_LOCAL".into(),
            })?;
        let fd = Offered::new(fd);
        let mut import = vk::ImportMemoryFdInfoKHR::default()
            .handle_type(HANDLE_TYPE)
            .fd(fd.raw());
        let allocate_info = vk::MemoryAllocateInfo::default()
            .allocation_size(size)
            .memory_type_index(memory_type)
            .push_next(&mut import);
        // SAFETY: V3; size and descriptor are the exporter's own.
        let raw = unsafe { device.raw.allocate_memory(&allocate_info, None) }.during(message)?;
        fd.taken();
        Ok(Self {
            raw,
            device: Arc::clone(device),
        })
    }
}

impl ImportedBuffer {
    /// Imports all of an allocation as a buffer.
    ///
    /// # Errors
    /// The driver refused; the handle is closed.
    pub fn new(
        device: &Arc<Device>,
        handle: MemoryHandle,
        usage: vk::BufferUsageFlags,
        name: &str,
    ) -> Result<Self, Error> {
        let size = handle.size();
        let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(HANDLE_TYPE);
        let create_info = vk::BufferCreateInfo::default()
            .size(size)
            .usage(usage)
            .push_next(&mut external);
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_buffer(&create_info, None) }
            .during(|| format!("create the imported buffer `{name}` of {size} bytes"))?;
        // SAFETY: `raw` was just made.
        let requirements = unsafe { device.raw.get_buffer_memory_requirements(raw) };
        let memory = check_fits(requirements, size)
            .and_then(|()| ImportedMemory::new(device, handle, requirements.memory_type_bits, name));
        let memory = match memory {
            Ok(memory) => memory,
            Err(error) => {
                // SAFETY: made above and never used.
                unsafe { device.raw.destroy_buffer(raw, None) };
                return Err(error);
            }
        };
        device.name(raw, name);
        let buffer = Self { raw, size, memory };
        // SAFETY: the allocation has the buffer's size; bound once.
        unsafe { device.raw.bind_buffer_memory(raw, buffer.memory.raw, 0) }
            .during(|| format!("bind the imported buffer `{name}`"))?;
        Ok(buffer)
    }
}

impl LinearImage {
    /// Imports the start of an allocation as a LINEAR image.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the driver imports no such image; [`Error::Range`] when it does not fit into the
    /// allocation; a failed call. The handle is closed.
    pub fn new(
        device: &Arc<Device>,
        handle: MemoryHandle,
        format: SharedFormat,
        extent: vk::Extent2D,
        usage: vk::ImageUsageFlags,
        name: &str,
    ) -> Result<Self, Error> {
        let what = || format!("create the imported LINEAR image `{name}`");
        let description = SharedImageDescription::new(format, extent, usage);
        check(device, &description, vk::ImageTiling::LINEAR, Handed::In)?;
        let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(HANDLE_TYPE);
        let create_info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(format.vulkan())
            .extent(extent.into())
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::LINEAR)
            .usage(usage)
            .push_next(&mut external);
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_image(&create_info, None) }.during(what)?;
        // SAFETY: `raw` was just made, and is LINEAR.
        let (requirements, layout) = unsafe {
            let color = vk::ImageSubresource::default().aspect_mask(vk::ImageAspectFlags::COLOR);
            (
                device.raw.get_image_memory_requirements(raw),
                device.raw.get_image_subresource_layout(raw, color),
            )
        };
        let memory = check_fits(requirements, handle.size())
            .and_then(|()| ImportedMemory::new(device, handle, requirements.memory_type_bits, name));
        let memory = match memory {
            Ok(memory) => memory,
            Err(error) => {
                // SAFETY: made above and never used.
                unsafe { device.raw.destroy_image(raw, None) };
                return Err(error);
            }
        };
        device.name(raw, name);
        let image = Self {
            raw,
            row_pitch: layout.row_pitch,
            offset: layout.offset,
            memory,
        };
        // SAFETY: the image fits into the allocation; bound once.
        unsafe { device.raw.bind_image_memory(raw, image.memory.raw, 0) }.during(what)?;
        Ok(image)
    }
}

fn check_fits(requirements: vk::MemoryRequirements, allocation: u64) -> Result<(), Error> {
    if requirements.size <= allocation {
        return Ok(());
    }
    let reason = format!("Vulkan needs {} bytes", requirements.size);
    Err(Error::Range {
        offset: 0,
        size: requirements.size,
        allocation,
        reason,
    })
}

impl Drop for ImportedMemory {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.free_memory(self.raw, None) };
    }
}

impl Drop for ImportedBuffer {
    fn drop(&mut self) {
        // SAFETY: V1, V2; the memory goes after it.
        unsafe { self.memory.device.raw.destroy_buffer(self.raw, None) };
    }
}

impl Drop for LinearImage {
    fn drop(&mut self) {
        // SAFETY: V1, V2; the memory goes after it.
        unsafe { self.memory.device.raw.destroy_image(self.raw, None) };
    }
}
