//! NVRTC, loaded while running: the system's, a CUDA toolkit's, or the one that `scripts/compile-kernels` puts into the checkout.
//!
//! cudarc knows the library by the names of some versions only, and looks into no folder of a toolkit.

use std::env;
use std::ffi::{CStr, CString, c_char, c_int};
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use cudarc::nvrtc::sys::{nvrtcProgram, nvrtcResult};
use libloading::Library;

/// The library's names, by version: the newest first, as whoever installs one has the driver for it.
const NAMES: [&str; 5] = [
    "libnvrtc.so",
    "libnvrtc.so.13",
    "libnvrtc.so.12",
    "libnvrtc.so.11.2",
    "nvrtc64_120_0.dll",
];

/// A loaded NVRTC.
pub struct Nvrtc {
    library: Library,
    /// `12.0`
    version: (i32, i32),
}

/// A call that NVRTC refused.
#[derive(Debug, thiserror::Error)]
#[error("{call}: {reason}")]
pub(super) struct Refused {
    call: &'static str,
    reason: String,
}

/// What [`Nvrtc::compile`] made.
pub(super) struct Outcome {
    /// It compiled.
    pub is_compiled: bool,
    /// What NVRTC said: errors, warnings, or nothing.
    pub log: String,
    /// The PTX.
    pub ptx: String,
    /// Machine code, where the architecture was a real one.
    pub cubin: Vec<u8>,
}

/// What [`Nvrtc::compile`] is given. `headers` are found by name, before any folder.
pub(super) struct Input<'a> {
    pub name: &'a str,
    pub text: &'a str,
    pub headers: &'a [(&'a str, &'a str)],
    pub options: &'a [String],
}

type SizeOf = unsafe extern "C" fn(nvrtcProgram, *mut usize) -> nvrtcResult;
type Fill = unsafe extern "C" fn(nvrtcProgram, *mut c_char) -> nvrtcResult;

