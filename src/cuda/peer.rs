//! Copies between GPUs.

use cudarc::driver::{CudaContext, CudaStream, sys};

use super::{Error, ResultExt};

/// Enqueues on `stream`, a stream of `from`'s, the copy of `size` bytes from `source` on `from` to `destination` on `to`.
/// Directly where the GPUs reach each other's memory, else through the host: the driver knows.
///
/// # Safety
/// Both ranges are of their contexts and live until the stream has done the copy.
///
/// # Errors
/// The driver refused.
pub unsafe fn copy_to_peer(
    stream: &CudaStream,
    (from, source): (&CudaContext, sys::CUdeviceptr),
    (to, destination): (&CudaContext, sys::CUdeviceptr),
    size: usize,
) -> Result<(), Error> {
    let what = || {
        format!(
            "copy {size} bytes from CUDA device {} to {}",
            from.ordinal(),
            to.ordinal()
        )
    };
    from.bind_to_thread().during(what)?;
    // SAFETY: C4; the ranges are the caller's promise.
    unsafe {
        sys::cuMemcpyPeerAsync(
            destination,
            to.cu_ctx(),
            source,
            from.cu_ctx(),
            size,
            stream.cu_stream(),
        )
    }
    .during(what)
}
