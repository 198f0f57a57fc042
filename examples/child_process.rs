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

use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Command, ExitCode, Stdio};
use std::time::Duration;

use handover::anyhow;
use handover::anyhow::{Context, ensure};
use handover::cuda::{Driver, Module, compile, launch};
use handover::interop::{
    ExportedImage, ImportedImage, MemoryHandle, SharedFormat, SharedImageDescription, SharedTimeline, TimelineHandle,
    open_descriptors, receive_descriptors, send_descriptors,
};
use handover::proof::{Pair, Verdict, conclude, expect_descriptors, expect_words};
use handover::vulkan::barrier::transfer_to_host;
use handover::vulkan::ownership::{acquire_from_external, discard_for_copies, release_to_external};
use handover::vulkan::transfer::{clear, image_to_buffer};
use handover::vulkan::vk;
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Timeline, TimelineWait};

const EXTENT: vk::Extent2D = vk::Extent2D {
    width: 200,
    height: 120,
};
const TEXELS: u64 = EXTENT.width as u64 * EXTENT.height as u64;
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
    let usage = vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    SharedImageDescription::new(SharedFormat::R32Uint, EXTENT, usage)
}

/// The parent.
///
/// # Errors
/// A texel that is not what it must be, a child that fails, or a call that failed.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let descriptors = open_descriptors()?;
    Parent::new(&pair)?.run()?;
    expect_descriptors(descriptors, "after all frames")?;
    Ok(Verdict::Pass(format!(
        "{FRAMES} frames through another process, {} texels checked",
        FRAMES * TEXELS
    )))
}

/// What the parent has of a frame.
struct Parent<'a> {
    image: ExportedImage,
    /// Signalled by Vulkan here.
    rendered: Timeline,
    /// Signalled by CUDA in the child.
    processed: Timeline,
    /// Signalled by Vulkan when the texels are back.
    retired: Timeline,
    fill: CommandPool,
    copy: CommandPool,
    texels: Buffer,
    pair: &'a Pair,
}

impl<'a> Parent<'a> {
    fn new(pair: &'a Pair) -> anyhow::Result<Self> {
        let (device, queue) = (&pair.device, pair.device.scene_queue);
        let to_host = vk::BufferUsageFlags::TRANSFER_DST;
        Ok(Self {
            image: ExportedImage::new(device, description(), "shared with a child")?,
            rendered: Timeline::new(device, "rendered", true)?,
            processed: Timeline::new(device, "processed", true)?,
            retired: Timeline::new(device, "retired", false)?,
            fill: CommandPool::new(device, queue, "fill")?,
            copy: CommandPool::new(device, queue, "copy")?,
            texels: Buffer::new(device, TEXELS * 4, to_host, BufferMemory::ReadBack, "texels")?,
            pair,
        })
    }

    fn run(self) -> anyhow::Result<()> {
        let (ours, theirs) = UnixStream::pair()?;
        let mut child = Command::new(std::env::current_exe()?)
            .env(CHILD, "1")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .spawn()
            .context("start the child")?;
        let (memory, size, _) = self.image.export()?.into_parts();
        let [rendered, processed] = [&self.rendered, &self.processed]
            .map(|timeline| SharedTimeline::export(&self.pair.device, timeline).map(TimelineHandle::into_fd));
        // The GPU's UUID and the allocation's size as bytes, the descriptors beside them: the child gets its own.
        let message = [&self.pair.cuda.uuid[..], &size.to_ne_bytes()].concat();
        send_descriptors(&ours, &message, &[memory, rendered?, processed?]).context("send the descriptors")?;

        let returned = self.frames();
        if returned.is_err() {
            // The child may wait for a frame that does not come.
            child.kill()?;
        }
        let ended = child.wait()?;
        returned.with_context(|| format!("the child ended with {ended}"))?;
        ensure!(ended.success(), "the child ended with {ended}");
        self.pair.finish()
    }

    /// One frame at a time: the subject is the other process, not the pace.
    fn frames(&self) -> anyhow::Result<()> {
        for frame in 1..=FRAMES {
            self.submit(frame)?;
            if self.retired.wait(frame, LIMIT)? == TimelineWait::TimedOut {
                self.processed.signal(frame)?;
                self.pair.device.wait_idle()?;
                anyhow::bail!("frame {frame} did not come back from the child");
            }
            let expected = |place| frame as u32 * 65536 + place;
            let place = |place| format!("frame {frame}, texel {place}");
            expect_words(self.texels.bytes(), expected, place)?;
        }
        Ok(())
    }

    /// Fills the image with the frame's number for the child, and copies to the host what comes back.
    fn submit(&self, frame: u64) -> anyhow::Result<()> {
        let (device, queue) = (&self.pair.device, self.pair.device.scene_queue);
        let whole = (self.image.raw, self.image.description.range());
        let number = vk::ClearColorValue {
            uint32: [frame as u32; 4],
        };
        let commands = self.fill.begin()?;
        discard_for_copies(device, commands, whole);
        clear(device, commands, whole, number);
        release_to_external(device, commands, queue.family, &[whole], &[]);
        self.fill.end()?;
        device.submit(queue, commands, &[], &[self.rendered.at(frame)])?;

        let commands = self.copy.begin()?;
        acquire_from_external(device, commands, queue.family, &[whole], &[]);
        image_to_buffer(device, commands, whole.0, EXTENT, self.texels.raw);
        transfer_to_host(device, commands);
        self.copy.end()?;
        let (waits, signals) = ([self.processed.at(frame)], [self.retired.at(frame)]);
        Ok(device.submit(queue, commands, &waits, &signals)?)
    }
}

/// The child: it has neither a Vulkan device nor the parent's memory, only what came through the socket.
fn child() -> anyhow::Result<()> {
    let mut message = [0; 24];
    let [memory, rendered, processed] =
        receive_descriptors(std::io::stdin().as_fd(), &mut message).context("receive the descriptors")?;
    let (uuid, size) = message.split_at(16);
    let size = u64::from_ne_bytes(size.try_into()?);
    let driver = Driver::load()?;
    let device = driver.devices.iter().find(|device| device.uuid == uuid);
    let context = driver.context(device.context("the parent's GPU is not visible")?)?;
    let stream = context.new_stream().context("create a stream")?;
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
    let surface = image.level_views()[0].surface.to_ne_bytes();
    let extent = [EXTENT.width, EXTENT.height];
    for frame in 1..=FRAMES {
        rendered.wait(&stream, frame)?;
        let [width, height, number] = [extent[0], extent[1], frame as u32].map(u32::to_ne_bytes);
        let arguments = [&surface[..], &width, &height, &number];
        // SAFETY: a surface and three unsigned integers, as the kernel declares; the image lives until the end.
        unsafe { launch(&stream, &kernel, extent, [32, 8], &arguments) }?;
        processed.signal(&stream, frame)?;
    }
    stream.synchronize().context("run the frames")
}
