//! Tests of the glare against the world.

use super::*;
use crate::kernels::reference::FloatImage;
use crate::kernels::reference::test_images::{apply, effect_parameters};
use crate::kernels::{BrokenPixels, random_image};

const SETTINGS: [(&str, f64); 7] = [
    ("threshold", 0.0),
    ("limit", 256.0),
    ("intensity", 1.0),
    ("view", 20.0),
    ("star", 0.5),
    ("points", 6.0),
    ("halo", 1.0),
];

/// The point spread function at all offsets that a halved picture has, from (1 - across, 1 - down) on, each plane's sum 1.
fn normalized(extent: [u32; 2]) -> (Vec<[f64; 3]>, [usize; 2]) {
    let parameters = effect_parameters("fft_bloom", &SETTINGS);
    let pass = ReferencePass::over(FloatImage { texels: &[], extent }, &parameters);
    let [across, down] = extent.map(|length| length.div_ceil(2) as usize);
    let mut values = Vec::new();
    for y in 1 - down as i64..down as i64 {
        for x in 1 - across as i64..across as i64 {
            values.push(spread(&pass, [x as f64, y as f64], 20.0 / down as f64));
        }
    }
    let sums = [0, 1, 2].map(|plane| values.iter().map(|value| value[plane]).sum::<f64>());
    for value in &mut values {
        for (value, sum) in value.iter_mut().zip(sums) {
            *value /= sum;
        }
    }
    (values, [across, down])
}

/// A picture twice as large, each texel four times.
fn doubled(image: &[[f32; 3]], [across, down]: [usize; 2]) -> Vec<Texel> {
    let mut out = Vec::new();
    for y in 0..2 * down {
        for x in 0..2 * across {
            let [red, green, blue] = image[y / 2 * across + x / 2];
            out.push([red, green, blue, 1.0]);
        }
    }
    out
}

/// The scattered light at the grid's texels, from what the effect added to the picture between them.
fn added(out: &[Texel], image: &[Texel], [across, down]: [usize; 2]) -> Vec<[f64; 3]> {
    let (width, mut found) = (2 * across, Vec::new());
    // The first texel's corner is its own alone; elsewhere the four around a middle are taken.
    for y in 0..2 * down {
        for x in 0..width {
            let at = y * width + x;
            found.push([0, 1, 2].map(|channel| f64::from(out[at][channel]) - f64::from(image[at][channel])));
        }
    }
    found
}

/// The direct sum over all pairs of texels in 64 bits, then enlarged by the definition of bilinear.
fn direct(image: &[[f32; 3]], [across, down]: [usize; 2], kernel: &[[f64; 3]]) -> Vec<[f64; 3]> {
    let mut sums = vec![[0.0; 3]; across * down];
    for (to, sum) in sums.iter_mut().enumerate() {
        for (from, light) in image.iter().enumerate() {
            let dx = to % across + across - 1 - from % across;
            let dy = to / across + down - 1 - from / across;
            for channel in 0..3 {
                sum[channel] += f64::from(light[channel]) * kernel[dy * (2 * across - 1) + dx][channel];
            }
        }
    }
    let mut out = Vec::new();
    for y in 0..2 * down {
        for x in 0..2 * across {
            let at = |place: usize, length: usize| {
                let position = ((place as f64 + 0.5) / 2.0 - 0.5).clamp(0.0, (length - 1) as f64);
                (
                    position as usize,
                    (position as usize + 1).min(length - 1),
                    position.fract(),
                )
            };
            let ((left, right, share_x), (top, bottom, share_y)) = (at(x, across), at(y, down));
            out.push([0, 1, 2].map(|channel| {
                let row = |row: usize| {
                    sums[row * across + left][channel] * (1.0 - share_x) + sums[row * across + right][channel] * share_x
                };
                row(top) * (1.0 - share_y) + row(bottom) * share_y
            }));
        }
    }
    out
}

