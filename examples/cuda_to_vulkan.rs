//! CUDA guide, external resource interoperability, the way that its chapter leaves out: memory that CUDA allocates and
//! exports (virtual memory management, `cuMemExportToShareableHandle`), and Vulkan imports.
//!
//! One allocation becomes a Vulkan buffer, another a LINEAR image. Proven: Vulkan reads each byte that a kernel wrote; the
//! bytes stay while either side holds them, whichever lets go first; an image that does not fit is refused.
//!
//! ```text
//! CUDA    allocate ─ export ─┐                         ┌─ kernel writes ─┐
//!                            │             to_cuda = 1 │   to_vulkan = 1 │
//! Vulkan                     └─ import ─ (to GENERAL) ─┘                 └─ acquire from EXTERNAL ─ copy ─ the host checks
//!
//! CUDA lets go first:    Vulkan still reads the same bytes
//! Vulkan lets go first:  a kernel writes other bytes, and a second import reads those
//! ```

use std::process::ExitCode;

use anyhow::{bail, ensure};
use ash::vk;
use handover::cuda::{Function, launch};
use handover::interop::{CudaAllocation, Error, ImportedBuffer, LinearImage, SharedFormat, open_descriptors};
use handover::proof::{Pair, Verdict, conclude};
use handover::vulkan::barrier::{Barriers, transfer_to_host};
use handover::vulkan::ownership::acquire_from_external;
use handover::vulkan::{Buffer, BufferMemory, COLOR, CommandPool, Device};
use vk::BufferUsageFlags as BufferUsage;

/// Rows of 400 bytes: drivers put the rows of LINEAR images at multiples of more than 16, so the pitch is another number.
const EXTENT: vk::Extent2D = vk::Extent2D { width: 100, height: 60 };
/// Asked for; CUDA rounds up.
const BYTES: usize = 1 << 20;
/// The buffer is written as so many rows without gaps: CUDA's sizes are multiples of it.
const ROWS: u64 = 256;

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
    let before = open_descriptors()?;
    let (words, pitch) = both_orders(&pair, &fill)?;
    refuse_too_large(&pair)?;
    let after = open_descriptors()?;
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
        // CUDA lets go first: the handle that was exported is the import's, and keeps the memory with what is in it.
        let allocation = CudaAllocation::new(&pair.context, BYTES)?;
        let import = Import::new(pair, &allocation, as_image)?;
        words += import.write_and_check(pair, fill, &allocation, 0x1234_5678)?;
        drop(allocation);
        words += import.check_again(pair, 0x1234_5678)?;
        drop(import);

        // Vulkan lets go first: the allocation is CUDA's as before, and can be exported again.
        let allocation = CudaAllocation::new(&pair.context, BYTES)?;
        let import = Import::new(pair, &allocation, as_image)?;
        words += import.write_and_check(pair, fill, &allocation, 0x0bad_cafe)?;
        drop(import);
        let import = Import::new(pair, &allocation, as_image)?;
        words += import.write_and_check(pair, fill, &allocation, 0x600d_f00d)?;
        pitch = import.pitch;
        drop(import);
        drop(allocation);
    }
    Ok((words, pitch))
}

/// What Vulkan made of an allocation, and where in it the kernel writes.
struct Import {
    raw: Raw,
    /// Words in a row, and rows.
    extent: [u32; 2],
    /// Bytes from row to row.
    pitch: u64,
    /// Bytes from the allocation's start to the first row.
    offset: u64,
    read_back: Buffer,
}

enum Raw {
    Buffer(ImportedBuffer),
    Image(LinearImage),
}

impl Import {
    /// Exports the allocation and imports it.
    fn new(pair: &Pair, allocation: &CudaAllocation, as_image: bool) -> anyhow::Result<Self> {
        let (device, handle, size) = (&pair.device, allocation.export()?, allocation.size() as u64);
        let (raw, extent, pitch, offset) = if as_image {
            let usage = vk::ImageUsageFlags::TRANSFER_SRC;
            let image = LinearImage::new(device, handle, SharedFormat::Rgba8Unorm, EXTENT, usage, "CUDA's")?;
            let (pitch, offset) = (image.row_pitch, image.offset);
            (Raw::Image(image), [EXTENT.width, EXTENT.height], pitch, offset)
        } else {
            let buffer = ImportedBuffer::new(device, handle, BufferUsage::TRANSFER_SRC, "CUDA's")?;
            let pitch = size / ROWS;
            (Raw::Buffer(buffer), [(pitch / 4) as u32, ROWS as u32], pitch, 0)
        };
        let to_host = BufferUsage::TRANSFER_DST;
        let read_back = Buffer::new(device, size, to_host, BufferMemory::ReadBack, "read back")?;
        Ok(Self {
            raw,
            extent,
            pitch,
            offset,
            read_back,
        })
    }

