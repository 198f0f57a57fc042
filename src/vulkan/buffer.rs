//! Buffers that stay in Vulkan: meshes, uniforms, read-back.

use std::mem::ManuallyDrop;
use std::sync::Arc;

use ash::vk;
use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme};

use super::{CommandPool, Device, Error, Queue, ResultExt};

/// Where a buffer's memory is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BufferMemory {
    /// Device memory; the host cannot reach it.
    Device,
    /// Written by the host, read by the device.
    Upload,
    /// Written by the device, read by the host (cached).
    ReadBack,
}

/// `VkBuffer` with its memory.
pub struct Buffer {
    /// The raw handle.
    pub raw: vk::Buffer,
    /// Bytes.
    pub size: u64,
    allocation: ManuallyDrop<Allocation>,
    device: Arc<Device>,
}

/// What kernels may expect of an address: CUDA's own allocations are aligned to that.
const ADDRESS_ALIGNMENT: u64 = 256;

impl Buffer {
    /// Creates a buffer of `size` bytes, at least 1.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn new(
        device: &Arc<Device>,
        size: u64,
        usage: vk::BufferUsageFlags,
        memory: BufferMemory,
        name: &str,
    ) -> Result<Self, Error> {
        let what = || format!("create the buffer `{name}` of {size} bytes");
        let create_info = vk::BufferCreateInfo::default().size(size).usage(usage);
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_buffer(&create_info, None) }.during(what)?;
        // SAFETY: `raw` was just made.
        let mut requirements = unsafe { device.raw.get_buffer_memory_requirements(raw) };
        if usage.contains(vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS) {
            requirements.alignment = requirements.alignment.max(ADDRESS_ALIGNMENT);
        }
        let allocation = device.allocator().allocate(&AllocationCreateDesc {
            name,
            requirements,
            location: match memory {
                BufferMemory::Device => MemoryLocation::GpuOnly,
                BufferMemory::Upload => MemoryLocation::CpuToGpu,
                BufferMemory::ReadBack => MemoryLocation::GpuToCpu,
            },
            linear: true,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        });
        let allocation = match allocation {
            Ok(allocation) => allocation,
            Err(source) => {
                // SAFETY: made above and never used.
                unsafe { device.raw.destroy_buffer(raw, None) };
                return Err(Error::Allocation { what: what(), source });
            }
        };
        device.name(raw, name);
        let buffer = Self {
            raw,
            size,
            allocation: ManuallyDrop::new(allocation),
            device: Arc::clone(device),
        };
        // SAFETY: the memory was allocated for this buffer's requirements and is bound once. `buffer` owns both.
        unsafe {
            device
                .raw
                .bind_buffer_memory(raw, buffer.allocation.memory(), buffer.allocation.offset())
        }
        .during(what)?;
        Ok(buffer)
    }

    /// Creates a device buffer of the scene queue's that holds `data`, through a staging copy that is waited for.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn with_data(
        device: &Arc<Device>,
        data: &[u8],
        usage: vk::BufferUsageFlags,
        name: &str,
    ) -> Result<Self, Error> {
        Self::with_data_on(device, device.scene_queue, data, usage, name)
    }

    /// The same for another queue: a buffer belongs to the family that wrote it.
    ///
    /// # Errors
    /// As [`Buffer::with_data`].
    pub fn with_data_on(
        device: &Arc<Device>,
        queue: Queue,
        data: &[u8],
        usage: vk::BufferUsageFlags,
        name: &str,
    ) -> Result<Self, Error> {
        let size = data.len().max(4) as u64;
        let mut staging = Self::new(
            device,
            size,
            vk::BufferUsageFlags::TRANSFER_SRC,
            BufferMemory::Upload,
            "staging",
        )?;
        staging.bytes_mut()[..data.len()].copy_from_slice(data);
        let buffer = Self::new(
            device,
            size,
            usage | vk::BufferUsageFlags::TRANSFER_DST,
            BufferMemory::Device,
            name,
        )?;
        CommandPool::run_once(device, queue, |commands| {
            let region = [vk::BufferCopy::default().size(size)];
            // SAFETY: both buffers are alive until `run_once` returns, which waits.
            unsafe { device.raw.cmd_copy_buffer(commands, staging.raw, buffer.raw, &region) };
        })?;
        Ok(buffer)
    }

    /// Where the device finds it (`VkDeviceAddress`), aligned to 256. Its usage has SHADER_DEVICE_ADDRESS, and its device was asked
    /// for [`buffer_addresses`](super::DeviceRequest::buffer_addresses) or for kernels in its queue.
    pub fn address(&self) -> u64 {
        let info = vk::BufferDeviceAddressInfo::default().buffer(self.raw);
        // SAFETY: V1, V3; usage and feature are as the comment above asks.
        unsafe { self.device.raw.get_buffer_device_address(&info) }
    }

    /// The mapped memory. Empty for [`BufferMemory::Device`]. The GPU must not be writing it.
    pub fn bytes(&self) -> &[u8] {
        let size = self.size as usize;
        self.allocation
            .mapped_slice()
            .map_or(&[], |bytes| &bytes[..size.min(bytes.len())])
    }

    /// The mapped memory, to write. Empty for [`BufferMemory::Device`]. The GPU must not be using it.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        let size = self.size as usize;
        self.allocation.mapped_slice_mut().map_or(&mut [], |bytes| {
            let end = size.min(bytes.len());
            &mut bytes[..end]
        })
    }
}

impl Drop for Buffer {
    fn drop(&mut self) {
        // SAFETY: V1, V2; the allocation is taken once, here.
        unsafe {
            self.device.raw.destroy_buffer(self.raw, None);
            let allocation = ManuallyDrop::take(&mut self.allocation);
            if let Err(error) = self.device.allocator().free(allocation) {
                tracing::warn!("free the memory of a buffer: {error}");
            }
        }
    }
}
