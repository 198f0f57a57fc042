//! What both APIs see of this machine, and the choice among it: by UUID, never by ordinal.

use ash::vk::PhysicalDeviceType;

use crate::cuda::{CudaDevice, Driver};
use crate::vulkan::{self, Instance, PhysicalDevice};

use super::Error;

/// A UUID as `nvidia-smi -L` prints it, without the `GPU-`.
///
/// ```
/// let uuid = [0x26, 0xd7, 0x6f, 0xa2, 0x3d, 0xee, 0x4c, 0x0f, 0x93, 0xa1, 0x5b, 0x2e, 0x77, 0x10, 0x44, 0x9d];
/// assert_eq!(handover::interop::uuid_text(&uuid), "26d76fa2-3dee-4c0f-93a1-5b2e7710449d");
/// ```
pub fn uuid_text(uuid: &[u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    format!(
        "{}-{}-{}-{}-{}",
        &hex[..8],
        &hex[8..12],
        &hex[12..16],
        &hex[16..20],
        &hex[20..]
    )
}

/// The visible devices of both APIs. `CUDA_VISIBLE_DEVICES` changes CUDA's list, not Vulkan's.
///
/// It owns descriptions only: nothing is opened. [`DeviceMatch`](super::DeviceMatch) chooses one GPU of it.
///
/// ```
/// use handover::interop::{DeviceMatch, VisibleDevices};
/// use handover::vulkan::DeviceRequest;
///
/// let nothing = VisibleDevices { vulkan: Vec::new(), cuda: Vec::new() };
/// let refusal = DeviceMatch::find(nothing, None, &DeviceRequest::default()).unwrap_err().to_string();
/// assert!(refusal.contains("CUDA devices: none visible"));
/// ```
#[derive(Debug, Clone)]
pub struct VisibleDevices {
    /// Vulkan's devices, in the loader's order.
    pub vulkan: Vec<PhysicalDevice>,
    /// CUDA's devices, by ordinal; empty without a driver.
    pub cuda: Vec<CudaDevice>,
}

impl VisibleDevices {
    /// Asks both drivers.
    ///
    /// # Errors
    /// Vulkan has no device.
    pub fn new(instance: &Instance, driver: &Driver) -> Result<Self, vulkan::Error> {
        Ok(Self {
            vulkan: instance.physical_devices()?,
            cuda: driver.devices.clone(),
        })
    }

    /// CUDA's device of the same UUID.
    pub fn twin(&self, device: &PhysicalDevice) -> Option<&CudaDevice> {
        self.cuda.iter().find(|twin| twin.uuid == device.uuid)
    }

    /// Chooses the Vulkan device.
    ///
    /// `wanted` is what the user asked for: a number of Vulkan's list, a part of a name, or the start of a UUID, with or
    /// without `GPU-`. Without it the choice is the first usable device that CUDA sees too, else the first usable device
    /// that is not software, else the first usable; among equals one that `presents`. With `need_cuda` only devices that
    /// CUDA sees and shares timelines with are usable. `obstacles` says why a device cannot be used; empty when it can.
    ///
    /// # Errors
    /// [`Error::NoMatch`], with both lists.
    pub fn choose(
        &self,
        wanted: Option<&str>,
        need_cuda: bool,
        obstacles: impl Fn(&PhysicalDevice) -> Vec<String>,
        presents: impl Fn(&PhysicalDevice) -> bool,
    ) -> Result<PhysicalDevice, Error> {
        let all_obstacles = |device: &PhysicalDevice| {
            let mut all = obstacles(device);
            all.extend(self.without_cuda(device).filter(|_| need_cuda).map(str::to_owned));
            all
        };
        let candidates: Vec<_> = self
            .vulkan
            .iter()
            .map(|device| (device, all_obstacles(device)))
            .collect();
        let lists = both_lists(&candidates, &self.cuda);
        if let Some(wanted) = wanted {
            let Some((device, obstacles)) = candidates.iter().find(|(device, _)| is_wanted(device, wanted)) else {
                return Err(Error::NoMatch(format!("no GPU matches --gpu {wanted}\n{lists}")));
            };
            if obstacles.is_empty() {
                return Ok((*device).clone());
            }
            let (name, why) = (&device.name, obstacles.join("; "));
            return Err(Error::NoMatch(format!(
                "--gpu {wanted} is {name}, which cannot be used: {why}\n{lists}"
            )));
        }
        let usable = candidates.iter().filter(|(_, obstacles)| obstacles.is_empty());
        usable
            .map(|(device, _)| *device)
            .min_by_key(|device| {
                let kind = match self.twin(device) {
                    Some(_) => 0,
                    None if device.device_type != PhysicalDeviceType::CPU => 1,
                    None => 2,
                };
                (kind, !presents(device))
            })
            .cloned()
            .ok_or_else(|| Error::NoMatch(format!("no GPU can be used\n{lists}")))
    }

    fn without_cuda(&self, device: &PhysicalDevice) -> Option<&'static str> {
        match self.twin(device) {
            None => Some("no visible CUDA device has its UUID"),
            Some(twin) if !twin.timeline_interop => {
                Some("its CUDA driver does not share timeline semaphores: update it")
            }
            Some(_) => None,
        }
    }
}

fn is_wanted(device: &PhysicalDevice, wanted: &str) -> bool {
    if let Ok(index) = wanted.parse::<usize>() {
        return device.index == index;
    }
    let wanted = wanted.to_lowercase();
    let uuid = wanted.strip_prefix("gpu-").unwrap_or(&wanted);
    device.name.to_lowercase().contains(&wanted) || uuid_text(&device.uuid).starts_with(uuid)
}

