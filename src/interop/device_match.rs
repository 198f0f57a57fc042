//! Which Vulkan device and which CUDA device are the same GPU: by UUID, never by ordinal.

use crate::cuda::CudaDevice;
use crate::vulkan::PhysicalDevice;

use super::Error;

/// A UUID as `nvidia-smi -L` prints it, without the `GPU-`.
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

/// A Vulkan device with its CUDA twin, where it has one.
#[derive(Debug, Clone)]
pub struct Candidate {
    /// The Vulkan device.
    pub vulkan: PhysicalDevice,
    /// The CUDA device of the same UUID.
    pub cuda: Option<CudaDevice>,
    /// Why it cannot be used; empty when it can.
    pub obstacles: Vec<String>,
}

/// Chooses the Vulkan device, and the CUDA device that is the same GPU.
///
/// `wanted` is what the user asked for: a number of the list, a part of a name, or the start of a UUID. Without it the
/// choice is the first usable device that CUDA sees too, else the first usable device that is not software, else the
/// first usable; among equals one that `presents`. With `need_cuda` only devices that CUDA sees and shares timelines with
/// are usable. `obstacles` says why a device cannot be used.
///
/// # Errors
/// [`Error::NoMatch`], with both lists.
pub fn choose_device(
    vulkan: &[PhysicalDevice],
    cuda: &[CudaDevice],
    wanted: Option<&str>,
    need_cuda: bool,
    obstacles: impl Fn(&PhysicalDevice) -> Vec<String>,
    presents: impl Fn(&PhysicalDevice) -> bool,
) -> Result<Candidate, Error> {
    let mut candidates: Vec<_> = vulkan
        .iter()
        .map(|device| Candidate {
            vulkan: device.clone(),
            cuda: cuda.iter().find(|twin| twin.uuid == device.uuid).cloned(),
            obstacles: obstacles(device),
        })
        .collect();
    if need_cuda {
        for candidate in &mut candidates {
            let obstacle = match &candidate.cuda {
                None => "no visible CUDA device has its UUID",
                Some(twin) if !twin.timeline_interop => "its CUDA driver does not share timeline semaphores: update it",
                Some(_) => continue,
            };
            candidate.obstacles.push(obstacle.into());
        }
    }
    let lists = both_lists(&candidates, cuda);
    if let Some(wanted) = wanted {
        let Some(candidate) = candidates.iter().find(|candidate| is_wanted(&candidate.vulkan, wanted)) else {
            return Err(Error::NoMatch(format!("no GPU matches --gpu {wanted}\n{lists}")));
        };
        return if candidate.obstacles.is_empty() {
            Ok(candidate.clone())
        } else {
            let (name, why) = (&candidate.vulkan.name, candidate.obstacles.join("; "));
            Err(Error::NoMatch(format!(
                "--gpu {wanted} is {name}, which cannot be used: {why}\n{lists}"
            )))
        };
    }
    candidates
        .iter()
        .filter(|candidate| candidate.obstacles.is_empty())
        .min_by_key(|candidate| {
            let kind = match &candidate.cuda {
                Some(_) => 0,
                None if candidate.vulkan.device_type != ash::vk::PhysicalDeviceType::CPU => 1,
                None => 2,
            };
            (kind, !presents(&candidate.vulkan))
        })
        .cloned()
        .ok_or_else(|| Error::NoMatch(format!("no GPU can be used\n{lists}")))
}

fn is_wanted(device: &PhysicalDevice, wanted: &str) -> bool {
    if let Ok(index) = wanted.parse::<usize>() {
        return device.index == index;
    }
    let wanted = wanted.to_lowercase();
    let uuid = wanted.strip_prefix("gpu-").unwrap_or(&wanted);
    device.name.to_lowercase().contains(&wanted) || uuid_text(&device.uuid).starts_with(uuid)
}

