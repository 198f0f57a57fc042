//! CUDA guide, external resource interoperability, 4.19.2.1.10: one allocation in three APIs.
//!
//! One image, made by Vulkan, imported by CUDA and by OpenGL (`GL_EXT_memory_object_fd`). In each round Vulkan writes it, CUDA
//! checks and changes it, OpenGL draws it into a picture of the round; one writer at a time, in turn by semaphores alone
//! (`GL_EXT_semaphore_fd`, `GL_NV_timeline_semaphore`), with no host wait from the first round to the last. Proven: CUDA saw what Vulkan
//! wrote, OpenGL drew what CUDA made of it, texel by texel in every round, and Vulkan finds the last of it.
//!
//! ```text
//! Vulkan  wait drawn = N-1 ─ copy in ─ signal to_cuda ┐                                            ┌ wait drawn = N …
//! CUDA                                                └ wait ─ check, change ─ signal to_opengl ┐  │
//! OpenGL                                                                                        └ wait ─ draw ─ signal drawn = N
//! ```

use std::process::ExitCode;
use std::rc::Rc;
use std::thread::sleep;
use std::time::Duration;

use handover::anyhow;
use handover::anyhow::{bail, ensure};
use handover::bytemuck;
use handover::cuda::{Function, launch};
use handover::interop::gl::{BinarySemaphore, Context, ImportedTexture, ImportedTimeline, Texture, TextureLayout};
use handover::interop::{SharedFormat, SharedImage, SharedImageDescription, SharedMemory, SharedTimeline};
use handover::proof::{Canvas, Pair, ROUND_TRIP_LIMIT, Verdict, conclude, expect_words};
use handover::vulkan::barrier::transfer_to_host;
use handover::vulkan::ownership::{acquire_from_external, discard_for_copies, release_to_external};
use handover::vulkan::transfer::{copy_buffer, fill, regions_from_buffer, regions_to_buffer};
use handover::vulkan::vk;
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Timeline, TimelineWait};
use vk::{BufferUsageFlags as BufferUsage, ImageUsageFlags as Usage};

const ROUNDS: u32 = 100;
const EXTENT: vk::Extent2D = vk::Extent2D { width: 64, height: 32 };
const TEXELS: u32 = EXTENT.width * EXTENT.height;

/// `mixed` is the host's too. `report`: texels that were as Vulkan wrote them, and others.
const KERNEL: &str = r#"
__device__ unsigned mixed(unsigned bits) {
    bits = (bits ^ bits >> 16) * 0x7feb352du;
    bits = (bits ^ bits >> 15) * 0x846ca68bu;
    return bits ^ bits >> 16;
}

struct Round { unsigned width, height, number; };

extern "C" __global__ void check_and_change(cudaSurfaceObject_t image, Round round, unsigned *report) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= round.width || y >= round.height) return;
    unsigned texel = surf2Dread<unsigned>(image, x * 4, y);
    atomicAdd(report + (texel != mixed((round.number * round.height + y) * round.width + x)), 1u);
    surf2Dwrite(~texel, image, x * 4, y);
}
"#;

/// One triangle over all of the picture.
const VERTEX_SHADER: &str = "#version 450 core
void main() { gl_Position = vec4(gl_VertexID == 1 ? 3.0 : -1.0, gl_VertexID == 2 ? 3.0 : -1.0, 0.0, 1.0); }";

const FRAGMENT_SHADER: &str = "#version 450 core
layout(binding = 0) uniform sampler2D image;
out vec4 color;
void main() { color = texelFetch(image, ivec2(gl_FragCoord.xy) % textureSize(image, 0), 0); }";

fn mixed(mut bits: u32) -> u32 {
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x7feb_352d);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x846c_a68b);
    bits ^ (bits >> 16)
}

fn main() -> ExitCode {
    conclude("vulkan_gl_cuda", run)
}

/// All of the example.
///
/// # Errors
/// A texel that is not what it must be, or a call that failed.
pub fn run() -> anyhow::Result<Verdict> {
    let pair = match Pair::open()? {
        Ok(pair) => pair,
        Err(reason) => return Ok(Verdict::Skip(reason)),
    };
    let opengl = match Context::headless(Some(&pair.cuda.uuid)) {
        Ok(opengl) => opengl,
        Err(error) => return Ok(Verdict::Skip(error.to_string().replace('\n', " "))),
    };
    let [kernel] = pair.kernels("vulkan_gl_cuda", KERNEL, ["check_and_change"])?;
    let ((), descriptors) = pair.leaves_nothing(|| rounds(&pair, &opengl, &kernel))?;
    Ok(Verdict::Pass(format!(
        "{ROUNDS} rounds of Vulkan, CUDA and OpenGL ({}) without a host wait, {} texels right in each; {descriptors} descriptors open \
         before and after",
        opengl.renderer(),
        TEXELS
    )))
}