impl Nvrtc {
    /// The one of this process, loaded at the first call. `None`: there is none.
    pub fn get() -> Option<&'static Self> {
        static FOUND: OnceLock<Option<Nvrtc>> = OnceLock::new();
        FOUND.get_or_init(Self::find).as_ref()
    }

    /// Its version, such as 12.0.
    pub fn version(&self) -> (i32, i32) {
        self.version
    }

    fn find() -> Option<Self> {
        let by_name = NAMES.into_iter().map(PathBuf::from);
        by_name
            .chain(folders().into_iter().flat_map(libraries_in))
            .find_map(|path| {
                // SAFETY: N1.
                let library = unsafe { Library::new(&path) };
                let library = library
                    .inspect_err(|error| tracing::trace!("{}: {error}", path.display()))
                    .ok()?;
                let mut found = Self {
                    library,
                    version: (0, 0),
                };
                let (mut major, mut minor) = (0, 0);
                // SAFETY: N2, N3.
                let result = unsafe {
                    let version =
                        found.symbol::<unsafe extern "C" fn(*mut c_int, *mut c_int) -> nvrtcResult>("nvrtcVersion");
                    version.ok()?(&raw mut major, &raw mut minor)
                };
                found.version = (major, minor);
                tracing::debug!("NVRTC {major}.{minor}: {}", path.display());
                (result == nvrtcResult::NVRTC_SUCCESS).then_some(found)
            })
    }

    /// The compute capabilities that it makes code for, as 75 or 90, rising.
    pub(super) fn architectures(&self) -> Result<Vec<i32>, Refused> {
        let mut count = 0;
        // SAFETY: N2, N3; the second call fills as many as the first counted.
        unsafe {
            let count_of: unsafe extern "C" fn(*mut c_int) -> nvrtcResult = self.symbol("nvrtcGetNumSupportedArchs")?;
            self.check("nvrtcGetNumSupportedArchs", count_of(&raw mut count))?;
            let mut all = vec![0; usize::try_from(count).unwrap_or_default()];
            let fill: unsafe extern "C" fn(*mut c_int) -> nvrtcResult = self.symbol("nvrtcGetSupportedArchs")?;
            self.check("nvrtcGetSupportedArchs", fill(all.as_mut_ptr()))?;
            Ok(all)
        }
    }

    /// Compiles, or says in the log why not.
    pub(super) fn compile(&self, input: &Input<'_>) -> Result<Outcome, Refused> {
        let text = |text: &str| {
            CString::new(text).map_err(|_| Refused {
                call: "nvrtcCreateProgram",
                reason: format!("there is a NUL byte in {}", input.name),
            })
        };
        let (name, source) = (text(input.name)?, text(input.text)?);
        let header_names = input
            .headers
            .iter()
            .map(|(name, _)| text(name))
            .collect::<Result<Vec<_>, _>>()?;
        let header_texts = input
            .headers
            .iter()
            .map(|(_, body)| text(body))
            .collect::<Result<Vec<_>, _>>()?;
        let options = input
            .options
            .iter()
            .map(|option| text(option))
            .collect::<Result<Vec<_>, _>>()?;
        let pointers = |texts: &[CString]| Vec::from_iter(texts.iter().map(|text| text.as_ptr()));
        let (header_names, header_texts) = (pointers(&header_names), pointers(&header_texts));
        let options = pointers(&options);

        let mut program: nvrtcProgram = std::ptr::null_mut();
        // SAFETY: N2, N3; the texts live to the end of this function, and the counts are those of the lists.
        unsafe {
            type Create = unsafe extern "C" fn(
                *mut nvrtcProgram,
                *const c_char,
                *const c_char,
                c_int,
                *const *const c_char,
                *const *const c_char,
            ) -> nvrtcResult;
            let create: Create = self.symbol("nvrtcCreateProgram")?;
            let (headers, names) = (header_texts.as_ptr(), header_names.as_ptr());
            let count = header_texts.len() as c_int;
            let result = create(&raw mut program, source.as_ptr(), name.as_ptr(), count, headers, names);
            self.check("nvrtcCreateProgram", result)?;
        }
        let outcome = self.compile_program(program, &options);
        // SAFETY: N2, N3; the program is live and not used again. One that cannot be destroyed costs its memory only.
        unsafe {
            if let Ok(destroy) =
                self.symbol::<unsafe extern "C" fn(*mut nvrtcProgram) -> nvrtcResult>("nvrtcDestroyProgram")
            {
                let _ = destroy(&raw mut program);
            }
        }
        outcome
    }

    fn compile_program(&self, program: nvrtcProgram, options: &[*const c_char]) -> Result<Outcome, Refused> {
        // SAFETY: N2, N3; the program is live.
        let result = unsafe {
            let compile: unsafe extern "C" fn(nvrtcProgram, c_int, *const *const c_char) -> nvrtcResult =
                self.symbol("nvrtcCompileProgram")?;
            compile(program, options.len() as c_int, options.as_ptr())
        };
        let log = as_text(&self.bytes(program, "nvrtcGetProgramLogSize", "nvrtcGetProgramLog")?);
        if result != nvrtcResult::NVRTC_SUCCESS && result != nvrtcResult::NVRTC_ERROR_COMPILATION {
            let reason = format!("{} {}", self.meaning(result), log.trim());
            return Err(Refused {
                call: "nvrtcCompileProgram",
                reason: reason.trim_end().to_owned(),
            });
        }
        let is_compiled = result == nvrtcResult::NVRTC_SUCCESS;
        let (mut ptx, mut cubin) = (String::new(), Vec::new());
        if is_compiled {
            ptx = as_text(&self.bytes(program, "nvrtcGetPTXSize", "nvrtcGetPTX")?);
            cubin = self.bytes(program, "nvrtcGetCUBINSize", "nvrtcGetCUBIN")?;
        }
        Ok(Outcome {
            is_compiled,
            log,
            ptx,
            cubin,
        })
    }

    /// What a pair of calls gives: how many bytes, then those bytes.
    fn bytes(&self, program: nvrtcProgram, size_of: &'static str, fill: &'static str) -> Result<Vec<u8>, Refused> {
        let mut size = 0;
        // SAFETY: N2, N3; the program is live, and the buffer is as long as NVRTC said.
        unsafe {
            self.check(size_of, self.symbol::<SizeOf>(size_of)?(program, &raw mut size))?;
            let mut bytes = vec![0_u8; size];
            if size > 0 {
                self.check(fill, self.symbol::<Fill>(fill)?(program, bytes.as_mut_ptr().cast()))?;
            }
            Ok(bytes)
        }
    }

    /// Looks a function up.
    ///
    /// # Safety
    /// N2: `F` is the function's type in `nvrtc.h`.
    unsafe fn symbol<F: Copy>(&self, name: &'static str) -> Result<F, Refused> {
        // SAFETY: the caller's promise; the library stays loaded as long as `self`, which is for the whole process.
        let found = unsafe { self.library.get::<F>(name.as_bytes()) };
        found.map(|symbol| *symbol).map_err(|error| Refused {
            call: name,
            reason: error.to_string(),
        })
    }

    fn check(&self, call: &'static str, result: nvrtcResult) -> Result<(), Refused> {
        if result == nvrtcResult::NVRTC_SUCCESS {
            return Ok(());
        }
        Err(Refused {
            call,
            reason: self.meaning(result),
        })
    }

    fn meaning(&self, result: nvrtcResult) -> String {
        // SAFETY: N2; the text is one of the library's own.
        unsafe {
            match self.symbol::<unsafe extern "C" fn(nvrtcResult) -> *const c_char>("nvrtcGetErrorString") {
                Ok(text) => CStr::from_ptr(text(result)).to_string_lossy().into_owned(),
                Err(_) => format!("{result:?}"),
            }
        }
    }
}