fn both_lists(candidates: &[(&PhysicalDevice, Vec<String>)], cuda: &[CudaDevice]) -> String {
    let mut text = String::from("  Vulkan devices:");
    for (vulkan, obstacles) in candidates {
        text += &format!("\n    {}  {}  {}", vulkan.index, uuid_text(&vulkan.uuid), vulkan.name);
        if !obstacles.is_empty() {
            text += &format!("  (cannot be used: {})", obstacles.join("; "));
        }
    }
    text += "\n  CUDA devices:";
    for device in cuda {
        text += &format!("\n    {}  {}  {}", device.ordinal, uuid_text(&device.uuid), device.name);
    }
    if cuda.is_empty() {
        text += " none visible";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use PhysicalDeviceType as Type;

    fn uuid(last: u8) -> [u8; 16] {
        let mut uuid = [0x26; 16];
        uuid[15] = last;
        uuid
    }

    fn cuda(ordinal: usize, last: u8) -> CudaDevice {
        CudaDevice {
            ordinal,
            name: format!("CUDA {last}"),
            uuid: uuid(last),
            compute_capability: (9, 0),
            timeline_interop: true,
            memory: 0,
            largest_image: [32_768; 2],
        }
    }

    /// A laptop: the first Vulkan device is the integrated one, and CUDA counts only the other two, the other way round.
    fn laptop() -> VisibleDevices {
        let vulkan = vec![
            PhysicalDevice::imagined(0, "Integrated", Type::INTEGRATED_GPU, uuid(0)),
            PhysicalDevice::imagined(1, "Discrete A", Type::DISCRETE_GPU, uuid(1)),
            PhysicalDevice::imagined(2, "Discrete B", Type::DISCRETE_GPU, uuid(2)),
            PhysicalDevice::imagined(3, "llvmpipe", Type::CPU, uuid(3)),
        ];
        let cuda = vec![cuda(0, 2), cuda(1, 1)];
        VisibleDevices { vulkan, cuda }
    }

    /// The laptop with other CUDA devices.
    fn with_cuda(cuda: &[CudaDevice]) -> VisibleDevices {
        let cuda = cuda.to_vec();
        VisibleDevices { cuda, ..laptop() }
    }

    fn choose(visible: &VisibleDevices, wanted: Option<&str>, need_cuda: bool) -> Result<PhysicalDevice, Error> {
        visible.choose(wanted, need_cuda, |_| Vec::new(), |_| true)
    }

    #[test]
    fn the_pair_has_one_uuid_whatever_the_ordinals() {
        let chosen = choose(&laptop(), None, false).unwrap();
        assert_eq!(
            chosen.name, "Discrete A",
            "not the first device: CUDA does not see that one"
        );
        assert_eq!(laptop().twin(&chosen).map(|twin| twin.ordinal), Some(1));
    }

    #[test]
    fn without_cuda_hardware_comes_before_software() {
        let mut visible = with_cuda(&[]);
        assert_eq!(choose(&visible, None, false).unwrap().name, "Integrated");
        visible.vulkan.drain(..3);
        assert_eq!(choose(&visible, None, false).unwrap().name, "llvmpipe");
    }

    #[test]
    fn a_gpu_is_named_by_number_name_or_uuid() {
        let uuid_start = &uuid_text(&uuid(2))[..];
        let prefixed = format!("GPU-{uuid_start}");
        for wanted in ["2", "discrete b", "DISCRETE B", uuid_start, &prefixed] {
            assert_eq!(choose(&laptop(), Some(wanted), true).unwrap().index, 2, "{wanted}");
        }
    }

    #[test]
    fn a_mismatch_is_refused_with_both_lists() {
        let stranger = with_cuda(&[cuda(0, 77)]);
        for (wanted, need_cuda) in [
            (None, true),
            (Some("0"), true),
            (Some("4"), false),
            (Some("RTX"), false),
        ] {
            let Err(Error::NoMatch(text)) = choose(&stranger, wanted, need_cuda) else {
                panic!("{wanted:?}")
            };
            for part in ["Integrated", "Discrete A", "llvmpipe", "CUDA 77", &uuid_text(&uuid(77))] {
                assert!(text.contains(part), "{part} is not in:\n{text}");
            }
        }
    }

    #[test]
    fn a_device_with_an_obstacle_is_passed_over_and_the_obstacle_named() {
        let obstacle = |device: &PhysicalDevice| match device.index {
            1 => vec!["it cannot present".to_owned()],
            _ => Vec::new(),
        };
        let chosen = laptop().choose(None, false, obstacle, |_| true).unwrap();
        assert_eq!(chosen.index, 2);
        let Err(Error::NoMatch(text)) = laptop().choose(Some("1"), false, obstacle, |_| true) else {
            panic!()
        };
        assert!(text.contains("it cannot present"), "{text}");
    }

    #[test]
    fn of_two_that_cuda_sees_the_one_that_presents_is_chosen() {
        let presents = |device: &PhysicalDevice| device.index == 2;
        let chosen = laptop().choose(None, false, |_| Vec::new(), presents).unwrap();
        assert_eq!(chosen.name, "Discrete B");
        // But none is given up for one that presents and that CUDA does not see.
        let integrated = |device: &PhysicalDevice| device.index == 0;
        let chosen = laptop().choose(None, false, |_| Vec::new(), integrated).unwrap();
        assert_eq!(chosen.name, "Discrete A");
    }

    #[test]
    fn a_driver_that_does_not_share_timelines_does_not_count_as_cuda() {
        let mut old = cuda(0, 1);
        old.timeline_interop = false;
        let Err(Error::NoMatch(text)) = choose(&with_cuda(&[old]), None, true) else {
            panic!()
        };
        assert!(text.contains("does not share timeline semaphores"), "{text}");
    }
}