/// Within half an ulp of half of what is stored, and 1e-5 of the brightest.
#[test]
fn convolution_by_transforms_is_the_direct_sum() {
    let small = [23, 16];
    let (kernel, _) = normalized([46, 32]);
    let halves = random_image(11, [23, 16], BrokenPixels::Absent);
    let image: Vec<[f32; 3]> = halves
        .iter()
        .map(|texel| [texel[0], texel[1], texel[2]].map(|value| value.to_f32().min(100.0)))
        .map(|texel| texel.map(|value| half::f16::from_f32(value).to_f32()))
        .collect();
    let large = doubled(&image, small);
    let out = apply("fft_bloom", &SETTINGS, [46, 32], &large);
    let expected = direct(&image, small, &kernel);
    assert!(expected.iter().any(|value| value[0] > 0.5));
    for ((out, before), expected) in out.iter().zip(&large).zip(expected) {
        for channel in 0..3 {
            let wanted = f64::from(before[channel]) + expected[channel];
            let allowed = wanted * 2f64.powi(-11) + 1e-3;
            assert!(
                (f64::from(out[channel]) - wanted).abs() < allowed,
                "{out:?} for {wanted}"
            );
        }
    }
}

/// One lit texel of the grid gives the function back, centred on it.
#[test]
fn a_point_of_light_gives_the_function_back() {
    let small = [31, 25];
    let (kernel, _) = normalized([62, 50]);
    let mut image = vec![[0.0; 3]; 31 * 25];
    image[12 * 31 + 15] = [200.0; 3];
    let large = doubled(&image, small);
    let out = apply("fft_bloom", &SETTINGS, [62, 50], &large);
    let (found, expected) = (added(&out, &large, small), direct(&image, small, &kernel));
    let mut brightest = 0.0f64;
    for (place, (found, expected)) in found.iter().zip(&expected).enumerate() {
        if large[place][0] > 0.0 {
            continue;
        }
        for channel in 0..3 {
            brightest = brightest.max(found[channel]);
            let allowed = expected[channel] * 2f64.powi(-10) + 2e-5;
            assert!(
                (found[channel] - expected[channel]).abs() < allowed,
                "{place}: {found:?} for {expected:?}"
            );
        }
    }
    assert!(brightest > 0.5, "{brightest}");
    // No light is lost or made but what the picture's edge cuts off.
    let total: f64 = found.iter().map(|value| value[1]).sum();
    assert!(total > 0.5 * 800.0 && total < 800.0, "{total}");
}

/// The star has as many points as it is told, and the halo of red is wider than that of blue.
#[test]
fn the_function_has_its_star_and_its_coloured_halo() {
    let at = |settings: &[(&str, f64)], offset: [f64; 2]| {
        let parameters = effect_parameters("fft_bloom", settings);
        let none = FloatImage {
            texels: &[],
            extent: [2, 2],
        };
        spread(&ReferencePass::over(none, &parameters), offset, 0.05)
    };
    let star = [("star", 1.0), ("points", 4.0), ("halo", 0.0)];
    let [along, between] = [[10.0, 0.0], [7.0, 7.0]].map(|offset| at(&star, offset)[0]);
    assert!(along > 3.0 * between, "{along} {between}");
    assert!((at(&star, [0.0, 10.0])[0] / along - 1.0).abs() < 1e-9);
    // 3 λ / 568 degrees, at 0.05 degrees a texel.
    let brightest = |channel: usize| {
        let halo = |x: i32| {
            let [with, without] = [1.0, 0.0].map(|halo| at(&[("halo", halo)], [f64::from(x), 0.0])[channel]);
            with - without
        };
        (20..120)
            .max_by(|a, b| halo(*a).total_cmp(&halo(*b)))
            .unwrap_or_default()
    };
    assert_eq!([0, 1, 2].map(brightest), [65, 58, 49]);
}

#[test]
fn below_the_threshold_nothing_is_added() {
    let image: Vec<Texel> = (0..35 * 20)
        .map(|index| [0.5, (index % 8) as f32 / 8.0, 1.0, 0.25])
        .collect();
    assert_eq!(apply("fft_bloom", &[("intensity", 4.0)], [35, 20], &image), image);
}
