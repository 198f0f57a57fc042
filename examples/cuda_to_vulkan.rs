//! CUDA guide, external resource interoperability, the way that its chapter leaves out: memory that CUDA allocates and
//! exports (virtual memory management, `cuMemExportToShareableHandle`), and Vulkan imports.
//!
//! One allocation becomes a Vulkan buffer, another a LINEAR image. Proven: Vulkan reads each byte that a kernel wrote; the
//! bytes stay while either side holds them, whichever lets go first; an image that does not fit is refused.
//!
//! ```text
//! CUDA    allocate ─ export ─ kernel writes ─┐                     CUDA lets go first:   Vulkan still reads the same bytes
//!                                written = N │                     Vulkan lets go first: a kernel writes others, a second
//! Vulkan            import ──────────────────┴─ acquire ─ copy                           import reads those
//! ```

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use ash::vk;
use handover::cuda::{Function, launch};
use handover::interop::{CudaAllocation, Error, ImportedBuffer, LinearImage, SharedFormat, SharedTimeline};
use handover::proof::{Pair, Verdict, conclude};
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Timeline, TimelineWait, barrier::transfer_to_host};
use vk::{AccessFlags2 as Access, BufferUsageFlags as BufferUsage, PipelineStageFlags2 as Stage};

/// Rows of 400 bytes: drivers put the rows of LINEAR images at multiples of more than 16, so the pitch is another number.
const EXTENT: vk::Extent2D = vk::Extent2D { width: 100, height: 60 };
/// Asked for; CUDA rounds up.
const BYTES: usize = 1 << 20;
const LIMIT: Duration = Duration::from_secs(10);

/// `words` rows apart by `pitch` words; each word tells its place and the salt.
const KERNEL: &str = r#"
extern "C" __global__ void fill(unsigned *words, unsigned width, unsigned height, unsigned pitch, unsigned salt) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < width && y < height)
        words[(size_t)y * pitch + x] = (y * width + x) * 2654435761u ^ salt;
}
"#;

/// What the kernel writes as the `index`th word.
fn word(index: u32, salt: u32) -> u32 {
    index.wrapping_mul(2_654_435_761) ^ salt
}

#[derive(Clone, Copy)]
enum First {
    Cuda,
    Vulkan,
}

/// What Vulkan made of the allocation.
enum Import {
    Buffer(ImportedBuffer),
    Image(LinearImage),
}

fn main() -> ExitCode {
    conclude("cuda_to_vulkan", run)
}

/// All of the example.
///
/// # Errors
/// A word that is not what it must be, an image that was not refused, or a call that failed.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let [fill] = pair.kernels("cuda_to_vulkan", KERNEL, ["fill"])?;
    // Drivers open descriptors of their own when something is first used, and keep them: so a first round is not counted.
    both_orders(&pair, &fill)?;
    let before = handover::interop::open_descriptors()?;
    let (words, pitch) = both_orders(&pair, &fill)?;
    refuse_too_large(&pair)?;
    let after = handover::interop::open_descriptors()?;
    ensure!(
        before == after,
        "{before} descriptors were open before the allocations, {after} after"
    );
    Ok(Verdict::Pass(format!(
        "{} bytes of CUDA's read by Vulkan, as buffers and as LINEAR images (rows {pitch} bytes apart), freed in both \
         orders; an image too large refused; {after} descriptors open before and after",
        words * 4
    )))
}

/// Buffer and image, CUDA first and Vulkan first: how many words were checked, and the pitch of the image in bytes.
fn both_orders(pair: &Pair, fill: &Function) -> anyhow::Result<(usize, u64)> {
    let (mut words, mut pitch) = (0, 0);
    for as_image in [false, true] {
        for first in [First::Cuda, First::Vulkan] {
            let mut round = Round::new(pair, fill)?;
            let outcome = round.run(as_image, first);
            // Also after a failure: nothing may be dropped while a side still uses it.
            let idle = pair.finish();
            outcome.and(idle)?;
            words += round.checked;
            pitch = round.pitch;
        }
    }
    Ok((words, pitch))
}

/// One allocation, from birth to the death of both sides.
struct Round<'a> {
    import: Option<Import>,
    allocation: Option<CudaAllocation>,
    // CUDA's side of the timeline goes before Vulkan's.
    signal: SharedTimeline,
    written: Timeline,
    finished: Timeline,
    read: CommandPool,
    read_back: Buffer,
    /// Rounds of writing and reading so far: the value of both timelines.
    value: u64,
    checked: usize,
    pitch: u64,
    fill: &'a Function,
    pair: &'a Pair,
}

