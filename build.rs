//! Build script: embeds the kernels.
#[path = "build/kernels.rs"]
mod kernels;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if let Err(message) = kernels::embed() {
        println!("cargo::error={message}");
    }
}
