//! An image with an exportable memory allocation of its own, which gpu-allocator cannot make.

use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use ash::vk;

use crate::vulkan::{Device, ResultExt};

use super::handle::MemoryHandle;
use super::shared_image_description::full_chain;
use super::{Error, SharedImageDescription};

/// Vulkan's side of a shared image: a `VkImage` bound at offset 0 to its own dedicated, exportable `VkDeviceMemory`. (CUDA guide,
/// 4.19.2.1.3.)
///
/// [`SharedImage`](super::SharedImage) has one. By itself it is for a process that hands the image to another one.
///
/// **Owner.** It owns image, view and memory. What was exported of it stays valid after it is dropped, for memory lives as long
/// as anybody holds it; but the image that gives the memory its meaning is gone. Drop it when the GPU has done its last use.
///
/// **Errors.** [`Error::Unsupported`] with the limits; [`Error::NotExportable`] on a device created without `export`.
///
/// ```no_run
/// use handover::interop::{ExportedImage, SharedFormat, SharedImageDescription, open_descriptors};
/// use handover::proof::Pair;
/// use handover::vulkan::vk;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let extent = vk::Extent2D { width: 256, height: 128 };
///     let description = SharedImageDescription::new(SharedFormat::R32Float, extent, vk::ImageUsageFlags::STORAGE);
///     let image = ExportedImage::new(&pair.device, description, "depth")?;
///     let handle = image.export()?;
///     println!("{}: {} bytes", description.text(), handle.size());
///     assert!(handle.is_dedicated());
///     let before = open_descriptors()?;
///     let another = image.export()?; // A descriptor of its own each time.
///     assert_eq!(open_descriptors()?, before + 1);
///     drop(another); // Nobody imported it: it closes its descriptor.
///     assert_eq!(open_descriptors()?, before);
///     Ok(())
/// }
/// ```
pub struct ExportedImage {
    /// The image.
    pub raw: vk::Image,
    /// A view of all of it: 2D, or 2D_ARRAY where it has several layers.
    pub view: vk::ImageView,
    /// What it was made of.
    pub description: SharedImageDescription,
    allocation_size: u64,
    memory: vk::DeviceMemory,
    device: Arc<Device>,
}

/// How the memory is handed over.
pub(super) const HANDLE_TYPE: vk::ExternalMemoryHandleTypeFlags = vk::ExternalMemoryHandleTypeFlags::OPAQUE_FD;

impl ExportedImage {
    /// Creates an image whose memory can be exported as an opaque fd.
    ///
    /// # Errors
    /// [`Error::Unsupported`] when the driver does not export such an image; no memory; a failed call.
    pub fn new(device: &Arc<Device>, description: SharedImageDescription, name: &str) -> Result<Self, Error> {
        check(device, &description, vk::ImageTiling::OPTIMAL, Handed::Out)?;
        let what = || format!("create the shared image `{name}` ({})", description.text());
        let mut external = vk::ExternalMemoryImageCreateInfo::default().handle_types(HANDLE_TYPE);
        let create_info = vk::ImageCreateInfo::default()
            .image_type(vk::ImageType::TYPE_2D)
            .format(description.format.vulkan())
            .extent(description.extent.into())
            .mip_levels(description.made_levels())
            .array_layers(description.array_layers)
            .samples(vk::SampleCountFlags::TYPE_1)
            .tiling(vk::ImageTiling::OPTIMAL)
            .usage(description.usage)
            .push_next(&mut external);
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
            .ok_or_else(|| {
                let reason = "no memory type is DEVICE_LOCAL".into();
                unsupported(device, &description, vk::ImageTiling::OPTIMAL, reason)
            })?;

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
        let view_type = match description.array_layers {
            1 => vk::ImageViewType::TYPE_2D,
            _ => vk::ImageViewType::TYPE_2D_ARRAY,
        };
        let view_info = vk::ImageViewCreateInfo::default()
            .image(raw)
            .view_type(view_type)
            .format(description.format.vulkan())
            .subresource_range(description.range());
        // SAFETY: V3.
        image.view = unsafe { device.raw.create_image_view(&view_info, None) }.during(what)?;
        device.name(image.view, name);
        device.name(raw, name);
        device.name(image.memory, name);
        Ok(image)
    }

