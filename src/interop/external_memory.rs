//! Memory of Vulkan's, imported into CUDA.

use std::mem::MaybeUninit;
use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};

use crate::cuda::{self, ResultExt};

use super::handle::{MemoryHandle, Offered};

/// `CUexternalMemory`: what images and buffers are mapped from. It must outlive them.
pub(super) struct ExternalMemory {
    pub raw: sys::CUexternalMemory,
    /// Bytes of the whole allocation.
    pub size: u64,
    pub context: Arc<CudaContext>,
}

// SAFETY: the handle belongs to its context and may be used from any thread that binds it (C1); the driver synchronizes its
// own calls.
unsafe impl Send for ExternalMemory {}
// SAFETY: as above.
unsafe impl Sync for ExternalMemory {}

impl ExternalMemory {
    /// Imports the memory; `what` is in it, for messages.
    pub fn import(context: &Arc<CudaContext>, handle: MemoryHandle, what: &str) -> Result<Self, cuda::Error> {
        use sys::CUexternalMemoryHandleType::CU_EXTERNAL_MEMORY_HANDLE_TYPE_OPAQUE_FD as OPAQUE_FD;
        let MemoryHandle { fd, size, dedicated } = handle;
        let message = || {
            let kind = if dedicated { "dedicated" } else { "not dedicated" };
            format!("import memory of Vulkan's into CUDA: {what}, {size} bytes, {kind}")
        };
        context.bind_to_thread().during(message)?;
        let fd = Offered::new(fd);
        let mut description = MaybeUninit::<sys::CUDA_EXTERNAL_MEMORY_HANDLE_DESC>::zeroed();
        // The enum `type_` has no 0, so it is written in place before the whole counts as initialized.
        // SAFETY: the pointer is valid for writes; all-zero is a valid value for what is not written here.
        let description = unsafe {
            (&raw mut (*description.as_mut_ptr()).type_).write(OPAQUE_FD);
            (&raw mut (*description.as_mut_ptr()).handle.fd).write(fd.raw());
            (&raw mut (*description.as_mut_ptr()).size).write(size);
            let flags = if dedicated {
                sys::CUDA_EXTERNAL_MEMORY_DEDICATED
            } else {
                0
            };
            (&raw mut (*description.as_mut_ptr()).flags).write(flags);
            description.assume_init()
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4.
        unsafe { sys::cuImportExternalMemory(&raw mut raw, &raw const description) }.during(message)?;
        fd.taken();
        Ok(Self {
            raw,
            size,
            context: Arc::clone(context),
        })
    }
}

impl Drop for ExternalMemory {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2; what was mapped from it is gone: its owners keep their memory in an `Arc` or a later field.
            let _ = unsafe { sys::cuDestroyExternalMemory(self.raw) };
        }
    }
}
