//! Linear device memory: what kernels keep besides images.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use super::{Error, ResultExt};

/// Device memory of `cuMemAlloc`: aligned to at least 256 bytes.
pub struct CudaBuffer {
    address: sys::CUdeviceptr,
    bytes: usize,
    context: Arc<CudaContext>,
}

impl CudaBuffer {
    /// Allocates it, without defined contents.
    ///
    /// # Errors
    /// No memory.
    pub fn new(context: &Arc<CudaContext>, bytes: u64) -> Result<Self, Error> {
        let what = || format!("allocate {bytes} bytes");
        context.bind_to_thread().during(what)?;
        let (mut address, bytes) = (0, bytes as usize);
        // SAFETY: C1, C3, C4.
        unsafe { sys::cuMemAlloc_v2(&raw mut address, bytes) }.during(what)?;
        Ok(Self {
            address,
            bytes,
            context: Arc::clone(context),
        })
    }

    /// `CUdeviceptr`.
    pub fn address(&self) -> u64 {
        self.address
    }

    /// Its length.
    pub fn bytes(&self) -> u64 {
        self.bytes as u64
    }

    /// Sets all bytes to a value, in the order of the stream.
    ///
    /// # Errors
    /// The driver refused.
    pub fn fill(&self, stream: &CudaStream, byte: u8) -> Result<(), Error> {
        // SAFETY: C1, C4; the memory has this length, and is freed by a call that waits for what uses it.
        unsafe { sys::cuMemsetD8Async(self.address, byte, self.bytes, stream.cu_stream()) }
            .during(|| "set a buffer's bytes")
    }

    /// Copies bytes to its start. They have been read when the call returns.
    ///
    /// # Errors
    /// The driver refused.
    ///
    /// # Panics
    /// If there are more bytes than it has.
    pub fn upload(&self, bytes: &[u8]) -> Result<(), Error> {
        assert!(bytes.len() <= self.bytes, "an upload fits into the buffer");
        let what = || "copy to a buffer";
        self.context.bind_to_thread().during(what)?;
        // SAFETY: C1, C3, C4; the copy from pageable memory is done with it when the call returns.
        unsafe { sys::cuMemcpyHtoD_v2(self.address, bytes.as_ptr().cast(), bytes.len()) }.during(what)?;
        // The last part may still be on its way, and streams that are not blocking do not wait for it.
        // SAFETY: C1, C3.
        unsafe { sys::cuStreamSynchronize(std::ptr::null_mut()) }.during(what)
    }
}

impl Drop for CudaBuffer {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C4; it waits for what still uses the memory.
            let _ = unsafe { sys::cuMemFree_v2(self.address) };
        }
    }
}
