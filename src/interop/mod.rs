//! The hand-over between Vulkan and CUDA: shared images, shared timelines, matching of devices, handles that own.

mod device_match;

pub use device_match::uuid_text;
