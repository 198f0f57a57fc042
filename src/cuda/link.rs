//! PTX to machine code for one GPU, by the driver's linker: what `VK_NVX_binary_import` takes.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};

use super::module::version_hint;
use super::{Error, ResultExt};

const LOG_BYTES: usize = 8192;

/// Links PTX to a cubin for the context's device.
///
/// # Errors
/// The driver refused it: the error has the linker's log.
pub fn link(context: &Arc<CudaContext>, ptx: &str, name: &str) -> Result<Vec<u8>, Error> {
    let what = || format!("link the kernels of `{name}`");
    let text = |text: &str| {
        CString::new(text).map_err(|_| Error {
            what: what(),
            result: sys::CUresult::CUDA_ERROR_INVALID_PTX,
            log: "there is a NUL byte in it".into(),
        })
    };
    let (source, ptx, label) = (ptx, text(ptx)?, text(name)?);
    context.bind_to_thread().during(what)?;
    let mut log = vec![0u8; LOG_BYTES];
    let mut options = [
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
        sys::CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
    ];
    let mut values = [
        log.as_mut_ptr().cast::<c_void>(),
        std::ptr::without_provenance_mut(LOG_BYTES),
    ];
    let mut state = std::ptr::null_mut();
    // SAFETY: C3, C4; option values are what the driver API documents, a buffer and its size; all outlive the state.
    unsafe {
        sys::cuLinkCreate_v2(
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
            &raw mut state,
        )
    }
    .during(what)?;
    let linked = (|| {
        let (mut cubin, mut size) = (std::ptr::null_mut::<c_void>(), 0);
        // SAFETY: C3, C4; the linker only reads the PTX, whose size counts its NUL.
        unsafe {
            sys::cuLinkAddData_v2(
                state,
                sys::CUjitInputType::CU_JIT_INPUT_PTX,
                ptx.as_ptr().cast_mut().cast(),
                ptx.as_bytes_with_nul().len(),
                label.as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
            .during(what)?;
            sys::cuLinkComplete(state, &raw mut cubin, &raw mut size).during(what)?;
            // The cubin is the state's and goes with it, so it is copied.
            Ok(std::slice::from_raw_parts(cubin.cast::<u8>(), size).to_vec())
        }
    })();
    // SAFETY: made above, destroyed once.
    let _ = unsafe { sys::cuLinkDestroy(state) };
    linked.map_err(|mut error: Error| {
        error.log = String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned();
        if error.result == sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION {
            error.log += &version_hint(source);
        }
        error
    })
}
