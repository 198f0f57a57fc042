//! Tests of the fluid against the world.

use super::*;
use crate::kernels::reference::test_images::{Bench, apply_at, effect_parameters};
use crate::kernels::reference::{FrameParameters, RowFn};
use crate::kernels::{BrokenPixels, FrameExtents, random_image};

/// A pass of the effect over a field.
fn passed(row: RowFn, pass: ReferencePass) -> Vec<Texel> {
    let [width, height] = pass.extent.map(|length| length as usize);
    let mut out = vec![[f32::NAN; 4]; width * height];
    for (y, out) in (0..).zip(out.chunks_mut(width)) {
        row(&pass, y, out);
    }
    out
}

/// Root of the mean square of what flows out of texels.
fn outflow(flow: &[Texel], extent: [u32; 2]) -> f64 {
    let flow = FloatImage { texels: flow, extent };
    let out = passed(divergence, ReferencePass::over(flow, &[]));
    let squares = out.iter().map(|texel| f64::from(texel[1]).powi(2));
    (squares.sum::<f64>() / out.len() as f64).sqrt()
}

/// A flow at random, without any through the edge.
fn random_flow(extent: [u32; 2]) -> Vec<Texel> {
    let halves = random_image(9, extent, BrokenPixels::Absent);
    let speeds = halves
        .iter()
        .map(|texel| texel.map(|value| 20.0 * value.to_f32().min(1.0) - 10.0));
    let width = extent[0] as usize;
    speeds
        .enumerate()
        .map(|(index, texel)| {
            let inside = |place: usize, value: f32| if place == 0 { 0.0 } else { value };
            [
                inside(index % width, texel[0]),
                inside(index / width, texel[1]),
                0.0,
                0.0,
            ]
        })
        .collect()
}

/// 24 iterations leave a fifth of a random flow's divergence, 2000 hardly any: what is subtracted is the gradient that the
/// divergence asks for.
#[test]
fn projection_takes_the_divergence_away() {
    let extent = [40, 28];
    let flow = random_flow(extent);
    let project_after = |iterations: usize| {
        let source = FloatImage { texels: &flow, extent };
        let mut field = passed(divergence, ReferencePass::over(source, &[]));
        for _ in 0..iterations {
            field = passed(
                pressure,
                ReferencePass::over(FloatImage { texels: &field, extent }, &[]),
            );
        }
        let pass = ReferencePass::over(FloatImage { texels: &field, extent }, &[]);
        let projected = passed(
            project,
            ReferencePass {
                second: Some(source),
                ..pass
            },
        );
        outflow(&projected, extent) / outflow(&flow, extent)
    };
    assert!(outflow(&flow, extent) > 1.0);
    let (some, many) = (project_after(24), project_after(2000));
    assert!(some < 0.2 && many < 1e-3, "{some} {many}");
}

/// Of the fixture's field.
fn field_of(texels: &[Texel]) -> FloatImage<'_> {
    FloatImage {
        texels,
        extent: [20, 14],
    }
}

/// A pass in the fixture's frame of that number, from 0.
fn stroked<'a>(frame: usize, parameters: &'a [u8], field: &'a [Texel]) -> ReferencePass<'a> {
    let pointers = [[20.0, 16.0], [36.0, 20.0], [50.0, 34.0], [44.0, 40.0]];
    ReferencePass {
        frame: FrameParameters {
            pointer: pointers[frame + 1],
            previous_pointer: pointers[frame],
            time: (frame + 1) as f32 / 32.0,
            time_delta: 1.0 / 32.0,
            ..Default::default()
        },
        kept_frames: frame as u32,
        ..ReferencePass::over(field_of(field), parameters)
    }
}

/// tests/fixtures/fluid.csv is by numpy, in 64 bits.
#[test]
fn three_frames_are_numpy_s() {
    let text = include_str!("../../../tests/fixtures/fluid.csv");
    let rows: Vec<Vec<f32>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|word| word.parse().expect("a number")).collect())
        .collect();
    assert_eq!(rows.len(), 20 * 14);
    let settings = [
        ("force", 12.0),
        ("brush", 24.0),
        ("dye", 0.75),
        ("fade", 0.5),
        ("drag", 0.25),
        ("swirl", 0.0),
        ("wander", 0.0),
        ("opacity", 1.0),
    ];
    let parameters = effect_parameters("fluid", &settings);
    let (mut flow, mut color) = (vec![[f32::NAN; 4]; 280], vec![[f32::NAN; 4]; 280]);
    for frame in 0..3 {
        let curls = passed(curl, stroked(frame, &parameters, &flow));
        let second = Some(field_of(&curls));
        let forced = passed(
            force,
            ReferencePass {
                second,
                ..stroked(frame, &parameters, &flow)
            },
        );
        let moved = passed(advect, stroked(frame, &parameters, &forced));
        let mut solved = passed(divergence, stroked(frame, &parameters, &moved));
        for _ in 0..24 {
            solved = passed(pressure, stroked(frame, &parameters, &solved));
        }
        let second = Some(field_of(&moved));
        flow = passed(
            project,
            ReferencePass {
                second,
                ..stroked(frame, &parameters, &solved)
            },
        );
        let second = Some(field_of(&flow));
        color = passed(
            dye,
            ReferencePass {
                second,
                ..stroked(frame, &parameters, &color)
            },
        );
    }
    let fastest = rows.iter().map(|row| row[3].hypot(row[4])).fold(0.0, f32::max);
    assert!(fastest > 10.0 && rows.iter().any(|row| row[0] > 0.7), "{fastest}");
    for ((index, row), (flow, color)) in rows.iter().enumerate().zip(flow.iter().zip(&color)) {
        let off = |expected: f32, found: f32| (expected - found).abs();
        let velocity = off(row[3], flow[0]).max(off(row[4], flow[1]));
        let light = (0..3)
            .map(|channel| off(row[channel], color[channel]))
            .fold(0.0, f32::max);
        assert!(velocity < 1e-3 && light < 1e-4, "{index}: {row:?}, {flow:?} {color:?}");
    }
}

