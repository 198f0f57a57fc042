//! Tests of the flow on pictures that were moved by a known way, and of its colours against another program's.

use super::*;
use crate::kernels::FrameExtents;
use crate::kernels::reference::test_images::{Bench, noise};
use crate::kernels::reference::{FrameParameters, Guides, RowFn};

const SIDE: u32 = 96;

/// A smooth pattern without a period, moved by some texels: 24 waves of random direction, 8 to 40 texels long.
fn pattern(moved: [f32; 2]) -> Vec<Texel> {
    let waves: Vec<[f32; 3]> = (0..24)
        .map(|index| {
            let (turn, phase) = (
                std::f32::consts::TAU * noise(index, 1),
                std::f32::consts::TAU * noise(index, 2),
            );
            let cycles = std::f32::consts::TAU / (8.0 + 32.0 * noise(index, 3));
            [cycles * turn.cos(), cycles * turn.sin(), phase]
        })
        .collect();
    let texel = |index: u32| {
        let at = [(index % SIDE) as f32 - moved[0], (index / SIDE) as f32 - moved[1]];
        let sum: f32 = waves
            .iter()
            .map(|[x, y, phase]| (x * at[0] + y * at[1] + phase).sin())
            .sum();
        let tone = 0.5 + 0.04 * sum;
        [tone * tone, tone * tone, tone * tone, 1.0]
    };
    (0..SIDE * SIDE).map(texel).collect()
}

type Image = (Vec<Texel>, [u32; 2]);

fn float_image((texels, extent): &Image) -> FloatImage<'_> {
    FloatImage {
        texels,
        extent: *extent,
    }
}

/// One pass over images, with the default parameters.
fn pass(row: RowFn, source: &Image, others: [Option<&Image>; 2], divisor: u32, kept_frames: u32) -> Image {
    let extent = [SIDE.div_ceil(divisor); 2];
    let parameters: Vec<u8> = [8.0f32, 1.0].into_iter().flat_map(f32::to_le_bytes).collect();
    let none = FloatImage::NONE;
    let pass = ReferencePass {
        source: float_image(source),
        second: others[0].map(float_image),
        third: others[1].map(float_image),
        extent,
        parameters: &parameters,
        frame: FrameParameters::default(),
        guides: Guides {
            depth: none,
            normal: none,
            albedo: none,
            motion: none,
        },
        buffers: [&[]; 4],
        kept_frames,
        index: 0,
    };
    let mut out = vec![[0.0; 4]; (extent[0] * extent[1]) as usize];
    (0..)
        .zip(out.chunks_mut(extent[0] as usize))
        .for_each(|(y, out)| row(&pass, y, out));
    (out, extent)
}

/// Four levels of brightness and gradient.
fn pyramid(picture: Vec<Texel>) -> Vec<Image> {
    let mut levels = vec![pass(brightness, &(picture, [SIDE; 2]), [None; 2], 1, 1)];
    for level in 1..4 {
        levels.push(pass(reduce, &levels[level - 1], [None; 2], 1 << level, 1));
    }
    (0..4)
        .map(|level| pass(gradient, &levels[level], [None; 2], 1 << level, 1))
        .collect()
}

/// Where everything was, by texel.
fn flow(now: Vec<Texel>, before: Vec<Texel>) -> Vec<[f32; 2]> {
    let (now, before) = (pyramid(now), pyramid(before));
    let mut flow = None;
    for level in (0..4).rev() {
        flow = Some(pass(
            track,
            &now[level],
            [Some(&before[level]), flow.as_ref()],
            1 << level,
            1,
        ));
    }
    flow.expect("four levels")
        .0
        .into_iter()
        .map(|[u, v, ..]| [u, v])
        .collect()
}

/// Away from the edge, where the windows and the pyramid see what is not there.
fn inner() -> impl Iterator<Item = usize> {
    let inner = 20..SIDE as usize - 20;
    inner
        .clone()
        .flat_map(move |y| inner.clone().map(move |x| y * SIDE as usize + x))
}

#[test]
fn a_picture_moved_by_a_known_way_gives_that_flow() {
    for moved in [[0.0, 0.0], [0.25, -0.125], [1.0, 2.0], [-1.5, 0.75], [5.25, -3.5]] {
        let flow = flow(pattern(moved), pattern([0.0; 2]));
        let errors: Vec<f32> = inner()
            .map(|index| {
                // Back to where it was.
                let [u, v] = flow[index];
                ((u + moved[0]).powi(2) + (v + moved[1]).powi(2)).sqrt()
            })
            .collect();
        let mean = errors.iter().sum::<f32>() / errors.len() as f32;
        let worst = errors.iter().copied().fold(0.0, f32::max);
        // The line between two texels is not quite the wave; on a texel it is.
        let is_whole = moved.iter().all(|texels| texels.fract() == 0.0);
        assert!(
            mean < if is_whole { 0.005 } else { 0.06 },
            "{moved:?}: {mean} texels on the mean"
        );
        assert!(worst < 0.25, "{moved:?}: {worst} texels at worst");
    }
}

#[test]
fn the_picture_shows_the_colour_of_the_flow() {
    let mut bench = Bench::new("optical_flow", &[("range", 4.0)], FrameExtents::same([SIDE; 2]));
    let moved = [2.0, -1.0];
    let first = bench.frame(&pattern([0.0; 2]), None, &FrameParameters::default());
    // Nothing is known of what was before the first frame: nothing moves.
    assert!(first.iter().all(|texel| *texel == [1.0; 4]));
    let second = bench.frame(&pattern(moved), None, &FrameParameters::default());
    let expected = color_of(moved, 5.0f32.sqrt() / 4.0).map(decoded);
    for index in inner() {
        for channel in 0..3 {
            let found = second[index][channel];
            assert!(
                (found - expected[channel]).abs() < 0.1,
                "{index}: {found} for {}",
                expected[channel]
            );
        }
    }
}

#[test]
fn an_even_picture_has_no_flow_and_an_edge_alone_has_none_either() {
    let even = || vec![[0.25; 4]; (SIDE * SIDE) as usize];
    assert!(flow(even(), even()).iter().all(|flow| *flow == [0.0; 2]));
    // The aperture problem: along an edge every motion looks the same.
    let edge = |at: u32| -> Vec<Texel> {
        let tone = |index: u32| if index % SIDE < at { 0.25 } else { 0.75 };
        (0..SIDE * SIDE).map(|index| [tone(index); 4]).collect()
    };
    assert!(flow(edge(40), edge(41)).iter().all(|flow| *flow == [0.0; 2]));
}

/// `tests/fixtures/flow_colors.csv` was written by another implementation of Middlebury's colours, `flow_vis`;
/// `tests/fixtures/make-flow-colors` says how.
#[test]
fn colours_are_those_of_middlebury() {
    let fixture = include_str!("../../../tests/fixtures/flow_colors.csv");
    let mut cases = 0;
    for line in fixture.lines().skip(1) {
        let fields: Vec<f32> = line.split(',').map(|field| field.parse().expect("a number")).collect();
        let [u, v, ref expected @ ..] = fields[..] else {
            panic!("{line}")
        };
        let color = color_of([u, v], (u * u + v * v).sqrt());
        for (found, expected) in color.iter().zip(expected) {
            // Its colours are rounded down to 8 bits.
            let below = 255.0 * found - expected;
            assert!((-0.01..1.01).contains(&below), "{line}: {color:?}");
        }
        cases += 1;
    }
    assert!(cases >= 200);
}
