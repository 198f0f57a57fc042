//! The edge-avoiding à-trous wavelet: five levels of a B3 spline, each texel weighed by how like it is in colour, normal and
//! depth.

use super::{FloatImage, Guides, ReferencePass, Texel};
use rayon::prelude::*;

const SIGMA_COLOR: usize = 0;
const SIGMA_NORMAL: usize = 1;
const SIGMA_DEPTH: usize = 2;

/// Surfaces darker than this are divided by it.
const DARKEST: f32 = 0.01;

/// The B3 spline at whole distances.
const SPLINE: [f32; 5] = [1.0 / 16.0, 1.0 / 4.0, 3.0 / 8.0, 1.0 / 4.0, 1.0 / 16.0];

/// What a row of surfaces reflects, for dividing.
pub(super) fn reflectances<'a>(guides: &Guides<'a>, y: u32) -> impl Iterator<Item = [f32; 3]> + use<'a> {
    let row = guides.albedo.row(i64::from(y)).iter();
    row.map(|[r, g, b, _]| [r.max(DARKEST), g.max(DARKEST), b.max(DARKEST)])
}

/// The picture between passes, in a buffer.
pub(super) fn picture(buffer: &[u8], extent: [u32; 2]) -> FloatImage<'_> {
    let texels = extent.map(|length| length as usize).iter().product::<usize>();
    let texels = bytemuck::cast_slice(&buffer[..texels * size_of::<Texel>()]);
    FloatImage { texels, extent }
}

/// The same to write.
pub(super) fn picture_mut(buffer: &mut [u8], extent: [u32; 2]) -> &mut [Texel] {
    let texels = extent.map(|length| length as usize).iter().product::<usize>();
    bytemuck::cast_slice_mut(&mut buffer[..texels * size_of::<Texel>()])
}

/// A row of light on its surfaces, with the input's alpha.
pub(super) fn remodulate(pass: &ReferencePass, y: u32, row: &mut [Texel]) {
    let inputs = reflectances(&pass.guides, y).zip(pass.source.row(i64::from(y)));
    for (out, (albedo, input)) in row.iter_mut().zip(inputs) {
        *out = [out[0] * albedo[0], out[1] * albedo[1], out[2] * albedo[2], input[3]];
    }
}

pub(super) fn demodulate(pass: &ReferencePass, _: &mut [Texel], [out, ..]: [&mut [u8]; 4]) {
    let extent = pass.source.extent;
    let rows = picture_mut(out, extent).par_chunks_mut(extent[0] as usize).enumerate();
    rows.for_each(|(y, row)| {
        let inputs = pass
            .source
            .row(y as i64)
            .iter()
            .zip(reflectances(&pass.guides, y as u32));
        for (out, (color, albedo)) in row.iter_mut().zip(inputs) {
            *out = [color[0] / albedo[0], color[1] / albedo[1], color[2] / albedo[2], 0.0];
        }
    });
}

/// The square of the distance of two vectors.
fn distance2(a: Texel, b: Texel) -> f32 {
    let square = |axis: usize| (a[axis] - b[axis]) * (a[axis] - b[axis]);
    square(0) + square(1) + square(2)
}

pub(super) fn filter(pass: &ReferencePass, _: &mut [Texel], [source, destination, ..]: [&mut [u8]; 4]) {
    let extent = pass.source.extent;
    let source = picture(source, extent);
    let rows = picture_mut(destination, extent)
        .par_chunks_mut(extent[0] as usize)
        .enumerate();
    rows.for_each(|(y, row)| filter_row(pass, &source, y as i64, row));
}

/// The last level, and the light on the surfaces.
pub(super) fn finish(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    filter_row(pass, &picture(pass.buffers[0], pass.source.extent), i64::from(y), out);
    remodulate(pass, y, out);
}

