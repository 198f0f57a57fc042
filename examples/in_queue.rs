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

use std::process::ExitCode;
use std::time::{Duration, Instant};

use handover::anyhow;
use handover::anyhow::ensure;
use handover::cuda::{compile, link};
use handover::proof::{Pair, Verdict, conclude, expect_words};
use handover::vulkan::barrier::{Barriers, transfer_to_host};
use handover::vulkan::ownership::discard_for_copies;
use handover::vulkan::transfer::{clear, copy_to_buffer};
use handover::vulkan::vk;
use handover::vulkan::{
    Buffer, BufferMemory, COLOR, CommandPool, Device, DeviceRequest, Image, ImageDescription, QueueFunction,
    QueueModule, Timeline, TimelineWait, surface_of,
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
///
/// # Errors
/// A texel that is not what it must be, or a call that failed.
pub fn run() -> anyhow::Result<Verdict> {
    // Nothing is exported: neither memory nor a semaphore is shared.
    let pair = match Pair::open_for(&DeviceRequest {
        kernels_in_queue: true,
        ..DeviceRequest::default()
    })? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let (device, queue) = (&pair.device, pair.device.scene_queue);
    // CUDA's context is only needed to link: the kernel never runs on it.
    let cubin = link(&pair.context, &compile("add_place", KERNEL, (7, 5), &[])?, "add_place")?;

    let description = ImageDescription {
        extent: vk::Extent2D {
            width: WIDTH,
            height: HEIGHT,
        },
        format: vk::Format::R32_UINT,
        usage: vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST,
    };
    let image = Image::new(device, description, "in-queue")?;
    let (bytes, to_host) = (u64::from(WIDTH * HEIGHT) * 4, vk::BufferUsageFlags::TRANSFER_DST);
    let frames = Frames {
        surface: surface_of(device, image.view)?,
        kernel: QueueModule::load(device, &cubin, "add_place")?.function("add_place")?,
        texels: Buffer::new(device, bytes, to_host, BufferMemory::ReadBack, "texels")?,
        pool: CommandPool::new(device, queue, "frame")?,
        image,
    };
    let done = Timeline::new(device, "done", false)?;

    let started = Instant::now();
    for frame in 1..=FRAMES {
        frames.record(device, frame as u32)?;
        device.submit(queue, frames.pool.commands, &[], &[done.at(frame)])?;
        let wait = done.wait(frame, Duration::from_secs(10))?;
        ensure!(wait == TimelineWait::Reached, "frame {frame} did not end");
        let expected = |place| frame as u32 * 65536 + place;
        let place = |place| format!("frame {frame}, texel {place}");
        expect_words(frames.texels.bytes(), expected, place)?;
    }
    let microseconds = started.elapsed().as_secs_f64() * 1e6 / FRAMES as f64;
    pair.finish()?;
    let checked = FRAMES * u64::from(WIDTH * HEIGHT);
    Ok(Verdict::Pass(format!(
        "{FRAMES} frames, {checked} texels checked, {microseconds:.0} µs a frame with the check"
    )))
}

/// What a frame uses, one frame after the other.
struct Frames {
    kernel: QueueFunction,
    /// The image, as the kernel takes it.
    surface: u64,
    texels: Buffer,
    pool: CommandPool,
    image: Image,
}

impl Frames {
    /// Clears the image to the frame's number, lets the kernel change it, and copies it to the host.
    fn record(&self, device: &Device, frame: u32) -> anyhow::Result<()> {
        let (commands, image) = (self.pool.begin()?, self.image.raw);
        discard_for_copies(device, commands, (image, COLOR));
        let number = vk::ClearColorValue { uint32: [frame; 4] };
        clear(device, commands, (image, COLOR), number);
        Barriers::new().transfer_to_kernel(image).record(device, commands);

        let surface = self.surface.to_ne_bytes();
        let (width, height) = (WIDTH.to_ne_bytes(), HEIGHT.to_ne_bytes());
        // SAFETY: recording; a surface and two unsigned integers, as the kernel declares; the image lives until the frame
        // has ended, which the host waits for.
        unsafe {
            let arguments = [&surface[..], &width, &height];
            self.kernel.launch(commands, [WIDTH, HEIGHT], [32, 8], arguments);
        }

        Barriers::new().kernel_to_transfer(image).record(device, commands);
        copy_to_buffer(device, commands, &self.image, &self.texels);
        transfer_to_host(device, commands);
        Ok(self.pool.end()?)
    }
}