    /// A kernel writes all that was imported, Vulkan takes it over and reads it; the words checked.
    fn write_and_check(
        &self,
        pair: &Pair,
        fill: &Function,
        allocation: &CudaAllocation,
        salt: u32,
    ) -> anyhow::Result<usize> {
        let [width, height] = self.extent;
        let address = (allocation.address + self.offset).to_ne_bytes();
        let numbers = [width, height, (self.pitch / 4) as u32, salt].map(u32::to_ne_bytes);
        let arguments: [&[u8]; 5] = [&address, &numbers[0], &numbers[1], &numbers[2], &numbers[3]];
        pair.round_trip(
            // The bytes are CUDA's from the start. But an image begins in UNDEFINED, and would lose what is in it by leaving
            // that later: so it becomes GENERAL before CUDA writes.
            |commands| {
                if let Raw::Image(image) = &self.raw {
                    Barriers::new()
                        .discard_to_external(image.raw)
                        .record(&pair.device, commands);
                }
            },
            // SAFETY: the arguments are the kernel's, in order; the rows lie in the allocation, since what Vulkan imported
            // fits into it, and it outlives the round trip.
            |stream| Ok(unsafe { launch(stream, fill, self.extent, [32, 8], &arguments) }?),
            |commands| {
                let (device, family) = (&pair.device, pair.device.scene_queue.family);
                match &self.raw {
                    Raw::Buffer(buffer) => acquire_from_external(device, commands, family, &[], &[buffer.raw]),
                    Raw::Image(image) => acquire_from_external(device, commands, family, &[(image.raw, COLOR)], &[]),
                }
                self.copy(device, commands);
            },
        )?;
        self.check(salt, "written by CUDA")
    }

    /// Vulkan reads what it took over before; CUDA's side is gone.
    fn check_again(&self, pair: &Pair, salt: u32) -> anyhow::Result<usize> {
        let (device, queue) = (&pair.device, pair.device.scene_queue);
        CommandPool::run_once(device, queue, |commands| {
            self.copy(device, commands);
            transfer_to_host(device, commands);
        })?;
        self.check(salt, "after CUDA let go")
    }

    /// Copies all of it to the host, rows without gaps.
    fn copy(&self, device: &Device, commands: vk::CommandBuffer) {
        let target = self.read_back.raw;
        // SAFETY: the command buffer is recording; all of either fits into the target; both live until the copy was waited
        // for.
        unsafe {
            match &self.raw {
                Raw::Buffer(buffer) => {
                    let region = [vk::BufferCopy::default().size(buffer.size)];
                    device.raw.cmd_copy_buffer(commands, buffer.raw, target, &region);
                }
                Raw::Image(image) => {
                    let color = vk::ImageSubresourceLayers::default().aspect_mask(vk::ImageAspectFlags::COLOR);
                    let region = vk::BufferImageCopy::default().image_subresource(color.layer_count(1));
                    let region = [region.image_extent(EXTENT.into())];
                    let layout = vk::ImageLayout::TRANSFER_SRC_OPTIMAL;
                    device
                        .raw
                        .cmd_copy_image_to_buffer(commands, image.raw, layout, target, &region);
                }
            }
        }
    }

    /// Checks every word of the last copy; how many there were.
    fn check(&self, salt: u32, when: &str) -> anyhow::Result<usize> {
        let [width, height] = self.extent;
        let count = (width * height) as usize;
        let words = bytemuck::pod_collect_to_vec::<u8, u32>(&self.read_back.bytes()[..count * 4]);
        let what = match self.raw {
            Raw::Buffer(_) => "the buffer",
            Raw::Image(_) => "the LINEAR image",
        };
        for (index, found) in (0..).zip(words) {
            let (x, y, expected) = (index % width, index / width, word(index, salt));
            ensure!(
                found == expected,
                "{what}, {when}: word {x} of row {y}: expected {expected:#010x}, found {found:#010x}"
            );
        }
        Ok(count)
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
