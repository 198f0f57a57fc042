//! Handover: one frame, handed back and forth between Vulkan and CUDA on the same GPU.

pub mod app;
pub mod interop;
pub mod present;
pub mod scene;
pub mod shaders;
pub mod vulkan;
