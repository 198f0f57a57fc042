//! Compiling CUDA C++ while running, with whatever NVRTC is installed.

use std::ffi::{CStr, CString, c_char};

use cudarc::nvrtc::{result, sys};

/// Why a source did not compile.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// There is no compiler.
    #[error("no NVRTC (libnvrtc.so): install the CUDA toolkit's run-time compiler")]
    NoCompiler,
    /// The source has errors: file, line and text as NVRTC gives them.
    #[error("{name} does not compile:\n{log}")]
    Source {
        /// The name the source was given.
        name: String,
        /// NVRTC's log.
        log: String,
    },
    /// NVRTC itself failed.
    #[error("NVRTC failed while it compiled {name}: {reason}")]
    Compiler {
        /// The name the source was given.
        name: String,
        /// What it said.
        reason: String,
    },
}

/// Compiles `source`, called `name` in messages, to PTX for the compute capability, with the further options.
///
/// PTX of an NVRTC newer than the driver is refused by the driver: then the error of [`Module::load`](super::Module::load)
/// names both versions.
///
/// # Errors
/// No NVRTC, or what it found wrong.
pub fn compile(name: &str, source: &str, (major, minor): (i32, i32), options: &[&str]) -> Result<String, CompileError> {
    // SAFETY: loading the system's libnvrtc runs its initializers, which is what we want of it. Checked before any other
    // call, since cudarc panics without it.
    if !unsafe { sys::is_culib_present() } {
        return Err(CompileError::NoCompiler);
    }
    let failed = |reason: String| CompileError::Compiler {
        name: name.into(),
        reason,
    };
    let text = |text: &str| CString::new(text).map_err(|error| failed(error.to_string()));
    let (source, file) = (text(source)?, text(name)?);
    let program = result::create_program(&source, Some(&file)).map_err(|error| failed(format!("{error:?}")))?;
    let mut all = vec![format!("--gpu-architecture=compute_{major}{minor}")];
    all.extend(options.iter().map(|option| (*option).to_owned()));
    // SAFETY: `program` is live until it is destroyed below, once; the options are NUL-terminated by cudarc.
    unsafe {
        let compiled = result::compile_program(program, &all);
        let outcome = match compiled {
            Ok(()) => result::get_ptx(program)
                .map(|ptx| to_text(&ptx))
                .map_err(|error| failed(format!("{error:?}"))),
            Err(_) => {
                let log = result::get_program_log(program)
                    .map(|log| to_text(&log))
                    .unwrap_or_default();
                Err(CompileError::Source { name: name.into(), log })
            }
        };
        // A program that cannot be destroyed costs its memory only.
        let _ = result::destroy_program(program);
        outcome
    }
}

/// NVRTC's text, which ends with a NUL.
fn to_text(bytes: &[c_char]) -> String {
    let bytes: Vec<u8> = bytes.iter().map(|byte| *byte as u8).collect();
    match CStr::from_bytes_until_nul(&bytes) {
        Ok(text) => text.to_string_lossy().into_owned(),
        Err(_) => String::from_utf8_lossy(&bytes).into_owned(),
    }
}
