//! CUDA guide, external resource interoperability, 4.19.2.1.3 (import memory), .5 (who owns it when) and .7 (map mipmapped
//! arrays onto it).
//!
//! An OPTIMAL image of 5 mip levels and 3 layers, in four formats and once more as a colour attachment. Proven: CUDA finds
//! every texel of every level and layer where Vulkan wrote it, and Vulkan finds what CUDA wrote in its place, bit by bit.
//!
//! ```text
//! Vulkan  copy a pattern in ─ release to EXTERNAL ─┐              ┌─ acquire from EXTERNAL ─ copy out ─ the host checks
//!                                      to_cuda = 1 │              │ to_vulkan = 1
//! CUDA                                             └─ per level: ─┘
//!                                                     check, change
//! ```

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{bail, ensure};
use ash::vk;
use handover::cuda::{Function, launch};
use handover::interop::{SharedFormat, SharedImage, SharedImageDescription, SharedMemory, SharedTimeline};
use handover::proof::{Pair, Verdict, conclude};
use handover::vulkan::{Buffer, BufferMemory, CommandPool, Timeline, TimelineWait, barrier::transfer_to_host};
use vk::{
    AccessFlags2 as Access, BufferUsageFlags as BufferUsage, ImageLayout as Layout, PipelineStageFlags2 as Stage,
};

const EXTENT: vk::Extent2D = vk::Extent2D { width: 128, height: 64 };
const LEVELS: u32 = 5;
const LAYERS: u32 = 3;
const LIMIT: Duration = Duration::from_secs(10);

const USAGE: vk::ImageUsageFlags = vk::ImageUsageFlags::from_raw(
    vk::ImageUsageFlags::TRANSFER_SRC.as_raw()
        | vk::ImageUsageFlags::TRANSFER_DST.as_raw()
        | vk::ImageUsageFlags::STORAGE.as_raw()
        | vk::ImageUsageFlags::SAMPLED.as_raw(),
);

/// The last one makes CUDA's array a colour attachment too: its flag must follow the usage.
const VARIANTS: [(SharedFormat, vk::ImageUsageFlags); 5] = [
    (SharedFormat::Rgba8Unorm, vk::ImageUsageFlags::empty()),
    (SharedFormat::Rgba16Float, vk::ImageUsageFlags::empty()),
    (SharedFormat::R32Float, vk::ImageUsageFlags::empty()),
    (SharedFormat::Rgba32Float, vk::ImageUsageFlags::empty()),
    (SharedFormat::Rgba16Float, vk::ImageUsageFlags::COLOR_ATTACHMENT),
];

/// `pattern` is the host's, word for word. `report`: texels seen, words that differ, and of the first of those its level,
/// layer, x, y, what was expected and what was found.
const KERNEL: &str = r#"
__device__ unsigned pattern(unsigned bytes, unsigned seed, unsigned level, unsigned layer, unsigned x, unsigned y, unsigned word) {
    unsigned bits = ((((seed * 8 + level) * 4 + layer) * 64 + y) * 128 + x) * 4 + word;
    bits = (bits ^ bits >> 16) * 0x7feb352du;
    bits = (bits ^ bits >> 15) * 0x846ca68bu;
    bits ^= bits >> 16;
    unsigned exponents[2] = {0x7c00u, 0x7c000000u}, lowest[2] = {0x400u, 0x4000000u}, count = bytes == 1 ? 0 : 2;
    if (bytes == 4) { exponents[0] = 0x7f800000u; lowest[0] = 0x800000u; count = 1; }
    for (unsigned part = 0; part < count; part++) {
        unsigned exponent = bits & exponents[part];
        if (exponent == 0 || exponent == exponents[part]) bits ^= lowest[part];
    }
    return bits;
}

