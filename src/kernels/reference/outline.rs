//! Outline: lines along jumps of depth and bends of the surface, as wide as asked for.
//!
//! Distances are those of jump flooding (Rong and Tan, 2006, 1+JFA), which now and then takes an edge that is a little
//! further away than the nearest.

use super::{ReferencePass, Texel};
use rayon::prelude::*;

const WIDTH: usize = 0;
const DEPTH: usize = 1;
const NORMAL: usize = 2;
const INK: usize = 3;
const STRENGTH: usize = 4;

/// No edge is known.
const NONE: u32 = u32::MAX;

fn packed(x: i64, y: i64) -> u32 {
    (y << 16 | x) as u32
}

fn squared_distance(x: i64, y: i64, edge: u32) -> i64 {
    (x - i64::from(edge & 0xffff)).pow(2) + (y - i64::from(edge >> 16)).pow(2)
}

/// Second differences of one over the depth, of a line of three: positive where the middle is nearer than its neighbours' mean.
fn second_difference([before, here, after]: [f32; 3]) -> f32 {
    let [before, here, after] = [before, here, after].map(|depth| 1.0 / depth.max(1e-6));
    2.0 * here - (before + after)
}

fn is_edge(pass: &ReferencePass, x: i64, y: i64) -> bool {
    let [width, height] = pass.source.extent.map(i64::from);
    let depth = |dx: i64, dy: i64| pass.guides.depth.at(x + dx, y + dy)[0];
    let least = pass.parameter::<f32>(DEPTH) * (1.0 / depth(0, 0).max(1e-6));
    let lines = [
        ((1..width - 1).contains(&x), [depth(-1, 0), depth(0, 0), depth(1, 0)]),
        ((1..height - 1).contains(&y), [depth(0, -1), depth(0, 0), depth(0, 1)]),
    ];
    let normal = |dx: i64, dy: i64| {
        let [nx, ny, nz, _] = pass.guides.normal.at(x + dx, y + dy);
        [nx, ny, nz]
    };
    let meets = |other: [f32; 3]| {
        let here = normal(0, 0);
        let cosine = here[0] * other[0] + here[1] * other[1] + here[2] * other[2];
        here != [0.0; 3] && other != [0.0; 3] && 1.0 - cosine > pass.parameter::<f32>(NORMAL)
    };
    lines
        .iter()
        .any(|(is_inner, line)| *is_inner && second_difference(*line) > least)
        || meets(normal(1, 0))
        || meets(normal(0, 1))
}

pub(super) fn edges(pass: &ReferencePass, _: &mut [Texel], [known, ..]: [&mut [u8]; 4]) {
    let known: &mut [u32] = bytemuck::cast_slice_mut(known);
    let rows = known.par_chunks_mut(pass.source.extent[0] as usize).enumerate();
    rows.for_each(|(y, row)| {
        let y = y as i64;
        for (x, out) in (0..).zip(row) {
            *out = if is_edge(pass, x, y) { packed(x, y) } else { NONE };
        }
    });
}

/// How far from an edge a line reaches before it fades over one texel.
fn reach(pass: &ReferencePass) -> f32 {
    0.5 * (pass.parameter::<f32>(WIDTH) - 1.0)
}

/// Each texel takes the nearest of the edges that nine know, `step` apart.
fn flooded(known: &[u32], [width, height]: [i64; 2], step: i64) -> Vec<u32> {
    let nearest = |at: usize| {
        let (x, y) = (at as i64 % width, at as i64 / width);
        let neighbours = [-step, 0, step]
            .into_iter()
            .flat_map(|dy| [-step, 0, step].map(|dx| (x + dx, y + dy)));
        let inside = neighbours.filter(|(x, y)| (0..width).contains(x) && (0..height).contains(y));
        // Its own first: another must be nearer.
        let edges = [known[at]]
            .into_iter()
            .chain(inside.map(|(x, y)| known[(y * width + x) as usize]));
        let edges = edges.filter(|edge| *edge != NONE);
        edges.min_by_key(|edge| squared_distance(x, y, *edge)).unwrap_or(NONE)
    };
    (0..known.len()).into_par_iter().map(nearest).collect()
}

pub(super) fn flood(pass: &ReferencePass, _: &mut [Texel], [known, out, ..]: [&mut [u8]; 4]) {
    let step = i64::from(pass.index);
    if step as f32 <= reach(pass) + 1.0 {
        let flooded = flooded(bytemuck::cast_slice(known), pass.source.extent.map(i64::from), step);
        out.copy_from_slice(bytemuck::cast_slice(&flooded));
    } else {
        out.copy_from_slice(known);
    }
}

