//! Build step: every `shaders/*.wgsl`, and every folder in `shaders/`, becomes SPIR-V, checked by naga's validator.

use std::fmt::Write as _;
use std::path::Path;

use naga::back::spv;
use naga::proc::BoundsCheckPolicies;
use naga::valid::{Capabilities, ValidationFlags, Validator};

/// Shaders whose sums and products come out the same on every device, as their twins in CUDA and Rust compute them.
const EXACT: &[&str] = &["overlay"];

/// Compiles the folder and writes `shaders.rs`: one `pub static NAME: &[u32]` a file or folder.
pub fn build(out_dir: &Path) -> Result<(), String> {
    println!("cargo::rerun-if-changed=shaders");
    let mut generated = String::new();
    let mut paths: Vec<_> = std::fs::read_dir("shaders")
        .map_err(|error| format!("read shaders/: {error}"))?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|path| path.is_dir() || is_wgsl(path))
        .collect();
    paths.sort();
    for path in paths {
        println!("cargo::rerun-if-changed={}", path.display());
        let mut words = compile(&path)?;
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if EXACT.contains(&stem.as_ref()) {
            words = uncontracted(&words).ok_or_else(|| format!("{}: no SPIR-V", path.display()))?;
        }
        let name = stem.to_uppercase();
        writeln!(
            generated,
            "/// `{}`.\npub static {name}: &[u32] = &{words:?};",
            path.display()
        )
        .map_err(|error| error.to_string())?;
    }
    std::fs::write(out_dir.join("shaders.rs"), generated).map_err(|error| format!("write shaders.rs: {error}"))
}

fn is_wgsl(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "wgsl")
}

/// The text of a file, or of all files in a folder one after the other: WGSL does not mind in which order things are
/// declared. (naga then counts lines through all of them, in the order of their names.)
fn read(path: &Path) -> std::io::Result<String> {
    if !path.is_dir() {
        return std::fs::read_to_string(path);
    }
    println!("cargo::rerun-if-changed={}", path.display());
    let mut files: Vec<_> = std::fs::read_dir(path)?
        .filter_map(|entry| entry.ok().map(|entry| entry.path()))
        .filter(|file| is_wgsl(file))
        .collect();
    files.sort();
    files.iter().map(std::fs::read_to_string).collect()
}

fn compile(path: &Path) -> Result<Vec<u32>, String> {
    let name = path.display().to_string();
    let source = read(path).map_err(|error| format!("read {name}: {error}"))?;
    let module =
        naga::front::wgsl::parse_str(&source).map_err(|error| error.emit_to_string_with_path(&source, &name))?;
    let info = Validator::new(ValidationFlags::all(), Capabilities::IMMEDIATES)
        .validate(&module)
        .map_err(|error| error.emit_to_string_with_path(&source, &name))?;
    let options = spv::Options {
        // 1.3 is what Vulkan 1.1 and later take without an extension, and has subgroup operations.
        lang_version: (1, 3),
        // naga's defaults flip Y and clamp depth for WebGPU's conventions; ours are Vulkan's.
        flags: spv::WriterFlags::DEBUG,
        // Loops and indices are ours, not a web page's: no bounds are injected.
        force_loop_bounding: false,
        bounds_check_policies: BoundsCheckPolicies::default(),
        zero_initialize_workgroup_memory: spv::ZeroInitializeWorkgroupMemoryMode::None,
        ..Default::default()
    };
    spv::write_vec(&module, &info, &options, None).map_err(|error| format!("{name}: {error}"))
}

/// Words before the first instruction.
const HEADER: usize = 5;
const OP_DECORATE: u32 = 71;
/// The decoration `NoContraction`.
const NO_CONTRACTION: u32 = 42;
/// `OpFAdd`, `OpFSub`, `OpFMul`, `OpVectorTimesScalar`.
const CONTRACTABLE: [u32; 4] = [129, 131, 133, 142];

/// The module with `NoContraction` on every sum and product: none is fused with another, so each is rounded by itself. (naga has no
/// words for it.) `None`: that is no module.
fn uncontracted(words: &[u32]) -> Option<Vec<u32>> {
    let (mut at, mut first_decoration, mut decorations) = (HEADER, None, Vec::new());
    while at < words.len() {
        let (length, code) = (words[at] >> 16, words[at] & 0xffff);
        if code == OP_DECORATE {
            first_decoration.get_or_insert(at);
        }
        if CONTRACTABLE.contains(&code) {
            // The type, then the result.
            decorations.extend([3 << 16 | OP_DECORATE, *words.get(at + 2)?, NO_CONTRACTION]);
        }
        if length == 0 {
            return None;
        }
        at += length as usize;
    }
    let (before, after) = words.split_at(first_decoration?);
    Some([before, &decorations, after].concat())
}
