//! Runs a plan on the CPU, rows in parallel.

use super::host_images::{HostGuides, HostImages, MappedImage, TEXEL_SIZE};
use super::host_memory::{HostBuffer, HostImage, HostMemory, HostScratch};
use super::{
    FloatImage, FrameParameters, Guides, Reference, ReferencePass, RowFn, Texel, WholeFn, light, rounded, transform,
};
use crate::kernels::plan::{BufferId, ImageId, KeptId, Launch, MadeId, Plan};
use crate::kernels::{ChainMemory, FrameExtents, Guide};
use crate::timing::ToolRange;
use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;
use std::time::{Duration, Instant};

/// Why a plan does not run on the CPU.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RunError {
    /// A kernel without a CPU reference, such as one given by the user.
    #[error("the kernel {entry} has no CPU reference, so it needs CUDA")]
    MissingReference {
        /// The kernel's `extern "C"` name.
        entry: String,
    },
    /// The plan reads a guide that was not given.
    #[error("the chain reads the guide {0:?}, which the scene does not write")]
    MissingGuide(Guide),
}

/// When a launch began and ended, since the start. `None`: what it makes was there from a frame before.
pub type RanAt = Option<[Duration; 2]>;

/// Runs the launches of a plan, from `color` to `processed`, and says when each ran. Nothing is written if a kernel has no reference.
pub fn run(plan: &Plan, images: &mut HostImages, frame: &FrameParameters) -> Result<Vec<RanAt>, RunError> {
    let started = Instant::now();
    // A transform has none: it is the same for every effect.
    let find = |launch: &Launch| match launch.description().transform {
        Some(_) => Ok(None),
        None => super::of(launch.entry())
            .map(Some)
            .ok_or_else(|| RunError::MissingReference {
                entry: launch.entry().to_owned(),
            }),
    };
    let references = plan.launches.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let HostScratch {
        memory,
        colors,
        sources,
        guides,
    } = &mut *images.scratch;
    let mut has_color = [false; 2];
    for guide in &plan.guides {
        convert_guide(
            *guide,
            &images.guides,
            images.extents.scene,
            &mut guides[*guide as usize],
        )?;
    }
    let Ok(()) = memory.prepare(plan, images.extents, &mut HostMemory);
    poison_first_frames(plan, memory);

    let guide = |guide: Guide| match plan.guides.contains(&guide) {
        true => FloatImage {
            texels: &guides[guide as usize],
            extent: images.extents.scene,
        },
        false => FloatImage::NONE,
    };
    let guides = Guides {
        depth: guide(Guide::Depth),
        normal: guide(Guide::Normal),
        albedo: guide(Guide::Albedo),
        motion: guide(Guide::Motion),
    };
    let mut times = Vec::with_capacity(plan.launches.len());
    for (launch, reference) in plan.launches.iter().zip(references) {
        if !memory.runs(launch) {
            times.push(None);
            continue;
        }
        let _range = ToolRange::new(launch.label());
        let began = started.elapsed();
        let Some(reference) = reference else {
            run_transform(plan, launch, images.extents, memory);
            times.push(Some([began, started.elapsed()]));
            continue;
        };
        for index in &launch.zeroes {
            let buffer = memory.buffer_mut(BufferId::Scratch(*index));
            buffer.into_iter().for_each(|buffer| buffer.bytes_mut().fill(0));
        }
        // What is written is taken out meanwhile, since the rest is read.
        let mut destination = launch
            .destination
            .and_then(|image| memory.image_mut(image))
            .map(std::mem::take);
        let mut buffers = launch.buffers.map(|buffer| match buffer {
            Some(buffer) => memory.buffer_mut(buffer).map(std::mem::take).unwrap_or_default(),
            None => HostBuffer::default(),
        });
        let tables = launch.buffers.map(|buffer| match buffer {
            Some(BufferId::Table(index)) => plan.tables[index].bytes(),
            _ => &[],
        });
        {
            let extents = images.extents;
            let wants_light = matches!(reference, Reference::Light(_) | Reference::Whole(_));
            let is_once = launch.is_once();
            if launch.sources.contains(&Some(ImageId::Color)) && !is_once && !has_color[usize::from(wants_light)] {
                has_color[usize::from(wants_light)] = true;
                let texels = &mut colors[usize::from(wants_light)];
                to_float(images.color, images.extents.scene, wants_light, texels);
            }
            let mut sources = sources.iter_mut();
            let mut source = |image: Option<ImageId>| {
                let converted = sources.next().expect("as many as a launch has");
                let image = image?;
                let extent = plan.extent_of(image, extents);
                if is_once {
                    return Some(FloatImage { texels: &[], extent });
                }
                let texels: &[Texel] = match memory.image(image) {
                    Some(HostImage::Float(texels)) => texels,
                    Some(HostImage::Rounded { texels, is_light }) if *is_light || !wants_light => texels,
                    Some(HostImage::Rounded { texels, .. }) => {
                        to_light(texels, converted);
                        converted
                    }
                    // No launch reads `Processed`.
                    None => &colors[usize::from(wants_light)],
                };
                Some(FloatImage { texels, extent })
            };
            let [first, second, third] = launch.sources.map(&mut source);
            let extent = plan.threads_of(launch, extents);
            let pass = ReferencePass {
                source: first.unwrap_or(FloatImage::NONE),
                second,
                third,
                extent: launch
                    .destination
                    .map_or(extent, |image| plan.extent_of(image, extents)),
                parameters: &launch.parameters,
                frame: if is_once { FrameParameters::default() } else { *frame },
                guides: if is_once { Guides::NONE } else { guides },
                buffers: tables,
                kept_frames: match launch.state {
                    Some(state) if !is_once => memory.frames(state),
                    _ => 0,
                },
                index: launch.description().index,
            };
            let out = match (&mut destination, launch.destination) {
                (Some(HostImage::Float(texels)), _) => Out::Float(texels),
                (Some(HostImage::Rounded { texels, is_light }), _) => {
                    *is_light = wants_light;
                    Out::Rounded(texels)
                }
                (None, Some(_)) => Out::Half {
                    bytes: images.processed,
                    pitch: images.processed_pitch,
                },
                (None, None) => Out::None,
            };
            match (reference, out) {
                (Reference::Bits, Out::Half { bytes, pitch }) if launch.sources[0] == Some(ImageId::Color) => {
                    copy_rows(images.color, pass.extent, (bytes, pitch));
                }
                (Reference::Bits, out) => compute_rows(&pass, copy, false, out),
                (Reference::Stored(row), out) => compute_rows(&read_only(pass, &buffers), row, false, out),
                (Reference::Light(row), out) => compute_rows(&read_only(pass, &buffers), row, true, out),
                (Reference::Whole(whole), out) => compute_whole(&pass, whole, &mut buffers, out),
            }
        }
        if let (Some(image), Some(taken)) = (launch.destination, destination)
            && let Some(place) = memory.image_mut(image)
        {
            *place = taken;
        }
        for (buffer, taken) in launch.buffers.into_iter().zip(buffers) {
            if let Some(place) = buffer.and_then(|buffer| memory.buffer_mut(buffer)) {
                *place = taken;
            }
        }
        times.push(Some([began, started.elapsed()]));
    }
    memory.end_frame();
    Ok(times)
}

