//! One GPU as both APIs know it.

use crate::cuda::CudaDevice;
use crate::vulkan::{DeviceRequest, Luid, PhysicalDevice};

use super::{Error, VisibleDevices};

/// One GPU, as a Vulkan device and as a CUDA device: they have the same UUID. (CUDA guide, 4.19.2.1.2.)
///
/// `deviceUUID` of Vulkan and `cuDeviceGetUuid` of CUDA are compared, and nothing else: ordinals and names differ between the
/// two lists. A mismatch is refused here, before anything is opened, with both lists in the message. On Windows the same GPU
/// also has the same [`Luid`].
///
/// It owns descriptions. What is opened of it, [`Device`](crate::vulkan::Device) and
/// [`CudaContext`](crate::cuda::CudaContext), lives by itself.
///
/// ```no_run
/// use handover::cuda::Driver;
/// use handover::interop::{DeviceMatch, VisibleDevices, uuid_text};
/// use handover::vulkan::{Device, DeviceRequest, Instance, InstanceRequest};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let driver = Driver::load()?;
///     let instance = Instance::new(&InstanceRequest::default())?;
///     let request = DeviceRequest { export: true, ..DeviceRequest::default() };
///     let gpu = DeviceMatch::find(VisibleDevices::new(&instance, &driver)?, None, &request)?;
///     println!("Vulkan {} is CUDA {}: {}", gpu.vulkan.index, gpu.cuda.ordinal, uuid_text(&gpu.uuid()));
///     let device = Device::new(&instance, gpu.vulkan, &request)?;
///     let context = driver.context(&gpu.cuda)?;
///     println!("{} is open in both, as {:?}", device.physical.name, context.name()?);
///     Ok(())
/// }
/// ```
#[derive(Debug, Clone)]
pub struct DeviceMatch {
    /// The GPU as Vulkan describes it.
    pub vulkan: PhysicalDevice,
    /// The GPU as CUDA describes it.
    pub cuda: CudaDevice,
    /// What it was found among.
    pub visible: VisibleDevices,
}

impl DeviceMatch {
    /// Chooses a GPU that both APIs see and share timelines on, and that can be opened for `request`: the one `wanted` as in
    /// [`VisibleDevices::choose`], or the first.
    ///
    /// # Errors
    /// [`Error::NoMatch`], with both lists, and for each Vulkan device why it cannot be used.
    pub fn find(visible: VisibleDevices, wanted: Option<&str>, request: &DeviceRequest) -> Result<Self, Error> {
        let extensions = request.extensions();
        let vulkan = visible.choose(wanted, true, |device| device.missing(&extensions), |_| true)?;
        let name = vulkan.name.clone();
        Self::of(vulkan, visible)
            .ok_or_else(|| Error::NoMatch(format!("no visible CUDA device has the UUID of {name}")))
    }

    /// All GPUs that [`DeviceMatch::find`] could choose, in Vulkan's order.
    pub fn all(visible: &VisibleDevices, request: &DeviceRequest) -> Vec<Self> {
        let indices = visible.vulkan.iter().map(|device| device.index.to_string());
        let found = indices.filter_map(|index| Self::find(visible.clone(), Some(&index), request).ok());
        found.collect()
    }

    /// The match of a Vulkan device that was chosen otherwise; `None`: no visible CUDA device has its UUID.
    pub fn of(vulkan: PhysicalDevice, visible: VisibleDevices) -> Option<Self> {
        let cuda = visible.twin(&vulkan)?.clone();
        Some(Self { vulkan, cuda, visible })
    }

    /// The UUID that both sides have.
    pub fn uuid(&self) -> [u8; 16] {
        self.vulkan.uuid
    }

    /// The locally unique identifier and the node mask by which Windows knows the GPU. Always `None` on Linux: CUDA gives a
    /// LUID on Windows only (`cuDeviceGetLuid`), and Vulkan's drivers say so by `deviceLUIDValid`.
    pub fn luid(&self) -> Option<Luid> {
        self.vulkan.luid.filter(|_| cfg!(windows))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ash::vk::PhysicalDeviceType as Type;

    fn cuda(ordinal: usize, uuid: u8, timeline_interop: bool) -> CudaDevice {
        CudaDevice {
            ordinal,
            name: format!("CUDA {uuid}"),
            uuid: [uuid; 16],
            compute_capability: (9, 0),
            timeline_interop,
            memory: 0,
            largest_image: [32_768; 2],
        }
    }

    /// Three GPUs: CUDA lists two of them, the other way round, and shares timelines on all or one.
    fn visible(all_share: bool) -> VisibleDevices {
        let vulkan =
            |index| PhysicalDevice::imagined(index, &format!("Vulkan {index}"), Type::DISCRETE_GPU, [index as u8; 16]);
        VisibleDevices {
            vulkan: [0, 1, 2].map(vulkan).into(),
            cuda: vec![cuda(0, 2, true), cuda(1, 1, all_share)],
        }
    }

    /// What an imagined device lacks, such as queues, is not the subject here.
    fn of(index: usize, all_share: bool) -> Option<DeviceMatch> {
        let visible = visible(all_share);
        DeviceMatch::of(visible.vulkan[index].clone(), visible)
    }

    #[test]
    fn a_match_has_one_uuid_on_both_sides_and_keeps_both_lists() {
        for (index, ordinal) in [(1, 1), (2, 0)] {
            let gpu = of(index, true).unwrap();
            assert_eq!((gpu.vulkan.index, gpu.cuda.ordinal), (index, ordinal));
            assert_eq!(gpu.uuid(), gpu.cuda.uuid);
            assert_eq!((gpu.visible.vulkan.len(), gpu.visible.cuda.len()), (3, 2));
        }
        assert!(of(0, true).is_none(), "CUDA does not list it");
    }

    #[test]
    fn find_says_of_each_device_why_it_cannot_be_used() {
        let request = DeviceRequest {
            export: true,
            ..DeviceRequest::default()
        };
        let text = DeviceMatch::find(visible(false), None, &request)
            .unwrap_err()
            .to_string();
        for part in [
            "the extension VK_KHR_external_memory_fd",
            "Vulkan 0  (cannot be used",
            "no visible CUDA device has its UUID",
            "does not share timeline semaphores",
            "CUDA 2",
        ] {
            assert!(text.contains(part), "{part} is not in:\n{text}");
        }
        assert!(DeviceMatch::all(&visible(false), &request).is_empty());
    }

    #[test]
    fn a_luid_is_for_windows_alone() {
        let mut gpu = of(1, true).unwrap();
        assert_eq!(gpu.luid(), None);
        let luid = Luid {
            bytes: [7; 8],
            node_mask: 1,
        };
        gpu.vulkan.luid = Some(luid);
        assert_eq!(gpu.luid(), cfg!(windows).then_some(luid));
    }
}