template <class Texel>
__device__ void check_and_change(cudaSurfaceObject_t surface, unsigned width, unsigned height, unsigned layers,
                                 unsigned level, unsigned bytes, unsigned seed, unsigned *report) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= width || y >= height) return;
    for (unsigned layer = 0; layer < layers; layer++) {
        union { Texel texel; unsigned words[sizeof(Texel) / 4]; } value;
        value.texel = surf2DLayeredread<Texel>(surface, x * sizeof(Texel), y, layer);
        for (unsigned word = 0; word < sizeof(Texel) / 4; word++) {
            unsigned expected = pattern(bytes, seed, level, layer, x, y, word), found = value.words[word];
            if (found != expected && atomicAdd(report + 1, 1u) == 0) {
                report[2] = level; report[3] = layer; report[4] = x; report[5] = y;
                report[6] = expected; report[7] = found;
            }
            value.words[word] = pattern(bytes, seed + 1, level, layer, x, y, word);
        }
        surf2DLayeredwrite(value.texel, surface, x * sizeof(Texel), y, layer);
        atomicAdd(report, 1u);
    }
}

#define KERNEL(name, Texel) extern "C" __global__ void name(cudaSurfaceObject_t surface, unsigned width, unsigned height, \
    unsigned layers, unsigned level, unsigned bytes, unsigned seed, unsigned *report) { \
    check_and_change<Texel>(surface, width, height, layers, level, bytes, seed, report); }
KERNEL(texels_of_4, unsigned)
KERNEL(texels_of_8, uint2)
KERNEL(texels_of_16, uint4)
"#;

/// A word of a texel, of channels of `bytes` each: well mixed bits, but for channels that are floats never zero, denormal,
/// infinite or not a number. So every value is exact in its format, and no copy may change its bits.
fn pattern(bytes: u32, seed: u32, [level, layer, x, y, word]: [u32; 5]) -> u32 {
    let mut bits = ((((seed * 8 + level) * 4 + layer) * 64 + y) * 128 + x) * 4 + word;
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x7feb_352d);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x846c_a68b);
    bits ^= bits >> 16;
    let floats: &[(u32, u32)] = match bytes {
        1 => &[],
        2 => &[(0x7c00, 0x400), (0x7c00_0000, 0x400_0000)],
        _ => &[(0x7f80_0000, 0x80_0000)],
    };
    for (exponent, lowest) in floats {
        if bits & exponent == 0 || bits & exponent == *exponent {
            bits ^= lowest;
        }
    }
    bits
}

fn main() -> ExitCode {
    conclude("image_to_cuda", run)
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
    let kernels = pair.kernels("image_to_cuda", KERNEL, ["texels_of_4", "texels_of_8", "texels_of_16"])?;
    // Drivers open descriptors of their own when something is first used, and keep them: so those are not counted.
    exchange(&pair, &kernels, 0)?;
    let before = handover::interop::open_descriptors()?;
    let mut words = 0;
    for variant in 0..VARIANTS.len() {
        words += exchange(&pair, &kernels, variant)?;
    }
    let after = handover::interop::open_descriptors()?;
    ensure!(
        before == after,
        "{before} descriptors were open before the images, {after} after"
    );
    Ok(Verdict::Pass(format!(
        "{} images of {LEVELS} levels and {LAYERS} layers, {} bytes, each checked by CUDA and, changed, by Vulkan; {after} \
         descriptors open before and after",
        VARIANTS.len(),
        words * 4
    )))
}

