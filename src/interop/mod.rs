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
//! # Where to start
//!
//! A program opens one GPU in both APIs, shares something, and hands it over. All of it:
//!
//! ```no_run
//! use handover::cuda::{Driver, Module, compile, launch};
//! use handover::interop::{DeviceMatch, SharedMemory, SharedTimeline, VisibleDevices};
//! use handover::vulkan::{CommandPool, Device, DeviceRequest, Instance, InstanceRequest, Timeline};
//! use handover::vulkan::{ownership::release_to_external, transfer::fill, vk};
//!
//! const PRINT: &str = r#"extern "C" __global__ void print(unsigned* word) { printf("CUDA sees %u\n", *word); }"#;
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // One GPU, in both APIs.
//!     let (driver, instance) = (Driver::load()?, Instance::new(&InstanceRequest::default())?);
//!     let request = DeviceRequest { export: true, ..DeviceRequest::default() };
//!     let gpu = DeviceMatch::find(VisibleDevices::new(&instance, &driver)?, None, &request)?;
//!     let device = Device::new(&instance, gpu.vulkan, &request)?;
//!     let context = driver.context(&gpu.cuda)?;
//!     let stream = context.new_stream()?;
//!     let print = Module::load(&context, &compile("print.cu", PRINT, (7, 5), &[])?, "print")?.function("print")?;
//!
//!     // Memory that both see, and a timeline that Vulkan signals and CUDA waits for.
//!     let memory = SharedMemory::new(&device, &context, 4, vk::BufferUsageFlags::TRANSFER_DST, "word")?;
//!     let word = memory.buffer(0, 4, "word")?;
//!     let written = Timeline::new(&device, "written", true)?;
//!     let written_for_cuda = SharedTimeline::import(&device, &context, &written)?;
//!
//!     // Vulkan writes, gives the buffer to the other API, and signals 1.
//!     let (queue, pool) = (device.scene_queue, CommandPool::new(&device, device.scene_queue, "write")?);
//!     let commands = pool.begin()?;
//!     fill(&device, commands, word.raw, 0..4, 42);
//!     release_to_external(&device, commands, queue.family, &[], &[word.raw]);
//!     pool.end()?;
//!     device.submit(queue, pool.commands, &[], &[written.at(1)])?;
//!
//!     // CUDA waits for 1 on the GPU, then runs the kernel.
//!     written_for_cuda.wait(&stream, 1)?;
//!     // SAFETY: the kernel takes one address, of a buffer that lives until the stream has ended.
//!     unsafe { launch(&stream, &print, [1, 1], [1, 1], &[&word.address.to_ne_bytes()]) }?;
//!     stream.synchronize()?;
//!     Ok(device.wait_idle()?)
//! }
//! ```
//!
//! [`Pair::open`](crate::proof::Pair::open) is the part that opens, and [`Pair::round_trip`](crate::proof::Pair::round_trip)
//! the hand-over, there and back: the examples of the types below begin with them. `docs/interop.md` goes through the CUDA
//! guide's chapter section by section; each file of `examples/` proves what it shows.
//!
//! | to share | use |
//! |---|---|
//! | an image of Vulkan's | [`SharedImage`], in two processes [`ExportedImage`] and [`ImportedImage`] |
//! | buffers of Vulkan's | [`SharedMemory`] and the [`SharedBuffer`]s in it |
//! | memory of CUDA's | [`CudaAllocation`], and of it [`ImportedBuffer`] or [`LinearImage`] |
//! | the order of work | [`SharedTimeline`]; where it must be, [`SharedBinarySemaphore`] |
//! | any of them with another process | [`MemoryHandle`], [`TimelineHandle`], [`BinaryHandle`], [`send_descriptors`] |
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
#[cfg(feature = "gl")]
pub mod gl;
mod handle;
mod imported_binary_semaphore;
mod imported_memory;
mod shared_binary_semaphore;
mod shared_image;
mod shared_image_description;
mod shared_memory;
mod shared_timeline;
mod visible_devices;

pub use clock_proof::{hand_over_rounds, prove_clock};
pub use cuda_allocation::CudaAllocation;
pub use descriptor_passing::{receive_descriptors, send_descriptors};
pub use descriptors::open_descriptors;
pub use device_match::DeviceMatch;
pub use error::Error;
pub use exported_image::ExportedImage;
pub use format::SharedFormat;
pub use handle::{BinaryHandle, MemoryHandle, TimelineHandle};
pub use imported_binary_semaphore::ImportedBinarySemaphore;
pub use imported_memory::{ImportedBuffer, LinearImage};
pub use shared_binary_semaphore::{Armed, Idle, SharedBinarySemaphore};
pub use shared_image::{ImportedImage, SharedImage};
pub use shared_image_description::SharedImageDescription;
pub use shared_memory::{SharedBuffer, SharedMemory};
pub use shared_timeline::SharedTimeline;
pub use visible_devices::{VisibleDevices, uuid_text};