/// Around the middle of a vortex, where there is less vorticity the further away, confinement adds to the velocity what it is given
/// of the vorticity, along the way it turns.
#[test]
fn confinement_turns_a_vortex_faster() {
    let extent = [32, 32];
    let around = |x: f32, y: f32| {
        let (dx, dy) = (x - 16.0, y - 16.0);
        let speed = 20.0 * (-(dx * dx + dy * dy) / 18.0).exp();
        [-dy * speed, dx * speed]
    };
    let flow: Vec<Texel> = (0..32 * 32)
        .map(|index| {
            let (x, y) = ((index % 32) as f32, (index / 32) as f32);
            [around(x, y + 0.5)[0], around(x + 0.5, y)[1], 0.0, 0.0]
        })
        .collect();
    let total = |flow: &[Texel]| {
        let curls = passed(curl, ReferencePass::over(FloatImage { texels: flow, extent }, &[]));
        curls.iter().map(|texel| f64::from(texel[1])).sum::<f64>()
    };
    let confined = |swirl: f64| {
        let parameters = effect_parameters("fluid", &[("swirl", swirl), ("wander", 0.0)]);
        let source = FloatImage { texels: &flow, extent };
        let over = ReferencePass::over(source, &parameters);
        let frame = FrameParameters {
            time_delta: 0.02,
            ..Default::default()
        };
        let curls = passed(curl, ReferencePass { frame, ..over });
        let second = Some(FloatImage { texels: &curls, extent });
        passed(force, ReferencePass { frame, second, ..over })
    };
    // The walls alone take a little.
    assert!((total(&confined(0.0)) / total(&flow) - 1.0).abs() < 1e-3);
    let before = FloatImage { texels: &flow, extent };
    let texels = confined(10.0);
    let after = FloatImage {
        texels: &texels,
        extent,
    };
    // Two and a half texels to the right, and as many to the left: through upper faces. Then below and above.
    for (x, y, axis, turns) in [(18, 16, 1, 1.0), (13, 16, 1, -1.0), (16, 18, 0, -1.0), (16, 13, 0, 1.0)] {
        let added = turns * (after.at(x, y)[axis] - before.at(x, y)[axis]);
        let speed = 20.0 * (-(2.5f32 * 2.5) / 18.0).exp();
        let vorticity = (2.0 - 2.5 * 2.5 / 9.0) * speed;
        assert!(
            (added / (10.0 * 0.02 * vorticity) - 1.0).abs() < 0.05,
            "{x} {y}: {added}"
        );
    }
}

#[test]
fn the_wildest_strokes_give_no_nan() {
    let extent = [64, 48];
    let image = vec![[0.5, 0.5, 0.5, 1.0]; 64 * 48];
    let highest = [
        ("force", 40.0),
        ("brush", 256.0),
        ("dye", 4.0),
        ("fade", 0.0),
        ("drag", 0.0),
        ("swirl", 20.0),
        ("wander", 1.0),
    ];
    let mut bench = Bench::new("fluid", &highest, FrameExtents::same(extent));
    for number in 0..60u64 {
        let frame = FrameParameters {
            frame: number,
            time: number as f32 * 10.0,
            time_delta: [0.0, 0.016, 10.0][number as usize % 3],
            pointer: if number % 2 == 0 { [-1e5, 1e5] } else { [1e5, 30.0] },
            previous_pointer: if number % 2 == 0 { [1e5, 30.0] } else { [-1e5, 1e5] },
            ..Default::default()
        };
        let out = bench.frame(&image, None, &frame);
        assert!(out.iter().flatten().all(|value| value.is_finite()), "frame {number}");
    }
}

#[test]
fn without_a_stroke_the_picture_is_itself() {
    let extent = [37, 23];
    let halves = random_image(3, extent, BrokenPixels::Absent);
    let image: Vec<Texel> = halves.iter().map(|texel| texel.map(half::f16::to_f32)).collect();
    assert_eq!(apply_at("fluid", &[("wander", 0.0)], extent, &image, 5), image);
}