    /// Exports the memory. Each call makes a new handle.
    ///
    /// # Errors
    /// The device does not export, or is out of descriptors.
    pub fn export(&self) -> Result<MemoryHandle, Error> {
        let what = format!("a shared image ({})", self.description.text());
        let fd = export_memory(&self.device, self.memory, &what)?;
        Ok(MemoryHandle {
            fd,
            size: self.allocation_size,
            dedicated: true,
        })
    }
}

/// Exports memory that was allocated with [`HANDLE_TYPE`].
pub(super) fn export_memory(device: &Device, memory: vk::DeviceMemory, what: &str) -> Result<OwnedFd, Error> {
    let Some(functions) = &device.external_memory_fd else {
        let device = device.physical.name.clone();
        return Err(Error::NotExportable {
            device,
            extension: "VK_KHR_external_memory_fd",
        });
    };
    let info = vk::MemoryGetFdInfoKHR::default()
        .memory(memory)
        .handle_type(HANDLE_TYPE);
    // SAFETY: V3; the memory was allocated with this handle type.
    let fd = unsafe { functions.get_memory_fd(&info) }.during(|| format!("export the memory of {what}"))?;
    // SAFETY: Vulkan gives a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
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

/// Which way an image's memory goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Handed {
    /// From Vulkan.
    Out,
    /// To Vulkan, not dedicated to the image.
    In,
}

fn unsupported(
    device: &Device,
    description: &SharedImageDescription,
    tiling: vk::ImageTiling,
    reason: String,
) -> Error {
    Error::Unsupported {
        device: device.physical.name.clone(),
        image: format!("a {tiling:?} image {} for {:?}", description.text(), description.usage),
        reason,
    }
}

/// Asks the driver whether it makes such an image of such an extent, and exports or imports its memory.
pub(super) fn check(
    device: &Device,
    description: &SharedImageDescription,
    tiling: vk::ImageTiling,
    handed: Handed,
) -> Result<(), Error> {
    let refuse = |reason: String| Err(unsupported(device, description, tiling, reason));
    let mut external_info = vk::PhysicalDeviceExternalImageFormatInfo::default().handle_type(HANDLE_TYPE);
    let info = vk::PhysicalDeviceImageFormatInfo2::default()
        .format(description.format.vulkan())
        .ty(vk::ImageType::TYPE_2D)
        .tiling(tiling)
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
        return refuse(format!("the driver says {result}"));
    }
    let vk::ImageFormatProperties {
        max_extent: limit,
        max_mip_levels,
        max_array_layers,
        ..
    } = properties.image_format_properties;
    let extent = description.extent;
    if extent.width == 0 || extent.height == 0 || extent.width > limit.width || extent.height > limit.height {
        return refuse(format!(
            "each side must be from 1 to {} x {}",
            limit.width, limit.height
        ));
    }
    let full = full_chain(extent);
    if !(1..=max_mip_levels.min(full)).contains(&description.mip_levels) {
        return refuse(format!("it can have from 1 to {} levels", max_mip_levels.min(full)));
    }
    if !(1..=max_array_layers).contains(&description.array_layers) {
        return refuse(format!("it can have from 1 to {max_array_layers} layers"));
    }
    use vk::ExternalMemoryFeatureFlags as Feature;
    let features = external.external_memory_properties.external_memory_features;
    if handed == Handed::Out && !features.contains(Feature::EXPORTABLE) {
        return refuse("its memory cannot be exported as an opaque fd".into());
    }
    if handed == Handed::In && !features.contains(Feature::IMPORTABLE) {
        return refuse("its memory cannot be imported from an opaque fd".into());
    }
    if handed == Handed::In && features.contains(Feature::DEDICATED_ONLY) {
        return refuse("its memory must be dedicated to it, which memory of CUDA's is not".into());
    }
    Ok(())
}
