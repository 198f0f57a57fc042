//! Modules from PTX, with the JIT compiler's log when they do not load.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use cudarc::driver::{CudaContext, sys};

use super::{Error, ResultExt};

/// `CUmodule`.
pub struct Module {
    raw: sys::CUmodule,
    name: String,
    context: Arc<CudaContext>,
}

/// `CUfunction`, kept with the module it is in.
#[derive(Clone)]
pub struct Function {
    /// The raw handle.
    pub raw: sys::CUfunction,
    module: Arc<Module>,
}

// SAFETY: modules belong to their context and may be used from any thread that binds it, which whoever enqueues has done (C1).
unsafe impl Send for Module {}
// SAFETY: as above; the driver synchronizes its own calls.
unsafe impl Sync for Module {}
// SAFETY: a function lives as long as its module, which it keeps.
unsafe impl Send for Function {}
// SAFETY: it is a handle that nothing changes; the driver synchronizes its own calls.
unsafe impl Sync for Function {}

const LOG_BYTES: usize = 8192;
/// How an ELF file begins.
const ELF: &[u8] = b"\x7fELF";

fn what_loads(name: &str) -> String {
    format!("load the kernels of `{name}`")
}

impl Module {
    /// Loads PTX (text): the driver compiles it for its device.
    ///
    /// # Errors
    /// The driver refused: the error has the compiler's log. For PTX newer than the driver it names both versions.
    pub fn load(context: &Arc<CudaContext>, ptx: &str, name: &str) -> Result<Arc<Self>, Error> {
        let image = CString::new(ptx).map_err(|_| Error {
            what: what_loads(name),
            result: sys::CUresult::CUDA_ERROR_INVALID_PTX,
            log: "the PTX has a NUL byte in it".into(),
        })?;
        Self::load_image(context, image.as_bytes_with_nul(), name).map_err(|mut error| {
            if error.result == sys::CUresult::CUDA_ERROR_UNSUPPORTED_PTX_VERSION {
                error.log += &version_hint(ptx);
            }
            error
        })
    }

    /// Loads a cubin.
    ///
    /// # Errors
    /// The driver refused, or the bytes are no cubin.
    pub fn load_cubin(context: &Arc<CudaContext>, cubin: &[u8], name: &str) -> Result<Arc<Self>, Error> {
        if !cubin.starts_with(ELF) {
            return Err(Error {
                what: what_loads(name),
                result: sys::CUresult::CUDA_ERROR_INVALID_IMAGE,
                log: "a cubin is an ELF file".into(),
            });
        }
        Self::load_image(context, cubin, name)
    }

    /// `image`: PTX with a NUL at its end, or an ELF file, which knows its length.
    fn load_image(context: &Arc<CudaContext>, image: &[u8], name: &str) -> Result<Arc<Self>, Error> {
        let what = || what_loads(name);
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
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4; option values are what the driver API documents: a buffer and its size.
        let result = unsafe {
            sys::cuModuleLoadDataEx(
                &raw mut raw,
                image.as_ptr().cast(),
                options.len() as u32,
                options.as_mut_ptr(),
                values.as_mut_ptr(),
            )
        };
        result.during(what).map_err(|mut error| {
            error.log = String::from_utf8_lossy(&log).trim_end_matches('\0').to_owned();
            error
        })?;
        Ok(Arc::new(Self {
            raw,
            name: name.into(),
            context: Arc::clone(context),
        }))
    }

    /// Looks up an entry.
    ///
    /// # Errors
    /// There is none of that name.
    pub fn function(self: &Arc<Self>, entry: &str) -> Result<Function, Error> {
        let what = || format!("find the kernel `{entry}` in `{}`", self.name);
        let name = CString::new(entry).unwrap_or_default();
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4; the module is loaded.
        unsafe { sys::cuModuleGetFunction(&raw mut raw, self.raw, name.as_ptr()) }.during(what)?;
        Ok(Function {
            raw,
            module: Arc::clone(self),
        })
    }
}

impl Function {
    /// The context that the function belongs to.
    pub fn context(&self) -> &Arc<CudaContext> {
        &self.module.context
    }

    /// The module's name, for messages.
    pub fn module_name(&self) -> &str {
        &self.module.name
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2.
            let _ = unsafe { sys::cuModuleUnload(self.raw) };
        }
    }
}

/// For PTX that the driver is too old for: both versions, and what to do.
pub(super) fn version_hint(ptx: &str) -> String {
    let ptx_version = ptx
        .lines()
        .find_map(|line| line.strip_prefix(".version "))
        .unwrap_or("unknown");
    let mut driver = 0;
    // SAFETY: C4.
    let _ = unsafe { sys::cuDriverGetVersion(&raw mut driver) };
    format!(
        "the kernel is PTX {ptx_version} and the driver is of CUDA {}.{}: update the driver, or compile with an older NVRTC",
        driver / 1000,
        driver % 1000 / 10
    )
}
