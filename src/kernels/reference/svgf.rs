//! Spatiotemporal variance-guided filtering: accumulation along the motion, an estimate of the variance, and a wavelet whose reach
//! over luminance is that of the noise.

use super::atrous::{picture, picture_mut, reflectances, remodulate};
use super::{FloatImage, ReferencePass, Texel, luminance};
use rayon::prelude::*;

const ALPHA: usize = 0;
const MOMENTS_ALPHA: usize = 1;
const SIGMA_LUMINANCE: usize = 2;
const SIGMA_DEPTH: usize = 3;

/// Bytes of what is remembered of a texel.
const REMEMBERED: usize = 28;

/// The frames that a history is thought to be of, at most.
const LONGEST: f32 = 256.0;
/// Histories of fewer frames do not show their variance.
const SHORT: f32 = 4.0;

/// A texel as the next frame wants to know it.
#[derive(Clone, Copy)]
struct Remembered {
    mean: f32,
    mean_square: f32,
    frames: f32,
    depth: f32,
    normal: Texel,
}

impl Remembered {
    fn read(buffer: &[u8], image: &FloatImage, [x, y]: [i64; 2]) -> Self {
        let index = (y * i64::from(image.extent[0]) + x) as usize;
        let bytes = &buffer[index * REMEMBERED..(index + 1) * REMEMBERED];
        let [mean, mean_square, frames, depth, x, y, z]: [f32; 7] = bytemuck::pod_read_unaligned(bytes);
        Self {
            mean,
            mean_square,
            frames,
            depth,
            normal: [x, y, z, 0.0],
        }
    }

    fn write(self, bytes: &mut [u8]) {
        let [x, y, z, _] = self.normal;
        let values = [self.mean, self.mean_square, self.frames, self.depth, x, y, z];
        bytes.copy_from_slice(bytemuck::bytes_of(&values));
    }

    /// Whether it is of the surface of that depth, give or take, and normal.
    fn is_of(&self, depth: f32, reach: f32, normal: Texel) -> bool {
        let chord = |axis: usize| self.normal[axis] - normal[axis];
        let chord2 = chord(0) * chord(0) + chord(1) * chord(1) + chord(2) * chord(2);
        (self.depth - depth).abs() <= reach && chord2 <= 0.2
    }
}

fn is_inside(image: &FloatImage, [x, y]: [i64; 2]) -> bool {
    (0..i64::from(image.extent[0])).contains(&x) && (0..i64::from(image.extent[1])).contains(&y)
}

/// Depth's change a texel along each axis: the lesser of both sides, of one at the picture's edge.
fn slope(depths: &FloatImage, x: i64, y: i64) -> [f32; 2] {
    let here = depths.at(x, y)[0];
    let lesser = |sides: [[i64; 2]; 2]| {
        let known = sides.into_iter().filter(|at| is_inside(depths, *at));
        let change = known.map(|[x, y]| (depths.at(x, y)[0] - here).abs());
        // An image of one texel has no slope.
        change.reduce(f32::min).unwrap_or(0.0)
    };
    [lesser([[x - 1, y], [x + 1, y]]), lesser([[x, y - 1], [x, y + 1]])]
}

/// The weighted mean of what the previous frame knows of a texel's surface: light, and its mean, mean square and frames.
fn history(pass: &ReferencePass, (image, previous): (FloatImage, &[u8]), x: i64, y: i64) -> Option<(Texel, [f32; 3])> {
    if pass.kept_frames == 0 {
        return None;
    }
    let [dx, dy, ..] = pass.guides.motion.at(x, y);
    let place = [x as f32 + dx, y as f32 + dy];
    // Further out no tap is inside.
    let is_near = |value: f32, length: u32| (-1.0..=length as f32).contains(&value);
    if !(is_near(place[0], image.extent[0]) && is_near(place[1], image.extent[1])) {
        return None;
    }
    let (depth, normal) = (pass.guides.depth.at(x, y)[0], pass.guides.normal.at(x, y));
    let [across, down] = slope(&pass.guides.depth, x, y);
    let reach = 0.05 * depth + 2.0 * (across + down);
    let mean = |taps: &[([i64; 2], f32)], least: f32| {
        let (mut light, mut moments, mut total) = ([0.0; 4], [0.0; 3], 0.0);
        for (at, weight) in taps.iter().filter(|(at, _)| is_inside(&image, *at)) {
            let tap = Remembered::read(previous, &image, *at);
            if tap.is_of(depth, reach, normal) {
                let texel = image.at(at[0], at[1]);
                light = std::array::from_fn(|c| light[c] + texel[c] * weight);
                let values = [tap.mean, tap.mean_square, tap.frames];
                moments = std::array::from_fn(|m| moments[m] + values[m] * weight);
                total += weight;
            }
        }
        (total >= least).then_some((light, moments, total))
    };
    let [left, top] = place.map(|value| value.floor() as i64);
    let [fx, fy] = place.map(|value| value - value.floor());
    let bilinear = [
        ([left, top], (1.0 - fx) * (1.0 - fy)),
        ([left + 1, top], fx * (1.0 - fy)),
        ([left, top + 1], (1.0 - fx) * fy),
        ([left + 1, top + 1], fx * fy),
    ];
    let [column, row] = place.map(|value| (value + 0.5).floor() as i64);
    let around: Vec<_> = (-1..=1)
        .flat_map(|dy| (-1..=1).map(move |dx| ([column + dx, row + dy], 1.0)))
        .collect();
    let (light, moments, total) = mean(&bilinear, 0.01).or_else(|| mean(&around, 1.0))?;
    // A division by the sum of weights; the mixing factors below go into the same product.
    let share = 1.0 / total;
    Some(([light[0], light[1], light[2], share], moments))
}