impl<'a> Round<'a> {
    fn new(pair: &'a Pair, fill: &'a Function) -> anyhow::Result<Self> {
        let device = &pair.device;
        let allocation = CudaAllocation::new(&pair.context, BYTES)?;
        let written = Timeline::new(device, "written", true)?;
        let (to_host, size) = (BufferUsage::TRANSFER_DST, allocation.size() as u64);
        Ok(Self {
            import: None,
            allocation: Some(allocation),
            signal: SharedTimeline::import(device, &pair.context, &written)?,
            written,
            finished: Timeline::new(device, "finished", false)?,
            read: CommandPool::new(device, device.scene_queue, "read")?,
            read_back: Buffer::new(device, size, to_host, BufferMemory::ReadBack, "read back")?,
            value: 0,
            checked: 0,
            pitch: 0,
            fill,
            pair,
        })
    }

    fn run(&mut self, as_image: bool, first: First) -> anyhow::Result<()> {
        self.import(as_image)?;
        self.write_and_read(0x1234_5678)?;
        match first {
            First::Cuda => {
                // The handle that was exported is the import's: it keeps the memory, with what is in it.
                self.allocation = None;
                self.read(None)?;
                self.check(0x1234_5678, "after CUDA let go")?;
                self.import = None;
            }
            First::Vulkan => {
                self.import = None;
                // The allocation is CUDA's as before, and can be exported again.
                self.import(as_image)?;
                self.write_and_read(0x0bad_cafe)?;
                self.import = None;
                self.allocation = None;
            }
        }
        Ok(())
    }

    /// Exports the allocation and imports it into Vulkan.
    fn import(&mut self, as_image: bool) -> anyhow::Result<()> {
        let Some(allocation) = &self.allocation else {
            bail!("CUDA's side is gone")
        };
        let (device, handle) = (&self.pair.device, allocation.export()?);
        self.import = Some(if as_image {
            let usage = vk::ImageUsageFlags::TRANSFER_SRC;
            let image = LinearImage::new(device, handle, SharedFormat::Rgba8Unorm, EXTENT, usage, "CUDA's")?;
            self.pitch = image.row_pitch;
            Import::Image(image)
        } else {
            Import::Buffer(ImportedBuffer::new(
                device,
                handle,
                BufferUsage::TRANSFER_SRC,
                "CUDA's",
            )?)
        });
        Ok(())
    }

    /// A kernel writes what Vulkan imported, all of it; then Vulkan copies it to the host, which checks it.
    fn write_and_read(&mut self, salt: u32) -> anyhow::Result<()> {
        let (Some(allocation), Some(import)) = (&self.allocation, &self.import) else {
            bail!("a side is gone")
        };
        let (offset, width, height, pitch) = match import {
            Import::Buffer(buffer) => (0, (buffer.size / 4) as u32, 1, (buffer.size / 4) as u32),
            Import::Image(image) => (image.offset, EXTENT.width, EXTENT.height, (image.row_pitch / 4) as u32),
        };
        self.value += 1;
        let address = (allocation.address + offset).to_ne_bytes();
        let numbers = [width, height, pitch, salt].map(u32::to_ne_bytes);
        let arguments: [&[u8]; 5] = [&address, &numbers[0], &numbers[1], &numbers[2], &numbers[3]];
        let stream = &self.pair.stream;
        // SAFETY: the arguments are the kernel's, in order; the rows lie in the allocation, since Vulkan's import fits into
        // it, and it lives until the copy that waits for this was waited for.
        unsafe { launch(stream, self.fill, [width, height], [32, 8], &arguments) }?;
        self.signal.signal(stream, self.value)?;
        self.read(Some(self.value))?;
        self.check(salt, "written by CUDA")
    }

    /// Copies what was imported to the host, once CUDA has written it where `written` is given, and waits.
    fn read(&mut self, written: Option<u64>) -> anyhow::Result<()> {
        let (device, queue) = (&self.pair.device, self.pair.device.scene_queue);
        let commands = self.read.begin()?;
        if written.is_some() {
            self.acquire(commands);
        }
        // SAFETY: the command buffer is recording; all of either fits into `read_back`; both live until the wait below.
        unsafe {
            match &self.import {
                Some(Import::Buffer(buffer)) => {
                    let region = [vk::BufferCopy::default().size(buffer.size)];
                    device
                        .raw
                        .cmd_copy_buffer(commands, buffer.raw, self.read_back.raw, &region);
                }
                Some(Import::Image(image)) => {
                    let color = vk::ImageSubresourceLayers::default().aspect_mask(vk::ImageAspectFlags::COLOR);
                    let region = [vk::BufferImageCopy::default()
                        .image_subresource(color.layer_count(1))
                        .image_extent(EXTENT.into())];
                    let (layout, target) = (vk::ImageLayout::GENERAL, self.read_back.raw);
                    device
                        .raw
                        .cmd_copy_image_to_buffer(commands, image.raw, layout, target, &region);
                }
                None => bail!("Vulkan's side is gone"),
            }
        }
        transfer_to_host(device, commands);
        self.read.end()?;
        let waits: Vec<_> = written.iter().map(|value| self.written.at(*value)).collect();
        let read = self.finished.value()? + 1;
        device.submit(queue, commands, &waits, &[self.finished.at(read)])?;
        if self.finished.wait(read, LIMIT)? == TimelineWait::TimedOut {
            // In CUDA's place, so that Vulkan's queue does not wait for ever.
            self.written.signal(self.value)?;
            bail!("CUDA did not signal within {LIMIT:?}");
        }
        // The host may write and drop what the copy used; the next copy to the same place follows it.
        Ok(device.wait_idle()?)
    }

