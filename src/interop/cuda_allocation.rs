//! Memory that CUDA allocates and exports, and Vulkan imports: the other direction.

use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};

use crate::cuda::{Error, ResultExt};

use super::handle::MemoryHandle;

/// Memory of CUDA's that Vulkan can import: physical memory of the virtual memory management (CUDA guide, "Virtual Memory Management";
/// `cuMemCreate`, `cuMemExportToShareableHandle`), mapped at an address of its own.
///
/// **Owner.** It owns memory and address. What was imported of it keeps the memory with what is in it, whichever lets go first.
///
/// **Units.** Sizes in bytes, rounded up to the granularity of the device's memory (2 MiB on many).
///
/// **Errors.** No memory, or a device that does not export.
///
/// ```no_run
/// use handover::cuda::launch;
/// use handover::interop::{CudaAllocation, ImportedBuffer};
/// use handover::proof::Pair;
/// use handover::vulkan::{Buffer, BufferMemory, ownership, transfer, vk};
///
/// const COUNT: &str = r#"extern "C" __global__ void count(unsigned* words) { words[threadIdx.x] = threadIdx.x; }"#;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let (device, family) = (&pair.device, pair.device.scene_queue.family);
///     let (from, to) = (vk::BufferUsageFlags::TRANSFER_SRC, vk::BufferUsageFlags::TRANSFER_DST);
///     let allocation = CudaAllocation::new(&pair.context, 1024)?;
///     let imported = ImportedBuffer::new(device, allocation.export()?, from, "CUDA's")?;
///     let seen = Buffer::new(device, 1024, to, BufferMemory::ReadBack, "seen")?;
///     let [count] = pair.kernels("count.cu", COUNT, ["count"])?;
///     pair.round_trip(
///         |_| {}, // The bytes are CUDA's from the start.
///         // SAFETY: the kernel takes an address of 256 words; the allocation outlives the round trip.
///         |stream| Ok(unsafe { launch(stream, &count, [256, 1], [256, 1], &[&allocation.address.to_ne_bytes()]) }?),
///         |commands| {
///             ownership::acquire_from_external(device, commands, family, &[], &[imported.raw]);
///             transfer::copy_buffer(device, commands, (imported.raw, 0), (seen.raw, 0), 1024);
///         },
///     )?;
///     assert!((0u32..).zip(seen.bytes().chunks(4)).all(|(place, word)| word == place.to_ne_bytes()));
///     Ok(())
/// }
/// ```
pub struct CudaAllocation {
    /// The address of the first byte, for kernels.
    pub address: sys::CUdeviceptr,
    size: usize,
    is_mapped: bool,
    handle: sys::CUmemGenericAllocationHandle,
    context: Arc<CudaContext>,
}

impl CudaAllocation {
    /// Allocates at least `size` bytes on the context's device: rounded up to the granularity of its memory.
    ///
    /// # Errors
    /// No memory, or a device that does not export.
    pub fn new(context: &Arc<CudaContext>, size: usize) -> Result<Self, Error> {
        let what = || format!("allocate {size} bytes that CUDA exports");
        context.bind_to_thread().during(what)?;
        let properties = properties(context);
        let mut granularity = 0;
        // SAFETY: C3, C4.
        unsafe {
            sys::cuMemGetAllocationGranularity(
                &raw mut granularity,
                &raw const properties,
                sys::CUmemAllocationGranularity_flags::CU_MEM_ALLOC_GRANULARITY_MINIMUM,
            )
        }
        .during(what)?;
        let size = size.max(1).next_multiple_of(granularity.max(1));
        let mut handle = 0;
        // SAFETY: C3, C4. From here on `allocation` owns what is made, step by step.
        unsafe { sys::cuMemCreate(&raw mut handle, size, &raw const properties, 0) }.during(what)?;
        let mut allocation = Self {
            address: 0,
            size,
            is_mapped: false,
            handle,
            context: Arc::clone(context),
        };
        let access = sys::CUmemAccessDesc {
            location: properties.location,
            flags: sys::CUmemAccess_flags::CU_MEM_ACCESS_FLAGS_PROT_READWRITE,
        };
        // SAFETY: C3, C4; the reserved range and the handle both have `size` bytes.
        unsafe {
            sys::cuMemAddressReserve(&raw mut allocation.address, size, 0, 0, 0).during(what)?;
            sys::cuMemMap(allocation.address, size, 0, handle, 0).during(what)?;
            allocation.is_mapped = true;
            sys::cuMemSetAccess(allocation.address, size, &raw const access, 1).during(what)?;
        }
        Ok(allocation)
    }

    /// Bytes.
    pub fn size(&self) -> usize {
        self.size
    }

    /// Exports the memory. Each call makes a new handle; what imports it keeps the memory, whichever side lets go first.
    ///
    /// # Errors
    /// Out of descriptors.
    pub fn export(&self) -> Result<MemoryHandle, Error> {
        const DESCRIPTOR: sys::CUmemAllocationHandleType =
            sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
        let mut fd: RawFd = -1;
        // SAFETY: C3, C4; for this handle type the driver writes a descriptor.
        unsafe { sys::cuMemExportToShareableHandle((&raw mut fd).cast::<c_void>(), self.handle, DESCRIPTOR, 0) }
            .during(|| format!("export {} bytes of CUDA's", self.size))?;
        // SAFETY: CUDA gives a new descriptor that nothing else owns.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(MemoryHandle {
            fd,
            size: self.size as u64,
            dedicated: false,
        })
    }
}

/// Pinned on the context's device, exportable as a descriptor.
fn properties(context: &CudaContext) -> sys::CUmemAllocationProp {
    let mut properties = MaybeUninit::<sys::CUmemAllocationProp>::zeroed();
    let at = properties.as_mut_ptr();
    // The enums have no 0, so they are written in place before the whole counts as initialized.
    // SAFETY: `at` is valid for writes; all-zero is a valid value for what is not written here.
    unsafe {
        (&raw mut (*at).type_).write(sys::CUmemAllocationType::CU_MEM_ALLOCATION_TYPE_PINNED);
        (&raw mut (*at).requestedHandleTypes)
            .write(sys::CUmemAllocationHandleType::CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR);
        (&raw mut (*at).location.type_).write(sys::CUmemLocationType::CU_MEM_LOCATION_TYPE_DEVICE);
        (&raw mut (*at).location.id).write(context.cu_device());
        properties.assume_init()
    }
}

impl Drop for CudaAllocation {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2; each step undoes one that was done.
            unsafe {
                if self.is_mapped {
                    let _ = sys::cuMemUnmap(self.address, self.size);
                }
                if self.address != 0 {
                    let _ = sys::cuMemAddressFree(self.address, self.size);
                }
                let _ = sys::cuMemRelease(self.handle);
            }
        }
    }
}
