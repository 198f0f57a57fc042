//! A CUDA kernel inside a Vulkan command buffer: no semaphore, no hand-over, no switch of the GPU's engine.
//!
//! ```text
//! PTX ──driver's linker──▶ cubin ──vkCreateCuModuleNVX──▶ function
//! one command buffer:  clear image ─ barrier ─ vkCmdCuLaunchKernelNVX ─ barrier ─ copy to host
//! ```
//!
//! `VK_NVX_binary_import` launches the kernel, and `VK_NVX_image_view_handle` gives it the image as the very
//! `cudaSurfaceObject_t` that a kernel on a CUDA stream would get. It proves every texel over many frames, and says what a
//! frame took.

use std::ffi::c_void;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::ensure;
use ash::{nvx, vk};
use handover::cuda::{Driver, compile, link};
use handover::proof::{Verdict, conclude};
use handover::vulkan::barrier::transfer_to_host;
use handover::vulkan::{
    Buffer, BufferMemory, CommandPool, Device, DeviceRequest, Image, ImageDescription, Instance, InstanceRequest,
    Timeline, TimelineWait,
};

const WIDTH: u32 = 320;
const HEIGHT: u32 = 180;
const FRAMES: u64 = 300;

const KERNEL: &str = r#"
extern "C" __global__ void add_place(unsigned long long surface, unsigned width, unsigned height)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    surf2Dwrite(surf2Dread<unsigned>(surface, x * 4, y) * 65536 + y * width + x, surface, x * 4, y);
}
"#;

fn main() -> ExitCode {
    conclude("in_queue", run)
}

/// The example.
pub fn run() -> anyhow::Result<Verdict> {
    let driver = match Driver::load() {
        Ok(driver) => driver,
        Err(reason) => {
            return Ok(Verdict::Skip(
                reason.to_string().lines().next().unwrap_or_default().to_owned(),
            ));
        }
    };
    let request = DeviceRequest {
        kernels_in_queue: true,
        ..DeviceRequest::default()
    };
    let instance = Instance::new(&InstanceRequest {
        validate_if_present: true,
        ..InstanceRequest::default()
    })?;
    let twin = |uuid: [u8; 16]| driver.devices.iter().find(move |device| device.uuid == uuid);
    let physical = instance
        .physical_devices()?
        .into_iter()
        .find(|physical| twin(physical.uuid).is_some() && physical.missing(&request.extensions()).is_empty());
    let Some((physical, cuda)) = physical.and_then(|physical| twin(physical.uuid).map(|cuda| (physical.clone(), cuda)))
    else {
        return Ok(Verdict::Skip(
            "no GPU has VK_NVX_binary_import and VK_NVX_image_view_handle".into(),
        ));
    };
    let device = Device::new(&instance, physical, &request)?;
    // CUDA's context is only needed to link: the kernel never runs on it.
    let cubin = link(
        &driver.context(cuda)?,
        &compile("add_place", KERNEL, (7, 5), &[])?,
        "add_place",
    )?;
    let kernel = Kernel::new(&device, &cubin)?;

    let usage = vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    let extent = vk::Extent2D {
        width: WIDTH,
        height: HEIGHT,
    };
    let image = Image::new(
        &device,
        ImageDescription {
            extent,
            format: vk::Format::R32_UINT,
            usage,
        },
        "in-queue",
    )?;
    let surface = kernel.surface_of(image.view);
    let bytes = u64::from(WIDTH) * u64::from(HEIGHT) * 4;
    let texels = Buffer::new(
        &device,
        bytes,
        vk::BufferUsageFlags::TRANSFER_DST,
        BufferMemory::ReadBack,
        "texels",
    )?;
    let pool = CommandPool::new(&device, device.scene_queue, "frame")?;
    let done = Timeline::new(&device, "done", false)?;

    let started = Instant::now();
    for frame in 1..=FRAMES {
        record(&device, &pool, &kernel, surface, &image, &texels, frame as u32)?;
        device.submit(device.scene_queue, pool.commands, &[], &[done.at(frame)])?;
        let wait = done.wait(frame, Duration::from_secs(10))?;
        ensure!(wait == TimelineWait::Reached, "frame {frame} did not end");
        for (place, texel) in bytemuck::cast_slice::<u8, u32>(texels.bytes()).iter().enumerate() {
            let expected = frame as u32 * 65536 + place as u32;
            ensure!(
                *texel == expected,
                "frame {frame}, texel {place}: {texel} instead of {expected}"
            );
        }
    }
    let microseconds = started.elapsed().as_secs_f64() * 1e6 / FRAMES as f64;
    device.wait_idle()?;
    if let Some(log) = &instance.validation {
        ensure!(
            log.counts().errors == 0,
            "validation: {}",
            log.first_error().unwrap_or_default()
        );
    }
    let checked = FRAMES * u64::from(WIDTH) * u64::from(HEIGHT);
    Ok(Verdict::Pass(format!(
        "{FRAMES} frames, {checked} texels checked, {microseconds:.0} µs a frame with the check"
    )))
}

