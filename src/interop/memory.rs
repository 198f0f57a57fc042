//! An image with a memory allocation of its own: gpu-allocator can neither export nor promise a mapping of an image.

use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use ash::vk;

use crate::vulkan::{COLOR, Device, ImageDescription, ResultExt, view_of};

use super::Error;

/// `VkImage` bound at offset 0 to its own dedicated `VkDeviceMemory`.
pub struct DedicatedImage {
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

impl DedicatedImage {
    /// Creates an image whose memory can be exported as an opaque fd.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the driver does not export such an image; no memory; a failed call.
    pub fn exportable(device: &Arc<Device>, description: ImageDescription, name: &str) -> Result<Self, Error> {
        check_exportable(device, &description)?;
        let flags = vk::MemoryPropertyFlags::DEVICE_LOCAL;
        Self::new(
            device,
            description,
            name,
            Some(vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD),
            &[flags],
        )
    }

    /// Creates a LINEAR image in memory that the host maps, cached where there is such memory.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the device has no such images; no memory; a failed call.
    pub fn host_visible(device: &Arc<Device>, description: ImageDescription, name: &str) -> Result<Self, Error> {
        check_format(device, &description, None)?;
        let coherent = vk::MemoryPropertyFlags::HOST_VISIBLE | vk::MemoryPropertyFlags::HOST_COHERENT;
        let preferences = [coherent | vk::MemoryPropertyFlags::HOST_CACHED, coherent];
        Self::new(device, description, name, None, &preferences)
    }

    fn new(
        device: &Arc<Device>,
        description: ImageDescription,
        name: &str,
        export: Option<vk::ExternalMemoryHandleTypeFlags>,
        preferences: &[vk::MemoryPropertyFlags],
    ) -> Result<Self, Error> {
        let what = || format!("create the shared image `{name}` ({})", description.text());
        let handle_types = export.unwrap_or_default();
        let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(handle_types);
        let mut create_info = description.create_info();
        if export.is_some() {
            create_info = create_info.push_next(&mut external);
        }
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
        let memory_type = preferences
            .iter()
            .find_map(|flags| device.physical.memory_type(requirements.memory_type_bits, *flags))
            .ok_or_else(|| unsupported(device, &description, format!("no memory type is {:?}", preferences)))?;

        let mut export_info = vk::ExportMemoryAllocateInfo::default().handle_types(handle_types);
        let mut dedicated = vk::MemoryDedicatedAllocateInfo::default().image(raw);
        let mut allocate_info = vk::MemoryAllocateInfo::default()
            .allocation_size(requirements.size)
            .memory_type_index(memory_type)
            .push_next(&mut dedicated);
        if export.is_some() {
            allocate_info = allocate_info.push_next(&mut export_info);
        }
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
            .handle_type(vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD);
        // SAFETY: V3; the memory was allocated with this handle type.
        let fd = unsafe { functions.get_memory_fd(&info) }
            .during(|| format!("export the memory of a shared image ({})", self.description.text()))?;
        // SAFETY: Vulkan gives a new descriptor that nothing else owns.
        Ok(unsafe { OwnedFd::from_raw_fd(fd) })
    }

    /// Maps the whole allocation until the image drops: the address of texel (0, 0), and the bytes from row to row.
    ///
    /// # Errors
    /// The memory cannot be mapped.
    pub fn map(&self) -> Result<(*mut u8, usize), Error> {
        let subresource = vk::ImageSubresource::default().aspect_mask(vk::ImageAspectFlags::COLOR);
        // SAFETY: the image is LINEAR and alive; its memory is HOST_VISIBLE and not mapped yet.
        unsafe {
            let layout = self.device.raw.get_image_subresource_layout(self.raw, subresource);
            let start = self
                .device
                .raw
                .map_memory(self.memory, 0, vk::WHOLE_SIZE, vk::MemoryMapFlags::empty())
                .during(|| format!("map a shared image ({})", self.description.text()))?;
            Ok((
                start.cast::<u8>().add(layout.offset as usize),
                layout.row_pitch as usize,
            ))
        }
    }
}

impl Drop for DedicatedImage {
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
    format!(
        "a {:?} image {} for {:?}",
        description.tiling,
        description.text(),
        description.usage
    )
}

fn check_exportable(device: &Device, description: &ImageDescription) -> Result<(), Error> {
    let features = check_format(device, description, Some(vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD))?;
    if features.contains(vk::ExternalMemoryFeatureFlags::EXPORTABLE) {
        Ok(())
    } else {
        Err(unsupported(
            device,
            description,
            "its memory cannot be exported as an opaque fd".into(),
        ))
    }
}

/// Asks the driver whether it makes such an image of such an extent, and what external memory can do with it.
fn check_format(
    device: &Device,
    description: &ImageDescription,
    handle_type: Option<vk::ExternalMemoryHandleTypeFlags>,
) -> Result<vk::ExternalMemoryFeatureFlags, Error> {
    let mut external_info =
        vk::PhysicalDeviceExternalImageFormatInfo::default().handle_type(handle_type.unwrap_or_default());
    let mut info = vk::PhysicalDeviceImageFormatInfo2::default()
        .format(description.format)
        .ty(vk::ImageType::TYPE_2D)
        .tiling(description.tiling)
        .usage(description.usage);
    if handle_type.is_some() {
        info = info.push_next(&mut external_info);
    }
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
    Ok(external.external_memory_properties.external_memory_features)
}
