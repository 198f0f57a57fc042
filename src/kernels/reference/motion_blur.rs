//! Motion blur: the longest way of each neighbourhood, and along it a sum of what passes over a texel, of what it uncovers, and of
//! what moves with it.

use super::{FloatImage, ReferencePass, Texel, smoothstep};

const SHUTTER: usize = 0;
const TAPS: usize = 1;
const SOFT_DEPTH: usize = 2;

/// The side of a tile and the longest half of a way, texels.
const TILE: i64 = 20;
/// Texels of the first maxima's squares.
const PART: i64 = 4;

type Way = [f32; 2];

fn length(way: Way) -> f32 {
    (way[0] * way[0] + way[1] * way[1]).sqrt()
}

fn length2([x, y]: Way) -> f32 {
    x * x + y * y
}

/// Half of the way from where the shutter opens to where it closes.
fn half_way(pass: &ReferencePass, x: i64, y: i64) -> Way {
    let shutter = pass.parameter::<f32>(SHUTTER);
    let [dx, dy, ..] = pass.guides.motion.at(x, y);
    let way = [dx, dy].map(|texels| 0.5 * shutter * texels);
    let length = length(way);
    if length > 0.0 && length < 65504.0 {
        let scale = length.clamp(0.5, TILE as f32) / length;
        way.map(|texels| texels * scale)
    } else {
        [0.0; 2]
    }
}

/// The first of the longest ways.
fn longest(ways: impl Iterator<Item = Way>) -> Texel {
    let [x, y] = ways.fold(
        [0.0; 2],
        |best, way| if length2(way) > length2(best) { way } else { best },
    );
    [x, y, 0.0, 0.0]
}

/// The places of a square, row by row.
fn square(left: i64, top: i64, side: i64) -> impl Iterator<Item = [i64; 2]> {
    (top..top + side).flat_map(move |y| (left..left + side).map(move |x| [x, y]))
}

fn way_at(ways: &FloatImage, [x, y]: [i64; 2]) -> Way {
    let [dx, dy, ..] = ways.at(x, y);
    [dx, dy]
}

pub(super) fn part(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    for (x, out) in (0..).zip(out) {
        *out = longest(square(PART * x, PART * i64::from(y), PART).map(|[x, y]| half_way(pass, x, y)));
    }
}

pub(super) fn tile(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    const PARTS: i64 = TILE / PART;
    for (x, out) in (0..).zip(out) {
        *out = longest(square(PARTS * x, PARTS * i64::from(y), PARTS).map(|at| way_at(&pass.source, at)));
    }
}

pub(super) fn neighborhood(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    for (x, out) in (0..).zip(out) {
        *out = longest(square(x - 1, i64::from(y) - 1, 3).map(|at| way_at(&pass.source, at)));
    }
}

/// The noise that shifts a texel's taps, in [-1/2, 1/2).
fn shift(x: i64, y: i64) -> f32 {
    let fraction = |value: f32| value - value.floor();
    fraction(52.982_918 * fraction(0.067_110_56 * x as f32 + 0.005_837_15 * y as f32)) - 0.5
}

fn cone(distance: f32, way: f32) -> f32 {
    (1.0 - distance / way).clamp(0.0, 1.0)
}

fn cylinder(distance: f32, way: f32) -> f32 {
    1.0 - smoothstep((distance - 0.95 * way) / (0.1 * way))
}

fn reconstructed(pass: &ReferencePass, neighborhoods: &FloatImage, x: i64, y: i64) -> Texel {
    let color = pass.source.at(x, y);
    let longest = way_at(neighborhoods, [x / TILE, y / TILE]);
    if length2(longest) <= 0.25 {
        return color;
    }
    let soft = pass.parameter::<f32>(SOFT_DEPTH);
    let in_front = |depth: f32, other: f32| (1.0 - (depth - other) / soft).clamp(0.0, 1.0);
    let known = |x, y| (pass.guides.depth.at(x, y)[0], length(half_way(pass, x, y)).max(0.5));
    let (depth, way) = known(x, y);
    let mut total = 1.0 / way;
    let mut sum = color.map(|value| value * total);
    let taps = pass.parameter::<u32>(TAPS);
    let count = 2 * taps + 1;
    for index in (0..count).filter(|index| *index != taps) {
        let t = 2.0 * (index as f32 + shift(x, y) + 1.0) / (count + 1) as f32 - 1.0;
        let [dx, dy] = longest.map(|texels| (texels * t + 0.5).floor());
        let (tap_x, tap_y) = (x + dx as i64, y + dy as i64);
        let distance = length([dx, dy]);
        let (tap_depth, tap_way) = known(tap_x, tap_y);
        let over = in_front(tap_depth, depth) * cone(distance, tap_way);
        let behind = in_front(depth, tap_depth) * cone(distance, way);
        let weight = over + behind + cylinder(distance, tap_way) * cylinder(distance, way) * 2.0;
        let tap = pass.source.at(tap_x, tap_y);
        sum = std::array::from_fn(|c| sum[c] + tap[c] * weight);
        total += weight;
    }
    let [r, g, b, _] = sum.map(|value| value * (1.0 / total));
    [r, g, b, color[3]]
}

