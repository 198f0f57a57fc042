//! One exported Vulkan allocation, and the buffers in it, each seen by both APIs.

use std::sync::Arc;

use ash::vk;
use cudarc::driver::{CudaContext, sys};

use crate::cuda::ResultExt as _;
use crate::vulkan::{Device, ResultExt as _};

use super::Error;
use super::exported_image::{HANDLE_TYPE, export_memory};
use super::external_memory::ExternalMemory;
use super::handle::MemoryHandle;

/// A `VkDeviceMemory` that CUDA has imported. Not dedicated: several buffers can lie in it.
pub struct SharedMemory {
    // CUDA's side first: it must be gone before Vulkan frees the memory.
    imported: ExternalMemory,
    exported: ExportedMemory,
}

/// Vulkan's side.
struct ExportedMemory {
    raw: vk::DeviceMemory,
    size: u64,
    /// What buffers in it may be used for.
    usage: vk::BufferUsageFlags,
    device: Arc<Device>,
}

impl SharedMemory {
    /// Allocates at least `size` bytes of device memory for buffers of `usage`, and imports it into the CUDA context of the
    /// same GPU.
    ///
    /// # Errors
    /// No memory, or a failed call; nothing is left open.
    pub fn new(
        device: &Arc<Device>,
        context: &Arc<CudaContext>,
        size: u64,
        usage: vk::BufferUsageFlags,
        name: &str,
    ) -> Result<Arc<Self>, Error> {
        let exported = ExportedMemory::new(device, size, usage, name)?;
        let fd = export_memory(device, exported.raw, name)?;
        let handle = MemoryHandle {
            fd,
            size: exported.size,
            dedicated: false,
        };
        let imported = ExternalMemory::import(context, handle, name)?;
        Ok(Arc::new(Self { imported, exported }))
    }

    /// Bytes of the allocation.
    pub fn size(&self) -> u64 {
        self.exported.size
    }

    /// A buffer of `size` bytes from `offset` on, in both APIs.
    ///
    /// # Errors
    /// [`Error::Range`] when it does not lie in the allocation, or not where a buffer may begin; a failed call.
    pub fn buffer(self: &Arc<Self>, offset: u64, size: u64, name: &str) -> Result<SharedBuffer, Error> {
        let device = &self.exported.device;
        let raw = create_buffer(device, size.max(1), self.exported.usage, name)?;
        let mut buffer = SharedBuffer {
            raw,
            address: 0,
            offset,
            size,
            memory: Arc::clone(self),
        };
        // SAFETY: `raw` was just made. A failure from here on drops `buffer`, which destroys it.
        let requirements = unsafe { device.raw.get_buffer_memory_requirements(raw) };
        check_range(offset, size, self.exported.size, requirements)?;
        // SAFETY: the range was checked against the buffer's requirements and the allocation; bound once.
        unsafe { device.raw.bind_buffer_memory(raw, self.exported.raw, offset) }
            .during(|| format!("bind the shared buffer `{name}`"))?;
        let description = sys::CUDA_EXTERNAL_MEMORY_BUFFER_DESC {
            offset,
            size,
            flags: 0,
            reserved: [0; 16],
        };
        let imported = &self.imported;
        imported
            .context
            .bind_to_thread()
            .during(|| format!("map the shared buffer `{name}`"))?;
        // SAFETY: C3, C4; the range lies in the imported memory.
        unsafe { sys::cuExternalMemoryGetMappedBuffer(&raw mut buffer.address, imported.raw, &raw const description) }
            .during(|| format!("map the shared buffer `{name}` into CUDA: {size} bytes at offset {offset}"))?;
        Ok(buffer)
    }
}

/// The rule of `vkBindBufferMemory`, checked before either driver sees the range.
fn check_range(offset: u64, size: u64, allocation: u64, requirements: vk::MemoryRequirements) -> Result<(), Error> {
    let refuse = |reason: String| {
        Err(Error::Range {
            offset,
            size,
            allocation,
            reason,
        })
    };
    if size == 0 {
        return refuse("it has no bytes".into());
    }
    if !offset.is_multiple_of(requirements.alignment) {
        return refuse(format!("the offset must be a multiple of {}", requirements.alignment));
    }
    match offset.checked_add(requirements.size) {
        Some(end) if end <= allocation => Ok(()),
        _ => refuse(format!(
            "it takes {} bytes and so ends past the allocation",
            requirements.size
        )),
    }
}