/// Makes an image, hands it over and back, checks all of it twice, and lets go of everything; how many words it has.
fn exchange(pair: &Pair, kernels: &[Function; 3], variant: usize) -> anyhow::Result<usize> {
    let (device, context, queue) = (&pair.device, &pair.context, pair.device.scene_queue);
    let (format, attachment) = VARIANTS[variant];
    let description = SharedImageDescription {
        mip_levels: LEVELS,
        array_layers: LAYERS,
        ..SharedImageDescription::new(format, EXTENT, USAGE | attachment)
    };
    let what = format!("{} for {:?}", description.text(), description.usage);
    let texel_words = format.texel_bytes() as u32 / 4;
    let channel_bytes = format.texel_bytes() as u32 / format.cuda().1;
    // Two seeds a variant: contents that another one left behind are not taken for its own.
    let seed = 2 * variant as u32;
    // Every word in the order of the buffers: level by level, in it layer by layer, row by row.
    let places: Vec<[u32; 5]> = (0..LEVELS)
        .flat_map(|level| {
            let vk::Extent2D { width, height } = description.level_extent(level);
            let words = width * texel_words;
            (0..LAYERS * height * words).map(move |index| {
                let (row, column) = (index / words, index % words);
                [
                    level,
                    row / height,
                    column / texel_words,
                    row % height,
                    column % texel_words,
                ]
            })
        })
        .collect();

    let image = SharedImage::new(device, context, description, "shared image")?;
    let report_usage = BufferUsage::TRANSFER_SRC | BufferUsage::TRANSFER_DST;
    let report = SharedMemory::new(device, context, 32, report_usage, "report")?.buffer(0, 32, "report")?;
    let bytes = 4 * places.len() as u64;
    let mut upload = Buffer::new(device, bytes, BufferUsage::TRANSFER_SRC, BufferMemory::Upload, "upload")?;
    let read_back = |bytes| {
        Buffer::new(
            device,
            bytes,
            BufferUsage::TRANSFER_DST,
            BufferMemory::ReadBack,
            "read back",
        )
    };
    let (texels, counts) = (read_back(bytes)?, read_back(report.size)?);
    let written: Vec<u32> = places
        .iter()
        .map(|place| pattern(channel_bytes, seed, *place))
        .collect();
    upload.bytes_mut().copy_from_slice(bytemuck::cast_slice(&written));

    let (to_cuda, to_vulkan) = (
        Timeline::new(device, "to CUDA", true)?,
        Timeline::new(device, "to Vulkan", true)?,
    );
    let finished = Timeline::new(device, "finished", false)?;
    let cuda_waits = SharedTimeline::import(device, context, &to_cuda)?;
    let cuda_signals = SharedTimeline::import(device, context, &to_vulkan)?;
    let write = CommandPool::new(device, queue, "write")?;
    let read = CommandPool::new(device, queue, "read")?;

    let layers = vk::ImageSubresourceLayers::default()
        .aspect_mask(vk::ImageAspectFlags::COLOR)
        .layer_count(LAYERS);
    let mut offset = 0;
    let regions: Vec<_> = (0..LEVELS)
        .map(|level| {
            let extent = description.level_extent(level);
            let region = vk::BufferImageCopy::default()
                .buffer_offset(offset)
                .image_subresource(layers.mip_level(level))
                .image_extent(extent.into());
            offset += u64::from(extent.width * extent.height * LAYERS * texel_words * 4);
            region
        })
        .collect();
    // What the other API does is not Vulkan's to name: its half of a transfer of ownership is the semaphore, so that side of
    // the barrier is ALL_COMMANDS, which chains with the semaphore's stages, and no access. GENERAL is the layout CUDA takes.
    let (ours, theirs) = (queue.family, vk::QUEUE_FAMILY_EXTERNAL);
    let by_copy = (Stage::TRANSFER, Access::TRANSFER_WRITE, Layout::GENERAL, ours);
    let external = (Stage::ALL_COMMANDS, Access::NONE, Layout::GENERAL, theirs);
    let for_copy = (Stage::TRANSFER, Access::TRANSFER_READ, Layout::GENERAL, ours);
    let fresh = (Stage::NONE, Access::NONE, Layout::UNDEFINED, ours);
    type Side = (Stage, Access, Layout, u32);
    let barrier = |commands, from: Side, to: Side, report_too: bool| {
        let images = [vk::ImageMemoryBarrier2::default()
            .image(image.vulkan.raw)
            .subresource_range(description.range())
            .src_stage_mask(from.0)
            .src_access_mask(from.1)
            .old_layout(from.2)
            .src_queue_family_index(from.3)
            .dst_stage_mask(to.0)
            .dst_access_mask(to.1)
            .new_layout(to.2)
            .dst_queue_family_index(to.3)];
        let buffers = [vk::BufferMemoryBarrier2::default()
            .buffer(report.raw)
            .size(vk::WHOLE_SIZE)
            .src_stage_mask(from.0)
            .src_access_mask(from.1)
            .src_queue_family_index(from.3)
            .dst_stage_mask(to.0)
            .dst_access_mask(to.1)
            .dst_queue_family_index(to.3)];
        let dependency = vk::DependencyInfo::default()
            .image_memory_barriers(&images)
            .buffer_memory_barriers(if report_too { &buffers } else { &[] });
        // SAFETY: the command buffer is recording; image and buffer live until both sides are idle.
        unsafe { device.raw.cmd_pipeline_barrier2(commands, &dependency) };
    };

    let hand_over = || -> anyhow::Result<()> {
        let commands = write.begin()?;
        barrier(commands, fresh, by_copy, false);
        // SAFETY: the command buffer is recording; the regions cover buffer and image, which live until both sides are idle.
        unsafe {
            device
                .raw
                .cmd_copy_buffer_to_image(commands, upload.raw, image.vulkan.raw, Layout::GENERAL, &regions);
            device.raw.cmd_fill_buffer(commands, report.raw, 0, vk::WHOLE_SIZE, 0);
        }
        barrier(commands, by_copy, external, true);
        write.end()?;
        device.submit(queue, commands, &[], &[to_cuda.at(1)])?;

        // CUDA waits, works and signals on its stream; the host waits for none of it.
        cuda_waits.wait(&pair.stream, 1)?;
        let kernel = &kernels[texel_words as usize / 2];
        for (level, views) in (0..).zip(image.level_views()) {
            let vk::Extent2D { width, height } = description.level_extent(level);
            let numbers = [width, height, LAYERS, level, channel_bytes, seed].map(u32::to_ne_bytes);
            let (surface, report) = (views.surface.to_ne_bytes(), report.address.to_ne_bytes());
            let mut arguments: Vec<&[u8]> = vec![&surface];
            arguments.extend(numbers.iter().map(<[u8; 4]>::as_slice));
            arguments.push(&report);
            // SAFETY: the arguments are the kernel's, in order; surface and report live until the stream is idle.
            unsafe { launch(&pair.stream, kernel, [width, height], [32, 8], &arguments) }?;
        }
        cuda_signals.signal(&pair.stream, 1)?;

        let commands = read.begin()?;
        barrier(commands, external, for_copy, true);
        let all = [vk::BufferCopy::default().size(report.size)];
        // SAFETY: as above.
        unsafe {
            device
                .raw
                .cmd_copy_image_to_buffer(commands, image.vulkan.raw, Layout::GENERAL, texels.raw, &regions);
            device.raw.cmd_copy_buffer(commands, report.raw, counts.raw, &all);
        }
        transfer_to_host(device, commands);
        read.end()?;
        device.submit(queue, commands, &[to_vulkan.at(1)], &[finished.at(1)])?;
        if finished.wait(1, LIMIT)? == TimelineWait::TimedOut {
            // In CUDA's place, so that Vulkan's queue does not wait for ever.
            to_vulkan.signal(1)?;
            bail!("CUDA did not hand the image back within {LIMIT:?}");
        }
        Ok(())
    };
    let outcome = hand_over();
    // Also after a failure: nothing may be dropped while a side still uses it.
    let idle = pair.finish();
    outcome.and(idle)?;

    let counts = bytemuck::pod_collect_to_vec::<u8, u32>(counts.bytes());
    if let [seen, differing, level, layer, x, y, expected, found] = counts[..] {
        ensure!(
            differing == 0,
            "{what}: CUDA found {differing} wrong words, first in texel ({x}, {y}) of level {level}, layer {layer}: \
             expected {expected:#010x}, found {found:#010x}"
        );
        let texels = places.len() as u32 / texel_words;
        ensure!(seen == texels, "{what}: CUDA saw {seen} of {texels} texels");
    }
    let found = bytemuck::pod_collect_to_vec::<u8, u32>(texels.bytes());
    for (place, found) in places.iter().zip(found) {
        let expected = pattern(channel_bytes, seed + 1, *place);
        let [level, layer, x, y, word] = place;
        ensure!(
            found == expected,
            "{what}: back in Vulkan, word {word} of texel ({x}, {y}) of level {level}, layer {layer}: \
             expected {expected:#010x}, found {found:#010x}"
        );
    }
    Ok(places.len())
}
