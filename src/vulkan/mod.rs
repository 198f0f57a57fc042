//! Vulkan objects that own themselves: one noun a file. Nothing here knows what a frame or a kernel chain is.
//!
//! Rules that the SAFETY comments of this folder rely on:
//!
//! * **V1** Every object keeps an [`Arc`](std::sync::Arc) of the [`Device`] it was made from, so the device outlives it.
//! * **V2** An object is dropped only when the GPU no longer uses it: owners wait for the last frame before they drop.
//! * **V3** Create-info structures live on the caller's stack until the call returns, and Vulkan keeps none of them.
//! * **V4** Handles are made and destroyed in this folder only, once each.

pub mod barrier;
mod buffer;
mod calibration;
mod command;
mod device;
mod error;
mod graphics_pipeline;
mod image;
mod instance;
pub mod kernel_barrier;
mod memory;
pub mod ownership;
mod physical;
mod pipeline;
mod pipeline_cache;
mod query;
mod queue_module;
mod rendering;
mod semaphore;
mod shader;
mod surface;
mod swapchain;
pub mod transfer;
mod validation;

pub use ash::vk;
pub use buffer::{Buffer, BufferMemory};
pub use calibration::{Calibration, host_ns};
pub use command::CommandPool;
pub use device::{Device, DeviceRequest, Queue};
pub use error::{Error, ResultExt};
pub use graphics_pipeline::{GraphicsPipeline, GraphicsPipelineDescription};
pub use image::{COLOR, DEPTH, Image, ImageDescription, view_of};
pub use instance::{Instance, InstanceRequest};
pub use physical::{Luid, PhysicalDevice, QueueFamily};
pub use pipeline::{ComputePipeline, DescriptorSets, PipelineLayout, Sampler};
pub use query::{Stamps, TimestampPool};
pub use queue_module::{QueueFunction, QueueModule, surface_of, texture_of};
pub use rendering::{ColorAttachment, DepthAttachment, MeshRange, Rendering};
pub use semaphore::{BinarySemaphore, Timeline, TimelineWait};
pub use shader::ShaderModule;
pub use surface::Surface;
pub use swapchain::{Swapchain, SwapchainAcquire, SwapchainDescription, SwapchainPresent};
pub use validation::{ValidationCounts, ValidationLog};
