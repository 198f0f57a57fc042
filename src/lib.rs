//! Handover: one frame, handed back and forth between Vulkan and CUDA on the same GPU.

pub mod kernels;
