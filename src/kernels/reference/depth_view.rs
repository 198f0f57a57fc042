//! Depth view: one over the depth, coloured by Turbo.
//!
//! Mikhailov, *Turbo, an improved rainbow colormap for visualization*, Google 2019; its polynomial of degree 5 by Du.

use super::{ReferencePass, Texel, srgb};

const NEAR: usize = 0;
const FAR: usize = 1;

/// Red, green and blue from the constant term on, encoded as sRGB.
#[rustfmt::skip]
const TURBO: [[f64; 6]; 3] = [
    [0.13572138, 4.61539260, -42.66032258, 132.13108234, -152.94239396, 59.28637943],
    [0.09140261, 2.19418839, 4.84296658, -14.18503333, 4.27729857, 2.82956604],
    [0.10667330, 12.64194608, -60.58204836, 110.36276771, -89.90310912, 27.34824973],
];

/// The colour of a share from 0 to 1, encoded.
fn turbo(share: f64) -> [f64; 3] {
    TURBO.map(|factors| {
        factors
            .iter()
            .rev()
            .fold(0.0, |sum, factor| sum * share + factor)
            .clamp(0.0, 1.0)
    })
}

/// How near a depth is, from 0 to 1.
fn nearness(depth: f32, near: f64, far: f64) -> f64 {
    let disparity = f64::from(depth.max(1e-6)).recip();
    ((disparity - far.recip()) / (near.recip() - far.recip())).clamp(0.0, 1.0)
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let [near, far] = [NEAR, FAR].map(|index| f64::from(pass.parameter::<f32>(index)));
    let y = i64::from(y);
    for ((out, source), depth) in out.iter_mut().zip(pass.source.row(y)).zip(pass.guides.depth.row(y)) {
        let [red, green, blue] = turbo(nearness(depth[0], near, far)).map(|value| srgb::decode(value as f32));
        *out = [red, green, blue, source[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::Bench;
    use crate::kernels::{FrameExtents, TestGuides};

    /// Entries of the published table of 256 colours, to which the polynomial is fitted: it is off by up to 0.09.
    #[test]
    fn the_ends_and_the_middle_are_those_of_the_published_table() {
        let depths = [0.0, 1.0, 2.0, 200.0 / 101.0, 100.0, 1e4, f32::INFINITY, f32::NAN];
        let count = depths.len();
        let guides = TestGuides::new(
            count as u32,
            &depths,
            &vec![[0.0; 3]; count],
            &vec![[0.0; 3]; count],
            &vec![[0.0; 2]; count],
        );
        let settings = [("near", 1.0), ("far", 100.0)];
        let mut bench = Bench::new("depth_view", &settings, FrameExtents::same([count as u32, 1]));
        let out = bench.frame(&vec![[0.5; 4]; count], Some(&guides), &FrameParameters::default());
        let encoded = |texel: &Texel| [0, 1, 2].map(|channel| srgb::encode(texel[channel]));
        let near =
            |texel: &Texel, expected: [f32; 3]| encoded(texel).iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.09);
        let (first, middle, last) = (
            [0.18995, 0.07176, 0.23217],
            [0.64362, 0.98999, 0.23356],
            [0.47960, 0.01583, 0.01055],
        );
        assert!(near(&out[0], last) && near(&out[1], last), "{:?}", encoded(&out[1]));
        // One over 200/101 is half way between 1 and 1/100, in m^-1.
        assert!(near(&out[3], middle), "{:?}", encoded(&out[3]));
        let far = encoded(&out[4]);
        assert!(
            (0..2).all(|channel| (far[channel] - first[channel]).abs() < 0.06),
            "{far:?}"
        );
        assert_eq!([out[5], out[6]], [out[4]; 2]);
        assert_eq!(out[7], out[0]);
        assert!(out.iter().all(|texel| texel[3] == 0.5));
    }
}
