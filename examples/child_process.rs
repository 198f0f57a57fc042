//! The same handles in another process: kernels that fault or never end can take down a child instead of the viewer.
//!
//! ```text
//! parent   VkImage, two timelines ── export ── 3 descriptors ──SCM_RIGHTS──▶ child   import into its own CUDA context
//!          fill with N, signal rendered=N ─────────────────────────────────▶         wait, add the texel's place, signal
//!          wait processed=N, copy out, check every texel ◀──────────────────         processed=N
//! ```
//!
//! It proves that the child sees exactly frame N and the parent exactly what the child made of it, for every frame, that the
//! child ends by itself, and that no descriptor stays open in the parent.

use std::io::{IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use anyhow::{Context, ensure};
use ash::vk;
use handover::cuda::{Driver, Module, compile, launch};
use handover::interop::{
    ExportedImage, ImportedImage, MemoryHandle, SharedFormat, SharedImageDescription, SharedTimeline, TimelineHandle,
    open_descriptors,
};
use handover::proof::{Pair, Verdict, conclude};
use handover::vulkan::barrier::transfer_to_host;
use handover::vulkan::ownership::{acquire_from_external, discard_for_copies, release_to_external};
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Timeline, TimelineWait};
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags,
    recvmsg, sendmsg,
};

const WIDTH: u32 = 200;
const HEIGHT: u32 = 120;
const FRAMES: u64 = 50;
const LIMIT: Duration = Duration::from_secs(10);
/// Set for the child: its standard input is the socket.
pub const CHILD: &str = "HANDOVER_EXAMPLE_CHILD";

const KERNEL: &str = r#"
extern "C" __global__ void add_place(unsigned long long surface, unsigned width, unsigned height, unsigned frame)
{
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned texel = surf2Dread<unsigned>(surface, x * 4, y);
    // A texel of another frame becomes a value that no frame has.
    surf2Dwrite(texel == frame ? frame * 65536 + y * width + x : 0xffffffffu, surface, x * 4, y);
}
"#;

/// The example as a program.
pub fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_none() {
        return conclude("child_process", run);
    }
    match child() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("child: {error:#}");
            ExitCode::FAILURE
        }
    }
}

fn description() -> SharedImageDescription {
    let extent = vk::Extent2D {
        width: WIDTH,
        height: HEIGHT,
    };
    let usage = vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    SharedImageDescription::new(SharedFormat::R32Uint, extent, usage)
}

/// The parent.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let descriptors = open_descriptors()?;
    {
        let device = &pair.device;
        let image = ExportedImage::new(device, description(), "shared with a child")?;
        let rendered = Timeline::new(device, "rendered", true)?;
        let processed = Timeline::new(device, "processed", true)?;
        let retired = Timeline::new(device, "retired", false)?;

        let (ours, theirs) = UnixStream::pair()?;
        let mut child = Command::new(std::env::current_exe()?)
            .env(CHILD, "1")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .context("start the child")?;
        let (memory, size, _) = image.export()?.into_parts();
        let semaphores = [
            SharedTimeline::export(device, &rendered)?,
            SharedTimeline::export(device, &processed)?,
        ];
        let [rendered_fd, processed_fd] = semaphores.map(TimelineHandle::into_fd);
        send(&ours, pair.cuda.uuid, size, [&memory, &rendered_fd, &processed_fd])?;
        // Sent: the child has descriptors of its own now.
        drop((memory, rendered_fd, processed_fd));

        let bytes = u64::from(WIDTH) * u64::from(HEIGHT) * 4;
        let queue = device.scene_queue;
        let texels = Buffer::new(
            device,
            bytes,
            vk::BufferUsageFlags::TRANSFER_DST,
            BufferMemory::ReadBack,
            "texels",
        )?;
        let (fill, copy) = (
            CommandPool::new(device, queue, "fill")?,
            CommandPool::new(device, queue, "copy")?,
        );
        for frame in 1..=FRAMES {
            record_fill(&pair, &fill, &image, frame)?;
            device.submit(queue, fill.commands, &[], &[rendered.at(frame)])?;
            record_copy(&pair, &copy, &image, &texels)?;
            device.submit(queue, copy.commands, &[processed.at(frame)], &[retired.at(frame)])?;
            // One frame at a time: the subject is the other process, not the pace.
            if retired.wait(frame, LIMIT)? == TimelineWait::TimedOut {
                processed.signal(frame)?;
                device.wait_idle()?;
                let ended = child.wait()?;
                anyhow::bail!("frame {frame} did not come back from the child, which ended with {ended}");
            }
            for (place, texel) in bytemuck::cast_slice::<u8, u32>(texels.bytes()).iter().enumerate() {
                let expected = frame as u32 * 65536 + place as u32;
                ensure!(
                    *texel == expected,
                    "frame {frame}, texel {place}: {texel} instead of {expected}"
                );
            }
        }
        drop(ours);
        let ended = child.wait()?;
        ensure!(ended.success(), "the child ended with {ended}");
        pair.finish()?;
    }
    let open = open_descriptors()?;
    ensure!(
        open == descriptors,
        "{open} descriptors are open, {descriptors} were before"
    );
    let texels = FRAMES * u64::from(WIDTH) * u64::from(HEIGHT);
    Ok(Verdict::Pass(format!(
        "{FRAMES} frames through another process, {texels} texels checked"
    )))
}

