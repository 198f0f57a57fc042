//! The hand-over between Vulkan and CUDA: shared images, shared timelines, matching of devices, handles that own.
//!
//! Everything goes by opaque file descriptors, in either direction:
//!
//! ```text
//! Vulkan  image ── memory ──vkGetMemoryFdKHR──▶ fd ──cuImportExternalMemory──▶ mipmapped array ─▶ level 0 ─▶ surface, texture
//! Vulkan  timeline ────vkGetSemaphoreFdKHR────▶ fd ──cuImportExternalSemaphore──▶ wait, signal on a stream
//! CUDA    cuMemCreate ─cuMemExportToShareableHandle─▶ fd ──VkImportMemoryFdInfoKHR──▶ buffer, LINEAR image
//! ```
//!
//! **Who owns a descriptor.** A [`MemoryHandle`], [`TimelineHandle`] or [`BinaryHandle`] does, until an import succeeds;
//! from then on it is the importer's. When the import fails it is dropped, and so closed, by us.
//!
//! **Teardown.** What CUDA made of an object goes first, then what Vulkan made: the fields of [`SharedImage`] and
//! [`SharedTimeline`] are in that order. Owners drop them only when both sides have reached the last frame.
//!
//! SAFETY comments here rely on the rules V1 to V4 of [`crate::vulkan`] and C1 to C4 of [`crate::cuda`].

mod clock_proof;
mod cuda_allocation;
mod descriptor_passing;
mod descriptors;
mod device_match;
mod error;
mod exported_image;
mod external_memory;
mod external_semaphore;
mod format;
mod handle;
mod imported_memory;
mod shared_binary_semaphore;
mod shared_image;
mod shared_memory;
mod shared_timeline;
mod visible_devices;

pub use clock_proof::prove_clock;
pub use cuda_allocation::CudaAllocation;
pub use descriptor_passing::{receive_descriptors, send_descriptors};
pub use descriptors::open_descriptors;
pub use device_match::DeviceMatch;
pub use error::Error;
pub use exported_image::{ExportedImage, SharedImageDescription};
pub use format::SharedFormat;
pub use handle::{BinaryHandle, MemoryHandle, TimelineHandle};
pub use imported_memory::{ImportedBuffer, LinearImage};
pub use shared_binary_semaphore::{Armed, Idle, SharedBinarySemaphore};
pub use shared_image::{ImportedImage, SharedImage};
pub use shared_memory::{SharedBuffer, SharedMemory};
pub use shared_timeline::SharedTimeline;
pub use visible_devices::{VisibleDevices, uuid_text};
