//! Temporal anti-aliasing: the history, fetched where the motion says, clipped to what the neighbourhood shows, and blended
//! with this frame's sample.

use super::{FloatImage, ReferencePass, Texel, light};
use half::f16;
use rayon::prelude::*;

const FEEDBACK: usize = 0;
const GAMMA: usize = 1;
const ANTI_FLICKER: usize = 2;

/// Deviations below it, in light, count as this much.
const LEAST_REACH: f32 = 1e-6;

/// Luma, orange-blue and green-purple.
type Ycocg = [f32; 3];

fn to_ycocg([r, g, b, _]: Texel) -> Ycocg {
    [(r + 2.0 * g + b) * 0.25, (r - b) * 0.5, (2.0 * g - r - b) * 0.25]
}

fn from_ycocg([y, co, cg]: Ycocg) -> [f32; 3] {
    [y - cg + co, y + cg, y - cg - co]
}

/// Catmull-Rom's cubic, tension 1/2, by Horner: the weights of four neighbours for a place between the middle ones.
fn catmull_rom(t: f32) -> [f32; 4] {
    [
        ((-0.5 * t + 1.0) * t - 0.5) * t,
        (1.5 * t - 2.5) * t * t + 1.0,
        ((-1.5 * t + 2.0) * t + 0.5) * t,
        (0.5 * t - 0.5) * t * t,
    ]
}

/// An image between its texels: rows first, then the column of four.
fn sample(image: &FloatImage, [x, y]: [f32; 2]) -> Texel {
    let (across, down) = (catmull_rom(x - x.floor()), catmull_rom(y - y.floor()));
    let mut sum = [0.0; 4];
    for (row, weight) in (y.floor() as i64 - 1..).zip(down) {
        let mut taps = (x.floor() as i64 - 1..).zip(across).map(|(column, weight)| {
            let texel = image.at(column, row);
            texel.map(|value| value * weight)
        });
        let first = taps.next().expect("four taps");
        let line = taps.fold(first, |line, tap| std::array::from_fn(|c| line[c] + tap[c]));
        sum = std::array::from_fn(|c| sum[c] + line[c] * weight);
    }
    sum
}

/// The 3x3 around a texel, row by row.
fn around(x: i64, y: i64) -> impl Iterator<Item = [i64; 2]> {
    (-1..=1).flat_map(move |dy| (-1..=1).map(move |dx| [x + dx, y + dy]))
}

/// Where the nearest surface of the 3x3 comes from; of equally near ones the texel itself, then the first.
fn nearest_motion(pass: &ReferencePass, x: i64, y: i64) -> [f32; 2] {
    let depth = |[x, y]: [i64; 2]| pass.guides.depth.at(x, y)[0];
    let nearest = around(x, y).fold([x, y], |best, tap| if depth(tap) < depth(best) { tap } else { best });
    let [dx, dy, ..] = pass.guides.motion.at(nearest[0], nearest[1]);
    [dx, dy]
}

/// The mean and the standard deviation of what the 3x3 shows.
fn statistics(source: &FloatImage, x: i64, y: i64) -> (Ycocg, Ycocg) {
    let taps: Vec<Ycocg> = around(x, y).map(|[x, y]| to_ycocg(source.at(x, y))).collect();
    let mean_of = |of: &dyn Fn(&Ycocg, usize) -> f32| -> Ycocg {
        std::array::from_fn(|c| taps.iter().fold(0.0, |sum, tap| sum + of(tap, c)) * (1.0 / 9.0))
    };
    let mean = mean_of(&|tap, c| tap[c]);
    let variance = mean_of(&|tap, c| (tap[c] - mean[c]) * (tap[c] - mean[c]));
    (mean, variance.map(f32::sqrt))
}

fn resolved(pass: &ReferencePass, history: &FloatImage, x: i64, y: i64) -> Texel {
    let color = pass.source.at(x, y);
    if pass.kept_frames == 0 {
        return color;
    }
    let [dx, dy] = nearest_motion(pass, x, y);
    let place = [x as f32 + dx, y as f32 + dy];
    let is_inside = |value: f32, length: u32| (-0.5..=length as f32 - 0.5).contains(&value);
    if !(is_inside(place[0], pass.extent[0]) && is_inside(place[1], pass.extent[1])) {
        return color;
    }
    let (mean, deviation) = statistics(&pass.source, x, y);
    let gamma = pass.parameter::<f32>(GAMMA);
    let history = to_ycocg(sample(history, place));
    // How many times too far it is, on the axis where it is furthest.
    let excess = (0..3)
        .map(|c| (history[c] - mean[c]).abs() / (gamma * deviation[c]).max(LEAST_REACH))
        .fold(1.0, f32::max);
    let clipped: Ycocg = std::array::from_fn(|c| mean[c] + (history[c] - mean[c]) * (1.0 / excess));

    let (feedback, flicker) = (pass.parameter::<f32>(FEEDBACK), pass.parameter::<f32>(ANTI_FLICKER));
    let now = to_ycocg(color);
    let old_weight = feedback / (1.0 + flicker * clipped[0].max(0.0));
    let new_weight = (1.0 - feedback) / (1.0 + flicker * now[0]);
    let share = 1.0 / (old_weight + new_weight);
    let [r, g, b] = from_ycocg(std::array::from_fn(|c| {
        (clipped[c] * old_weight + now[c] * new_weight) * share
    }));
    [r, g, b, color[3]]
}

