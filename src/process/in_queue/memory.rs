//! A chain's images and buffers in Vulkan memory, as kernels in a queue find them.

use std::sync::Arc;

use ash::vk;

use crate::kernels::{self, Memory, TexelFormat};
use crate::vulkan::kernel_barrier::{clear_general, make_general, to_kernels};
use crate::vulkan::transfer::fill;
use crate::vulkan::{Buffer, BufferMemory, Device, Image, ImageDescription, Sampler, surface_of, texture_of, transfer};

use super::super::Error;

/// An image with its handles. It stays in GENERAL once its first frame was recorded.
pub(in crate::process) struct QueueImage {
    pub vulkan: Image,
    /// Surface, texture, extent.
    pub view: kernels::Image,
}

/// A buffer with its address.
pub(in crate::process) struct QueueBuffer {
    pub vulkan: Buffer,
    /// Address and length.
    pub view: kernels::Buffer,
}

/// Allocates in a device.
pub(in crate::process) struct QueueMemory {
    /// What is new since commands were recorded last.
    fresh: Fresh,
    /// New images and buffers are filled with a value that no effect makes: what was not written shows.
    is_poisoned: bool,
    /// As textures read: see [`kernels::Image::texture`].
    sampler: Sampler,
    device: Arc<Device>,
}

/// What must be made ready before the next chain.
#[derive(Default)]
struct Fresh {
    images: Vec<vk::Image>,
    /// Only where they are filled: a buffer, and its bytes.
    buffers: Vec<(vk::Buffer, u64)>,
    /// Copies of whole buffers: from, to, bytes.
    uploads: Vec<(vk::Buffer, vk::Buffer, u64)>,
}

/// Every half and every float of these is NaN.
const POISON_WORD: u32 = u32::MAX;

const BUFFER_USAGE: vk::BufferUsageFlags = vk::BufferUsageFlags::from_raw(
    vk::BufferUsageFlags::STORAGE_BUFFER.as_raw()
        | vk::BufferUsageFlags::SHADER_DEVICE_ADDRESS.as_raw()
        | vk::BufferUsageFlags::TRANSFER_DST.as_raw(),
);

/// What kernels and transfers do with images.
const IMAGE_USAGE: vk::ImageUsageFlags = vk::ImageUsageFlags::from_raw(
    vk::ImageUsageFlags::STORAGE.as_raw()
        | vk::ImageUsageFlags::SAMPLED.as_raw()
        | vk::ImageUsageFlags::TRANSFER_SRC.as_raw()
        | vk::ImageUsageFlags::TRANSFER_DST.as_raw(),
);

impl QueueMemory {
    pub fn new(device: &Arc<Device>, is_poisoned: bool) -> Result<Self, Error> {
        let clamp = vk::SamplerAddressMode::CLAMP_TO_EDGE;
        // The objects that CUDA makes for the same kernels: linear, clamped, normalized coordinates, one level.
        let create_info = vk::SamplerCreateInfo::default()
            .mag_filter(vk::Filter::LINEAR)
            .min_filter(vk::Filter::LINEAR)
            .mipmap_mode(vk::SamplerMipmapMode::NEAREST)
            .address_mode_u(clamp)
            .address_mode_v(clamp)
            .address_mode_w(clamp);
        Ok(Self {
            fresh: Fresh::default(),
            is_poisoned,
            sampler: Sampler::new(device, &create_info, "kernels' textures")?,
            device: Arc::clone(device),
        })
    }

    /// An image for a slot, or of the chain's own; `usage` is added to what kernels need.
    pub fn new_image(
        &mut self,
        [width, height]: [u32; 2],
        format: vk::Format,
        usage: vk::ImageUsageFlags,
        name: &str,
    ) -> Result<QueueImage, Error> {
        let description = ImageDescription {
            extent: vk::Extent2D { width, height },
            format,
            usage: usage | IMAGE_USAGE,
        };
        let vulkan = Image::new(&self.device, description, name)?;
        let view = kernels::Image {
            surface: surface_of(&self.device, vulkan.view)?,
            texture: texture_of(&self.device, vulkan.view, self.sampler.raw)?,
            extent: [width, height],
        };
        self.fresh.images.push(vulkan.raw);
        Ok(QueueImage { vulkan, view })
    }

    fn new_buffer(&self, bytes: u64, name: &str) -> Result<QueueBuffer, Error> {
        // vkCmdFillBuffer writes words.
        let size = bytes.next_multiple_of(4).max(4);
        let vulkan = Buffer::new(&self.device, size, BUFFER_USAGE, BufferMemory::Device, name)?;
        let view = kernels::Buffer {
            bytes: vulkan.address(),
            size: bytes,
        };
        Ok(QueueBuffer { vulkan, view })
    }

    /// A buffer that holds `content` from the next chain on, which copies it from the other: that lives until this chain's frame has
    /// retired.
    pub fn upload(&mut self, content: &[u8], name: &str) -> Result<(QueueBuffer, Buffer), Error> {
        let buffer = self.new_buffer(content.len() as u64, name)?;
        let usage = vk::BufferUsageFlags::TRANSFER_SRC;
        let mut staging = Buffer::new(&self.device, buffer.vulkan.size, usage, BufferMemory::Upload, "staging")?;
        staging.bytes_mut()[..content.len()].copy_from_slice(content);
        self.fresh
            .uploads
            .push((staging.raw, buffer.vulkan.raw, buffer.vulkan.size));
        Ok((buffer, staging))
    }

    /// Records what makes everything new ready for kernels; nothing where there is nothing new.
    pub fn record_fresh(&mut self, commands: vk::CommandBuffer) {
        let Fresh {
            images,
            buffers,
            uploads,
        } = std::mem::take(&mut self.fresh);
        let device = &self.device;
        if !images.is_empty() {
            make_general(device, commands, &images);
        }
        if self.is_poisoned {
            for image in &images {
                clear_general(device, commands, *image, f32::NAN);
            }
        }
        for (buffer, bytes) in &buffers {
            fill(device, commands, *buffer, 0..*bytes, POISON_WORD);
        }
        for (from, to, bytes) in &uploads {
            transfer::copy_buffer(device, commands, (*from, 0), (*to, 0), *bytes);
        }
        // The change of layout is a barrier itself.
        if !(buffers.is_empty() && uploads.is_empty()) || (self.is_poisoned && !images.is_empty()) {
            to_kernels(device, commands);
        }
    }

    /// What was to be made ready is gone.
    pub fn forget_fresh(&mut self) {
        self.fresh = Fresh::default();
    }
}

impl Memory for QueueMemory {
    type Image = QueueImage;
    type Buffer = QueueBuffer;
    type Error = Error;

    fn image(&mut self, extent: [u32; 2], format: TexelFormat) -> Result<QueueImage, Error> {
        let format = match format {
            TexelFormat::Rgba16f => vk::Format::R16G16B16A16_SFLOAT,
            TexelFormat::Rgba32f => vk::Format::R32G32B32A32_SFLOAT,
        };
        self.new_image(extent, format, vk::ImageUsageFlags::empty(), "an image of the chain's")
    }

    fn buffer(&mut self, bytes: u64) -> Result<QueueBuffer, Error> {
        let buffer = self.new_buffer(bytes, "a buffer of the chain's")?;
        if self.is_poisoned {
            self.fresh.buffers.push((buffer.vulkan.raw, buffer.vulkan.size));
        }
        Ok(buffer)
    }
}