pub(super) fn draw(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (ink, strength) = (pass.parameter::<f32>(INK), pass.parameter::<f32>(STRENGTH));
    let edges: &[u32] = bytemuck::cast_slice(pass.buffers[0]);
    let y = i64::from(y);
    let row = &edges[(y * i64::from(pass.source.extent[0])) as usize..];
    for (((x, out), color), edge) in (0..).zip(out).zip(pass.source.row(y)).zip(row) {
        let line = match *edge {
            NONE => 0.0,
            edge => {
                let distance = (squared_distance(x, y, edge) as f32).sqrt();
                strength * (reach(pass) + 1.0 - distance).clamp(0.0, 1.0)
            }
        };
        let drawn = |light: f32| light * (1.0 - line) + ink * line;
        *out = [drawn(color[0]), drawn(color[1]), drawn(color[2]), color[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::Bench;
    use crate::kernels::{FrameExtents, TestGuides};

    /// Against the definition of the distance to the nearest, over edges at random places, few and many.
    #[test]
    fn distances_are_those_to_the_nearest_edge() {
        let (extent, mut random) = ([61i64, 47i64], 12345u32);
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            random >> 8
        };
        let (mut texels, mut off, mut most) = (0, 0, 0.0f64);
        for one_in in [2, 20, 200, 700] {
            let place = |at: i64| packed(at % extent[0], at / extent[0]);
            let mut known: Vec<u32> = (0..61 * 47)
                .map(|at| if next() % one_in == 0 { place(at) } else { NONE })
                .collect();
            let edges: Vec<u32> = known.iter().copied().filter(|edge| *edge != NONE).collect();
            assert!(!edges.is_empty());
            for step in [1, 32, 16, 8, 4, 2, 1] {
                known = flooded(&known, extent, step);
            }
            for (at, edge) in (0..).zip(&known) {
                let (x, y) = (at % extent[0], at / extent[0]);
                let exact = edges
                    .iter()
                    .map(|edge| squared_distance(x, y, *edge))
                    .min()
                    .expect("an edge");
                let distance = squared_distance(x, y, *edge);
                texels += 1;
                off += u32::from(distance != exact);
                most = most.max((distance as f64).sqrt() - (exact as f64).sqrt());
            }
        }
        // Rong and Tan report a few texels in ten thousand for 1+JFA, off by less than a texel.
        assert!(off * 1000 < texels && most < 1.0, "{off} of {texels}, by up to {most}");
    }

    fn drawn(extent: [u32; 2], depth: &[f32], normal: &[[f32; 3]], settings: &[(&str, f64)]) -> Vec<f32> {
        let count = depth.len();
        let guides = TestGuides::new(extent[0], depth, normal, &vec![[0.0; 3]; count], &vec![[0.0; 2]; count]);
        let mut bench = Bench::new("outline", settings, FrameExtents::same(extent));
        let out = bench.frame(&vec![[1.0; 4]; count], Some(&guides), &FrameParameters::default());
        out.iter().map(|texel| texel[0]).collect()
    }

    /// Seen at a grazing angle, a plane's depth changes by a fifth from row to row. A box in front of it has an outline of the
    /// width asked for, along its own outermost texels.
    #[test]
    fn a_steep_plane_has_no_line_and_a_box_has_one_of_the_width() {
        let extent = [48u32, 40u32];
        let plane = |y: usize| 1.0 / (0.02 + 0.005 * y as f32);
        let depth = |boxed: bool| -> Vec<f32> {
            let of = |index: usize| {
                let (x, y) = (index % 48, index / 48);
                if boxed && (16..32).contains(&x) && (12..28).contains(&y) {
                    2.0
                } else {
                    plane(y)
                }
            };
            (0..48 * 40).map(of).collect()
        };
        let normal = vec![[0.0, 1.0, 0.0]; 48 * 40];
        assert!(
            drawn(extent, &depth(false), &normal, &[])
                .iter()
                .all(|light| *light == 1.0)
        );
        for width in [1usize, 3, 7] {
            let out = drawn(extent, &depth(true), &normal, &[("width", width as f64)]);
            let row = &out[20 * 48..21 * 48];
            let reach = (width - 1) / 2;
            for (x, light) in row.iter().enumerate() {
                let distance = x.abs_diff(16).min(x.abs_diff(31));
                assert_eq!(*light, if distance <= reach { 0.0 } else { 1.0 }, "width {width}, {x}");
            }
        }
    }

    /// The threshold is of the angle: 45 degrees are 1 - cos(45) = 0.293.
    #[test]
    fn a_bend_is_a_line_from_its_angle_on() {
        let half = std::f32::consts::FRAC_1_SQRT_2;
        let normal: Vec<[f32; 3]> = (0..16 * 8)
            .map(|index| {
                if index % 16 < 8 {
                    [0.0, 0.0, 1.0]
                } else {
                    [half, 0.0, half]
                }
            })
            .collect();
        let lines = |threshold: f64| drawn([16, 8], &[5.0; 128], &normal, &[("normal", threshold), ("width", 1.0)]);
        assert!(lines(0.30).iter().all(|light| *light == 1.0));
        for (index, light) in lines(0.28).iter().enumerate() {
            assert_eq!(*light, if index % 16 == 7 { 0.0 } else { 1.0 }, "{index}");
        }
    }
}
