//! Embeds every kernel's source and PTX, and refuses PTX that is missing or older than its source.
//!
//! `kernels/fused` has passes of several effects, each of which it includes: their PTX carries a hash over those, too.

use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs};

/// What makes the PTX anew; every message ends with it.
const REFRESH: &str = "run scripts/compile-kernels";

/// Writes `kernels.rs` into the build's output folder: `SOURCES`, `SCREEN_SOURCES`, `FUSED`, `HEADERS`, `OPTIONS`, `LAYOUT_PTX` and
/// what a header says of pointwise kernels.
pub fn embed() -> Result<(), String> {
    println!("cargo::rerun-if-changed=build/kernels.rs");
    println!("cargo::rerun-if-changed=kernels");
    let manifest = env::var("CARGO_MANIFEST_DIR").map_err(|error| format!("CARGO_MANIFEST_DIR: {error}"))?;
    let out = env::var("OUT_DIR").map_err(|error| format!("OUT_DIR: {error}"))?;
    let folder = Path::new(&manifest).join("kernels");
    let header_paths = with_extension(&folder, "cuh")?;
    let options_path = folder.join("options.txt");
    let mut header: Vec<u8> = Vec::new();
    for path in &header_paths {
        if !header.is_empty() {
            header.push(0);
        }
        header.extend(read(path)?);
    }
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
    generated.push_str("const FUSED: &[Fused] = &[\n");
    for path in sources(&folder.join("fused"))? {
        let source = read(&path)?;
        let members = included(&folder, &source)?;
        let mut parts: Vec<&[u8]> = vec![&source];
        parts.extend(members.iter().map(Vec::as_slice));
        parts.extend([header.as_slice(), options.as_slice()]);
        let ptx = path.with_extension("ptx");
        check(&ptx, &path, &parts)?;
        let (code, ptx) = (path.display().to_string(), ptx.display().to_string());
        writeln!(
            generated,
            "    Fused {{ code: include_str!({code:?}), ptx: include_str!({ptx:?}) }},"
        )
        .map_err(|error| error.to_string())?;
    }
    let layout = folder.join("layout.ptx");
    check(&layout, &folder.join("handover.cuh"), &[&everything, &header, &options])?;
    let number = |name: &str| constant(&String::from_utf8_lossy(&header), &format!("pointwise_{name}"));
    writeln!(
        generated,
        "];\n/// Texels that a thread of a pointwise kernel makes, as `handover_pointwise.cuh` says.\n\
         pub const POINTWISE_TEXELS: [u32; 2] = [{}, {}];\n\
         /// Threads of a block of a pointwise kernel, where its description gives no others.\n\
         pub const POINTWISE_BLOCK: [u32; 2] = [{}, {}];",
        2 * number("pairs")?,
        number("rows")?,
        number("block_width")?,
        number("block_height")?
    )
    .map_err(|error| error.to_string())?;
    generated += "/// The headers that kernels may include, `handover.cuh` first: names and texts. A run-time compiler is given them under these\n\
                  /// names.\npub const HEADERS: &[(&str, &str)] = &[\n";
    for path in &header_paths {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        let path = path.display().to_string();
        writeln!(generated, "    ({name:?}, include_str!({path:?})),").map_err(|error| error.to_string())?;
    }
    writeln!(
        generated,
        "];\nconst OPTIONS: &str = include_str!({:?});\n\
         #[cfg(test)]\nconst LAYOUT_PTX: &str = include_str!({:?});",
        options_path.display().to_string(),
        layout.display().to_string()
    )
    .map_err(|error| error.to_string())?;
    let generated_path = Path::new(&out).join("kernels.rs");
    fs::write(&generated_path, generated).map_err(|error| format!("write {}: {error}", generated_path.display()))
}

/// The `.cu` files, by name.
fn sources(folder: &Path) -> Result<Vec<PathBuf>, String> {
    with_extension(folder, "cu")
}

fn with_extension(folder: &Path, wanted: &str) -> Result<Vec<PathBuf>, String> {
    let entries = fs::read_dir(folder).map_err(|error| format!("list {}: {error}", folder.display()))?;
    let mut paths: Vec<PathBuf> = entries
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == wanted))
        .collect();
    paths.sort();
    Ok(paths)
}

/// What a fused kernel includes besides the header, in its order.
fn included(folder: &Path, source: &[u8]) -> Result<Vec<Vec<u8>>, String> {
    let text = String::from_utf8_lossy(source);
    let names = text
        .lines()
        .filter_map(|line| line.strip_prefix("#include \"")?.strip_suffix('"'));
    let members = names.filter(|name| name.ends_with(".cu"));
    members.map(|name| read(&folder.join(name))).collect()
}

/// A number of the header: `constexpr int NAME = 1;`.
fn constant(header: &str, name: &str) -> Result<u32, String> {
    let start = format!("constexpr int {name} = ");
    let number = header
        .lines()
        .find_map(|line| line.strip_prefix(&start)?.strip_suffix(';'));
    let number = number
        .and_then(|number| number.parse().ok())
        .filter(|number| *number > 0);
    number.ok_or_else(|| format!("kernels/handover_pointwise.cuh: expected a line `{start}N;` with N above 0"))
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
            "{} is older than {}, a header or options.txt: {REFRESH}",
            ptx.display(),
            source.display()
        ));
    }
    Ok(())
}
