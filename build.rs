//! Makes SPIR-V of the shaders.

use std::path::PathBuf;

#[path = "build/shaders.rs"]
mod shaders;

fn main() {
    println!("cargo::rerun-if-changed=build");
    let out_dir = PathBuf::from(std::env::var_os("OUT_DIR").unwrap_or_default());
    if let Err(message) = shaders::build(&out_dir) {
        for line in message.lines() {
            println!("cargo::error={line}");
        }
    }
}
