//! A chain that ends in the screen image, on the host: the image of a slot, and its texels in mapped memory.

use std::sync::{Arc, Mutex, PoisonError};

use ash::vk;

use crate::kernels::SrgbTable;
use crate::overlay::DrawList;
use crate::vulkan::barrier::{Barriers, host_to_transfer};
use crate::vulkan::transfer::copy_from_buffer;
use crate::vulkan::{Buffer, BufferMemory, Device, Error, Image, ImageDescription, host_ns};

/// A slot's screen image.
pub(super) struct HostScreen {
    pub image: Image,
    pub texels: Arc<ScreenTexels>,
}

/// Its texels: the thread's between `rendered` and `processed`, Vulkan's otherwise.
pub(super) struct ScreenTexels {
    buffer: Mutex<Buffer>,
    /// The handle, for recording: to take the lock for it would wait for a chain that is under way.
    raw: vk::Buffer,
    extent: [u32; 2],
}

impl HostScreen {
    /// Creates image and texels.
    ///
    /// # Errors
    /// No memory.
    pub fn new(device: &Arc<Device>, [width, height]: [u32; 2], slot: usize) -> Result<Self, Error> {
        let description = ImageDescription {
            extent: vk::Extent2D { width, height },
            format: vk::Format::R8G8B8A8_UNORM,
            // Only copied; but every image has a view, which copies alone do not allow.
            usage: vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST | vk::ImageUsageFlags::SAMPLED,
        };
        let name = format!("screen of slot {slot}");
        let image = Image::new(device, description, &name)?;
        let bytes = u64::from(width) * u64::from(height) * 4;
        // The overlay reads what it is drawn over: memory to upload from may be slow to read.
        let (usage, memory) = (vk::BufferUsageFlags::TRANSFER_SRC, BufferMemory::ReadBack);
        let buffer = Buffer::new(device, bytes, usage, memory, &format!("texels of the {name}"))?;
        let texels = ScreenTexels {
            raw: buffer.raw,
            buffer: Mutex::new(buffer),
            extent: [width, height],
        };
        Ok(Self {
            image,
            texels: Arc::new(texels),
        })
    }

    /// Records the copy of the texels to the image, which is then in TRANSFER_SRC_OPTIMAL.
    pub fn record_acquire(&self, device: &Device, commands: vk::CommandBuffer) {
        let image = &self.image;
        host_to_transfer(device, commands);
        Barriers::new().discard_for_transfer(image.raw).record(device, commands);
        copy_from_buffer(device, commands, self.texels.raw, image);
        Barriers::new().copied_to_source(image.raw).record(device, commands);
    }
}

impl ScreenTexels {
    /// Makes them of the rows of `processed`, and draws the list over them; gives when it began to draw that, and when it had.
    pub fn fill(&self, processed: &[u8], list: Option<&Arc<DrawList>>) -> Option<[u64; 2]> {
        // A panic leaves bytes behind.
        let mut buffer = self.buffer.lock().unwrap_or_else(PoisonError::into_inner);
        SrgbTable::get().encode(processed, buffer.bytes_mut());
        let list = list?;
        let start = host_ns();
        list.draw_over(buffer.bytes_mut(), self.extent);
        Some([start, host_ns()])
    }
}
