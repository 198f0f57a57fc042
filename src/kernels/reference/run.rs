//! Runs a plan on the CPU, rows in parallel.

use super::host_images::{HostImages, MappedImage, TEXEL_SIZE};
use super::{FloatImage, FrameParameters, Reference, ReferencePass, RowFn, Texel, light};
use crate::kernels::plan::{ImageId, Plan};
use crate::timing::ToolRange;
use half::f16;
use half::slice::HalfFloatSliceExt;
use rayon::prelude::*;
use std::time::{Duration, Instant};

/// A kernel without a CPU reference, such as one given by the user.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the kernel {entry} has no CPU reference, so it needs CUDA")]
pub struct MissingReference {
    /// The kernel's `extern "C"` name.
    pub entry: String,
}

/// Runs all launches of a plan, from `color` to `processed`, and says when each began and ended, since the start. Nothing is
/// written if a kernel has no reference.
pub fn run(
    plan: &Plan,
    images: &mut HostImages,
    frame: &FrameParameters,
) -> Result<Vec<[Duration; 2]>, MissingReference> {
    let started = Instant::now();
    let find = |entry: &str| {
        super::of(entry).ok_or_else(|| MissingReference {
            entry: entry.to_owned(),
        })
    };
    let references = plan
        .launches
        .iter()
        .map(|launch| find(launch.entry))
        .collect::<Result<Vec<_>, _>>()?;

    let scratch = &mut *images.scratch;
    if scratch.images.len() < plan.scratch.len() {
        scratch.images.resize_with(plan.scratch.len(), Vec::new);
    }
    for index in 0..plan.scratch.len() {
        let [width, height] = plan.extent_of(ImageId::Scratch(index), images.extent);
        scratch.images[index].resize(width as usize * height as usize * 4, f16::ZERO);
    }

    let mut times = Vec::with_capacity(plan.launches.len());
    for (launch, reference) in plan.launches.iter().zip(references) {
        let _range = ToolRange::new(launch.label);
        let began = started.elapsed();
        let extent = plan.extent_of(launch.destination, images.extent);
        // The destination is taken out while it is written, since the others are read meanwhile.
        let mut taken = match launch.destination {
            ImageId::Scratch(index) => std::mem::take(&mut scratch.images[index]),
            ImageId::Color | ImageId::Processed => Vec::new(),
        };
        let (bytes, pitch): (&mut [u8], usize) = match launch.destination {
            ImageId::Scratch(_) => (bytemuck::cast_slice_mut(&mut taken), extent[0] as usize * TEXEL_SIZE),
            ImageId::Color | ImageId::Processed => (images.processed, images.processed_pitch),
        };
        let stored = |image: ImageId| match image {
            ImageId::Scratch(index) => MappedImage {
                bytes: bytemuck::cast_slice(&scratch.images[index]),
                pitch: plan.extent_of(image, images.extent)[0] as usize * TEXEL_SIZE,
            },
            // No launch reads `Processed`.
            ImageId::Color | ImageId::Processed => images.color,
        };
        let is_light = matches!(reference, Reference::Light(_));
        match reference {
            Reference::Bits => copy_rows(stored(launch.source), bytes, pitch, extent),
            Reference::Stored(row) | Reference::Light(row) => {
                let source_extent = plan.extent_of(launch.source, images.extent);
                to_float(stored(launch.source), source_extent, is_light, &mut scratch.source);
                let second_extent = launch.second.map(|image| plan.extent_of(image, images.extent));
                if let (Some(image), Some(extent)) = (launch.second, second_extent) {
                    to_float(stored(image), extent, is_light, &mut scratch.second);
                }
                let pass = ReferencePass {
                    source: FloatImage {
                        texels: &scratch.source,
                        extent: source_extent,
                    },
                    second: second_extent.map(|extent| FloatImage {
                        texels: &scratch.second,
                        extent,
                    }),
                    extent,
                    parameters: &launch.parameters,
                    frame: *frame,
                    guides: images.guides,
                };
                compute_rows(&pass, row, is_light, bytes, pitch);
            }
        }
        if let ImageId::Scratch(index) = launch.destination {
            scratch.images[index] = taken;
        }
        times.push([began, started.elapsed()]);
    }
    Ok(times)
}

fn copy_rows(source: MappedImage, destination: &mut [u8], pitch: usize, extent: [u32; 2]) {
    let row = extent[0] as usize * TEXEL_SIZE;
    let sources = source.bytes.chunks(source.pitch);
    for (destination, source) in destination.chunks_mut(pitch).zip(sources).take(extent[1] as usize) {
        destination[..row].copy_from_slice(&source[..row]);
    }
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
            let floats: &mut [f32] = bytemuck::cast_slice_mut(texels);
            halves.convert_to_f32_slice(floats);
            if is_light {
                floats.iter_mut().for_each(|value| *value = light(*value));
            }
        });
}

fn compute_rows(pass: &ReferencePass, row: RowFn, is_light: bool, destination: &mut [u8], pitch: usize) {
    let [width, height] = pass.extent.map(|length| length as usize);
    destination
        .par_chunks_mut(pitch)
        .take(height)
        .enumerate()
        .for_each_init(
            || vec![[0.0; 4]; width],
            |texels: &mut Vec<Texel>, (y, bytes)| {
                row(pass, y as u32, texels);
                let floats: &mut [f32] = bytemuck::cast_slice_mut(texels);
                if is_light {
                    floats.iter_mut().for_each(|value| *value = light(*value));
                }
                let halves: &mut [f16] = bytemuck::cast_slice_mut(&mut bytes[..width * TEXEL_SIZE]);
                halves.convert_from_f32_slice(floats);
            },
        );
}

#[cfg(test)]
#[path = "run_tests.rs"]
mod tests;