    /// What CUDA wrote becomes the queue family's own. CUDA's half of the transfer of ownership is the semaphore, so that
    /// side is ALL_COMMANDS, which chains with the wait's stages, and no access. The image's layout outside of Vulkan is
    /// GENERAL: UNDEFINED would give its contents up.
    fn acquire(&self, commands: vk::CommandBuffer) {
        let (theirs, ours) = (vk::QUEUE_FAMILY_EXTERNAL, self.pair.device.scene_queue.family);
        let (mut buffers, mut images) = (Vec::new(), Vec::new());
        match &self.import {
            Some(Import::Buffer(buffer)) => buffers.push(
                vk::BufferMemoryBarrier2::default()
                    .buffer(buffer.raw)
                    .size(vk::WHOLE_SIZE)
                    .src_stage_mask(Stage::ALL_COMMANDS)
                    .src_queue_family_index(theirs)
                    .dst_stage_mask(Stage::TRANSFER)
                    .dst_access_mask(Access::TRANSFER_READ)
                    .dst_queue_family_index(ours),
            ),
            Some(Import::Image(image)) => images.push(
                vk::ImageMemoryBarrier2::default()
                    .image(image.raw)
                    .subresource_range(handover::vulkan::COLOR)
                    .src_stage_mask(Stage::ALL_COMMANDS)
                    .old_layout(vk::ImageLayout::GENERAL)
                    .src_queue_family_index(theirs)
                    .dst_stage_mask(Stage::TRANSFER)
                    .dst_access_mask(Access::TRANSFER_READ)
                    .new_layout(vk::ImageLayout::GENERAL)
                    .dst_queue_family_index(ours),
            ),
            None => {}
        }
        let dependency = vk::DependencyInfo::default()
            .buffer_memory_barriers(&buffers)
            .image_memory_barriers(&images);
        // SAFETY: the command buffer is recording; what was imported lives until the copy was waited for.
        unsafe { self.pair.device.raw.cmd_pipeline_barrier2(commands, &dependency) };
    }

    /// Checks every word of the last copy.
    fn check(&mut self, salt: u32, when: &str) -> anyhow::Result<()> {
        let (what, width, count) = match &self.import {
            Some(Import::Buffer(buffer)) => ("the buffer", (buffer.size / 4) as u32, buffer.size as usize / 4),
            _ => (
                "the LINEAR image",
                EXTENT.width,
                (EXTENT.width * EXTENT.height) as usize,
            ),
        };
        let words = bytemuck::pod_collect_to_vec::<u8, u32>(&self.read_back.bytes()[..count * 4]);
        for (index, found) in (0..).zip(words) {
            let expected = word(index, salt);
            let (x, y) = (index % width, index / width);
            ensure!(
                found == expected,
                "{what}, {when}: word {x} of row {y}: expected {expected:#010x}, found {found:#010x}"
            );
        }
        self.checked += count;
        Ok(())
    }
}

/// The allocation's size and what Vulkan needs are compared before the import; the handle is closed.
fn refuse_too_large(pair: &Pair) -> anyhow::Result<()> {
    let allocation = CudaAllocation::new(&pair.context, BYTES)?;
    let extent = vk::Extent2D {
        width: 4096,
        height: 4096,
    };
    let (format, usage) = (SharedFormat::Rgba8Unorm, vk::ImageUsageFlags::TRANSFER_SRC);
    match LinearImage::new(&pair.device, allocation.export()?, format, extent, usage, "too large") {
        Err(Error::Range { .. }) => Ok(()),
        Err(error) => bail!("expected an image too large to be refused as a range, found: {error}"),
        Ok(_) => bail!("an image of 64 MiB in {} bytes was not refused", allocation.size()),
    }
}
