//! Tests of the denoiser on pictures made with noise whose converged image is known.

use crate::kernels::reference::test_images::{Bench, noise};
use crate::kernels::reference::{FrameParameters, Texel};
use crate::kernels::{FrameExtents, TestGuides};

const WIDTH: usize = 96;
const HEIGHT: usize = 64;

/// What stands at a texel of a wall whose left part slides by: a floor below, a nearer board in front.
struct Place {
    depth: f32,
    normal: [f32; 3],
    albedo: [f32; 3],
    /// Expected light that arrives.
    light: f32,
    motion: [f32; 2],
}

fn place(x: usize, y: usize, frame: usize) -> Place {
    // The board moves right by half a texel a frame.
    let shift = 0.5 * frame as f32;
    let left = 20.0 + shift;
    let (u, v) = (x as f32 + 0.5, y as f32 + 0.5);
    let check = |u: f32, v: f32| {
        if (u as i32 / 3 + v as i32 / 3) % 2 == 0 {
            [0.8, 0.6, 0.3]
        } else {
            [0.2, 0.3, 0.5]
        }
    };
    if u >= left && u < left + 30.0 && (12.0..44.0).contains(&v) {
        Place {
            depth: 2.0,
            normal: [0.0, 0.0, 1.0],
            albedo: check(u - left + 60.0, v),
            light: 0.5 + 0.5 * (v - 12.0) / 32.0,
            motion: [-0.5, 0.0],
        }
    } else if v > 48.0 {
        let depth = 5.0 * 48.0 / v;
        Place {
            depth,
            normal: [0.0, 1.0, 0.0],
            albedo: check(u, v),
            light: 1.0 + 0.4 * (u * 0.05).sin(),
            motion: [0.0, 0.0],
        }
    } else {
        Place {
            depth: 5.0,
            normal: [0.0, 0.0, 1.0],
            albedo: [0.7, 0.7, 0.65],
            light: if u > 70.0 { 0.3 } else { 1.2 },
            motion: [0.0, 0.0],
        }
    }
}

fn texels(frame: usize) -> Vec<Place> {
    let at = |index: usize| place(index % WIDTH, index / WIDTH, frame);
    (0..WIDTH * HEIGHT).map(at).collect()
}

fn guides(places: &[Place]) -> TestGuides {
    let depth: Vec<_> = places.iter().map(|place| place.depth).collect();
    let normal: Vec<_> = places.iter().map(|place| place.normal).collect();
    let albedo: Vec<_> = places.iter().map(|place| place.albedo).collect();
    let motion: Vec<_> = places.iter().map(|place| place.motion).collect();
    TestGuides::new(WIDTH as u32, &depth, &normal, &albedo, &motion)
}

/// Light times what the surface reflects, as its 8 bits say.
fn shaded(place: &Place, light: f32) -> Texel {
    let [r, g, b] = place.albedo.map(|value| light * (255.0 * value + 0.5).floor() / 255.0);
    [r, g, b, 1.0]
}

/// A picture of one path a texel: one in four finds the lamp, and then all its light.
fn one_sample(places: &[Place], frame: usize) -> Vec<Texel> {
    let sample = |(index, place): (usize, &Place)| {
        let found = noise(index, frame as u64) < 0.25;
        shaded(place, if found { 4.0 * place.light } else { 0.0 })
    };
    places.iter().enumerate().map(sample).collect()
}

/// The peak signal-to-noise ratio for a peak of 1, dB.
fn psnr(found: &[Texel], expected: &[Texel]) -> f32 {
    let squares = found
        .iter()
        .zip(expected)
        .flat_map(|(found, expected)| (0..3).map(|c| (found[c] - expected[c]).powi(2)));
    -10.0 * (squares.sum::<f32>() / (3 * found.len()) as f32).log10()
}

fn bench(settings: &[(&str, f64)]) -> Bench {
    Bench::new("svgf", settings, FrameExtents::same([WIDTH as u32, HEIGHT as u32]))
}

#[test]
fn one_sample_a_texel_gains_24_decibels() {
    let mut bench = bench(&[]);
    let mut gains = Vec::new();
    for frame in 0..16 {
        let places = texels(frame);
        let converged: Vec<Texel> = places.iter().map(|place| shaded(place, place.light)).collect();
        let noisy = one_sample(&places, frame);
        let out = bench.frame(&noisy, Some(&guides(&places)), &FrameParameters::default());
        gains.push(psnr(&out, &converged) - psnr(&noisy, &converged));
    }
    assert!(gains[0] >= 18.0, "the first frame alone: {}", gains[0]);
    assert!(gains[15] >= 24.0, "{}", gains[15]);
}

/// Without noise there is nothing to average: the picture stays, its edges and its pattern.
#[test]
fn a_converged_picture_stays() {
    let mut bench = bench(&[]);
    let places: Vec<Place> = texels(0)
        .into_iter()
        .map(|place| Place {
            motion: [0.0; 2],
            ..place
        })
        .collect();
    let converged: Vec<Texel> = places.iter().map(|place| shaded(place, place.light)).collect();
    let mut out = Vec::new();
    for _ in 0..8 {
        out = bench.frame(&converged, Some(&guides(&places)), &FrameParameters::default());
    }
    let psnr = psnr(&out, &converged);
    assert!(psnr > 40.0, "{psnr}");
}

/// What comes out from behind something else has no history: not the light of what hid it.
#[test]
fn a_disoccluded_surface_begins_anew() {
    let texels = WIDTH * HEIGHT;
    let frame = |depth: f32, normal: [f32; 3]| {
        TestGuides::new(
            WIDTH as u32,
            &vec![depth; texels],
            &vec![normal; texels],
            &vec![[1.0; 3]; texels],
            &vec![[0.0; 2]; texels],
        )
    };
    let up = [0.0, 1.0, 0.0];
    for (depth, normal, is_new) in [
        (2.0, up, false),
        (2.05, up, false),
        (3.0, up, true),
        (2.0, [0.0, 0.0, 1.0], true),
        (2.0, [0.0, 0.8, 0.6], true),
        (2.0, [0.0, 0.96, 0.28], false),
    ] {
        let mut bench = bench(&[]);
        let bright = vec![[8.0; 4]; texels];
        let dark = vec![[0.25; 4]; texels];
        bench.frame(&bright, Some(&frame(2.0, up)), &FrameParameters::default());
        let out = bench.frame(&dark, Some(&frame(depth, normal)), &FrameParameters::default());
        // Of two frames the mean counts.
        let expected = if is_new { 0.25 } else { 4.125 };
        assert!(
            out.iter().all(|texel| (texel[0] / expected - 1.0).abs() < 2e-3),
            "{depth} {normal:?}: {} for {expected}",
            out[0][0]
        );
    }
}