pub(super) fn accumulate(pass: &ReferencePass, _: &mut [Texel], buffers: [&mut [u8]; 4]) {
    let (extent, width) = (pass.source.extent, pass.source.extent[0] as usize);
    let [out, remembered, image, previous] = buffers;
    let previous = (picture(image, extent), &*previous);
    let rows = picture_mut(out, extent)
        .par_chunks_mut(width)
        .zip(remembered.par_chunks_mut(width * REMEMBERED));
    rows.enumerate().for_each(|(y, (out, remembered))| {
        let texels = out.iter_mut().zip(remembered.chunks_mut(REMEMBERED));
        let albedos = reflectances(&pass.guides, y as u32);
        for (x, ((out, remembered), albedo)) in (0..).zip(texels.zip(albedos)) {
            let y = y as i64;
            let color = pass.source.at(x, y);
            let mut color = [color[0] / albedo[0], color[1] / albedo[1], color[2] / albedo[2], 0.0];
            let light = luminance(color);
            let mut now = Remembered {
                mean: light,
                mean_square: light * light,
                frames: 1.0,
                depth: pass.guides.depth.at(x, y)[0],
                normal: pass.guides.normal.at(x, y),
            };
            if let Some(([r, g, b, share], [mean, mean_square, frames])) = history(pass, previous, x, y) {
                let frames = (frames * share + 1.0).min(LONGEST);
                let mix = |alpha: f32, was: f32, is: f32| {
                    let fresh = alpha.max(1.0 / frames);
                    was * (share * (1.0 - fresh)) + is * fresh
                };
                let (alpha, moments_alpha) = (pass.parameter(ALPHA), pass.parameter(MOMENTS_ALPHA));
                color = [
                    mix(alpha, r, color[0]),
                    mix(alpha, g, color[1]),
                    mix(alpha, b, color[2]),
                    0.0,
                ];
                now.mean = mix(moments_alpha, mean, now.mean);
                now.mean_square = mix(moments_alpha, mean_square, now.mean_square);
                now.frames = frames;
            }
            now.write(remembered);
            color[3] = (now.mean_square - now.mean * now.mean).max(0.0);
            *out = color;
        }
    });
}

/// Equation 3: how far a depth is from what the slope says, as an exponent.
fn away(difference: f32, depth: f32, slopes: [f32; 2], offset: [i64; 2], sigma: f32) -> f32 {
    let expected = slopes[0] * offset[0].abs() as f32 + slopes[1] * offset[1].abs() as f32;
    difference.abs() / (sigma * expected + 1e-3 * depth + 1e-6)
}

/// Equation 4: the cosine to the power of 128, by squaring.
fn alike(a: Texel, b: Texel) -> f32 {
    let cosine = (a[0] * b[0] + a[1] * b[1] + a[2] * b[2]).max(0.0);
    (0..7).fold(cosine, |power, _| power * power)
}

/// The offsets of a square of that radius, row by row.
fn square(radius: i64) -> impl Iterator<Item = [i64; 2]> {
    (-radius..=radius).flat_map(move |y| (-radius..=radius).map(move |x| [x, y]))
}

