//! Launching a kernel.

use std::ffi::c_void;

use cudarc::driver::{CudaStream, sys};
use smallvec::SmallVec;

use super::{Error, Function, ResultExt};

/// Launches `function` over a grid that covers `extent` threads with blocks of `block`, with its arguments as bytes.
///
/// # Safety
/// The arguments are those of the kernel, one slice a parameter, each with the parameter's size and layout; what their
/// pointers and objects name lives until the stream has run the kernel.
///
/// # Errors
/// The driver refused the launch, or an earlier kernel on the context failed.
pub unsafe fn launch(
    stream: &CudaStream,
    function: &Function,
    extent: [u32; 2],
    block: [u32; 2],
    arguments: &[&[u8]],
) -> Result<(), Error> {
    let pointer = |bytes: &&[u8]| bytes.as_ptr().cast_mut().cast::<c_void>();
    let mut pointers: SmallVec<[_; 8]> = arguments.iter().map(pointer).collect();
    let grid = [extent[0].div_ceil(block[0]), extent[1].div_ceil(block[1])];
    // SAFETY: C3, C4: the driver copies the arguments before it returns; that they are the kernel's is the caller's promise.
    unsafe {
        sys::cuLaunchKernel(
            function.raw,
            grid[0],
            grid[1],
            1,
            block[0],
            block[1],
            1,
            0,
            stream.cu_stream(),
            pointers.as_mut_ptr(),
            std::ptr::null_mut(),
        )
    }
    .during(|| {
        format!(
            "launch `{}` over {}x{} threads in blocks of {}x{}",
            function.module_name(),
            extent[0],
            extent[1],
            block[0],
            block[1]
        )
    })
}

/// Whether the stream has nothing left to do. Never waits.
///
/// # Errors
/// Something that the context did has failed: a kernel faulted.
pub fn is_idle(stream: &CudaStream) -> Result<bool, Error> {
    let what = || "run the kernels";
    stream.context().bind_to_thread().during(what)?;
    // SAFETY: C1, C4.
    match unsafe { sys::cuStreamQuery(stream.cu_stream()) } {
        sys::CUresult::CUDA_ERROR_NOT_READY => Ok(false),
        result => result.during(what).map(|()| true),
    }
}