fn filter_row(pass: &ReferencePass, source: &FloatImage, y: i64, out: &mut [Texel]) {
    let [width, height] = source.extent.map(i64::from);
    let step = 1i64 << pass.index;
    let sigma = |index| pass.parameter::<f32>(index);
    let sigma_color = sigma(SIGMA_COLOR) / step as f32;
    let (per_color, per_normal) = (
        1.0 / (sigma_color * sigma_color),
        1.0 / (sigma(SIGMA_NORMAL) * sigma(SIGMA_NORMAL)),
    );
    for (x, out) in (0i64..).zip(out) {
        let (color, normal) = (source.at(x, y), pass.guides.normal.at(x, y));
        let depth = pass.guides.depth.at(x, y)[0];
        let sigma_depth = sigma(SIGMA_DEPTH) * depth * step as f32;
        let per_depth = 1.0 / (sigma_depth * sigma_depth + 1e-12);
        let (mut sum, mut total) = ([0.0; 4], 0.0);
        for (row, vertical) in (-2i64..).zip(SPLINE) {
            for (column, horizontal) in (-2i64..).zip(SPLINE) {
                let at = [x + column * step, y + row * step];
                if !((0..width).contains(&at[0]) && (0..height).contains(&at[1])) {
                    continue;
                }
                let tap = source.at(at[0], at[1]);
                let edge = if (column, row) == (0, 0) {
                    1.0
                } else {
                    let away = pass.guides.depth.at(at[0], at[1])[0] - depth;
                    let texels2 = (column * column + row * row) as f32;
                    let unlike = distance2(tap, color) * per_color
                        + distance2(pass.guides.normal.at(at[0], at[1]), normal) * per_normal
                        + away * away * per_depth / texels2;
                    (-unlike).exp().max(0.0)
                };
                let weight = vertical * horizontal * edge;
                sum = std::array::from_fn(|c| sum[c] + tap[c] * weight);
                total += weight;
            }
        }
        *out = sum.map(|value: f32| value * (1.0 / total));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::{Bench, noise};
    use crate::kernels::{FrameExtents, TestGuides};

    const WIDTH: usize = 64;
    const HEIGHT: usize = 48;

    fn denoise(settings: &[(&str, f64)], guides: &TestGuides, image: &[Texel]) -> Vec<Texel> {
        let extents = FrameExtents::same([WIDTH as u32, HEIGHT as u32]);
        Bench::new("atrous", settings, extents).frame(image, Some(guides), &FrameParameters::default())
    }

    /// Two surfaces side by side: depth and normal change in the middle.
    fn guides(albedo: impl Fn(usize) -> [f32; 3]) -> TestGuides {
        let is_left = |index: usize| index % WIDTH < WIDTH / 2;
        let texels = 0..WIDTH * HEIGHT;
        let depth: Vec<f32> = texels.clone().map(|i| if is_left(i) { 2.0 } else { 6.0 }).collect();
        let normals = texels
            .clone()
            .map(|i| if is_left(i) { [0.0, 0.0, 1.0] } else { [1.0, 0.0, 0.0] });
        let albedo: Vec<[f32; 3]> = texels.clone().map(albedo).collect();
        let motion = vec![[0.0; 2]; WIDTH * HEIGHT];
        TestGuides::new(WIDTH as u32, &depth, &normals.collect::<Vec<_>>(), &albedo, &motion)
    }

    /// With weights of one the levels are convolutions: an impulse becomes the product of five B3 splines, here written as
    /// polynomials in z with holes (Murtagh, 1998).
    #[test]
    fn without_edges_an_impulse_becomes_the_spline_s_cascade() {
        let mut cascade = vec![1.0f64];
        for level in 0..4 {
            let step = 1 << level;
            let mut next = vec![0.0; cascade.len() + 4 * step];
            for (tap, weight) in [1.0, 4.0, 6.0, 4.0, 1.0].into_iter().enumerate() {
                for (index, value) in cascade.iter().enumerate() {
                    next[index + tap * step] += value * weight / 16.0;
                }
            }
            cascade = next;
        }
        // Four levels reach 30 texels: as much as fits the picture. Here each level is run by itself.
        let side = 64usize;
        let flat = vec![[1.0, 0.0, 0.0, 0.0]; side * side];
        let mut image = vec![[0.0; 4]; side * side];
        image[32 * side + 32] = [1.0, 0.5, 0.25, 0.0];
        let parameters: Vec<u8> = [1e9f32, 1.0, 1.0].into_iter().flat_map(f32::to_le_bytes).collect();
        let extent = [side as u32; 2];
        fn still(texels: &[Texel]) -> FloatImage<'_> {
            FloatImage {
                texels,
                extent: [64; 2],
            }
        }
        for index in 0..4 {
            let guides = Guides {
                depth: still(&flat),
                normal: still(&flat),
                albedo: still(&flat),
                motion: still(&flat),
            };
            let pass = ReferencePass {
                source: still(&image),
                second: None,
                third: None,
                extent,
                parameters: &parameters,
                frame: FrameParameters::default(),
                guides,
                buffers: [&[]; 4],
                kept_frames: 0,
                index,
            };
            let mut next = vec![[0.0; 4]; side * side];
            next.chunks_mut(side)
                .enumerate()
                .for_each(|(y, row)| filter_row(&pass, &pass.source, y as i64, row));
            image = next;
        }
        // Away from the picture's edge, whose texels have fewer taps: the last level reaches 16 further.
        for (x, y) in [(32, 32), (30, 31), (25, 36), (39, 32), (32, 45)] {
            let expected = cascade[x + 30 - 32] * cascade[y + 30 - 32];
            let found = f64::from(image[y * side + x][0]);
            assert!(
                (found / expected - 1.0).abs() < 1e-3,
                "({x}, {y}): {found} for {expected}"
            );
        }
    }

    #[test]
    fn noise_goes_and_the_edge_between_surfaces_stays() {
        let guides = guides(|_| [1.0; 3]);
        let level = |index: usize| if index % WIDTH < WIDTH / 2 { 0.5 } else { 2.0 };
        let image: Vec<Texel> = (0..WIDTH * HEIGHT)
            .map(|index| [level(index) * (0.5 + noise(index, 0)); 4])
            .collect();
        let out = denoise(&[("sigma_color", 16.0)], &guides, &image);
        let error = |image: &[Texel]| {
            let squares = image
                .iter()
                .enumerate()
                .map(|(i, texel)| (texel[0] / level(i) - 1.0).powi(2));
            (squares.sum::<f32>() / image.len() as f32).sqrt()
        };
        // Noise even in [0.5, 1.5) has the deviation 0.29; nothing comes across the edge.
        assert!((error(&image) - 0.29).abs() < 0.02);
        assert!(error(&out) < 0.03, "{}", error(&out));
        for y in 0..HEIGHT {
            let [left, right] = [WIDTH / 2 - 1, WIDTH / 2].map(|x| out[y * WIDTH + x][0]);
            assert!(left < 0.6 && right > 1.7, "row {y}: {left} {right}");
        }
    }

    #[test]
    fn a_pattern_of_the_surface_is_not_blurred() {
        let check = |index: usize| {
            if (index + index / WIDTH).is_multiple_of(2) {
                [0.8, 0.4, 0.2]
            } else {
                [0.2, 0.4, 0.8]
            }
        };
        let guides = guides(check);
        let byte = |value: f32| (255.0 * value + 0.5).floor() / 255.0;
        let image: Vec<Texel> = (0..WIDTH * HEIGHT)
            .map(|index| {
                let [r, g, b] = check(index).map(|value| 3.0 * byte(value));
                [r, g, b, 0.25]
            })
            .collect();
        let out = denoise(&[("sigma_color", 64.0)], &guides, &image);
        for (found, expected) in out.iter().flatten().zip(image.iter().flatten()) {
            assert!((found - expected).abs() < 2e-3, "{found} for {expected}");
        }
    }
}
