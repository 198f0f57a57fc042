//! From a kernel file to an effect that can run.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::checks::{Checked, entry_problem};
use crate::cuda::{Binary as Compiled, CompileError, Diagnostic, Severity, Source, compile_for};
use crate::kernels::{Binary, Effect, HEADERS, compile_options, parse};

/// A kernel file is text that somebody writes; anything larger is another file.
const LARGEST_FILE: u64 = 4 << 20;

/// What was made of a file.
#[derive(Debug)]
pub struct Built {
    /// The effect, with its code for the GPU.
    pub effect: Effect,
    /// What the compiler warns of.
    pub warnings: Vec<Diagnostic>,
}

/// Why nothing was made of a file. The text names the file, the place, and what is expected there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", .lines.join("\n"))]
pub struct Problem {
    /// The file, as the user named it.
    pub file: String,
    /// What is wrong, a line each.
    pub lines: Vec<String>,
}

impl Problem {
    /// `text` may begin with `line 3: `, which becomes a part of the place.
    pub(super) fn new(path: &Path, text: impl ToString) -> Self {
        let (file, text) = (path.display().to_string(), text.to_string());
        let placed = text.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
        let placed = placed.filter(|(line, _)| line.parse::<usize>().is_ok());
        let text = match placed {
            Some((line, rest)) => format!("{file}:{line}: {rest}"),
            None => format!("{file}: {text}"),
        };
        Self {
            lines: text.lines().map(str::to_owned).collect(),
            file,
        }
    }
}

/// Reads a kernel file.
///
/// # Errors
/// It is not there, or it is no text.
pub(super) fn read(path: &Path) -> Result<String, Problem> {
    let text = fs::metadata(path).and_then(|found| {
        if !found.is_file() || found.len() > LARGEST_FILE {
            return Err(io::Error::other("expected a file of CUDA C++, of less than 4 MiB"));
        }
        fs::read_to_string(path)
    });
    text.map_err(|error| Problem::new(path, error))
}

/// The name of the effect that a file makes.
///
/// # Errors
/// Its entries could not begin with it.
pub(super) fn effect_name(path: &Path) -> Result<String, Problem> {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let begins = |first: char| first.is_ascii_alphabetic() || first == '_';
    let is_identifier = stem.chars().next().is_some_and(begins)
        && stem
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_');
    if is_identifier && path.extension().is_some_and(|ending| ending == "cu") {
        return Ok(stem.into_owned());
    }
    Err(Problem::new(
        path,
        "expected a name of letters, digits and _ that ends in .cu, such as my_edge.cu: the entries begin with it",
    ))
}

/// Parses the front matter alone.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn parse_file(path: &Path, text: &str) -> Result<Effect, Problem> {
    let name = effect_name(path)?;
    parse(&name, text).map_err(|error| Problem::new(path, error.message))
}

/// What a file's front matter says, without a look at its code.
///
/// # Errors
/// The file cannot be read, or what is wrong with its front matter.
pub fn describe(path: &Path) -> Result<Effect, Problem> {
    parse_file(path, &read(path)?)
}

/// Makes an effect of a file's text, for a GPU of that compute capability. `path` says where other files are included from.
///
/// # Errors
/// What is wrong with the front matter, with the code, or between the two.
pub fn build(path: &Path, text: &str, capability: (i32, i32)) -> Result<Built, Problem> {
    let mut effect = parse_file(path, text)?;
    let checked = Checked::new(&effect);
    let file = path.display().to_string();
    // An empty path is the folder where the program runs.
    let folder = path.parent().map(|folder| match folder.as_os_str().is_empty() {
        true => PathBuf::from("."),
        false => folder.to_owned(),
    });
    let folder = Vec::from_iter(folder);
    let options: Vec<&str> = compile_options().collect();
    let source = Source {
        name: &file,
        text: &checked.code,
        headers: HEADERS,
        include_folders: &folder,
        options: &options,
    };
    let compiled = compile_for(&source, capability).map_err(|error| match error {
        CompileError::Source { diagnostics, log, .. } => {
            let (own, failed) = checked.explain(&diagnostics);
            let errors = own.iter().filter(|one| one.severity == Severity::Error);
            let lines: Vec<String> = errors.map(ToString::to_string).collect();
            match failed {
                _ if !lines.is_empty() => Problem {
                    file: file.clone(),
                    lines,
                },
                Some(meaning) => Problem::new(path, meaning),
                None => Problem::new(path, log.trim()),
            }
        }
        error => Problem::new(path, error),
    })?;
    if let Some(problem) = entry_problem(&effect, &compiled.ptx) {
        return Err(Problem::new(path, problem));
    }
    effect.binary = Some(binary_of(compiled.binary));
    effect.folder = folder.into_iter().next();
    let (warnings, _) = checked.explain(&compiled.warnings);
    Ok(Built { effect, warnings })
}

/// Compiled code as effects have it.
pub(super) fn binary_of(compiled: Compiled) -> Binary {
    match compiled {
        Compiled::Cubin(cubin) => Binary::Cubin(cubin.into()),
        Compiled::Ptx(ptx) => Binary::NewPtx(Arc::from(ptx)),
    }
}

#[cfg(test)]
#[path = "build_tests.rs"]
mod tests;
