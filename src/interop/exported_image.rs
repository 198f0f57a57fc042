//! An image with an exportable memory allocation of its own, which gpu-allocator cannot make.

use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use ash::vk;

use crate::vulkan::{COLOR, Device, ImageDescription, ResultExt, view_of};

use super::Error;

/// `VkImage` bound at offset 0 to its own dedicated `VkDeviceMemory`.
pub struct ExportedImage {
    /// The image.
    pub raw: vk::Image,
    /// A view of all of it.
    pub view: vk::ImageView,
    /// What it was made of.
    pub description: ImageDescription,
    /// The allocation's size in bytes: `VkMemoryRequirements::size`, which is what an import must be told.
    pub allocation_size: u64,
    memory: vk::DeviceMemory,
    device: Arc<Device>,
}

/// How the memory is handed over.
const HANDLE_TYPE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;

impl ExportedImage {
    /// Creates an image whose memory can be exported as an opaque fd.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the driver does not export such an image; no memory; a failed call.
    pub fn new(device: &Arc<Device>, description: ImageDescription, name: &str) -> Result<Self, Error> {
        check(device, &description)?;
        let what = || format!("create the shared image `{name}` ({})", description.text());
        let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(HANDLE_TYPE);
        let create_info = description.create_info().push_next(&mut external);
        // SAFETY: V3. From here `image` owns what was made; null handles are ignored when it drops.
        let raw = unsafe { device.raw.create_image(&create_info, None) }.during(what)?;
        let mut image = Self {
            raw,
            view: vk::ImageView::null(),
            description,
            allocation_size: 0,
            memory: vk::DeviceMemory::null(),
            device: Arc::clone(device),
        };
        // SAFETY: `raw` was just made.
        let requirements = unsafe { device.raw.get_image_memory_requirements(raw) };
        let memory_type = device
            .physical
            .memory_type(requirements.memory_type_bits, vk::MemoryPropertyFlags::DEVICE_LOCAL)
            .ok_or_else(|| unsupported(device, &description, "no memory type is DEVICE_LOCAL".into()))?;

        let mut export = vk::ExportMemoryAllocateInfo::default().handle_types(HANDLE_TYPE);
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().image(raw);
        let allocate_info = vk::MemoryAllocateInfo::default()
            .allocation_size(requirements.size)
            .memory_type_index(memory_type)
            .push_next(&mut dedicated)
            .push_next(&mut export);
        // SAFETY: V3; bound once, at offset 0, to memory of the image's own requirements.
        unsafe {
            image.memory = device.raw.allocate_memory(&allocate_info, None).during(what)?;
            device.raw.bind_image_memory(raw, image.memory, 0).during(what)?;
        }
        image.allocation_size = requirements.size;
        image.view = view_of(device, raw, description.format, COLOR, name)?;
        device.name(raw, name);
        device.name(image.memory, name);
        Ok(image)
    }

    /// Exports the memory. Each call makes a new descriptor, which is the caller's.
    ///
    /// # Errors
    /// The device does not export, or is out of descriptors.
    pub fn export(&self) -> Result<OwnedFd, Error> {
        let Some(functions) = &self.device.external_memory_fd else {
            let device = self.device.physical.name.clone();
            return Err(Error::NotExportable {
                device,
                extension: "VK_KHR_external_memory_fd",
            });
        };
        let info = vk::MemoryGetFdInfoKHR::default()
            .memory(self.memory)
            .handle_type(HANDLE_TYPE);
        // SAFETY: V3; the memory was allocated with this handle type.
        let fd = unsafe { functions.get_memory_fd(&info) }
            .during(|| format!("export the memory of a shared image ({})", self.description.text()))?;
        // SAFETY: Vulkan gives a new descriptor that nothing else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }
}

impl Drop for ExportedImage {
    fn drop(&mut self) {
        // SAFETY: V1, V2; null handles are ignored; freeing unmaps.
        unsafe {
            self.device.raw.destroy_image_view(self.view, None);
            self.device.raw.destroy_image(self.raw, None);
            self.device.raw.free_memory(self.memory, None);
        }
    }
}

fn unsupported(device: &Device, description: &ImageDescription, reason: String) -> Error {
    Error::Unsupported {
        device: device.physical.name.clone(),
        image: describe(description),
        reason,
    }
}

fn describe(description: &ImageDescription) -> String {
    format!("an OPTIMAL image {} for {:?}", description.text(), description.usage)
}

/// Asks the driver whether it makes and exports such an image of such an extent.
fn check(device: &Device, description: &ImageDescription) -> Result<(), Error> {
    let mut external_info = vk::PhysicalDeviceExternalImageFormatInfo::default().handle_type(HANDLE_TYPE);
    let info = vk::PhysicalDeviceImageFormatInfo2::default()
        .format(description.format)
        .ty(vk::ImageType::TYPE_2D)
        .tiling(vk::ImageTiling::OPTIMAL)
        .usage(description.usage)
        .push_next(&mut external_info);
    let mut external = vk::ExternalImageFormatProperties::default();
    let mut properties = vk::ImageFormatProperties2::default().push_next(&mut external);
    // SAFETY: V3.
    let result = unsafe {
        device
            .instance
            .raw
            .get_physical_device_image_format_properties2(device.physical.raw, &info, &mut properties)
    };
    if let Err(result) = result {
        return Err(unsupported(device, description, format!("the driver says {result}")));
    }
    let limit = properties.image_format_properties.max_extent;
    let extent = description.extent;
    if extent.width == 0 || extent.height == 0 || extent.width > limit.width || extent.height > limit.height {
        let reason = format!("each side must be from 1 to {} x {}", limit.width, limit.height);
        return Err(unsupported(device, description, reason));
    }
    let features = external.external_memory_properties.external_memory_features;
    if !features.contains(vk::ExternalMemoryFeatureFlags::EXPORTABLE) {
        let reason = "its memory cannot be exported as an opaque fd".into();
        return Err(unsupported(device, description, reason));
    }
    Ok(())
}