fn record_fill(pair: &Pair, pool: &CommandPool, image: &ExportedImage, frame: u64) -> anyhow::Result<()> {
    let commands = pool.begin()?;
    let whole = (image.raw, image.description.range());
    discard_for_copies(&pair.device, commands, whole);
    let color = vk::ClearColorValue {
        uint32: [frame as u32; 4],
    };
    let layout = vk::ImageLayout::TRANSFER_DST_OPTIMAL;
    // SAFETY: recording; the image was created for transfers and lives until all frames have retired.
    unsafe {
        pair.device
            .raw
            .cmd_clear_color_image(commands, image.raw, layout, &color, &[image.description.range()])
    };
    release_to_external(&pair.device, commands, pair.device.scene_queue.family, &[whole], &[]);
    Ok(pool.end()?)
}

fn record_copy(pair: &Pair, pool: &CommandPool, image: &ExportedImage, texels: &Buffer) -> anyhow::Result<()> {
    let commands = pool.begin()?;
    let whole = (image.raw, image.description.range());
    acquire_from_external(&pair.device, commands, pair.device.scene_queue.family, &[whole], &[]);
    let layers = vk::ImageSubresourceLayers {
        aspect_mask: vk::ImageAspectFlags::COLOR,
        mip_level: 0,
        base_array_layer: 0,
        layer_count: 1,
    };
    let region = [vk::BufferImageCopy::default()
        .image_subresource(layers)
        .image_extent(image.description.extent.into())];
    let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
    // SAFETY: recording; image and buffer live until all frames have retired.
    unsafe {
        pair.device
            .raw
            .cmd_copy_image_to_buffer(commands, image.raw, layout, texels.raw, &region)
    };
    transfer_to_host(&pair.device, commands);
    Ok(pool.end()?)
}

/// The child: it has neither a Vulkan device nor the parent's memory, only what came through the socket.
fn child() -> anyhow::Result<()> {
    let (uuid, size, [memory, rendered, processed]) = receive()?;
    let driver = Driver::load()?;
    let device = driver
        .devices
        .iter()
        .find(|device| device.uuid == uuid)
        .context("the parent's GPU is not visible")?;
    let context = driver.context(device)?;
    let stream = context
        .new_stream()
        .map_err(|error| anyhow::anyhow!("create a stream: {error:?}"))?;
    // SAFETY: the parent sent a dedicated image's memory with its size, and two timelines, in this order.
    let (memory, rendered, processed) = unsafe {
        (
            MemoryHandle::from_parts(memory, size, true),
            TimelineHandle::from_fd(rendered),
            TimelineHandle::from_fd(processed),
        )
    };
    let image = ImportedImage::new(&context, memory, &description())?;
    let rendered = SharedTimeline::from_handle(&context, rendered, "rendered")?;
    let processed = SharedTimeline::from_handle(&context, processed, "processed")?;
    let ptx = compile("add_place", KERNEL, (7, 5), &[])?;
    let kernel = Module::load(&context, &ptx, "add_place")?.function("add_place")?;
    let surface = image.level_views()[0].surface;
    for frame in 1..=FRAMES {
        rendered.wait(&stream, frame)?;
        let (surface, width, height, value) = (
            surface.to_ne_bytes(),
            WIDTH.to_ne_bytes(),
            HEIGHT.to_ne_bytes(),
            (frame as u32).to_ne_bytes(),
        );
        // SAFETY: a surface and three unsigned integers, as the kernel declares; the image lives until the end.
        unsafe {
            launch(
                &stream,
                &kernel,
                [WIDTH, HEIGHT],
                [32, 8],
                &[&surface, &width, &height, &value],
            )
        }?;
        processed.signal(&stream, frame)?;
    }
    stream
        .synchronize()
        .map_err(|error| anyhow::anyhow!("run the frames: {error:?}"))
}

/// The GPU's UUID and the allocation's size as bytes, the descriptors beside them.
fn send(socket: &UnixStream, uuid: [u8; 16], size: u64, fds: [&OwnedFd; 3]) -> anyhow::Result<()> {
    let mut message = uuid.to_vec();
    message.extend(size.to_ne_bytes());
    let fds = fds.map(AsFd::as_fd);
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    ensure!(
        ancillary.push(SendAncillaryMessage::ScmRights(&fds)),
        "three descriptors fit"
    );
    sendmsg(socket, &[IoSlice::new(&message)], &mut ancillary, SendFlags::empty()).context("send the descriptors")?;
    Ok(())
}

fn receive() -> anyhow::Result<([u8; 16], u64, [OwnedFd; 3])> {
    let mut message = [0u8; 24];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(3))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let mut parts = [IoSliceMut::new(&mut message)];
    let received = recvmsg(std::io::stdin().as_fd(), &mut parts, &mut ancillary, RecvFlags::empty())
        .context("receive the descriptors")?;
    ensure!(received.bytes == 24, "{} bytes came instead of 24", received.bytes);
    let fds: Vec<OwnedFd> = ancillary
        .drain()
        .filter_map(|part| match part {
            RecvAncillaryMessage::ScmRights(fds) => Some(fds),
            _ => None,
        })
        .flatten()
        .collect();
    let fds = fds
        .try_into()
        .map_err(|fds: Vec<_>| anyhow::anyhow!("{} descriptors came instead of 3", fds.len()))?;
    Ok((
        message[..16].try_into()?,
        u64::from_ne_bytes(message[16..].try_into()?),
        fds,
    ))
}
