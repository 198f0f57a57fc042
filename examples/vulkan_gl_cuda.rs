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

use anyhow::ensure;
use ash::vk;
use handover::cuda::{Function, launch};
use handover::interop::gl::{BinarySemaphore, Context, ImportedTexture, ImportedTimeline, Texture, TextureLayout};
use handover::interop::{
    SharedFormat, SharedImage, SharedImageDescription, SharedMemory, SharedTimeline, open_descriptors,
};
use handover::proof::{Canvas, Pair, ROUND_TRIP_LIMIT, Verdict, conclude};
use handover::vulkan::barrier::transfer_to_host;
use handover::vulkan::ownership::{acquire_from_external, discard_for_copies, release_to_external};
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Timeline, TimelineWait};
use vk::{BufferUsageFlags as BufferUsage, ImageLayout as Layout, ImageUsageFlags as Usage};

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

extern "C" __global__ void check_and_change(cudaSurfaceObject_t image, unsigned width, unsigned height, unsigned round,
                                            unsigned *report) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    unsigned texel = surf2Dread<unsigned>(image, x * 4, y);
    atomicAdd(report + (texel != mixed((round * height + y) * width + x)), 1u);
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
    // Drivers open descriptors of their own when something is first used, and keep them: so the second time is measured.
    rounds(&pair, &opengl, &kernel)?;
    let before = open_descriptors()?;
    rounds(&pair, &opengl, &kernel)?;
    let after = open_descriptors()?;
    ensure!(before == after, "{before} descriptors were open before, {after} after");
    Ok(Verdict::Pass(format!(
        "{ROUNDS} rounds of Vulkan, CUDA and OpenGL ({}) without a host wait, {} texels right in each; {after} descriptors open \
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
    let layers = vk::ImageSubresourceLayers::default()
        .aspect_mask(vk::ImageAspectFlags::COLOR)
        .layer_count(1);
    let region = vk::BufferImageCopy::default()
        .image_subresource(layers)
        .image_extent(EXTENT.into());
    let mut pools = Vec::new();
    for round in 0..ROUNDS {
        let pool = CommandPool::new(device, queue, "write")?;
        let commands = pool.begin()?;
        discard_for_copies(device, commands, part);
        let region = region.buffer_offset(u64::from(round * TEXELS * 4));
        // SAFETY: recording; the buffer has the round's pattern; both outlive the submission. The report is cleared once.
        unsafe {
            let raw = &device.raw;
            raw.cmd_copy_buffer_to_image(commands, upload.raw, part.0, Layout::TRANSFER_DST_OPTIMAL, &[region]);
            if round == 0 {
                raw.cmd_fill_buffer(commands, report.raw, 0, 8, 0);
            }
        }
        let buffers = [report.raw];
        release_to_external(
            device,
            commands,
            queue.family,
            &[part],
            &buffers[usize::from(round > 0)..],
        );
        pool.end()?;
        let (signal, armed) = to_cuda.signal_by_vulkan();
        device.submit(queue, pool.commands, &[drawn.at(round.into())], &[signal])?;
        pools.push(pool);

        to_cuda = armed.wait_by_cuda(&pair.stream)?;
        let (surface, address) = (image.views().surface.to_ne_bytes(), report.address.to_ne_bytes());
        let numbers = [EXTENT.width, EXTENT.height, round].map(u32::to_ne_bytes);
        let [width, height, number] = &numbers;
        let arguments: [&[u8]; 5] = [&surface, width, height, number, &address];
        // SAFETY: the kernel's arguments; image and report live until `pair.finish`.
        unsafe { launch(&pair.stream, kernel, [EXTENT.width, EXTENT.height], [16, 8], &arguments) }?;
        let armed = to_opengl.signal_by_cuda(&pair.stream)?;

        let general = [(texture.raw, TextureLayout::General)];
        to_opengl = armed.wait_by_opengl(&general)?;
        let place = vk::Rect2D {
            offset: vk::Offset2D {
                x: 0,
                y: (round * EXTENT.height) as i32,
            },
            extent: EXTENT,
        };
        canvas.draw(texture.raw, pictures.raw, place, None, 3)?;
        opengl_drawn.signal(u64::from(round) + 1, &general)?;
    }

    let last = CommandPool::new(device, queue, "read")?;
    let finished = Timeline::new(device, "finished", false)?;
    let commands = last.begin()?;
    acquire_from_external(device, commands, queue.family, &[part], &[report.raw]);
    // SAFETY: recording; the buffers have as many bytes, and outlive the submission.
    unsafe {
        let raw = &device.raw;
        raw.cmd_copy_image_to_buffer(
            commands,
            part.0,
            Layout::TRANSFER_SRC_OPTIMAL,
            found_image.raw,
            &[region],
        );
        raw.cmd_copy_buffer(
            commands,
            report.raw,
            found_report.raw,
            &[vk::BufferCopy::default().size(8)],
        );
    }
    transfer_to_host(device, commands);
    last.end()?;
    device.submit(queue, commands, &[drawn.at(ROUNDS.into())], &[finished.at(1)])?;
    let ended = finished.wait(1, ROUND_TRIP_LIMIT)?;
    if ended == TimelineWait::TimedOut {
        // In OpenGL's place, so that the queue can become idle.
        drawn.signal(ROUNDS.into())?;
    }
    pair.finish()?;
    ensure!(
        ended == TimelineWait::Reached,
        "OpenGL did not draw all rounds within {ROUND_TRIP_LIMIT:?}"
    );
    opengl.check_messages()?;

    let counts: Vec<u32> = bytemuck::pod_collect_to_vec(found_report.bytes());
    ensure!(
        counts == [ROUNDS * TEXELS, 0],
        "CUDA saw {counts:?} texels as written and otherwise"
    );
    compare(
        "OpenGL's pictures, one round below the other",
        &patterns,
        &canvas.read(all)?,
    )?;
    compare(
        "Vulkan's image in the end",
        &patterns[((ROUNDS - 1) * TEXELS) as usize..],
        found_image.bytes(),
    )
}

/// CUDA makes of each texel its complement.
fn compare(what: &str, written: &[u32], found: &[u8]) -> anyhow::Result<()> {
    let found: Vec<u32> = bytemuck::pod_collect_to_vec(found);
    for (index, (written, found)) in (0..).zip(written.iter().zip(found)) {
        let (x, y, expected): (u32, u32, u32) = (index % EXTENT.width, index / EXTENT.width, !written);
        ensure!(
            found == expected,
            "{what}, texel ({x}, {y}): expected {expected:#010x}, found {found:#010x}"
        );
    }
    Ok(())
}
