//! Glare: the light above a threshold convolved with the eye's point spread function, by Fourier transforms.
//!
//! Spencer, Shirley, Zimmerman and Greenberg, *Physically-Based Glare Effects for Digital Images*, SIGGRAPH 1995: the photopic
//! function, but for its peak f0, which is the picture itself. In degrees θ, and λ in nm:
//!
//! f1 = 20.91 / (θ + 0.02)³, f2 = 72.37 / (θ + 0.02)², f3 = 436.9 (568 / λ) exp(-(θ - 3 λ / 568)²)

use super::super::grid::padded;
use super::{ReferencePass, Texel};
use rayon::prelude::*;

const THRESHOLD: usize = 0;
const LIMIT: usize = 1;
const INTENSITY: usize = 2;
const VIEW: usize = 3;
const STAR: usize = 4;
const POINTS: usize = 5;
const HALO: usize = 6;

const PLANES: usize = 3;
/// Of red, green and blue, nm.
const WAVELENGTHS: [f64; PLANES] = [611.0, 549.0, 465.0];

/// The halved picture, and the grid it is padded to.
struct Halved {
    across: usize,
    down: usize,
    width: usize,
    height: usize,
}

impl Halved {
    fn of(pass: &ReferencePass) -> Self {
        let [across, down] = pass.source.extent.map(|length| length.div_ceil(2));
        let [width, height] = [across, down].map(|length| padded(length) as usize);
        Self {
            across: across as usize,
            down: down as usize,
            width,
            height,
        }
    }
}

/// A colour's part above the threshold.
fn above(color: Texel, threshold: f32, limit: f32) -> [f32; 3] {
    let limited = [color[0].min(limit), color[1].min(limit), color[2].min(limit)];
    let brightest = limited[0].max(limited[1]).max(limited[2]);
    match brightest > threshold {
        true => limited.map(|value| value * ((brightest - threshold) / brightest)),
        false => [0.0; 3],
    }
}

pub(super) fn bright(pass: &ReferencePass, _: &mut [Texel], [light, ..]: [&mut [u8]; 4]) {
    let halved = Halved::of(pass);
    let (threshold, limit) = (pass.parameter(THRESHOLD), pass.parameter(LIMIT));
    let light = bytemuck::cast_slice_mut::<u8, f32>(light);
    let planes = light.chunks_mut(halved.width * halved.height);
    for (channel, plane) in planes.enumerate() {
        let rows = plane.par_chunks_mut(halved.width).take(halved.down).enumerate();
        rows.for_each(|(y, row)| {
            for (x, value) in row.iter_mut().enumerate().take(halved.across) {
                let part = |dx: usize, dy: usize| {
                    let color = pass.source.at((2 * x + dx) as i64, (2 * y + dy) as i64);
                    above(color, threshold, limit)[channel]
                };
                *value = (part(0, 0) + part(1, 0) + part(0, 1) + part(1, 1)) / 4.0;
            }
        });
    }
}

/// The point spread function at an offset of texels, not normalized.
fn spread(pass: &ReferencePass, offset: [f64; 2], degrees_a_texel: f64) -> [f64; PLANES] {
    let star = f64::from(pass.parameter::<f32>(STAR));
    let radius = offset[0].hypot(offset[1]);
    let angle = radius.max(1.0) * degrees_a_texel;
    let lobe = match radius > 0.0 {
        true => {
            let around = f64::from(pass.parameter::<u32>(POINTS)) * offset[1].atan2(offset[0]);
            // The mean over the circle of ((1 + cos) / 2)^16 is 601080390 / 4^16.
            (0.5 + 0.5 * around.cos()).powi(16) * (4f64.powi(16) / 601_080_390.0)
        }
        false => 1.0,
    };
    let corona = 20.91 / (angle + 0.02).powi(3) * (1.0 - star + star * lobe);
    let ring = 72.37 / (angle + 0.02).powi(2);
    WAVELENGTHS.map(|wavelength| {
        let halo = 436.9 * (568.0 / wavelength) * (-(angle - 3.0 * wavelength / 568.0).powi(2)).exp();
        0.478 * corona + 0.207 * ring + f64::from(pass.parameter::<f32>(HALO)) * 0.033 * halo
    })
}