/// NVRTC's text, which ends with a NUL.
fn as_text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

fn toolkits() -> impl Iterator<Item = PathBuf> {
    let named = ["CUDA_PATH", "CUDA_HOME"]
        .into_iter()
        .filter_map(env::var_os)
        .map(PathBuf::from);
    named.chain([PathBuf::from("/usr/local/cuda")])
}

/// Folders with an NVRTC that the loader does not look into, in the order they are tried.
fn folders() -> Vec<PathBuf> {
    let checkout = Path::new(env!("CARGO_MANIFEST_DIR"));
    let wheel = checkout.join(".venv/nvrtc-12.0.140/nvidia/cuda_nvrtc/lib");
    toolkits().map(|toolkit| toolkit.join("lib64")).chain([wheel]).collect()
}

/// The NVRTC of a folder. It asks for its built-in functions by name, so they are loaded before it, for the whole process.
fn libraries_in(folder: PathBuf) -> Option<PathBuf> {
    let mut names = Vec::from_iter(
        folder
            .read_dir()
            .ok()?
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok()),
    );
    names.retain(|name| name.contains(".so.") && !name.contains(".alt."));
    names.sort();
    let of = |start: &str| {
        names
            .iter()
            .find(|name| name.starts_with(start))
            .map(|name| folder.join(name))
    };
    if let Some(path) = of("libnvrtc-builtins.so.") {
        // SAFETY: N1.
        match unsafe { Library::new(&path) } {
            Ok(library) => std::mem::forget(library),
            Err(error) => tracing::debug!("{}: {error}", path.display()),
        }
    }
    of("libnvrtc.so.")
}

/// Folders with headers of CUDA's own that kernels may include, such as `cuda_fp16.h`.
pub(super) fn include_folders() -> impl Iterator<Item = PathBuf> {
    toolkits()
        .map(|toolkit| toolkit.join("include"))
        .filter(|folder| folder.is_dir())
}
