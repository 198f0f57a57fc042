//! `handover doctor`: what works on this machine, what does not, why, and what to do.

use std::fmt::Write as _;

use serde::Serialize;

use crate::cuda::{CudaDevice, Driver, Nvrtc, find_cufft};
use crate::interop::{VisibleDevices, uuid_text};
use crate::present::find_display;
use crate::vulkan::{DeviceRequest, Instance, InstanceRequest, PhysicalDevice};

use super::options::DoctorOptions;
use super::output::print;

/// Everything that was found.
#[derive(Debug, Serialize)]
struct Report {
    handover: &'static str,
    vulkan_loader: Finding,
    validation_layer: bool,
    vulkan_devices: Vec<VulkanDevice>,
    cuda_driver: Finding,
    cuda_devices: Vec<CudaEntry>,
    nvrtc: Finding,
    cufft: Finding,
    display: Finding,
    chosen: Option<Chosen>,
    advice: Vec<String>,
}

/// There or not, and what was seen.
#[derive(Debug, Serialize)]
struct Finding {
    present: bool,
    detail: String,
}

impl Finding {
    fn of(present: bool, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        Self { present, detail }
    }
}

#[derive(Debug, Serialize)]
struct VulkanDevice {
    index: usize,
    name: String,
    uuid: String,
    device_type: String,
    vulkan: String,
    driver: String,
    graphics_queues: u32,
    calibrated_timestamps: bool,
    missing: Vec<String>,
    missing_for_cuda: Vec<String>,
    /// Beside those for CUDA.
    missing_for_in_queue: Vec<String>,
}

#[derive(Debug, Serialize)]
struct CudaEntry {
    ordinal: usize,
    name: String,
    uuid: String,
    compute_capability: String,
    memory_mib: usize,
    timeline_interop: bool,
}

/// What a view would use.
#[derive(Debug, Serialize)]
struct Chosen {
    vulkan: String,
    cuda: Option<String>,
    processor: &'static str,
    presenter: &'static str,
}

/// Looks, and prints.
///
/// # Errors
/// Nothing can be rendered on this machine.
pub fn run(options: &DoctorOptions) -> anyhow::Result<()> {
    let report = examine(options.gpu.as_deref());
    if options.json {
        print(serde_json::to_string_pretty(&report)?)?;
    } else {
        print(report.text().trim_end())?;
    }
    anyhow::ensure!(
        report.chosen.is_some(),
        "no GPU and no software driver can render here: see the advice above"
    );
    Ok(())
}

fn examine(gpu: Option<&str>) -> Report {
    let mut advice = Vec::new();
    let driver = Driver::load();
    let (cuda_driver, cuda_devices) = match &driver {
        Ok(driver) => {
            let (major, minor) = (driver.version / 1000, driver.version % 1000 / 10);
            (
                Finding::of(true, format!("of CUDA {major}.{minor}")),
                driver.devices.clone(),
            )
        }
        Err(reason) => {
            advice.push(format!("kernels run on the host: {reason}"));
            (Finding::of(false, reason.to_string()), Vec::new())
        }
    };
    let display = match find_display() {
        Ok(display) => Finding::of(true, format!("{:?}", display.server)),
        Err(reason) => {
            advice.push(format!("frames are rendered offscreen: {reason}"));
            Finding::of(false, reason)
        }
    };
    let instance = Instance::new(&InstanceRequest {
        validate_if_present: true,
        ..InstanceRequest::default()
    });
    let validation_layer = instance.as_ref().is_ok_and(|instance| instance.validation.is_some());
    if !validation_layer {
        advice.push("--validate does not work: install vulkan-validationlayers".into());
    }
    let (vulkan_loader, physical) = match instance
        .as_ref()
        .map_err(ToString::to_string)
        .and_then(|instance| instance.physical_devices().map_err(|error| error.to_string()))
    {
        Ok(physical) => (
            Finding {
                present: true,
                detail: format!(
                    "{} device{}",
                    physical.len(),
                    if physical.len() == 1 { "" } else { "s" }
                ),
            },
            physical,
        ),
        Err(reason) => {
            advice.push(reason.clone());
            (Finding::of(false, reason), Vec::new())
        }
    };
    let visible = VisibleDevices {
        vulkan: physical,
        cuda: cuda_devices,
    };
    let chosen = choose(&visible, gpu, display.present, &mut advice);
    let nvrtc = find_nvrtc();
    if !nvrtc.present {
        advice.push("kernels cannot be compiled while running, which the shipped ones do not need: install the CUDA toolkit's NVRTC, or run scripts/compile-kernels in the checkout".into());
    }
    let cufft = match find_cufft() {
        Ok(()) => Finding::of(true, "for effects that compute by Fourier transforms"),
        Err(error) => {
            advice.push(format!("fft_bloom {error}"));
            Finding::of(false, "libcufft is not installed")
        }
    };
    Report {
        handover: env!("CARGO_PKG_VERSION"),
        vulkan_loader,
        validation_layer,
        vulkan_devices: visible.vulkan.iter().map(VulkanDevice::from).collect(),
        cuda_driver,
        cuda_devices: visible.cuda.iter().map(CudaEntry::from).collect(),
        nvrtc,
        cufft,
        display,
        chosen,
        advice,
    }
}