pub(super) fn reconstruct(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let neighborhoods = pass.second.expect("motion_blur_reconstruct has two inputs");
    for (x, out) in (0..).zip(out) {
        *out = reconstructed(pass, &neighborhoods, x, i64::from(y));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::{Bench, noise};
    use crate::kernels::{FrameExtents, TestGuides};

    const WIDTH: usize = 120;
    const HEIGHT: usize = 64;

    /// Depth and motion of each column.
    fn blurred(settings: &[(&str, f64)], image: &[Texel], surface: impl Fn(usize) -> (f32, Way)) -> Vec<Texel> {
        let surfaces: Vec<_> = (0..WIDTH * HEIGHT).map(|index| surface(index % WIDTH)).collect();
        let depth: Vec<f32> = surfaces.iter().map(|surface| surface.0).collect();
        let motion: Vec<Way> = surfaces.iter().map(|surface| surface.1).collect();
        let texels = WIDTH * HEIGHT;
        let guides = TestGuides::new(
            WIDTH as u32,
            &depth,
            &vec![[0.0; 3]; texels],
            &vec![[1.0; 3]; texels],
            &motion,
        );
        let extents = FrameExtents::same([WIDTH as u32, HEIGHT as u32]);
        Bench::new("motion_blur", settings, extents).frame(image, Some(&guides), &FrameParameters::default())
    }

    fn columns(light: impl Fn(usize) -> f32) -> Vec<Texel> {
        let texel = |index: usize| [light(index % WIDTH), light(index % WIDTH), light(index % WIDTH), 0.5];
        (0..WIDTH * HEIGHT).map(texel).collect()
    }

    /// The mean of a column, whose texels' taps are shifted differently.
    fn column(image: &[Texel], x: usize) -> f32 {
        (0..HEIGHT).map(|y| image[y * WIDTH + x][0]).sum::<f32>() / HEIGHT as f32
    }

    #[test]
    fn what_stands_still_is_not_touched() {
        let image: Vec<Texel> = (0..WIDTH * HEIGHT)
            .map(|index| [half::f16::from_f32(noise(index, 1)).to_f32(), 0.5, 2.0, 0.25])
            .collect();
        assert_eq!(blurred(&[], &image, |_| (2.0, [0.0; 2])), image);
        assert_eq!(blurred(&[("shutter", 0.0)], &image, |_| (2.0, [9.0, 4.0])), image);
        // A tile and its neighbours are what a way can reach: further off nothing changes.
        let moving = |x: usize| (2.0, if x < 20 { [16.0, 0.0] } else { [0.0; 2] });
        let out = blurred(&[], &image, moving);
        let is_far = |index: &usize| index % WIDTH >= 40;
        assert!((0..image.len()).filter(is_far).all(|index| out[index] == image[index]));
        assert!((0..20).any(|x| out[x] != image[x]));
    }

    /// All moves alike: what is `d` away weighs 2 (1 - d/V) + 2 up to V, half the way. Of the 6 V of both sides, what is further
    /// than `d` on one side weighs 4 (V - d) - (V² - d²) / V: that much of an edge is seen from there.
    #[test]
    fn an_edge_becomes_the_integral_of_the_weights() {
        // Half of the way of 24 texels at a shutter of 1.
        let half = 12.0f32;
        let image = columns(|x| if x < WIDTH / 2 { 0.0 } else { 1.0 });
        let out = blurred(&[("shutter", 1.0), ("taps", 32.0)], &image, |_| (2.0, [24.0, 0.0]));
        for x in 40..80 {
            let from_edge = x as f32 + 0.5 - (WIDTH / 2) as f32;
            let d = from_edge.abs().min(half);
            let beyond = 4.0 * (half - d) - (half * half - d * d) / half;
            let share = beyond / (6.0 * half);
            let expected = if from_edge < 0.0 { share } else { 1.0 - share };
            let found = column(&out, x);
            // The cylinder's edge is soft, and positions are whole texels.
            assert!((found - expected).abs() < 0.02, "column {x}: {found} for {expected}");
        }
        assert!(out.iter().all(|texel| texel[3] == 0.5));
    }

    #[test]
    fn a_bar_in_front_is_smeared_over_what_stands_behind_and_not_the_other_way() {
        let is_bar = |x: usize| (50..70).contains(&x);
        let image = columns(|x| if is_bar(x) { 1.0 } else { 0.0 });
        let settings = [("shutter", 1.0), ("taps", 16.0)];
        // The bar moves before a wall that does not.
        let out = blurred(&settings, &image, |x| {
            if is_bar(x) { (2.0, [16.0, 0.0]) } else { (4.0, [0.0; 2]) }
        });
        let outside = column(&out, 46);
        assert!(outside > 0.1, "over the wall: {outside}");
        assert!(column(&out, 51) < 0.95, "its border is thin: {}", column(&out, 51));
        assert!(column(&out, 60) > 0.9, "{}", column(&out, 60));
        assert_eq!((column(&out, 38), column(&out, 82)), (0.0, 0.0));
        // The wall moves behind a bar that does not: its outline stays.
        let out = blurred(&settings, &image, |x| {
            if is_bar(x) { (2.0, [0.0; 2]) } else { (4.0, [16.0, 0.0]) }
        });
        assert!(
            column(&out, 50) > 0.95 && column(&out, 69) > 0.95,
            "{}",
            column(&out, 50)
        );
    }

    /// A way longer than the tiles can tell is shortened.
    #[test]
    fn a_way_ends_at_the_tile_s_side() {
        let image = columns(|x| if x < WIDTH / 2 { 0.0 } else { 1.0 });
        let out = blurred(&[("shutter", 5.0)], &image, |_| (2.0, [400.0, 0.0]));
        assert_eq!(column(&out, WIDTH / 2 - 22), 0.0);
        assert!(column(&out, WIDTH / 2 - 15) > 0.0);
    }
}