fn create_buffer(
    device: &Device,
    size: u64,
    usage: vk::BufferUsageFlags,
    name: &str,
) -> Result<vk::Buffer, crate::vulkan::Error> {
    let mut external = vk::ExternalMemoryBufferCreateInfo::default().handle_types(HANDLE_TYPE);
    let create_info = vk::BufferCreateInfo::default()
        .size(size)
        .usage(usage)
        .push_next(&mut external);
    // SAFETY: V3.
    let raw = unsafe { device.raw.create_buffer(&create_info, None) }
        .during(|| format!("create the shared buffer `{name}` of {size} bytes"))?;
    device.name(raw, name);
    Ok(raw)
}

impl ExportedMemory {
    fn new(device: &Arc<Device>, size: u64, usage: vk::BufferUsageFlags, name: &str) -> Result<Self, Error> {
        let what = || format!("allocate the shared memory `{name}` of {size} bytes");
        // A buffer of the whole says what memory such buffers need.
        let whole = create_buffer(device, size.max(1), usage, name)?;
        // SAFETY: `whole` was just made, and is not used after.
        let requirements = unsafe {
            let requirements = device.raw.get_buffer_memory_requirements(whole);
            device.raw.destroy_buffer(whole, None);
            requirements
        };
        let memory_type = device
            .physical
            .memory_type(requirements.memory_type_bits, vk::MemoryPropertyFlags::DEVICE_LOCAL)
            .ok_or_else(|| Error::Unsupported {
                device: device.physical.name.clone(),
                image: format!("a shared buffer for {usage:?}"),
                reason: "no memory type is DEVICE_LOCAL".into(),
            })?;
        let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(HANDLE_TYPE);
        let allocate_info = vk::MemoryAllocateInfo::default()
            .allocation_size(requirements.size)
            .memory_type_index(memory_type)
            .push_next(&mut export);
        // SAFETY: V3.
        let raw = unsafe { device.raw.allocate_memory(&allocate_info, None) }.during(what)?;
        device.name(raw, name);
        Ok(Self {
            raw,
            size: requirements.size,
            usage,
            device: Arc::clone(device),
        })
    }
}

impl Drop for ExportedMemory {
    fn drop(&mut self) {
        // SAFETY: V1, V2; buffers in it keep it alive.
        unsafe { self.device.raw.free_memory(self.raw, None) };
    }
}

/// A `VkBuffer` and a CUDA device pointer over the same bytes.
pub struct SharedBuffer {
    /// Vulkan's side.
    pub raw: vk::Buffer,
    /// CUDA's side: the address of the first byte.
    pub address: sys::CUdeviceptr,
    /// Bytes from the allocation's start.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    memory: Arc<SharedMemory>,
}

impl Drop for SharedBuffer {
    fn drop(&mut self) {
        let SharedMemory { imported, exported } = &*self.memory;
        if self.address != 0 && imported.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2: a mapped buffer is freed like memory of CUDA's own (CUDA driver API,
            // cuExternalMemoryGetMappedBuffer), and before the external memory it is of.
            let _ = unsafe { sys::cuMemFree_v2(self.address) };
        }
        // SAFETY: V1, V2.
        unsafe { exported.device.raw.destroy_buffer(self.raw, None) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_must_lie_in_the_allocation_at_an_aligned_place() {
        let requirements = |size| vk::MemoryRequirements {
            size,
            alignment: 256,
            memory_type_bits: 1,
        };
        assert!(check_range(0, 1024, 4096, requirements(1024)).is_ok());
        assert!(check_range(3072, 1024, 4096, requirements(1024)).is_ok());
        for (offset, size, needs, reason) in [
            (100, 1024, 1024, "multiple of 256"),
            (3328, 1024, 1024, "past the allocation"),
            (3072, 1000, 1280, "takes 1280 bytes"),
            (u64::MAX - 255, 1024, 1024, "past the allocation"),
            (0, 0, 256, "no bytes"),
        ] {
            let error = check_range(offset, size, 4096, requirements(needs))
                .unwrap_err()
                .to_string();
            assert!(error.contains(reason), "{error}");
        }
    }
}
