//! Whether a case fits into the machine, before it is tried and after it failed.

use ash::vk;

use crate::bench::Case;
use crate::kernels::{FrameExtents, Plan};
use crate::{process, renderer, scene, vulkan};

use super::super::setup::Machine;

const GIBIBYTE: f64 = 1_073_741_824.0;

/// Bytes of a slot's images for a texel: see `SLOT_IMAGES`, and the screen image.
const SLOT_BYTES: u64 = 8 + 4 + 8 + 4 + 4 + 8 + 4;
/// What the host's processor has besides: the mapped twins of colour and processed image, and of the guides.
const MAPPED_BYTES: u64 = 8 + 8 + 20;
/// Rows of floats that the host's chain has at a time, of up to three sources and a destination.
const HOST_CHAIN_BYTES: u64 = 4 * 16;

/// Why the case cannot be on that machine, as far as that can be told before it is tried: a limit of the device, or memory that is
/// not there whatever the driver does. Where memory is the host's it is asked for first, since a system gives what it has not.
pub fn obstacle(machine: &Machine, case: &Case, plan: &Plan) -> Option<String> {
    let extent = vk::Extent2D {
        width: case.width,
        height: case.height,
    };
    if let Err(error) = machine.check_extent(extent) {
        return Some(error.to_string());
    }
    let physical = &machine.device.physical;
    let is_software = physical.device_type == vk::PhysicalDeviceType::CPU;
    let is_host = machine.cuda.is_none();
    let own = plan.own_bytes(FrameExtents::same([case.width, case.height]));
    let slots = case.pixels() * case.frames_in_flight as u64;
    let images = slots * SLOT_BYTES + if is_host { 0 } else { own };
    let on_host = if is_host {
        slots * MAPPED_BYTES + own + case.pixels() * HOST_CHAIN_BYTES
    } else {
        0
    };
    let host = on_host + if is_software { images } else { 0 };
    // A device in software tells what it likes of its heap.
    let on_gpu = exceeds(images, machine.device.memory_free(), &physical.name).filter(|_| !is_software);
    on_gpu.or_else(|| exceeds(host, host_memory_free()?, "the host"))
}

fn exceeds(needed: u64, free: u64, whose: &str) -> Option<String> {
    let [of_needed, of_free] = [needed, free].map(|bytes| bytes as f64 / GIBIBYTE);
    (needed > free)
        .then(|| format!("it takes {of_needed:.1} GiB at least, and {of_free:.1} GiB of {whose}'s memory are free"))
}

/// As Linux counts it; `None` where it does not.
fn host_memory_free() -> Option<u64> {
    let described = std::fs::read_to_string("/proc/meminfo").ok()?;
    available(&described)
}

fn available(described: &str) -> Option<u64> {
    let line = described.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes << 10)
}

/// Whether a renderer could not be made, or its first frames, since memory ran out.
pub fn is_out_of_memory(error: &anyhow::Error) -> bool {
    use vulkan::Error as Vulkan;
    error.downcast_ref().is_some_and(renderer::Error::is_out_of_memory)
        || error.downcast_ref().is_some_and(process::Error::is_out_of_memory)
        || error.downcast_ref().is_some_and(Vulkan::is_out_of_memory)
        || matches!(error.downcast_ref(), Some(scene::Error::Vulkan(error)) if error.is_out_of_memory())
}

#[cfg(test)]
mod tests {
    use anyhow::Context;

    use super::*;

    #[test]
    fn memory_that_ran_out_is_told_from_other_failures() {
        let call = |result| Vulkan::Call {
            what: "create the image `color`".into(),
            result,
        };
        let ran_out = || call(vk::Result::ERROR_OUT_OF_DEVICE_MEMORY);
        let wrapped: [anyhow::Error; 4] = [
            ran_out().into(),
            process::Error::from(ran_out()).into(),
            renderer::Error::from(process::Error::from(crate::interop::Error::from(ran_out()))).into(),
            scene::Error::from(ran_out()).into(),
        ];
        for error in wrapped {
            assert!(is_out_of_memory(&error), "{error}");
            let named: anyhow::Error = Err::<(), _>(error).context("a case").expect_err("it is an error");
            assert!(is_out_of_memory(&named), "{named:#}");
        }
        assert!(!is_out_of_memory(
            &renderer::Error::from(call(vk::Result::ERROR_DEVICE_LOST)).into()
        ));
        assert!(!is_out_of_memory(&anyhow::anyhow!("something else")));
    }

    use vulkan::Error as Vulkan;

    #[test]
    fn what_is_needed_is_held_against_what_is_free() {
        assert_eq!(exceeds(5 << 30, 5 << 30, "it"), None);
        let reason = exceeds(6 << 30, 5 << 30, "some GPU").expect("more than there is");
        assert_eq!(
            reason,
            "it takes 6.0 GiB at least, and 5.0 GiB of some GPU's memory are free"
        );
        let described = "MemTotal:       24689764 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(available(described), Some(2 << 20));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
    }
}
