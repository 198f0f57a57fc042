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
/// first usable. With `need_cuda` only devices that CUDA sees are usable. `obstacles` says why a device cannot be used.
///
/// # Errors
/// [`Error::NoMatch`], with both lists.
pub fn choose_device(
    vulkan: &[PhysicalDevice],
    cuda: &[CudaDevice],
    wanted: Option<&str>,
    need_cuda: bool,
    obstacles: impl Fn(&PhysicalDevice) -> Vec<String>,
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
        for candidate in candidates.iter_mut().filter(|candidate| candidate.cuda.is_none()) {
            candidate.obstacles.push("no visible CUDA device has its UUID".into());
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
        .min_by_key(|candidate| match &candidate.cuda {
            Some(_) => 0,
            None if candidate.vulkan.device_type != ash::vk::PhysicalDeviceType::CPU => 1,
            None => 2,
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
