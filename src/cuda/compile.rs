//! Compiling CUDA C++ while running, with whatever NVRTC there is.

use std::path::PathBuf;

use super::diagnostic::{self, Diagnostic, Severity};
use super::nvrtc::{Input, Nvrtc, Outcome, include_folders};

/// Why a source did not compile.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// There is no compiler.
    #[error(
        "no NVRTC (libnvrtc.so): install the CUDA toolkit's run-time compiler, or run scripts/compile-kernels, which fetches one"
    )]
    NoCompiler,
    /// The source has errors.
    #[error("{name} does not compile:\n{}", errors_of(.diagnostics, .log))]
    Source {
        /// The name the source was given.
        name: String,
        /// What NVRTC found, in its order.
        diagnostics: Vec<Diagnostic>,
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

/// The errors, a line each; the log where it has none that can be read.
fn errors_of(diagnostics: &[Diagnostic], log: &str) -> String {
    let errors = diagnostics.iter().filter(|one| one.severity == Severity::Error);
    let lines: Vec<String> = errors.map(ToString::to_string).collect();
    if lines.is_empty() {
        log.trim().to_owned()
    } else {
        lines.join("\n")
    }
}

/// A source, and what it is compiled with.
#[derive(Debug, Clone, Default)]
pub struct Source<'a> {
    /// What messages call it.
    pub name: &'a str,
    /// CUDA C++.
    pub text: &'a str,
    /// Files that it may include by these names, whatever the folders have.
    pub headers: &'a [(&'a str, &'a str)],
    /// Where it may include others from. The installed toolkit's come after them.
    pub include_folders: &'a [PathBuf],
    /// Options of NVRTC's, without the architecture.
    pub options: &'a [&'a str],
}

/// What was made of a source.
#[derive(Debug, Clone)]
pub struct Compiled {
    /// Machine code for the GPU, or PTX where this NVRTC is older than the GPU.
    pub binary: Binary,
    /// The PTX, to be looked into.
    pub ptx: String,
    /// What NVRTC warns of.
    pub warnings: Vec<Diagnostic>,
}

/// What a driver loads.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Binary {
    /// Machine code of one architecture.
    Cubin(Vec<u8>),
    /// What the driver compiles itself.
    Ptx(String),
}

/// Compiles for a GPU of the compute capability.
///
/// # Errors
/// No NVRTC, or what it found wrong.
pub fn compile_for(source: &Source<'_>, (major, minor): (i32, i32)) -> Result<Compiled, CompileError> {
    let nvrtc = Nvrtc::get().ok_or(CompileError::NoCompiler)?;
    let failed = |reason: String| CompileError::Compiler {
        name: source.name.into(),
        reason,
    };
    let device = major * 10 + minor;
    let known = nvrtc.architectures().map_err(|error| failed(error.to_string()))?;
    let Some(nearest) = known.iter().copied().filter(|known| *known <= device).max() else {
        let (version, least) = (nvrtc.version(), known.iter().min().copied().unwrap_or_default());
        let (major, minor) = version;
        return Err(failed(format!(
            "NVRTC {major}.{minor} knows GPUs from sm_{least} on, and this one is sm_{device}"
        )));
    };
    let is_exact = nearest == device;
    let kind = if is_exact { "sm" } else { "compute" };
    let outcome = run(nvrtc, source, &format!("{kind}_{nearest}"))?;
    let diagnostics = diagnostic::parse(&outcome.log, source.name, source.text);
    Ok(Compiled {
        binary: if is_exact {
            Binary::Cubin(outcome.cubin)
        } else {
            Binary::Ptx(outcome.ptx.clone())
        },
        ptx: outcome.ptx,
        warnings: diagnostics
            .into_iter()
            .filter(|one| one.severity == Severity::Warning)
            .collect(),
    })
}

/// Compiles `source`, called `name` in messages, to PTX for the compute capability, with the further options.
///
/// PTX of an NVRTC newer than the driver is refused by the driver: then the error of [`Module::load`](super::Module::load)
/// names both versions.
///
/// # Errors
/// No NVRTC, or what it found wrong.
pub fn compile(name: &str, source: &str, (major, minor): (i32, i32), options: &[&str]) -> Result<String, CompileError> {
    let nvrtc = Nvrtc::get().ok_or(CompileError::NoCompiler)?;
    let source = Source {
        name,
        text: source,
        options,
        ..Source::default()
    };
    run(nvrtc, &source, &format!("compute_{major}{minor}")).map(|outcome| outcome.ptx)
}

fn run(nvrtc: &Nvrtc, source: &Source<'_>, architecture: &str) -> Result<Outcome, CompileError> {
    let mut options = vec![format!("--gpu-architecture={architecture}")];
    options.extend(source.options.iter().map(|option| (*option).to_owned()));
    let folders = source.include_folders.iter().cloned().chain(include_folders());
    options.extend(folders.map(|folder| format!("--include-path={}", folder.display())));
    let outcome = nvrtc.compile(&Input {
        name: source.name,
        text: source.text,
        headers: source.headers,
        options: &options,
    });
    match outcome {
        Ok(outcome) if outcome.is_compiled => Ok(outcome),
        Ok(outcome) => Err(CompileError::Source {
            name: source.name.into(),
            diagnostics: diagnostic::parse(&outcome.log, source.name, source.text),
            log: outcome.log,
        }),
        Err(refused) => Err(CompileError::Compiler {
            name: source.name.into(),
            reason: refused.to_string(),
        }),
    }
}

#[cfg(test)]
#[path = "compile_tests.rs"]
mod tests;
