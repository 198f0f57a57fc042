//! Makes SPIR-V of the shaders and embeds the kernels.

use std::path::PathBuf;

#[path = "build/kernels.rs"]
mod kernels;
#[path = "build/shaders.rs"]
mod shaders;

fn main() {
    println!("cargo::rerun-if-changed=build");
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    for result in [shaders::build(&out_dir), kernels::embed()] {
        for line in result.err().iter().flat_map(|message| message.lines()) {
            println!("cargo::error={line}");
        }
    }
}
