//! Images that stay in Vulkan: attachments, textures, the screen image. (Shared images are in `interop`.)

use std::mem::ManuallyDrop;
use std::sync::Arc;

use ash::vk;
use gpu_allocator::MemoryLocation;
use gpu_allocator::vulkan::{Allocation, AllocationCreateDesc, AllocationScheme};

use super::{Device, Error, ResultExt};

/// The whole of a single-level colour image.
pub const COLOR: vk::ImageSubresourceRange = range(vk::ImageAspectFlags::COLOR);
/// The whole of a single-level depth image.
pub const DEPTH: vk::ImageSubresourceRange = range(vk::ImageAspectFlags::DEPTH);

const fn range(aspect_mask: vk::ImageAspectFlags) -> vk::ImageSubresourceRange {
    vk::ImageSubresourceRange {
        aspect_mask,
        base_mip_level: 0,
        level_count: 1,
        base_array_layer: 0,
        layer_count: 1,
    }
}

/// What an image is made of: 2-D, one level, one layer, one sample.
#[derive(Debug, Clone, Copy)]
pub struct ImageDescription {
    /// Texels across and down.
    pub extent: vk::Extent2D,
    /// Texel format.
    pub format: vk::Format,
    /// What it will be used for.
    pub usage: vk::ImageUsageFlags,
}

impl ImageDescription {
    /// The create info of such an image.
    pub fn create_info(&self) -> vk::ImageCreateInfo<'static> {
        vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(self.format)
            .extent(self.extent.into())
            .mip_levels(1)
            .array_layers(1)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(self.usage)
            .sharing_mode(vk::SharingMode::EXCLUSIVE)
            .initial_layout(vk::ImageLayout::UNDEFINED)
    }

    /// For messages: `1920x1080 R16G16B16A16_SFLOAT`.
    pub fn text(&self) -> String {
        format!("{}x{} {:?}", self.extent.width, self.extent.height, self.format)
    }
}

/// Creates the view of a whole single-level image.
///
/// # Errors
/// A failed call.
pub fn view_of(
    device: &Device,
    image: vk::Image,
    format: vk::Format,
    range: vk::ImageSubresourceRange,
    name: &str,
) -> Result<vk::ImageView, Error> {
    let create_info = vk::ImageViewCreateInfo::default()
        .image(image)
        .view_type(vk::ImageViewType::TYPE_2D)
        .format(format)
        .subresource_range(range);
    // SAFETY: V3; the image is the caller's and alive.
    let view = unsafe { device.raw.create_image_view(&create_info, None) }
        .during(|| format!("create a view of the image `{name}`"))?;
    device.name(view, name);
    Ok(view)
}

/// `VkImage` with its memory and a view of all of it.
pub struct Image {
    /// The raw handle.
    pub raw: vk::Image,
    /// A view of the whole image.
    pub view: vk::ImageView,
    /// What it was made of.
    pub description: ImageDescription,
    allocation: ManuallyDrop<Allocation>,
    device: Arc<Device>,
}

impl Image {
    /// Creates the image in device memory.
    ///
    /// # Errors
    /// No memory, or a failed call.
    pub fn new(device: &Arc<Device>, description: ImageDescription, name: &str) -> Result<Self, Error> {
        let what = || format!("create the image `{name}` ({})", description.text());
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_image(&description.create_info(), None) }.during(what)?;
        // SAFETY: `raw` was just made.
        let requirements = unsafe { device.raw.get_image_memory_requirements(raw) };
        let allocation = device.allocator().allocate(&AllocationCreateDesc {
            name,
            requirements,
            location: MemoryLocation::GpuOnly,
            linear: false,
            allocation_scheme: AllocationScheme::GpuAllocatorManaged,
        });
        let allocation = match allocation {
            Ok(allocation) => allocation,
            Err(source) => {
                // SAFETY: made above and never used.
                unsafe { device.raw.destroy_image(raw, None) };
                return Err(Error::Allocation { what: what(), source });
            }
        };
        device.name(raw, name);
        let mut image = Self {
            raw,
            view: vk::ImageView::null(),
            description,
            allocation: ManuallyDrop::new(allocation),
            device: Arc::clone(device),
        };
        // SAFETY: the memory was allocated for this image's requirements and is bound once. From here `image` owns both.
        unsafe {
            device
                .raw
                .bind_image_memory(raw, image.allocation.memory(), image.allocation.offset())
        }
        .during(what)?;
        let depth = description
            .usage
            .contains(vk::ImageUsageFlags::DEPTH_STENCIL_ATTACHMENT);
        image.view = view_of(device, raw, description.format, if depth { DEPTH } else { COLOR }, name)?;
        Ok(image)
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: V1, V2; a null view is ignored; the allocation is taken once, here.
        unsafe {
            self.device.raw.destroy_image_view(self.view, None);
            self.device.raw.destroy_image(self.raw, None);
            let allocation = ManuallyDrop::take(&mut self.allocation);
            if let Err(error) = self.device.allocator().free(allocation) {
                tracing::warn!("free the memory of an image: {error}");
            }
        }
    }
}
