//! Tests of reaction and diffusion against the world.

use super::*;
use crate::kernels::FrameExtents;
use crate::kernels::reference::FrameParameters;
use crate::kernels::reference::test_images::{Bench, apply};

/// So many steps from a field, without the picture.
fn stepped(mut field: Vec<Texel>, extent: [u32; 2], [feed, kill, rate]: [f32; 3], steps: usize) -> Vec<Texel> {
    let parameters = [feed, kill, rate, 16.0, 0.0, 1.0];
    for _ in 0..steps {
        let pass = ReferencePass::over(FloatImage { texels: &field, extent }, bytemuck::cast_slice(&parameters));
        let mut next = vec![[0.0; 4]; field.len()];
        for (y, row) in (0..).zip(next.chunks_mut(extent[0] as usize)) {
            step(&pass, y, row);
        }
        field = next;
    }
    field
}

/// tests/fixtures/reaction_diffusion.csv is by numpy, in 64 bits.
#[test]
fn steps_are_numpy_s() {
    let text = include_str!("../../../tests/fixtures/reaction_diffusion.csv");
    let rows: Vec<Vec<f32>> = text
        .lines()
        .skip(1)
        .map(|line| line.split(',').map(|word| word.parse().expect("a number")).collect())
        .collect();
    let field: Vec<Texel> = rows.iter().map(|row| [row[0], row[1], 0.0, 0.0]).collect();
    assert_eq!(field.len(), 24 * 16);
    let after = stepped(field, [24, 16], [0.037, 0.06, 1.0], 60);
    let mut largest = 0f32;
    for (row, texel) in rows.iter().zip(&after) {
        let off = (row[2] - texel[0]).abs().max((row[3] - texel[1]).abs());
        largest = largest.max(off);
    }
    assert!(largest < 1e-5, "{largest}");
    // The fixture is not a field at rest.
    assert!(after.iter().any(|texel| texel[1] > 0.2) && after.iter().any(|texel| texel[1] < 0.02));
}

#[test]
fn homogeneous_steady_states_stay() {
    let empty = vec![[1.0, 0.0, 0.0, 0.0]; 35];
    assert_eq!(stepped(empty.clone(), [7, 5], [0.037, 0.06, 1.0], 100), empty);
    // The other two, where F >= 4 (F + k)²: u v = F + k and F (1 - u) = (F + k) v. Only the one of more v is stable.
    let (feed, kill) = (0.05f64, 0.05f64);
    let root = (1.0 - 4.0 * (feed + kill).powi(2) / feed).sqrt();
    let (u, v) = ((1.0 - root) / 2.0, feed / (2.0 * (feed + kill)) * (1.0 + root));
    assert!((u * v - (feed + kill)).abs() < 1e-12);
    let steady = vec![[u as f32, v as f32, 0.0, 0.0]; 35];
    let after = stepped(steady, [7, 5], [feed as f32, kill as f32, 1.0], 200);
    for texel in after {
        assert!(
            (f64::from(texel[0]) - u).abs() < 1e-5 && (f64::from(texel[1]) - v).abs() < 1e-5,
            "{texel:?}"
        );
    }
}

/// Without reaction (v = 0) and feed the edge keeps everything in, and a cosine decays as the five-point operator says.
#[test]
fn diffusion_is_the_five_point_operator_s() {
    let width = 16;
    let wave = std::f64::consts::PI / f64::from(width);
    let cosine = |x: u32| (wave * (f64::from(x) + 0.5)).cos();
    let field: Vec<Texel> = (0..width)
        .map(|x| [(0.5 + 0.25 * cosine(x)) as f32, 0.0, 0.0, 0.0])
        .collect();
    let after = stepped(field, [width, 1], [0.0, 0.06, 1.0], 50);
    let decay = (1.0 + 0.2097152 * (2.0 * wave.cos() - 2.0)).powi(50);
    for (x, texel) in (0..width).zip(after) {
        let expected = 0.5 + 0.25 * decay * cosine(x);
        assert!(
            (f64::from(texel[0]) - expected).abs() < 1e-5,
            "{x}: {} for {expected}",
            texel[0]
        );
    }
}

const EXTENTS: [u32; 2] = [96, 64];

#[test]
fn the_pointer_s_way_is_sown_and_a_resting_pointer_sows_nothing() {
    let image = vec![[0.5, 0.5, 0.5, 1.0]; 96 * 64];
    let run = |to: [f32; 2]| {
        let mut bench = Bench::new("reaction_diffusion", &[("brush", 8.0)], FrameExtents::same(EXTENTS));
        let frame = |pointer, previous_pointer| FrameParameters {
            pointer,
            previous_pointer,
            ..Default::default()
        };
        let still = [10.0, 50.0];
        bench.frame(&image, None, &frame(still, still));
        bench.frame(&image, None, &frame(to, still));
        bench.frame(&image, None, &frame(to, to))
    };
    let (rested, moved) = (run([10.0, 50.0]), run([80.0, 50.0]));
    let differs = |x: usize, y: usize| rested[y * 96 + x] != moved[y * 96 + x];
    assert!((14..76).all(|x| differs(x, 50)));
    // 48 steps carry it by some texels of the field, not through the picture.
    assert!((0..96).all(|x| !differs(x, 4)));
}

#[test]
fn the_first_frame_is_sown_alike_and_no_opacity_is_the_picture_itself() {
    let image: Vec<Texel> = (0..96 * 64)
        .map(|index| [(index % 96) as f32 / 96.0, 0.25, 0.5, 0.75])
        .collect();
    let image: Vec<Texel> = image
        .into_iter()
        .map(|texel| texel.map(|value| half::f16::from_f32(value).to_f32()))
        .collect();
    let once = apply("reaction_diffusion", &[], EXTENTS, &image);
    assert_eq!(once, apply("reaction_diffusion", &[], EXTENTS, &image));
    assert!(
        once.iter()
            .zip(&image)
            .filter(|(after, before)| after != before)
            .count()
            > 100
    );
    assert_eq!(apply("reaction_diffusion", &[("opacity", 0.0)], EXTENTS, &image), image);
}
