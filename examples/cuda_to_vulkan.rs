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

use handover::anyhow;
use handover::anyhow::bail;
use handover::cuda::{Function, launch};
use handover::interop::{CudaAllocation, Error, ImportedBuffer, LinearImage, SharedFormat};
use handover::proof::{Pair, Verdict, conclude, expect_words};
use handover::vulkan::barrier::{Barriers, transfer_to_host};
use handover::vulkan::ownership::acquire_from_external;
use handover::vulkan::transfer::{copy_buffer, image_to_buffer};
use handover::vulkan::vk;
use handover::vulkan::{Buffer, BufferMemory, COLOR, CommandPool};
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
    let ((words, pitch), descriptors) = pair.leaves_nothing(|| {
        refuse_too_large(&pair)?;
        both_orders(&pair, &fill)
    })?;
    Ok(Verdict::Pass(format!(
        "{} bytes of CUDA's read by Vulkan, as buffers and as LINEAR images (rows {pitch} bytes apart), freed in both \
         orders; an image too large refused; {descriptors} descriptors open before and after",
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
        words += import.write_and_check(fill, &allocation, 0x1234_5678)?;
        drop(allocation);
        words += import.check_again(0x1234_5678)?;
        drop(import);

        // Vulkan lets go first: the allocation is CUDA's as before, and can be exported again.
        let allocation = CudaAllocation::new(&pair.context, BYTES)?;
        for salt in [0x0bad_cafe, 0x600d_f00d] {
            let import = Import::new(pair, &allocation, as_image)?;
            words += import.write_and_check(fill, &allocation, salt)?;
            pitch = import.pitch;
            drop(import);
        }
        drop(allocation);
    }
    Ok((words, pitch))
}

/// What Vulkan made of an allocation, and where in it the kernel writes.
struct Import<'a> {
    raw: Raw,
    /// Words in a row, and rows.
    extent: [u32; 2],
    /// Bytes from row to row.
    pitch: u64,
    /// Bytes from the allocation's start to the first row.
    offset: u64,
    read_back: Buffer,
    pair: &'a Pair,
}

enum Raw {
    Buffer(ImportedBuffer),
    Image(LinearImage),
}

impl<'a> Import<'a> {
    /// Exports the allocation and imports it.
    fn new(pair: &'a Pair, allocation: &CudaAllocation, as_image: bool) -> anyhow::Result<Self> {
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
            pair,
        })
    }

    /// A kernel writes all that was imported, Vulkan takes it over and reads it; the words checked.
    fn write_and_check(&self, fill: &Function, allocation: &CudaAllocation, salt: u32) -> anyhow::Result<usize> {
        let (device, family) = (&self.pair.device, self.pair.device.scene_queue.family);
        let [width, height] = self.extent;
        let address = (allocation.address + self.offset).to_ne_bytes();
        let [width, height, pitch, salted] = [width, height, (self.pitch / 4) as u32, salt].map(u32::to_ne_bytes);
        let arguments = [&address[..], &width, &height, &pitch, &salted];
        self.pair.round_trip(
            // The bytes are CUDA's from the start. But an image begins in UNDEFINED, and would lose what is in it by leaving
            // that later: so it becomes GENERAL before CUDA writes.
            |commands| {
                if let Raw::Image(LinearImage { raw, .. }) = &self.raw {
                    Barriers::new().discard_to_external(*raw).record(device, commands);
                }
            },
            // SAFETY: the arguments are the kernel's, in order; the rows lie in the allocation, since what Vulkan imported
            // fits into it, and it outlives the round trip.
            |stream| Ok(unsafe { launch(stream, fill, self.extent, [32, 8], &arguments) }?),
            |commands| {
                match &self.raw {
                    Raw::Buffer(buffer) => acquire_from_external(device, commands, family, &[], &[buffer.raw]),
                    Raw::Image(image) => acquire_from_external(device, commands, family, &[(image.raw, COLOR)], &[]),
                }
                self.copy(commands);
            },
        )?;
        self.check(salt, "written by CUDA")
    }

    /// Vulkan reads what it took over before; CUDA's side is gone.
    fn check_again(&self, salt: u32) -> anyhow::Result<usize> {
        let device = &self.pair.device;
        CommandPool::run_once(device, device.scene_queue, |commands| {
            self.copy(commands);
            transfer_to_host(device, commands);
        })?;
        self.check(salt, "after CUDA let go")
    }

    /// Copies all of it to the host, rows without gaps.
    fn copy(&self, commands: vk::CommandBuffer) {
        let (device, target) = (&self.pair.device, self.read_back.raw);
        match &self.raw {
            Raw::Buffer(buffer) => copy_buffer(device, commands, (buffer.raw, 0), (target, 0), buffer.size),
            Raw::Image(image) => image_to_buffer(device, commands, image.raw, EXTENT, target),
        }
    }

    /// Checks every word of the last copy; how many there were.
    fn check(&self, salt: u32, when: &str) -> anyhow::Result<usize> {
        let [width, height] = self.extent;
        let is_image = matches!(self.raw, Raw::Image(_));
        let what = if is_image { "the LINEAR image" } else { "the buffer" };
        let bytes = &self.read_back.bytes()[..(width * height) as usize * 4];
        let place = |index| format!("{what}, {when}: word {} of row {}", index % width, index / width);
        expect_words(bytes, |index| word(index, salt), place)
    }
}

/// The allocation's size and what Vulkan needs are compared before the import; the handle is closed.
fn refuse_too_large(pair: &Pair) -> anyhow::Result<()> {
    let allocation = CudaAllocation::new(&pair.context, BYTES)?;
    let (format, usage) = (SharedFormat::Rgba8Unorm, vk::ImageUsageFlags::TRANSFER_SRC);
    let extent = vk::Extent2D::default().width(4096).height(4096);
    match LinearImage::new(&pair.device, allocation.export()?, format, extent, usage, "too large") {
        Err(Error::Range { .. }) => Ok(()),
        Err(error) => bail!("expected an image too large to be refused as a range, found: {error}"),
        Ok(_) => bail!("an image of 64 MiB in {} bytes was not refused", allocation.size()),
    }
}