fn export_extensions() -> Vec<&'static std::ffi::CStr> {
    DeviceRequest {
        export: true,
        swapchain: false,
        ..DeviceRequest::default()
    }
    .extensions()
}

/// What `--processor in-queue` asks of a device.
fn in_queue() -> DeviceRequest {
    DeviceRequest {
        kernels_in_queue: true,
        buffer_addresses: true,
        ..DeviceRequest::default()
    }
}

fn choose(visible: &VisibleDevices, gpu: Option<&str>, has_display: bool, advice: &mut Vec<String>) -> Option<Chosen> {
    let vulkan = match visible.choose(gpu, false, |device| device.missing(&[]), |_| true) {
        Ok(vulkan) => vulkan,
        Err(error) => {
            advice.push(error.to_string());
            return None;
        }
    };
    let lacks = vulkan.missing(&export_extensions());
    let is_usable = |twin: &&CudaDevice| twin.timeline_interop && lacks.is_empty();
    let twin = visible.twin(&vulkan).filter(is_usable);
    if twin.is_none() && !visible.cuda.is_empty() {
        advice.push(format!(
            "{} and no CUDA device can share frames: {}",
            vulkan.name,
            if lacks.is_empty() {
                "no visible CUDA device has its UUID (CUDA_VISIBLE_DEVICES may hide it), or the driver is too old"
                    .to_owned()
            } else {
                lacks.join(", ")
            }
        ));
    }
    Some(Chosen {
        processor: if twin.is_some() { "cuda" } else { "host" },
        cuda: twin.map(|twin| twin.name.clone()),
        vulkan: vulkan.name,
        presenter: if has_display {
            "a window: swapchain where the device presents to it, else software"
        } else {
            "offscreen"
        },
    })
}

fn find_nvrtc() -> Finding {
    match Nvrtc::get() {
        Some(nvrtc) => {
            let (major, minor) = nvrtc.version();
            Finding::of(true, format!("{major}.{minor}"))
        }
        None => Finding::of(false, "libnvrtc is not installed"),
    }
}

impl From<&PhysicalDevice> for VulkanDevice {
    fn from(device: &PhysicalDevice) -> Self {
        use ash::vk::{api_version_major, api_version_minor, api_version_patch};
        let version = device.api_version;
        Self {
            index: device.index,
            name: device.name.clone(),
            uuid: uuid_text(&device.uuid),
            device_type: format!("{:?}", device.device_type),
            vulkan: format!(
                "{}.{}.{}",
                api_version_major(version),
                api_version_minor(version),
                api_version_patch(version)
            ),
            driver: device.driver.clone(),
            graphics_queues: device.graphics_family().map_or(0, |family| family.count),
            calibrated_timestamps: device.has_extension(ash::ext::calibrated_timestamps::NAME),
            missing: device.missing(&[]),
            missing_for_cuda: device.missing(&export_extensions()),
            missing_for_in_queue: in_queue().missing(device),
        }
    }
}