/// Makes everything, runs all rounds, checks all of them, and lets go of everything.
fn rounds(pair: &Pair, opengl: &Rc<Context>, kernel: &Function) -> anyhow::Result<()> {
    let (device, cuda, queue) = (&pair.device, &pair.context, pair.device.scene_queue);
    let usage = Usage::TRANSFER_SRC | Usage::TRANSFER_DST | Usage::SAMPLED | Usage::STORAGE;
    let description = SharedImageDescription::new(SharedFormat::Rgba8Unorm, EXTENT, usage);
    let image = SharedImage::new(device, cuda, description, "one image")?;
    let texture = ImportedTexture::new(opengl, image.vulkan.export()?, &description)?;
    let mut to_cuda = BinarySemaphore::new(device, cuda, opengl, "to CUDA")?;
    let mut to_opengl = BinarySemaphore::new(device, cuda, opengl, "to OpenGL")?;
    let drawn = Timeline::new(device, "drawn", true)?;
    let opengl_drawn = ImportedTimeline::new(opengl, SharedTimeline::export(device, &drawn)?)?;

    let report_usage = BufferUsage::TRANSFER_SRC | BufferUsage::TRANSFER_DST;
    let report = SharedMemory::new(device, cuda, 8, report_usage, "report")?.buffer(0, 8, "report")?;
    let bytes = u64::from(ROUNDS * TEXELS * 4);
    let mut upload = Buffer::new(
        device,
        bytes,
        BufferUsage::TRANSFER_SRC,
        BufferMemory::Upload,
        "patterns",
    )?;
    let patterns: Vec<u32> = (0..ROUNDS * TEXELS).map(mixed).collect();
    upload.bytes_mut().copy_from_slice(bytemuck::cast_slice(&patterns));
    let read_back = |bytes, name| Buffer::new(device, bytes, BufferUsage::TRANSFER_DST, BufferMemory::ReadBack, name);
    let (found_report, found_image) = (read_back(8, "report")?, read_back(u64::from(TEXELS * 4), "image")?);
    // One below the other, so that none is read before all are drawn.
    let all = vk::Extent2D {
        height: ROUNDS * EXTENT.height,
        ..EXTENT
    };
    let pictures = Texture::new(opengl, SharedFormat::Rgba8Unorm, all)?;
    let canvas = Canvas::new(opengl, VERTEX_SHADER, FRAGMENT_SHADER)?;

    let part = (image.vulkan.raw, description.range());
    let [region] = description.copy_regions()[..] else {
        bail!("an image of one level has one region");
    };
    let mut pools = Vec::new();
    for round in 0..ROUNDS {
        let pool = CommandPool::new(device, queue, "write")?;
        let commands = pool.begin()?;
        discard_for_copies(device, commands, part);
        let region = region.buffer_offset(u64::from(round * TEXELS * 4));
        regions_from_buffer(device, commands, upload.raw, part.0, &[region]);
        if round == 0 {
            fill(device, commands, report.raw, 0..8, 0);
        }
        // The report is CUDA's from the first round on, the image in each.
        let given_once = [report.raw];
        let given = &given_once[usize::from(round > 0)..];
        release_to_external(device, commands, queue.family, &[part], given);
        pool.end()?;
        let (signal, armed) = to_cuda.signal_by_vulkan();
        device.submit(queue, pool.commands, &[drawn.at(round.into())], &[signal])?;
        pools.push(pool);

        to_cuda = armed.wait_by_cuda(&pair.stream)?;
        let numbers = [EXTENT.width, EXTENT.height, round];
        let arguments: [&[u8]; 3] = [
            &image.views().surface.to_ne_bytes(),
            bytemuck::cast_slice(&numbers),
            &report.address.to_ne_bytes(),
        ];
        // SAFETY: the kernel's arguments; image and report live until `pair.finish`.
        unsafe { launch(&pair.stream, kernel, [EXTENT.width, EXTENT.height], [16, 8], &arguments) }?;
        let armed = to_opengl.signal_by_cuda(&pair.stream)?;

        let general = [(texture.raw, TextureLayout::General)];
        to_opengl = armed.wait_by_opengl(&general)?;
        let offset = vk::Offset2D {
            x: 0,
            y: (round * EXTENT.height) as i32,
        };
        canvas.draw(
            texture.raw,
            pictures.raw,
            vk::Rect2D { offset, extent: EXTENT },
            None,
            3,
        )?;
        opengl_drawn.signal(u64::from(round) + 1, &general)?;
    }

    let last = CommandPool::new(device, queue, "read")?;
    let finished = Timeline::new(device, "finished", false)?;
    let commands = last.begin()?;
    acquire_from_external(device, commands, queue.family, &[part], &[report.raw]);
    regions_to_buffer(device, commands, part.0, found_image.raw, &[region]);
    copy_buffer(device, commands, (report.raw, 0), (found_report.raw, 0), 8);
    transfer_to_host(device, commands);
    last.end()?;
    device.submit(queue, commands, &[drawn.at(ROUNDS.into())], &[finished.at(1)])?;
    let ended = finished.wait(1, ROUND_TRIP_LIMIT)?;
    if ended == TimelineWait::TimedOut {
        // In OpenGL's place, one round after the other, so that all three can become idle.
        for value in drawn.value()? + 1..=ROUNDS.into() {
            drawn.signal(value)?;
            sleep(Duration::from_millis(10));
        }
    }
    pair.finish()?;
    ensure!(
        ended == TimelineWait::Reached,
        "OpenGL did not draw all rounds within {ROUND_TRIP_LIMIT:?}"
    );
    opengl.check_messages()?;

    let seen = |index| [ROUNDS * TEXELS, 0][index as usize];
    expect_words(found_report.bytes(), seen, |index| {
        format!(
            "texels that CUDA saw {}",
            ["as Vulkan wrote them", "otherwise"][index as usize]
        )
    })?;
    // CUDA makes of each texel its complement.
    let complement = |index| !mixed(index);
    expect_words(&canvas.read(all)?, complement, |index| {
        format!("OpenGL's picture of round {}, {}", index / TEXELS, place(index))
    })?;
    let last = (ROUNDS - 1) * TEXELS;
    expect_words(
        found_image.bytes(),
        |index| complement(last + index),
        |index| format!("Vulkan's image in the end, {}", place(index)),
    )?;
    Ok(())
}

fn place(index: u32) -> String {
    format!(
        "texel ({}, {})",
        index % EXTENT.width,
        index / EXTENT.width % EXTENT.height
    )
}
