//! Stamps: the GPU's nanosecond clock, written by a one-thread kernel into memory that the host reads.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use super::{Error, Function, Module, ResultExt, launch};

/// Pinned host memory for `count` stamps of `%globaltimer`, in nanoseconds.
pub struct Stamps {
    host: *mut u64,
    device: sys::CUdeviceptr,
    count: usize,
    kernel: Function,
    context: Arc<CudaContext>,
}

impl Stamps {
    /// Loads the kernel that stamps.
    ///
    /// # Errors
    /// The driver refused it.
    pub fn kernel(context: &Arc<CudaContext>) -> Result<Function, Error> {
        Module::load(context, include_str!("stamp.ptx"), "stamp")?.function("stamp")
    }

    /// Allocates `count` stamps, all 0, in the context of `kernel`.
    ///
    /// # Errors
    /// The driver refused.
    pub fn new(kernel: &Function, count: usize) -> Result<Self, Error> {
        let what = || format!("allocate {count} stamps in pinned host memory");
        let context = kernel.context();
        context.bind_to_thread().during(what)?;
        let mut host: *mut c_void = std::ptr::null_mut();
        let mut device = 0;
        // SAFETY: C3, C4.
        unsafe {
            sys::cuMemHostAlloc(&raw mut host, count * size_of::<u64>(), sys::CU_MEMHOSTALLOC_DEVICEMAP)
                .during(what)?;
            host.cast::<u64>().write_bytes(0, count);
        }
        let mut stamps = Self {
            host: host.cast(),
            device: 0,
            count,
            kernel: kernel.clone(),
            context: Arc::clone(context),
        };
        // SAFETY: `host` is pinned and mapped; a failure drops `stamps`, which frees it.
        unsafe { sys::cuMemHostGetDevicePointer_v2(&raw mut device, host, 0) }.during(what)?;
        stamps.device = device;
        Ok(stamps)
    }

    /// Enqueues the stamp of place `index`.
    ///
    /// # Errors
    /// The driver refused the launch.
    pub fn enqueue(&self, stream: &CudaStream, index: usize) -> Result<(), Error> {
        assert!(index < self.count, "stamp {index} of {}", self.count);
        let address: u64 = self.device + (index * size_of::<u64>()) as u64;
        // SAFETY: the kernel's one parameter is an address; the memory is freed when the stream has ended (C2).
        unsafe { launch(stream, &self.kernel, [1, 1], [1, 1], &[&address.to_ne_bytes()]) }
    }

    /// Nanoseconds of `%globaltimer` at place `index`; `None` when it was not written since the last [`Stamps::clear`].
    /// Meaningful once something that the stream did after the stamp was waited for.
    pub fn read(&self, index: usize) -> Option<u64> {
        assert!(index < self.count, "stamp {index} of {}", self.count);
        // SAFETY: in bounds; volatile since the GPU writes it.
        let value = unsafe { self.host.add(index).read_volatile() };
        (value != 0).then_some(value)
    }

    /// Forgets place `index`. The GPU must not be about to write it.
    pub fn clear(&mut self, index: usize) {
        assert!(index < self.count, "stamp {index} of {}", self.count);
        // SAFETY: in bounds; volatile since the GPU writes it.
        unsafe { self.host.add(index).write_volatile(0) };
    }
}

impl Drop for Stamps {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2; allocated in `new`, freed once.
            let _ = unsafe { sys::cuMemFreeHost(self.host.cast()) };
        }
    }
}