/// A launch that runs no kernel.
fn run_transform(plan: &Plan, launch: &Launch, extents: FrameExtents, memory: &mut ChainMemory<HostMemory>) {
    let Some((transform, extent, _)) = plan.transform_of(launch, extents) else {
        return;
    };
    // What is written is taken out meanwhile, since the other is read.
    let [Some(from), Some(to), ..] = launch.buffers else {
        return;
    };
    let Some(mut taken) = memory.buffer_mut(to).map(std::mem::take) else {
        return;
    };
    if let Some(from) = memory.buffer(from) {
        transform::run(transform, extent, from.bytes(), taken.bytes_mut());
    }
    if let Some(place) = memory.buffer_mut(to) {
        *place = taken;
    }
}

/// Where a launch writes.
enum Out<'a> {
    /// RGBA16F in memory with a pitch.
    Half {
        bytes: &'a mut [u8],
        pitch: usize,
    },
    /// RGBA16F, as floats that halves hold.
    Rounded(&'a mut [Texel]),
    /// RGBA32F.
    Float(&'a mut [Texel]),
    None,
}

/// In an effect's first frame what the previous one kept is NaN, and what it makes once: a reference that reads it is found out.
fn poison_first_frames(plan: &Plan, memory: &mut ChainMemory<HostMemory>) {
    for (index, state) in plan
        .states
        .iter()
        .enumerate()
        .filter(|(index, _)| memory.frames(*index) == 0)
        .collect::<Vec<_>>()
    {
        let previous = |kept| KeptId {
            state: index,
            index: kept,
            previous: true,
        };
        for kept in 0..state.images.len() {
            memory
                .image_mut(ImageId::Kept(previous(kept)))
                .into_iter()
                .for_each(HostImage::poison);
        }
        for kept in 0..state.buffers.len() {
            let buffer = memory.buffer_mut(BufferId::Kept(previous(kept)));
            buffer.into_iter().for_each(|buffer| buffer.bytes_mut().fill(0xff));
        }
        for made in 0..state.made.len() {
            let buffer = memory.buffer_mut(BufferId::Made(MadeId {
                state: index,
                index: made,
            }));
            buffer.into_iter().for_each(|buffer| buffer.bytes_mut().fill(0xff));
        }
    }
}

fn read_only<'a>(pass: ReferencePass<'a>, buffers: &'a [HostBuffer; 4]) -> ReferencePass<'a> {
    let mut all = pass.buffers;
    for (place, buffer) in all.iter_mut().zip(buffers).filter(|(place, _)| place.is_empty()) {
        *place = buffer.bytes();
    }
    ReferencePass { buffers: all, ..pass }
}

/// A row of the source, for [`Reference::Bits`].
fn copy(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    out.copy_from_slice(pass.source.row(i64::from(y)));
}

fn copy_rows(source: MappedImage, extent: [u32; 2], (bytes, pitch): (&mut [u8], usize)) {
    let row = extent[0] as usize * TEXEL_SIZE;
    let sources = source.bytes.par_chunks(source.pitch);
    let rows = bytes.par_chunks_mut(pitch).zip(sources).take(extent[1] as usize);
    rows.for_each(|(destination, source)| destination[..row].copy_from_slice(&source[..row]));
}

/// Converts a whole image once, so that a filter's taps need no conversion.
fn to_float(image: MappedImage, extent: [u32; 2], is_light: bool, texels: &mut Vec<Texel>) {
    let [width, height] = extent.map(|length| length as usize);
    texels.resize(width * height, [0.0; 4]);
    texels
        .par_chunks_mut(width)
        .zip(image.bytes.par_chunks(image.pitch))
        .for_each(|(texels, bytes)| {
            let halves: &[f16] = bytemuck::cast_slice(&bytes[..width * TEXEL_SIZE]);
            halves.convert_to_f32_slice(texels.as_flattened_mut());
            if is_light {
                rounded::limit(texels);
            }
        });
}

/// The light of an image that holds other values too.
fn to_light(image: &[Texel], texels: &mut Vec<Texel>) {
    let limited = image.par_iter().map(|texel| texel.map(light));
    limited.collect_into_vec(texels);
}

/// Converts a guide's texels; channels that it has not are 0.
fn convert_guide(guide: Guide, guides: &HostGuides, extent: [u32; 2], texels: &mut Vec<Texel>) -> Result<(), RunError> {
    let image = match guide {
        Guide::Depth => guides.depth,
        Guide::Normal => guides.normal,
        Guide::Albedo => guides.albedo,
        Guide::Motion => guides.motion,
    };
    let image = image.ok_or(RunError::MissingGuide(guide))?;
    let half = |bytes: &[u8]| f16::from_le_bytes([bytes[0], bytes[1]]).to_f32();
    let convert = |bytes: &[u8]| match guide {
        Guide::Depth => [
            f32::from_le_bytes([bytes[0], bytes[1], bytes[2], bytes[3]]),
            0.0,
            0.0,
            0.0,
        ],
        Guide::Normal => [half(bytes), half(&bytes[2..]), half(&bytes[4..]), half(&bytes[6..])],
        Guide::Albedo => [bytes[0], bytes[1], bytes[2], bytes[3]].map(|byte| f32::from(byte) / 255.0),
        Guide::Motion => [half(bytes), half(&bytes[2..]), 0.0, 0.0],
    };
    let [width, height] = extent.map(|length| length as usize);
    texels.resize(width * height, [0.0; 4]);
    let rows = texels.par_chunks_mut(width).zip(image.bytes.par_chunks(image.pitch));
    rows.for_each(|(texels, bytes)| {
        for (texel, bytes) in texels.iter_mut().zip(bytes.chunks(guide.bytes())) {
            *texel = convert(bytes);
        }
    });
    Ok(())
}

fn compute_rows(pass: &ReferencePass, row: RowFn, is_light: bool, out: Out) {
    let [width, height] = pass.extent.map(|length| length as usize);
    match out {
        Out::Half { bytes, pitch } => bytes.par_chunks_mut(pitch).take(height).enumerate().for_each_init(
            || vec![[0.0; 4]; width],
            |texels: &mut Vec<Texel>, (y, bytes)| {
                row(pass, y as u32, texels);
                round(texels, is_light, bytes);
            },
        ),
        Out::Rounded(texels) => texels.par_chunks_mut(width).enumerate().for_each(|(y, texels)| {
            row(pass, y as u32, texels);
            rounded::to_halves(texels, is_light);
        }),
        Out::Float(texels) => texels
            .par_chunks_mut(width)
            .enumerate()
            .for_each(|(y, texels)| row(pass, y as u32, texels)),
        Out::None => {}
    }
}

fn compute_whole(pass: &ReferencePass, whole: WholeFn, buffers: &mut [HostBuffer; 4], out: Out) {
    let buffers = buffers.each_mut().map(HostBuffer::bytes_mut);
    let [width, height] = pass.extent.map(|length| length as usize);
    match out {
        Out::Half { bytes, pitch } => {
            let mut texels = vec![[0.0; 4]; width * height];
            whole(pass, &mut texels, buffers);
            let rows = bytes.par_chunks_mut(pitch).zip(texels.par_chunks_mut(width));
            rows.for_each(|(bytes, texels)| round(texels, true, bytes));
        }
        Out::Rounded(texels) => {
            whole(pass, texels, buffers);
            texels
                .par_chunks_mut(width)
                .for_each(|texels| rounded::to_halves(texels, true));
        }
        Out::Float(texels) => whole(pass, texels, buffers),
        Out::None => whole(pass, &mut [], buffers),
    }
}

/// Rounds a row to halves.
fn round(texels: &mut [Texel], is_light: bool, bytes: &mut [u8]) {
    let size = texels.len() * TEXEL_SIZE;
    if is_light {
        rounded::limit(texels);
    }
    let halves: &mut [f16] = bytemuck::cast_slice_mut(&mut bytes[..size]);
    halves.convert_from_f32_slice(texels.as_flattened());
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
