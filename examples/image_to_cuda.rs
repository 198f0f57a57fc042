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

use handover::anyhow;
use handover::anyhow::{bail, ensure};
use handover::bytemuck;
use handover::cuda::{Function, launch};
use handover::interop::{SharedFormat, SharedImage, SharedImageDescription, SharedMemory};
use handover::proof::{Pair, Verdict, conclude, expect_words};
use handover::vulkan::ownership::{acquire_from_external, discard_for_copies, release_to_external};
use handover::vulkan::transfer::{copy_buffer, fill, regions_from_buffer, regions_to_buffer};
use handover::vulkan::vk;
use handover::vulkan::{Buffer, BufferMemory};
use vk::BufferUsageFlags as BufferUsage;

const EXTENT: vk::Extent2D = vk::Extent2D { width: 128, height: 64 };
const LEVELS: u32 = 5;
const LAYERS: u32 = 3;
/// Bytes of the kernel's report.
const REPORT: u64 = 32;

/// A format, what else its image is used for, and what a word of a texel is made of: bits that are kept of mixed ones, and bits
/// that are set. So a half or a float is never zero, denormal, infinite or not a number: exact in its format, and no copy has
/// a reason to change its bits. The last variant makes CUDA's array a colour attachment too: its flag must follow the usage.
type Variant = (SharedFormat, vk::ImageUsageFlags, [u32; 2]);
const VARIANTS: [Variant; 5] = [
    (SharedFormat::Rgba8Unorm, NOTHING_ELSE, [0xffff_ffff, 0]),
    (SharedFormat::Rgba16Float, NOTHING_ELSE, HALVES),
    (SharedFormat::R32Float, NOTHING_ELSE, FLOATS),
    (SharedFormat::Rgba32Float, NOTHING_ELSE, FLOATS),
    (SharedFormat::Rgba16Float, vk::ImageUsageFlags::COLOR_ATTACHMENT, HALVES),
];
const NOTHING_ELSE: vk::ImageUsageFlags = vk::ImageUsageFlags::empty();
const HALVES: [u32; 2] = [0xbfff_bfff, 0x0400_0400];
const FLOATS: [u32; 2] = [0xbfff_ffff, 0x0080_0000];

/// `mixed` is the host's, word for word. `report`: texels seen, words that differ, and of the first of those its level, layer,
/// x, y, what was expected and what was found.
const KERNEL: &str = r#"
__device__ unsigned mixed(unsigned seed, unsigned level, unsigned layer, unsigned x, unsigned y, unsigned word) {
    unsigned bits = ((((seed * 8 + level) * 4 + layer) * 64 + y) * 128 + x) * 4 + word;
    bits = (bits ^ bits >> 16) * 0x7feb352du;
    bits = (bits ^ bits >> 15) * 0x846ca68bu;
    return bits ^ bits >> 16;
}

struct Level { unsigned width, height, layers, level, keep, set, seed; };

template <class Texel> __device__ void check_and_change(cudaSurfaceObject_t surface, Level of, unsigned *report) {
    unsigned x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x >= of.width || y >= of.height) return;
    for (unsigned layer = 0; layer < of.layers; layer++) {
        union { Texel texel; unsigned words[sizeof(Texel) / 4]; } value;
        value.texel = surf2DLayeredread<Texel>(surface, x * sizeof(Texel), y, layer);
        for (unsigned word = 0; word < sizeof(Texel) / 4; word++) {
            unsigned expected = mixed(of.seed, of.level, layer, x, y, word) & of.keep | of.set, found = value.words[word];
            if (found != expected && atomicAdd(report + 1, 1u) == 0) {
                report[2] = of.level; report[3] = layer; report[4] = x; report[5] = y;
                report[6] = expected; report[7] = found;
            }
            value.words[word] = mixed(of.seed + 1, of.level, layer, x, y, word) & of.keep | of.set;
        }
        surf2DLayeredwrite(value.texel, surface, x * sizeof(Texel), y, layer);
        atomicAdd(report, 1u);
    }
}

#define ENTRY(name, Texel) extern "C" __global__ void name(cudaSurfaceObject_t surface, Level of, unsigned *report) { \
    check_and_change<Texel>(surface, of, report); }
ENTRY(texels_of_4, unsigned)
ENTRY(texels_of_8, uint2)
ENTRY(texels_of_16, uint4)
"#;

/// Well mixed bits for a place in one of the contents.
fn mixed(seed: u32, [level, layer, x, y, word]: [u32; 5]) -> u32 {
    let mut bits = ((((seed * 8 + level) * 4 + layer) * 64 + y) * 128 + x) * 4 + word;
    bits = (bits ^ (bits >> 16)).wrapping_mul(0x7feb_352d);
    bits = (bits ^ (bits >> 15)).wrapping_mul(0x846c_a68b);
    bits ^ (bits >> 16)
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
    let (words, descriptors) = pair.leaves_nothing(|| {
        let exchanges = (0u32..).zip(VARIANTS);
        exchanges
            .map(|(seed, variant)| exchange(&pair, &kernels, variant, 2 * seed))
            .sum::<anyhow::Result<usize>>()
    })?;
    Ok(Verdict::Pass(format!(
        "{} images of {LEVELS} levels and {LAYERS} layers, {} bytes, each checked by CUDA and, changed, by Vulkan; \
         {descriptors} descriptors open before and after",
        VARIANTS.len(),
        words * 4
    )))
}

