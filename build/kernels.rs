//! Embeds every kernel's source and PTX, and refuses PTX that is missing or older than its source.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What makes the PTX anew; every message ends with it.
const REFRESH: &str = "run scripts/compile-kernels";

/// Writes `kernels.rs` into the build's output folder: `SOURCES`, `SCREEN_SOURCES`, `HEADER`, `OPTIONS` and `LAYOUT_PTX`.
pub fn embed() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build/kernels.rs");
    println!("cargo::rerun-if-changed=kernels");
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(|error| format!("CARGO_MANIFEST_DIR: {error}"))?;
    let out = env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?;
    let folder = Path::new(&manifest).join("kernels");
    let header_path = folder.join("handover.cuh");
    let options_path = folder.join("options.txt");
    let header = read(&header_path)?;
    let options = read(&options_path)?;

    let mut generated = String::new();
    let mut everything: Vec<u8> = Vec::new();
    // The effects, and what writes the screen image after them.
    for (list, folder) in [("SOURCES", folder.clone()), ("SCREEN_SOURCES", folder.join("screen"))] {
        generated += &format!("const {list}: &[Source] = &[\n");
        for path in sources(&folder)? {
            let source = read(&path)?;
            let ptx = path.with_extension("ptx");
            check(&ptx, &path, &[&source, &header, &options])?;
            if list == "SOURCES" {
                if !everything.is_empty() {
                    everything.push(0);
                }
                everything.extend(&source);
            }
            let name = path.file_stem().unwrap_or_default().to_string_lossy();
            let (code, ptx) = (path.display().to_string(), ptx.display().to_string());
            writeln!(
                generated,
                "    Source {{ name: {name:?}, code: include_str!({code:?}), ptx: include_str!({ptx:?}) }},"
            )
            .map_err(|error| error.to_string())?;
        }
        generated += "];\n";
    }
    let layout = folder.join("layout.ptx");
    check(&layout, &header_path, &[&everything, &header, &options])?;
    writeln!(
        generated,
        "const HEADER_TEXT: &str = include_str!({:?});\nconst OPTIONS: &str = include_str!({:?});\n\
         #[cfg(test)]\nconst LAYOUT_PTX: &str = include_str!({:?});",
        header_path.display().to_string(),
        options_path.display().to_string(),
        layout.display().to_string()
    )
    .map_err(|error| error.to_string())?;
    let generated_path = Path::new(&out).join("kernels.rs");
    fs::write(&generated_path, generated).map_err(|error| format!("write {}: {error}", generated_path.display()))
}

/// The `.cu` files, by name.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("list {}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cu"))
        .collect();
    paths.sort();
    Ok(paths)
}

fn read(path: &Path) -> Result<Vec<u8>, String> {
    fs::read(path).map_err(|error| format!("read {}: {error}", path.display()))
}

/// The PTX's first line names the hash of what it was compiled from.
fn check(ptx: &Path, source: &Path, parts: &[&[u8]]) -> Result<(), String> {
    let mut hasher = Sha256::new();
    for (index, part) in parts.iter().enumerate() {
        if index > 0 {
            hasher.update([0]);
        }
        hasher.update(part);
    }
    let mut wanted = String::from("// handover sha256 ");
    for byte in hasher.finalize() {
        write!(wanted, "{byte:02x}").map_err(|error| error.to_string())?;
    }
    let text = fs::read_to_string(ptx).map_err(|error| {
        format!(
            "{}: no PTX for {} ({error}): {REFRESH}",
            ptx.display(),
            source.display()
        )
    })?;
    if text.lines().next() != Some(wanted.as_str()) {
        return Err(format!(
            "{} is older than {}, handover.cuh or options.txt: {REFRESH}",
            ptx.display(),
            source.display()
        ));
    }
    Ok(())
}
