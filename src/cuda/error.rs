//! CUDA errors: each names the call and its arguments.

use std::ffi::CStr;

use cudarc::driver::result::DriverError;
use cudarc::driver::sys;

/// A CUDA call failed.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {}{}{}", name(*.result), if .log.is_empty() { "" } else { "\n  " }, .log.trim_end().replace('\n', "\n  "))]
pub struct Error {
    /// What the call was for, with its arguments.
    pub what: String,
    /// What it returned.
    pub result: sys::CUresult,
    /// The JIT compiler's error log, where there is one.
    pub log: String,
}

impl Error {
    /// Memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        self.result == sys::CUresult::CUDA_ERROR_OUT_OF_MEMORY
    }
}

/// `CUDA_ERROR_ILLEGAL_ADDRESS (an illegal memory access was encountered)`.
fn name(result: sys::CUresult) -> String {
    let text = |get: unsafe fn(sys::CUresult, *mut *const std::ffi::c_char) -> sys::CUresult| {
        let mut text = std::ptr::null();
        // SAFETY: C4: a CUresult only comes from a loaded driver; the strings are the driver's statics.
        unsafe {
            let known = get(result, &raw mut text) == sys::CUresult::CUDA_SUCCESS && !text.is_null();
            known.then(|| CStr::from_ptr(text).to_string_lossy().into_owned())
        }
    };
    match (text(sys::cuGetErrorName), text(sys::cuGetErrorString)) {
        (Some(name), Some(meaning)) => format!("{name} ({meaning})"),
        _ => format!("{result:?}"),
    }
}

/// Turns what cudarc and the raw calls return into an [`Error`] that says what the call was for.
pub trait ResultExt<T> {
    /// Names the call; `what` is evaluated only on failure.
    fn during<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T, Error>;
}

impl<T> ResultExt<T> for Result<T, DriverError> {
    fn during<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T, Error> {
        self.map_err(|error| Error {
            what: what().into(),
            result: error.0,
            log: String::new(),
        })
    }
}

impl ResultExt<()> for sys::CUresult {
    fn during<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<(), Error> {
        match self {
            Self::CUDA_SUCCESS => Ok(()),
            result => Err(Error {
                what: what().into(),
                result,
                log: String::new(),
            }),
        }
    }
}
