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

/// An allocation in both APIs: a `VkDeviceMemory` that CUDA has imported. Not dedicated: several buffers can lie in it. (CUDA guide,
/// 4.19.2.1.3.)
///
/// **Owner.** It owns both sides; buffers in it keep it alive.
///
/// **Units and ranges.** Sizes and offsets in bytes. A buffer has at least one byte, begins at a multiple of what Vulkan asks of such
/// a buffer, and ends in the allocation.
///
/// **Errors.** [`Error::Range`] before anything is bound or mapped; [`Error::NotExportable`]; a failed call.
///
/// ```no_run
/// use handover::interop::{Error, SharedMemory};
/// use handover::proof::Pair;
/// use handover::vulkan::vk;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let usage = vk::BufferUsageFlags::STORAGE_BUFFER | vk::BufferUsageFlags::TRANSFER_DST;
///     let memory = SharedMemory::new(&pair.device, &pair.context, 2 << 20, usage, "particles")?;
///     let positions = memory.buffer(0, 1 << 20, "positions")?;
///     let speeds = memory.buffer(1 << 20, 1 << 20, "speeds")?;
///     println!("{} bytes: {:#x} and {:#x} in CUDA", memory.size(), positions.address, speeds.address);
///
///     let past_the_end = memory.buffer(1 << 20, memory.size(), "too large");
///     assert!(matches!(past_the_end, Err(Error::Range { .. })));
///     drop(memory); // The buffers keep it.
///     Ok(())
/// }
/// ```
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

/// A `VkBuffer` and a CUDA device pointer over the same bytes of a [`SharedMemory`]. (CUDA guide, 4.19.2.1.6.)
///
/// **Owner.** It owns buffer and mapping, and keeps the memory. Drop it when both sides have done their last use.
///
/// **Units.** `offset` and `size` in bytes; `address` is the first byte's, for kernels.
///
/// ```no_run
/// use handover::cuda::launch;
/// use handover::interop::SharedMemory;
/// use handover::proof::Pair;
/// use handover::vulkan::{Buffer, BufferMemory, ownership, transfer, vk};
///
/// const ADD: &str = r#"extern "C" __global__ void add(unsigned* words) { words[threadIdx.x] += 1; }"#;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let (device, family) = (&pair.device, pair.device.scene_queue.family);
///     let usage = vk::BufferUsageFlags::TRANSFER_SRC | vk::BufferUsageFlags::TRANSFER_DST;
///     let words = SharedMemory::new(device, &pair.context, 1024, usage, "words")?.buffer(0, 1024, "words")?;
///     let seen = Buffer::new(device, 1024, usage, BufferMemory::ReadBack, "seen")?;
///     let [add] = pair.kernels("add.cu", ADD, ["add"])?;
///     pair.round_trip(
///         |commands| {
///             transfer::fill(device, commands, words.raw, 0..1024, 41);
///             ownership::release_to_external(device, commands, family, &[], &[words.raw]);
///         },
///         // SAFETY: the kernel takes an address of 256 words; the buffer outlives the round trip.
///         |stream| Ok(unsafe { launch(stream, &add, [256, 1], [256, 1], &[&words.address.to_ne_bytes()]) }?),
///         |commands| {
///             ownership::acquire_from_external(device, commands, family, &[], &[words.raw]);
///             transfer::copy_buffer(device, commands, (words.raw, 0), (seen.raw, 0), 1024);
///         },
///     )?;
///     assert!(seen.bytes().chunks(4).all(|word| word == 42u32.to_ne_bytes()));
///     Ok(())
/// }
/// ```
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