/// Makes the glare, and the grid of light dark, of which `bright` writes what the picture covers.
pub(super) fn glare(pass: &ReferencePass, _: &mut [Texel], [glare, light, ..]: [&mut [u8]; 4]) {
    light.fill(0);
    let halved = Halved::of(pass);
    let degrees_a_texel = f64::from(pass.parameter::<f32>(VIEW)) / halved.down as f64;
    // Offsets to the left and upwards come round from the far end.
    let offset = |place: usize, length: usize| match 2 * place < length {
        true => place as f64,
        false => place as f64 - length as f64,
    };
    let (planes, size) = (bytemuck::cast_slice_mut::<u8, f32>(glare), halved.width * halved.height);
    let (red, rest) = planes.split_at_mut(size);
    let (green, blue) = rest.split_at_mut(size);
    let rows = red.par_chunks_mut(halved.width).zip(green.par_chunks_mut(halved.width));
    let rows = rows.zip(blue.par_chunks_mut(halved.width)).enumerate();
    rows.for_each(|(y, ((red, green), blue))| {
        let dy = offset(y, halved.height);
        for x in 0..halved.width {
            let dx = offset(x, halved.width);
            let is_met = dx.abs() < halved.across as f64 && dy.abs() < halved.down as f64;
            let values = match is_met {
                true => spread(pass, [dx, dy], degrees_a_texel),
                false => [0.0; PLANES],
            };
            [red[x], green[x], blue[x]] = values.map(|value| value as f32);
        }
    });
}

pub(super) fn multiply(pass: &ReferencePass, _: &mut [Texel], [light, glare, ..]: [&mut [u8]; 4]) {
    let halved = Halved::of(pass);
    let plane = (halved.width / 2 + 1) * halved.height;
    let light = bytemuck::cast_slice_mut::<u8, [f32; 2]>(light).chunks_mut(plane);
    let glare = bytemuck::cast_slice::<u8, [f32; 2]>(glare).chunks(plane);
    for (light, glare) in light.zip(glare) {
        let scale = 1.0 / (f64::from(glare[0][0]) * (halved.width * halved.height) as f64);
        light.par_iter_mut().zip(glare).for_each(|(light, glare)| {
            let ([a, b], [c, d]) = (light.map(f64::from), glare.map(f64::from));
            *light = [((a * c - b * d) * scale) as f32, ((a * d + b * c) * scale) as f32];
        });
    }
}

pub(super) fn composite(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let halved = Halved::of(pass);
    let intensity = pass.parameter::<f32>(INTENSITY);
    let light = bytemuck::cast_slice::<u8, f32>(pass.buffers[0]);
    // The two places around a position along an axis, and the share of the second.
    let around = |place: usize, length: usize| {
        let position = (place as f32 + 0.5) / 2.0 - 0.5;
        let first = position.floor();
        let limited = |place: f32| place.clamp(0.0, (length - 1) as f32) as usize;
        ([limited(first), limited(first + 1.0)], position - first)
    };
    let (rows, share_y) = around(y as usize, halved.down);
    for ((x, out), color) in out.iter_mut().enumerate().zip(pass.source.row(i64::from(y))) {
        let (columns, share_x) = around(x, halved.across);
        *out = *color;
        for (channel, plane) in light.chunks(halved.width * halved.height).enumerate() {
            let row = |row: usize| {
                let row = &plane[row * halved.width..];
                row[columns[0]] * (1.0 - share_x) + row[columns[1]] * share_x
            };
            let scattered = row(rows[0]) * (1.0 - share_y) + row(rows[1]) * share_y;
            out[channel] = color[channel] + intensity * scattered;
        }
    }
}

#[cfg(test)]
#[path = "fft_bloom_tests.rs"]
mod tests;