fn both_lists(candidates: &[Candidate], cuda: &[CudaDevice]) -> String {
    let mut text = String::from("  Vulkan devices:");
    for Candidate { vulkan, obstacles, .. } in candidates {
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
    use ash::vk::PhysicalDeviceType as Type;

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
        }
    }

    /// A laptop: the first Vulkan device is the integrated one, and CUDA counts only the other two, the other way round.
    fn laptop() -> (Vec<PhysicalDevice>, Vec<CudaDevice>) {
        let vulkan = vec![
            PhysicalDevice::imagined(0, "Integrated", Type::INTEGRATED_GPU, uuid(0)),
            PhysicalDevice::imagined(1, "Discrete A", Type::DISCRETE_GPU, uuid(1)),
            PhysicalDevice::imagined(2, "Discrete B", Type::DISCRETE_GPU, uuid(2)),
            PhysicalDevice::imagined(3, "llvmpipe", Type::CPU, uuid(3)),
        ];
        (vulkan, vec![cuda(0, 2), cuda(1, 1)])
    }

    fn choose(wanted: Option<&str>, need_cuda: bool, cuda: &[CudaDevice]) -> Result<Candidate, Error> {
        choose_device(&laptop().0, cuda, wanted, need_cuda, |_| Vec::new(), |_| true)
    }

    #[test]
    fn the_pair_has_one_uuid_whatever_the_ordinals() {
        let (_, cuda) = laptop();
        let chosen = choose(None, false, &cuda).unwrap();
        assert_eq!(
            chosen.vulkan.name, "Discrete A",
            "not the first device: CUDA does not see that one"
        );
        assert_eq!(chosen.cuda.map(|twin| twin.ordinal), Some(1));
    }

    #[test]
    fn without_cuda_hardware_comes_before_software() {
        assert_eq!(choose(None, false, &[]).unwrap().vulkan.name, "Integrated");
        let only_software = &laptop().0[3..];
        let chosen = choose_device(only_software, &[], None, false, |_| Vec::new(), |_| true).unwrap();
        assert_eq!(chosen.vulkan.name, "llvmpipe");
    }

    #[test]
    fn a_gpu_is_named_by_number_name_or_uuid() {
        let (_, cuda) = laptop();
        let uuid_start = &uuid_text(&uuid(2))[..];
        let prefixed = format!("GPU-{uuid_start}");
        for wanted in ["2", "discrete b", "DISCRETE B", uuid_start, &prefixed] {
            assert_eq!(choose(Some(wanted), true, &cuda).unwrap().vulkan.index, 2, "{wanted}");
        }
    }

    #[test]
    fn a_mismatch_is_refused_with_both_lists() {
        let stranger = [cuda(0, 77)];
        for (wanted, need_cuda) in [
            (None, true),
            (Some("0"), true),
            (Some("4"), false),
            (Some("RTX"), false),
        ] {
            let Err(Error::NoMatch(text)) = choose(wanted, need_cuda, &stranger) else {
                panic!("{wanted:?}")
            };
            for part in ["Integrated", "Discrete A", "llvmpipe", "CUDA 77", &uuid_text(&uuid(77))] {
                assert!(text.contains(part), "{part} is not in:\n{text}");
            }
        }
    }

    #[test]
    fn a_device_with_an_obstacle_is_passed_over_and_the_obstacle_named() {
        let (vulkan, cuda) = laptop();
        let obstacle = |device: &PhysicalDevice| match device.index {
            1 => vec!["it cannot present".to_owned()],
            _ => Vec::new(),
        };
        let chosen = choose_device(&vulkan, &cuda, None, false, obstacle, |_| true).unwrap();
        assert_eq!(chosen.vulkan.index, 2);
        let Err(Error::NoMatch(text)) = choose_device(&vulkan, &cuda, Some("1"), false, obstacle, |_| true) else {
            panic!()
        };
        assert!(text.contains("it cannot present"), "{text}");
    }

    #[test]
    fn of_two_that_cuda_sees_the_one_that_presents_is_chosen() {
        let (vulkan, cuda) = laptop();
        let presents = |device: &PhysicalDevice| device.index == 2;
        let chosen = choose_device(&vulkan, &cuda, None, false, |_| Vec::new(), presents).unwrap();
        assert_eq!(chosen.vulkan.name, "Discrete B");
        // But none is given up for one that presents and that CUDA does not see.
        let integrated = |device: &PhysicalDevice| device.index == 0;
        let chosen = choose_device(&vulkan, &cuda, None, false, |_| Vec::new(), integrated).unwrap();
        assert_eq!(chosen.vulkan.name, "Discrete A");
    }

    #[test]
    fn a_driver_that_does_not_share_timelines_does_not_count_as_cuda() {
        let mut old = cuda(0, 1);
        old.timeline_interop = false;
        let Err(Error::NoMatch(text)) = choose(None, true, &[old]) else {
            panic!()
        };
        assert!(text.contains("does not share timeline semaphores"), "{text}");
    }
}
