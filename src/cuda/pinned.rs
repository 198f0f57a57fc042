//! Pinned host memory: what a stream copies from without the host having to wait.

use std::ffi::c_void;
use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use super::{CudaBuffer, Error, ResultExt};

/// Memory of `cuMemHostAlloc`. (From memory that is not pinned, a copy in a stream's order may make the host wait for the stream.)
pub struct PinnedBuffer {
    host: *mut u8,
    bytes: usize,
    context: Arc<CudaContext>,
}

impl PinnedBuffer {
    /// Allocates it.
    ///
    /// # Errors
    /// No memory.
    pub fn new(context: &Arc<CudaContext>, bytes: usize) -> Result<Self, Error> {
        let what = || format!("allocate {bytes} bytes of pinned host memory");
        context.bind_to_thread().during(what)?;
        let mut host: *mut c_void = std::ptr::null_mut();
        // SAFETY: C3, C4.
        unsafe { sys::cuMemHostAlloc(&raw mut host, bytes, 0) }.during(what)?;
        Ok(Self {
            host: host.cast(),
            bytes,
            context: Arc::clone(context),
        })
    }

    /// Its length.
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// Keeps the bytes, and enqueues their copy to the start of `target`. The last copy from here has ended.
    ///
    /// # Errors
    /// The driver refused.
    ///
    /// # Panics
    /// If there are more bytes than it or the target has.
    pub fn upload(&mut self, stream: &CudaStream, bytes: &[u8], target: &CudaBuffer) -> Result<(), Error> {
        let fits = bytes.len() <= self.bytes && bytes.len() as u64 <= target.bytes();
        assert!(fits, "an upload fits into both buffers");
        // SAFETY: the memory is this long, and nothing reads it: the last copy has ended, as the caller promises.
        unsafe { self.host.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        // SAFETY: C1, C2, C4; both buffers live until the stream has done the copy.
        unsafe { sys::cuMemcpyHtoDAsync_v2(target.address(), self.host.cast(), bytes.len(), stream.cu_stream()) }
            .during(|| "copy to a buffer in a stream's order")
    }
}

impl Drop for PinnedBuffer {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2; allocated in `new`, freed once.
            let _ = unsafe { sys::cuMemFreeHost(self.host.cast()) };
        }
    }
}
