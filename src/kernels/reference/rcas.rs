//! RCAS: the sharpening of AMD's FSR 1, FsrRcasF with exact reciprocals.
//!
//! Defined for [0, 1]. Where a channel of the cross is above, the pixel is left alone.

use super::{ReferencePass, Texel};

const SHARPNESS: usize = 0;
const DENOISE: usize = 1;

/// FSR_RCAS_LIMIT.
const LIMIT: f32 = 0.25 - 1.0 / 16.0;

/// The weight of one channel's ring, at most 0. What HLSL's `max` makes of 0/0 is said outright: the other limit holds.
fn lobe(ring: [f32; 4], center: f32) -> f32 {
    let least = ring.into_iter().fold(f32::INFINITY, f32::min);
    let most = ring.into_iter().fold(0.0, f32::max);
    if most.max(center) > 1.0 {
        return 0.0;
    }
    let hit_min = least.min(center) / (4.0 * most);
    let hit_max = (1.0 - most.max(center)) / (4.0 * least - 4.0);
    match (most == 0.0, least == 1.0) {
        (true, _) => hit_max,
        (_, true) => -hit_min,
        _ => hit_max.max(-hit_min),
    }
}

/// How much of the sharpening a cross deserves: half where its centre stands out as noise does.
fn calm([b, d, e, f, h]: [Texel; 5]) -> f32 {
    let luma = |texel: Texel| 0.5 * texel[2] + (0.5 * texel[0] + texel[1]);
    let (ring, center) = ([b, d, f, h].map(luma), luma(e));
    let range = ring.into_iter().fold(center, f32::max) - ring.into_iter().fold(center, f32::min);
    if range == 0.0 {
        return 1.0;
    }
    let mean = 0.25 * ring.iter().sum::<f32>();
    1.0 - 0.5 * ((mean - center).abs() / range).min(1.0)
}

/// Above, left, itself, right, below.
fn filtered(cross: [Texel; 5], strength: f32, denoise: bool) -> Texel {
    let [b, d, e, f, h] = cross;
    let lobes = [0, 1, 2].map(|c| lobe([b[c], d[c], f[c], h[c]], e[c]));
    let strongest = lobes.into_iter().fold(-LIMIT, f32::max).min(0.0);
    let weight = strongest * strength * if denoise { calm(cross) } else { 1.0 };
    let mut out = e;
    for (c, out) in out[..3].iter_mut().enumerate() {
        *out = (weight * (b[c] + d[c] + f[c] + h[c]) + e[c]) / (1.0 + 4.0 * weight);
    }
    out
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let strength = (-pass.parameter::<f32>(SHARPNESS)).exp2();
    let denoise = pass.parameter::<u32>(DENOISE) != 0;
    let y = i64::from(y);
    let [above, here, below] = [-1, 0, 1].map(|dy| pass.source.row(y + dy));
    let last = here.len() - 1;
    for (x, out) in out.iter_mut().enumerate() {
        let (left, right) = (here[x.saturating_sub(1)], here[(x + 1).min(last)]);
        *out = filtered([above[x], left, here[x], right, below[x]], strength, denoise);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;
    use crate::kernels::reference::test_picture::halves;

    /// `tests/fixtures/rcas.csv` is FsrRcasF's published arithmetic in 40 digits; `tests/fixtures/make-rcas` made it.
    #[test]
    fn vectors_of_the_published_arithmetic() {
        let fixture = include_str!("../../../tests/fixtures/rcas.csv");
        let mut cases = 0;
        for line in fixture.lines().skip(1) {
            let fields: Vec<f32> = line.split(',').map(|field| field.parse().expect("a number")).collect();
            let texel = |index: usize| [fields[2 + 3 * index], fields[3 + 3 * index], fields[4 + 3 * index], 0.5];
            let cross = [texel(0), texel(1), texel(2), texel(3), texel(4)];
            let sharpened = filtered(cross, (-fields[0]).exp2(), fields[1] != 0.0);
            for (found, expected) in sharpened.iter().zip(&fields[17..]) {
                assert!((found - expected).abs() < 2e-6, "{line}: {sharpened:?}");
            }
            cases += 1;
        }
        assert_eq!(cases, 64);
    }

    #[test]
    fn a_flat_picture_and_what_is_beside_light_above_1_are_left_alone() {
        for level in [0.0, 0.25, 1.0] {
            let flat = [[level, level, 0.5, 0.5]; 20];
            assert_eq!(apply("rcas", &[("sharpness", 0.0)], [5, 4], &flat), flat);
        }
        let bright: Vec<Texel> = (0..20)
            .map(|index| [1.1 + index as f32, 0.1 * (index % 3) as f32, 0.5, 1.0])
            .collect();
        assert_eq!(apply("rcas", &[("sharpness", 0.0)], [5, 4], &bright), halves(&bright));
    }

    /// Lone texels of any height stay within [0, 1]: a ring of 0 and a centre of 1 are the limits.
    #[test]
    fn nothing_is_clipped() {
        for (ring, center) in [(0.0, 1.0), (1.0, 0.0), (0.0, 0.5), (1.0, 0.5), (0.25, 0.75)] {
            let mut image = vec![[ring, ring, ring, 1.0]; 9];
            image[4] = [center, center, center, 1.0];
            let out = apply("rcas", &[("sharpness", 0.0)], [3, 3], &image)[4][0];
            assert!(
                (0.0..=1.0).contains(&out) && (out - ring).abs() >= (center - ring).abs(),
                "{ring} {center}: {out}"
            );
        }
    }
}