fn record(
    device: &Device,
    pool: &CommandPool,
    kernel: &Kernel,
    surface: u64,
    image: &Image,
    texels: &Buffer,
    frame: u32,
) -> anyhow::Result<()> {
    let commands = pool.begin()?;
    let range = handover::vulkan::COLOR;
    let layers = vk::ImageSubresourceLayers {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        mip_level: 0,
        base_array_layer: 0,
        layer_count: 1,
    };
    let region = [vk::BufferImageCopy::default()
        .image_subresource(layers)
        .image_extent(image.description.extent.into())];
    let to_general = [vk::ImageMemoryBarrier2::default()
        .image(image.raw)
        .subresource_range(range)
        .old_layout(vk::ImageLayout::UNDEFINED)
        .new_layout(vk::ImageLayout::GENERAL)
        .dst_stage_mask(vk::PipelineStageFlags2::TRANSFER)
        .dst_access_mask(vk::AccessFlags2::TRANSFER_WRITE)];
    // A launch has no stage of its own: everything before it ends first, and what comes after waits for everything.
    let to_copy = [vk::ImageMemoryBarrier2::default()
        .image(image.raw)
        .subresource_range(range)
        .old_layout(vk::ImageLayout::GENERAL)
        .new_layout(vk::ImageLayout::TRANSFER_SRC_OPTIMAL)
        .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
        .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
        .dst_stage_mask(vk::PipelineStageFlags2::TRANSFER)
        .dst_access_mask(vk::AccessFlags2::TRANSFER_READ)];
    let color = vk::ClearColorValue { uint32: [frame; 4] };
    // SAFETY: recording; image, buffer and kernel live until the frame has ended, which the host waits for.
    unsafe {
        let raw = &device.raw;
        raw.cmd_pipeline_barrier2(
            commands,
            &vk::DependencyInfo::default().image_memory_barriers(&to_general),
        );
        raw.cmd_clear_color_image(commands, image.raw, vk::ImageLayout::GENERAL, &color, &[range]);
        everything(device, commands);
        kernel.launch(commands, surface);
        raw.cmd_pipeline_barrier2(commands, &vk::DependencyInfo::default().image_memory_barriers(&to_copy));
        let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
        raw.cmd_copy_image_to_buffer(commands, image.raw, layout, texels.raw, &region);
    }
    transfer_to_host(device, commands);
    Ok(pool.end()?)
}

fn everything(device: &Device, commands: vk::CommandBuffer) {
    let barrier = [vk::MemoryBarrier2::default()
        .src_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
        .src_access_mask(vk::AccessFlags2::MEMORY_WRITE)
        .dst_stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
        .dst_access_mask(vk::AccessFlags2::MEMORY_READ | vk::AccessFlags2::MEMORY_WRITE)];
    // SAFETY: the caller's command buffer is recording.
    unsafe {
        device
            .raw
            .cmd_pipeline_barrier2(commands, &vk::DependencyInfo::default().memory_barriers(&barrier))
    };
}

/// The kernel as Vulkan sees it.
struct Kernel {
    function: vk::CuFunctionNVX,
    module: vk::CuModuleNVX,
    binary_import: nvx::binary_import::Device,
    image_view_handle: nvx::image_view_handle::Device,
    device: Arc<Device>,
}

impl Kernel {
    fn new(device: &Arc<Device>, cubin: &[u8]) -> anyhow::Result<Self> {
        let instance = &device.instance.raw;
        let mut kernel = Self {
            function: vk::CuFunctionNVX::null(),
            module: vk::CuModuleNVX::null(),
            binary_import: nvx::binary_import::Device::new(instance, &device.raw),
            image_view_handle: nvx::image_view_handle::Device::new(instance, &device.raw),
            device: Arc::clone(device),
        };
        let (functions, raw) = (kernel.binary_import.fp(), device.raw.handle());
        let module = vk::CuModuleCreateInfoNVX {
            data_size: cubin.len(),
            p_data: cubin.as_ptr().cast(),
            ..Default::default()
        };
        // SAFETY: the extension is enabled; the cubin is of this very GPU; Vulkan keeps neither it nor the name.
        unsafe {
            (functions.create_cu_module_nvx)(raw, &raw const module, std::ptr::null(), &raw mut kernel.module)
                .result()?;
            let function = vk::CuFunctionCreateInfoNVX {
                module: kernel.module,
                p_name: c"add_place".as_ptr(),
                ..Default::default()
            };
            (functions.create_cu_function_nvx)(raw, &raw const function, std::ptr::null(), &raw mut kernel.function)
                .result()?;
        }
        Ok(kernel)
    }

    fn surface_of(&self, view: vk::ImageView) -> u64 {
        let info = vk::ImageViewHandleInfoNVX::default()
            .image_view(view)
            .descriptor_type(vk::DescriptorType::STORAGE_IMAGE);
        // SAFETY: the extension is enabled, and the view is of a storage image.
        let handle = unsafe {
            (self.image_view_handle.fp().get_image_view_handle_nvx)(self.device.raw.handle(), &raw const info)
        };
        handle.into()
    }

    fn launch(&self, commands: vk::CommandBuffer, surface: u64) {
        let (width, height) = (WIDTH, HEIGHT);
        let parameters: [*const c_void; 3] = [
            (&raw const surface).cast(),
            (&raw const width).cast(),
            (&raw const height).cast(),
        ];
        let launch = vk::CuLaunchInfoNVX {
            function: self.function,
            grid_dim_x: WIDTH.div_ceil(32),
            grid_dim_y: HEIGHT.div_ceil(8),
            grid_dim_z: 1,
            block_dim_x: 32,
            block_dim_y: 8,
            block_dim_z: 1,
            param_count: parameters.len(),
            p_params: parameters.as_ptr(),
            ..Default::default()
        };
        // SAFETY: recording; the parameters are the kernel's, and are copied by the call.
        unsafe { (self.binary_import.fp().cmd_cu_launch_kernel_nvx)(commands, &raw const launch) };
    }
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let (functions, raw) = (self.binary_import.fp(), self.device.raw.handle());
        // SAFETY: made in `new`; the device was idle.
        unsafe {
            (functions.destroy_cu_function_nvx)(raw, self.function, std::ptr::null());
            (functions.destroy_cu_module_nvx)(raw, self.module, std::ptr::null());
        }
    }
}
