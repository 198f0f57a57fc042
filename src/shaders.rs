//! SPIR-V of `shaders/*.wgsl`, one static a file, made by the build script.

include!(concat!(env!("OUT_DIR"), "/shaders.rs"));