/// Makes an image, hands it over and back, checks all of it twice, and lets go of everything; how many words it has. Vulkan writes
/// the content of `seed`, CUDA that of the next: what another variant left behind is not taken for its own.
fn exchange(pair: &Pair, kernels: &[Function; 3], variant: Variant, seed: u32) -> anyhow::Result<usize> {
    let (device, context, family) = (&pair.device, &pair.context, pair.device.scene_queue.family);
    let (format, attachment, [keep, set]) = variant;
    let copied = vk::ImageUsageFlags::TRANSFER_SRC | vk::ImageUsageFlags::TRANSFER_DST;
    let used = vk::ImageUsageFlags::STORAGE | vk::ImageUsageFlags::SAMPLED;
    let description = SharedImageDescription {
        mip_levels: LEVELS,
        array_layers: LAYERS,
        ..SharedImageDescription::new(format, EXTENT, copied | used | attachment)
    };
    let what = format!("{} for {:?}", description.text(), description.usage);
    let texel_words = format.texel_bytes() as u32 / 4;
    let kernel = &kernels[texel_words as usize / 2];
    let places = places(&description, texel_words);
    let pattern = |seed, place: &[u32; 5]| mixed(seed, *place) & keep | set;

    let image = SharedImage::new(device, context, description, "shared image")?;
    let (from, to) = (BufferUsage::TRANSFER_SRC, BufferUsage::TRANSFER_DST);
    let report = SharedMemory::new(device, context, REPORT, from | to, "report")?.buffer(0, REPORT, "report")?;
    let bytes = 4 * places.len() as u64;
    let mut upload = Buffer::new(device, bytes, from, BufferMemory::Upload, "upload")?;
    let texels = Buffer::new(device, bytes, to, BufferMemory::ReadBack, "texels")?;
    let counts = Buffer::new(device, REPORT, to, BufferMemory::ReadBack, "counts")?;
    let written: Vec<u32> = places.iter().map(|place| pattern(seed, place)).collect();
    upload.bytes_mut().copy_from_slice(bytemuck::cast_slice(&written));

    let (raw, regions) = (image.vulkan.raw, description.copy_regions());
    let (whole, buffers) = ((raw, description.range()), [report.raw]);
    pair.round_trip(
        |commands| {
            discard_for_copies(device, commands, whole);
            regions_from_buffer(device, commands, upload.raw, raw, &regions);
            fill(device, commands, report.raw, 0..REPORT, 0);
            release_to_external(device, commands, family, &[whole], &buffers);
        },
        |stream| {
            for (level, views) in (0..).zip(image.level_views()) {
                let vk::Extent2D { width, height } = description.level_extent(level);
                let (surface, report) = (views.surface.to_ne_bytes(), report.address.to_ne_bytes());
                let level: [u32; 7] = [width, height, LAYERS, level, keep, set, seed];
                let arguments = [&surface, bytemuck::bytes_of(&level), &report];
                // SAFETY: the arguments are the kernel's, in order; surface and report outlive the round trip.
                unsafe { launch(stream, kernel, [width, height], [32, 8], &arguments) }?;
            }
            Ok(())
        },
        |commands| {
            acquire_from_external(device, commands, family, &[whole], &buffers);
            regions_to_buffer(device, commands, raw, texels.raw, &regions);
            copy_buffer(device, commands, (report.raw, 0), (counts.raw, 0), REPORT);
        },
    )?;

    let counts = bytemuck::pod_collect_to_vec::<u8, u32>(counts.bytes());
    let [seen, differing, level, layer, x, y, expected, found] = counts[..] else {
        bail!("a report of {} words", counts.len());
    };
    ensure!(
        differing == 0,
        "{what}: CUDA found {differing} wrong words, first in texel ({x}, {y}) of level {level}, layer {layer}: expected \
         {expected:#010x}, found {found:#010x}"
    );
    let all = places.len() as u32 / texel_words;
    ensure!(seen == all, "{what}: CUDA saw {seen} of {all} texels");

    let place = |index| {
        let [level, layer, x, y, word] = places[index as usize];
        format!("{what}: back in Vulkan, word {word} of texel ({x}, {y}) of level {level}, layer {layer}")
    };
    let changed = |index| pattern(seed + 1, &places[index as usize]);
    expect_words(texels.bytes(), changed, place)
}

/// Level, layer, x, y and word of every word, in the order of the copies: by level, layer, row.
fn places(description: &SharedImageDescription, texel_words: u32) -> Vec<[u32; 5]> {
    let of_level = |level| {
        let vk::Extent2D { width, height } = description.level_extent(level);
        let place = move |index: u32| {
            let (texel, word) = (index / texel_words, index % texel_words);
            let (layer, x, y) = (texel / (width * height), texel % width, texel / width % height);
            [level, layer, x, y, word]
        };
        (0..width * height * LAYERS * texel_words).map(place)
    };
    (0..LEVELS).flat_map(of_level).collect()
}