impl From<&CudaDevice> for CudaEntry {
    fn from(device: &CudaDevice) -> Self {
        let (major, minor) = device.compute_capability;
        Self {
            ordinal: device.ordinal,
            name: device.name.clone(),
            uuid: uuid_text(&device.uuid),
            compute_capability: format!("{major}.{minor}"),
            memory_mib: device.memory >> 20,
            timeline_interop: device.timeline_interop,
        }
    }
}

impl Report {
    fn text(&self) -> String {
        let mut text = String::new();
        let mark = |present: bool| if present { "ok     " } else { "missing" };
        let mut line = |label: &str, present: bool, detail: &str| {
            let _ = writeln!(
                text,
                "{} {label:<18} {}",
                mark(present),
                detail.replace('\n', "\n        ")
            );
        };
        line("Vulkan", self.vulkan_loader.present, &self.vulkan_loader.detail);
        for device in &self.vulkan_devices {
            let VulkanDevice {
                index,
                name,
                uuid,
                vulkan,
                driver,
                graphics_queues,
                ..
            } = device;
            let detail = format!("{name}, {uuid}, Vulkan {vulkan}, {driver}, {graphics_queues} graphics queues");
            line(&format!("  device {index}"), device.missing.is_empty(), &detail);
            for missing in &device.missing {
                line("    needed", false, missing);
            }
            for missing in device
                .missing_for_cuda
                .iter()
                .filter(|missing| !device.missing.contains(missing))
            {
                line("    for CUDA", false, missing);
            }
            let for_in_queue = device.missing_for_in_queue.iter();
            for missing in for_in_queue.filter(|missing| !device.missing.contains(missing)) {
                line("    for in-queue", false, missing);
            }
            if device.missing_for_in_queue.is_empty() {
                line("    for in-queue", true, "kernels can run inside the Vulkan queue");
            }
            if !device.calibrated_timestamps {
                line(
                    "    for latencies",
                    false,
                    "VK_EXT_calibrated_timestamps: latencies are NA",
                );
            }
        }
        line("validation layer", self.validation_layer, "VK_LAYER_KHRONOS_validation");
        line("CUDA driver", self.cuda_driver.present, &self.cuda_driver.detail);
        for device in &self.cuda_devices {
            let CudaEntry {
                ordinal,
                name,
                uuid,
                compute_capability,
                memory_mib,
                timeline_interop,
            } = device;
            let interop = if *timeline_interop {
                "shares timelines"
            } else {
                "does not share timelines"
            };
            let detail = format!("{name}, {uuid}, compute {compute_capability}, {memory_mib} MiB, {interop}");
            line(&format!("  device {ordinal}"), *timeline_interop, &detail);
        }
        line("NVRTC", self.nvrtc.present, &self.nvrtc.detail);
        line("cuFFT", self.cufft.present, &self.cufft.detail);
        line("display", self.display.present, &self.display.detail);
        match &self.chosen {
            Some(Chosen {
                vulkan,
                cuda,
                processor,
                presenter,
            }) => {
                let twin = cuda.as_deref().unwrap_or("no CUDA device");
                let _ = writeln!(
                    text,
                    "\nchosen: {vulkan} with {twin}; kernels on {processor}; frames to {presenter}"
                );
            }
            None => text += "\nchosen: nothing\n",
        }
        for advice in &self.advice {
            let _ = writeln!(text, "- {}", advice.replace('\n', "\n  "));
        }
        text
    }
}
