//! The hand-over between Vulkan and CUDA: shared images, shared timelines, matching of devices, handles that own.
//!
//! Vulkan allocates and exports, CUDA imports. Everything goes by opaque file descriptors:
//!
//! ```text
//! Vulkan  image ── memory ──vkGetMemoryFdKHR──▶ fd ──cuImportExternalMemory──▶ mipmapped array ─▶ level 0 ─▶ surface, texture
//! Vulkan  timeline ────vkGetSemaphoreFdKHR────▶ fd ──cuImportExternalSemaphore──▶ wait, signal on a stream
//! ```
//!
//! **Who owns a descriptor.** An [`OwnedFd`](std::os::fd::OwnedFd) until CUDA's import succeeds; from then on it is
//! CUDA's. When the import fails it is dropped, and so closed, by us.
//!
//! **Teardown.** What CUDA made of an object goes first, then what Vulkan made: the fields of [`SharedImage`] and
//! [`SharedTimeline`] are in that order. Owners drop them only when both sides have reached the last frame.
//!
//! SAFETY comments here rely on the rules V1 to V4 of [`crate::vulkan`] and C1 to C4 of [`crate::cuda`].

mod clock_proof;
mod descriptors;
mod device_match;
mod error;
mod exported_image;
mod format;
mod shared_image;
mod shared_timeline;

pub use clock_proof::prove_clock;
pub use descriptors::open_descriptors;
pub use device_match::{Candidate, choose_device, uuid_text};
pub use error::Error;
pub use exported_image::ExportedImage;
pub use format::SharedFormat;
pub use shared_image::SharedImage;
pub use shared_timeline::SharedTimeline;
