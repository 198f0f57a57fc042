//! Handover: one frame, handed back and forth between Vulkan and CUDA on the same GPU.

pub mod app;
pub mod cli;
pub mod cuda;
pub mod frame;
pub mod interop;
pub mod kernels;
pub mod present;
pub mod process;
pub mod renderer;
pub mod scene;
pub mod shaders;
pub mod timing;
pub mod vulkan;