pub(super) fn estimate(pass: &ReferencePass, _: &mut [Texel], buffers: [&mut [u8]; 4]) {
    let [picture, surfaces, ..] = buffers;
    let rows = picture_mut(picture, pass.source.extent).par_chunks_mut(pass.source.extent[0] as usize);
    rows.enumerate()
        .for_each(|(y, row)| estimate_row(pass, surfaces, y as i64, row));
}

fn estimate_row(pass: &ReferencePass, surfaces: &[u8], y: i64, out: &mut [Texel]) {
    let source = &pass.source;
    let sigma = pass.parameter::<f32>(SIGMA_DEPTH);
    for (x, out) in (0i64..).zip(out) {
        let here = Remembered::read(surfaces, source, [x, y]);
        if here.frames >= SHORT {
            continue;
        }
        let slopes = slope(&pass.guides.depth, x, y);
        let (mut mean, mut mean_square, mut total) = (0.0, 0.0, 0.0);
        for offset in square(3) {
            let at = [x + offset[0], y + offset[1]];
            if !is_inside(source, at) {
                continue;
            }
            let tap = Remembered::read(surfaces, source, at);
            let weight = if offset == [0, 0] {
                1.0
            } else {
                let apart = away(tap.depth - here.depth, here.depth, slopes, offset, sigma);
                (-apart).exp().max(0.0) * alike(here.normal, tap.normal)
            };
            mean += tap.mean * weight;
            mean_square += tap.mean_square * weight;
            total += weight;
        }
        let mean = mean / total;
        out[3] = (mean_square / total - mean * mean).max(0.0) * (SHORT / here.frames);
    }
}

pub(super) fn filter(pass: &ReferencePass, _: &mut [Texel], buffers: [&mut [u8]; 4]) {
    let extent = pass.source.extent;
    let [source, destination, ..] = buffers;
    let source = picture(source, extent);
    let rows = picture_mut(destination, extent).par_chunks_mut(extent[0] as usize);
    rows.enumerate()
        .for_each(|(y, row)| filter_row(pass, &source, y as i64, row));
}

/// The last level, and the light on the surfaces.
pub(super) fn finish(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    filter_row(pass, &picture(pass.buffers[0], pass.source.extent), i64::from(y), out);
    remodulate(pass, y, out);
}

fn filter_row(pass: &ReferencePass, source: &FloatImage, y: i64, out: &mut [Texel]) {
    // The B3 spline at the distances 0, 1 and 2.
    const SPLINE: [f32; 3] = [3.0 / 8.0, 1.0 / 4.0, 1.0 / 16.0];
    let step = 1i64 << pass.index;
    let (sigma_luminance, sigma_depth) = (
        pass.parameter::<f32>(SIGMA_LUMINANCE),
        pass.parameter::<f32>(SIGMA_DEPTH),
    );
    for (x, out) in (0i64..).zip(out) {
        let (depth, normal) = (pass.guides.depth.at(x, y)[0], pass.guides.normal.at(x, y));
        let slopes = slope(&pass.guides.depth, x, y);
        let light = luminance(source.at(x, y));
        let variance = square(1).fold(0.0, |sum, [dx, dy]| {
            let weight = [0.5, 0.25][dx.unsigned_abs() as usize] * [0.5, 0.25][dy.unsigned_abs() as usize];
            sum + source.at(x + dx, y + dy)[3] * weight
        });
        let deviations = sigma_luminance * variance.sqrt() + 1e-6;
        let (mut sum, mut total) = ([0.0; 4], 0.0);
        for [column, row] in square(2) {
            let at = [x + column * step, y + row * step];
            if !is_inside(source, at) {
                continue;
            }
            let tap = source.at(at[0], at[1]);
            let edge = if [column, row] == [0, 0] {
                1.0
            } else {
                let difference = pass.guides.depth.at(at[0], at[1])[0] - depth;
                let unlike = away(difference, depth, slopes, [column * step, row * step], sigma_depth)
                    + (luminance(tap) - light).abs() / deviations;
                (-unlike).exp().max(0.0) * alike(normal, pass.guides.normal.at(at[0], at[1]))
            };
            let weight = SPLINE[column.unsigned_abs() as usize] * SPLINE[row.unsigned_abs() as usize] * edge;
            // Variances are weighed by the square.
            let weighed = [tap[0], tap[1], tap[2], tap[3] * weight];
            sum = std::array::from_fn(|c| sum[c] + weighed[c] * weight);
            total += weight;
        }
        let share = 1.0 / total;
        *out = [sum[0] * share, sum[1] * share, sum[2] * share, sum[3] * share * share];
    }
}

#[cfg(test)]
#[path = "svgf_tests.rs"]
mod tests;