pub(super) fn resolve(pass: &ReferencePass, out: &mut [Texel], [kept, previous, ..]: [&mut [u8]; 4]) {
    let (extent, width) = (pass.extent, pass.extent[0] as usize);
    let (kept, previous): (&mut [[f16; 4]], &[[f16; 4]]) =
        (bytemuck::cast_slice_mut(kept), bytemuck::cast_slice(previous));
    let texels: Vec<Texel> = previous.iter().map(|texel| texel.map(f16::to_f32)).collect();
    let history = FloatImage {
        texels: &texels,
        extent,
    };
    let rows = out.par_chunks_mut(width).zip(kept.par_chunks_mut(width)).enumerate();
    rows.for_each(|(y, (out, kept))| {
        for (x, (out, kept)) in (0i64..).zip(out.iter_mut().zip(kept)) {
            *out = resolved(pass, &history, x, y as i64);
            *kept = out.map(|value| f16::from_f32(light(value)));
        }
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::Bench;
    use crate::kernels::{FrameExtents, TestGuides};

    const SIDE: usize = 32;

    /// Halton's sequence about 0, as the renderer's.
    fn jitter(frame: usize) -> [f32; 2] {
        [2, 3].map(|base| {
            let (mut rest, mut digit, mut value) = (frame % 16 + 1, 1.0, 0.0);
            while rest > 0 {
                digit /= base as f32;
                value += digit * (rest % base) as f32;
                rest /= base;
            }
            value - 0.5
        })
    }

    /// A still or moving picture's guides: one depth, one motion.
    fn guides(motion: [f32; 2]) -> TestGuides {
        let texels = SIDE * SIDE;
        TestGuides::new(
            SIDE as u32,
            &vec![2.0; texels],
            &vec![[0.0; 3]; texels],
            &vec![[1.0; 3]; texels],
            &vec![motion; texels],
        )
    }

    /// A bright half plane whose edge is slanted, moved by some texels: light at a point.
    fn half_plane([x, y]: [f32; 2]) -> f32 {
        if 0.9 * (x - 16.0) + 0.435_89 * (y - 15.0) > 0.0 {
            0.8
        } else {
            0.1
        }
    }

    /// One sample a texel, in the middle of a texel of a picture that is moved by `moved`.
    fn sampled(scene: fn([f32; 2]) -> f32, moved: [f32; 2]) -> Vec<Texel> {
        let texel = |index: usize| {
            let at = [
                (index % SIDE) as f32 + 0.5 - moved[0],
                (index / SIDE) as f32 + 0.5 - moved[1],
            ];
            let light = scene(at);
            [light, light, light, 1.0]
        };
        (0..SIDE * SIDE).map(texel).collect()
    }

    fn run(settings: &[(&str, f64)], frames: usize, scene: fn([f32; 2]) -> f32, speed: [f32; 2]) -> Vec<Texel> {
        let mut bench = Bench::new("taa", settings, FrameExtents::same([SIDE as u32; 2]));
        let guides = guides(speed.map(|texels| -texels));
        let mut out = Vec::new();
        for frame in 0..frames {
            let jitter = jitter(frame);
            let moved = [0, 1].map(|axis| jitter[axis] - speed[axis] * (frames - 1 - frame) as f32);
            let image = sampled(scene, moved);
            out = bench.frame(
                &image,
                Some(&guides),
                &FrameParameters {
                    jitter,
                    ..Default::default()
                },
            );
        }
        out
    }

    /// The mean of the 16 jittered samples after a tone curve, and back.
    fn supersampled(scene: fn([f32; 2]) -> f32, moved: [f32; 2], flicker: f32) -> Vec<f32> {
        let mut sums = vec![0.0; SIDE * SIDE];
        for frame in 0..16 {
            let jitter = jitter(frame);
            let image = sampled(scene, [0, 1].map(|axis| jitter[axis] + moved[axis]));
            for (sum, texel) in sums.iter_mut().zip(image) {
                *sum += texel[0] / (1.0 + flicker * texel[0]) / 16.0;
            }
        }
        sums.into_iter().map(|mean| mean / (1.0 - flicker * mean)).collect()
    }

    fn worst(found: &[Texel], expected: &[f32]) -> f32 {
        let differences = found
            .iter()
            .zip(expected)
            .map(|(found, expected)| (found[0] - expected).abs());
        differences.fold(0.0, f32::max)
    }

    /// The 16 samples come again and again. Their weights in an exponential mean are 0.049 to 0.078 instead of 1/16, which could
    /// put an edge of height 0.7 off by 0.042; Halton's sequence changes sides from sample to sample, which takes half of that.
    #[test]
    fn a_still_edge_converges_to_the_supersampled_mean() {
        for flicker in [0.0, 1.0] {
            let settings = [("feedback", 0.97), ("gamma", 4.0), ("anti_flicker", f64::from(flicker))];
            let out = run(&settings, 160, half_plane, [0.0; 2]);
            let expected = supersampled(half_plane, [0.0; 2], flicker);
            let aliased = worst(&sampled(half_plane, [0.0; 2]), &expected);
            let error = worst(&out, &expected);
            assert!(aliased > 0.25, "one sample is wrong by {aliased}");
            assert!(error < 0.02, "{error}");
        }
    }

    /// Root of the mean squared difference, without `border` texels, which come in from outside.
    fn deviation(found: &[Texel], expected: &[f32], border: usize) -> f32 {
        let inner = border..SIDE - border;
        let squares = inner.clone().flat_map(|y| inner.clone().map(move |x| y * SIDE + x));
        let squares: Vec<f32> = squares
            .map(|index| (found[index][0] - expected[index]).powi(2))
            .collect();
        (squares.iter().sum::<f32>() / squares.len() as f32).sqrt()
    }

    /// By whole texels a frame the edge stays as good as it is still; by parts of one the history's cubic, applied again in
    /// every frame, blurs it, and it is better than aliased all the same.
    #[test]
    fn the_default_settings_follow_a_moving_edge() {
        for (speed, share) in [([0.0, 0.0], 0.15), ([1.0, 0.0], 0.35), ([0.25, -0.125], 0.8)] {
            let out = run(&[], 32, half_plane, speed);
            let expected = supersampled(half_plane, [0.0; 2], 1.0);
            let aliased = deviation(&sampled(half_plane, [0.0; 2]), &expected, 2);
            let error = deviation(&out, &expected, 2);
            assert!(error < share * aliased, "{speed:?}: {error} of {aliased}");
        }
    }

    /// What the neighbourhood no longer shows does not stay: no ghost.
    #[test]
    fn a_light_that_goes_out_is_gone_in_the_next_frame() {
        let mut bench = Bench::new("taa", &[], FrameExtents::same([SIDE as u32; 2]));
        let frame = FrameParameters::default();
        let guides = guides([0.0; 2]);
        for _ in 0..4 {
            bench.frame(&[[5.0, 4.0, 3.0, 1.0]; SIDE * SIDE], Some(&guides), &frame);
        }
        let out = bench.frame(&[[0.25, 0.5, 0.75, 0.5]; SIDE * SIDE], Some(&guides), &frame);
        let is_dark = |texel: &Texel| {
            let expected = [0.25, 0.5, 0.75, 0.5];
            (0..4).all(|channel| (texel[channel] - expected[channel]).abs() < 1e-3)
        };
        assert!(out.iter().all(is_dark));
    }

    /// An outline moves with what is in front of it: the motion of the one near texel counts for its eight neighbours.
    #[test]
    fn motion_is_that_of_the_nearest_surface() {
        let mut depth = vec![5.0; 25];
        let mut motion = vec![[0.0; 2]; 25];
        (depth[12], motion[12]) = (1.0, [3.0, -2.0]);
        let guides = TestGuides::new(5, &depth, &[[0.0; 3]; 25], &[[1.0; 3]; 25], &motion);
        let mut bench = Bench::new("taa", &[("gamma", 4.0), ("feedback", 0.98)], FrameExtents::same([5, 5]));
        let frame = FrameParameters::default();
        let noise =
            |seed: usize| -> Vec<Texel> { (0..25).map(|i| [((i * 7 + seed * 3) % 11) as f32 / 11.0; 4]).collect() };
        bench.frame(&noise(0), Some(&guides), &frame);
        let out = bench.frame(&noise(1), Some(&guides), &frame);
        // Texel (1, 2) looks at (4, 0), texel (2, 3) has no history below the picture's right edge.
        let mean = |a: f32, b: f32| {
            let (wa, wb) = (0.98 / (1.0 + a), 0.02 / (1.0 + b));
            (wa * a + wb * b) / (wa + wb)
        };
        let expected = mean(noise(0)[4][0], noise(1)[11][0]);
        assert!((out[11][0] - expected).abs() < 2e-3, "{} for {expected}", out[11][0]);
        assert!((out[17][0] - noise(1)[17][0]).abs() < 1e-3, "{}", out[17][0]);
    }

    #[test]
    fn colours_come_back_from_ycocg_and_the_cubic_meets_its_texels() {
        let color = [0.25, 0.5, 4.0];
        assert_eq!(from_ycocg(to_ycocg([0.25, 0.5, 4.0, 1.0])), color);
        assert_eq!(catmull_rom(0.0), [0.0, 1.0, 0.0, 0.0]);
        // Half way: -1/16, 9/16, 9/16, -1/16 (Catmull and Rom, 1974).
        assert_eq!(catmull_rom(0.5), [-0.0625, 0.5625, 0.5625, -0.0625]);
    }
}
