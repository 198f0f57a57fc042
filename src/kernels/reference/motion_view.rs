//! Motion view: the motion guide in the colour code of the Middlebury benchmark for optical flow.
//!
//! Baker et al., *A Database and Evaluation Methodology for Optical Flow*, IJCV 2011.

use super::{ReferencePass, Texel, srgb};
use std::f64::consts::PI;

const LARGEST: usize = 0;

/// The colours of the wheel, of 255: one channel after the other rises or falls, in so many steps each.
fn wheel() -> Vec<[i32; 3]> {
    let segments = [
        (15, [255, 0, 0], 1),
        (6, [255, 255, 0], 0),
        (4, [0, 255, 0], 2),
        (11, [0, 255, 255], 1),
        (13, [0, 0, 255], 0),
        (6, [255, 0, 255], 2),
    ];
    let steps = segments.iter().flat_map(|(count, from, channel)| {
        (0..*count).map(move |step| {
            let mut color = *from;
            let moved = 255 * step / count;
            color[*channel] = if from[*channel] == 0 { moved } else { 255 - moved };
            color
        })
    });
    steps.collect()
}

/// The encoded colour of a motion from the previous frame to this one, of which the length 1 is fully saturated.
fn color(wheel: &[[i32; 3]], flow: [f32; 2], reach: f32) -> [f64; 3] {
    let turn = f64::atan2(-f64::from(flow[1]), -f64::from(flow[0])) / PI;
    let place = (turn + 1.0) / 2.0 * (wheel.len() - 1) as f64;
    let low = place.floor();
    let (between, low) = (place - low, low as usize);
    let next = wheel[(low + 1) % wheel.len()];
    [0, 1, 2].map(|channel| {
        let value = ((1.0 - between) * f64::from(wheel[low][channel]) + between * f64::from(next[channel])) / 255.0;
        if reach <= 1.0 {
            1.0 - f64::from(reach) * (1.0 - value)
        } else {
            0.75 * value
        }
    })
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let largest = pass.parameter::<f32>(LARGEST);
    let wheel = wheel();
    let y = i64::from(y);
    for ((out, source), motion) in out.iter_mut().zip(pass.source.row(y)).zip(pass.guides.motion.row(y)) {
        let [x, y] = [motion[0], motion[1]];
        // In float: whether it is above 1 must be the same everywhere.
        let reach = (x * x + y * y).sqrt() / largest;
        let [red, green, blue] = match reach.is_nan() {
            true => [0.0; 3],
            false => color(&wheel, [-x, -y], reach).map(|value| srgb::decode(value as f32)),
        };
        *out = [red, green, blue, source[3]];
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::Bench;
    use crate::kernels::{FrameExtents, TestGuides};

    /// `tests/fixtures/motion_view.csv` is what the package flow_vis makes of flow; `make-motion-view` made it.
    #[test]
    fn colours_are_those_of_the_benchmark() {
        let fixture = include_str!("../../../tests/fixtures/motion_view.csv");
        let rows: Vec<Vec<f32>> = fixture
            .lines()
            .skip(1)
            .map(|line| line.split(',').map(|field| field.parse().expect("a number")).collect())
            .collect();
        let count = rows.len();
        assert_eq!(count, 120);
        // The guide points back to the previous frame; twice as far, for `largest` is 2.
        let motion: Vec<[f32; 2]> = rows.iter().map(|row| [-2.0 * row[0], -2.0 * row[1]]).collect();
        let guides = TestGuides::new(
            count as u32,
            &vec![1.0; count],
            &vec![[0.0; 3]; count],
            &vec![[0.0; 3]; count],
            &motion,
        );
        let mut bench = Bench::new(
            "motion_view",
            &[("largest", 2.0)],
            FrameExtents::same([count as u32, 1]),
        );
        let out = bench.frame(
            &vec![[1.0, 1.0, 1.0, 0.5]; count],
            Some(&guides),
            &FrameParameters::default(),
        );
        for (texel, row) in out.iter().zip(&rows) {
            for channel in 0..3 {
                // The package cuts to whole bytes; light is a half here, which moves a byte by less than a fifth.
                let value = 255.0 * srgb::encode(texel[channel]);
                assert!(
                    (-0.2..1.2).contains(&(value - row[2 + channel])),
                    "{row:?}: {value} in channel {channel}"
                );
            }
            assert_eq!(texel[3], 0.5);
        }
    }
}
