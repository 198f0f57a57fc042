//! Optical flow: Lucas and Kanade's windows on a pyramid of brightness, finest last, in the colours of the Middlebury wheel.

use super::{FloatImage, ReferencePass, Texel, luminance};

const RANGE: usize = 0;
const STRENGTH: usize = 1;

/// From the middle of a window to its side, texels.
const RADIUS: i64 = 3;
/// Refinements a level.
const STEPS: usize = 5;
/// What a window's matrix must have in each direction, a texel, to say anything: squared brightness.
const LEAST_EIGENVALUE: f32 = 1e-4;
/// The longest flow along an axis, texels.
const LONGEST: f32 = 1024.0;

pub(super) fn brightness(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    for (out, color) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        *out = [luminance(*color).min(1.0).sqrt(), 0.0, 0.0, 0.0];
    }
}

/// The offsets of a square, row by row.
fn square(radius: i64) -> impl Iterator<Item = [i64; 2]> + Clone {
    (-radius..=radius).flat_map(move |y| (-radius..=radius).map(move |x| [x, y]))
}

pub(super) fn reduce(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    for (x, out) in (0i64..).zip(out) {
        let sum = square(1).fold(0.0, |sum, [dx, dy]| {
            let weight = |offset: i64| if offset == 0 { 0.5 } else { 0.25 };
            sum + pass.source.at(2 * x + dx, 2 * i64::from(y) + dy)[0] * (weight(dx) * weight(dy))
        });
        *out = [sum, 0.0, 0.0, 0.0];
    }
}

pub(super) fn gradient(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let y = i64::from(y);
    let at = |x, y| pass.source.at(x, y)[0];
    for (x, out) in (0i64..).zip(out) {
        let central = |after: f32, before: f32| (after - before) * 0.5;
        *out = [
            at(x, y),
            central(at(x + 1, y), at(x - 1, y)),
            central(at(x, y + 1), at(x, y - 1)),
            0.0,
        ];
    }
}

/// Brightness between texels.
fn between(image: &FloatImage, x: i64, y: i64, [across, down]: [f32; 2]) -> f32 {
    let row = |y| image.at(x, y)[0] * (1.0 - across) + image.at(x + 1, y)[0] * across;
    row(y) * (1.0 - down) + row(y + 1) * down
}

/// Bouguet's iteration at one level: from a guess on, where the window about a texel was in the previous frame.
fn tracked(now: &FloatImage, before: &FloatImage, [x, y]: [i64; 2], mut flow: [f32; 2]) -> [f32; 2] {
    let window = || square(RADIUS).map(|[dx, dy]| ([dx, dy], now.at(x + dx, y + dy)));
    let sum = |of: fn(Texel) -> f32| window().fold(0.0, |sum, (_, tap)| sum + of(tap));
    let (xx, xy, yy) = (
        sum(|tap| tap[1] * tap[1]),
        sum(|tap| tap[1] * tap[2]),
        sum(|tap| tap[2] * tap[2]),
    );
    let texels = ((2 * RADIUS + 1) * (2 * RADIUS + 1)) as f32;
    let lesser_eigenvalue = (xx + yy - ((xx - yy) * (xx - yy) + 4.0 * xy * xy).sqrt()) * 0.5;
    let determinant = xx * yy - xy * xy;
    if !(lesser_eigenvalue > LEAST_EIGENVALUE * texels && determinant > 0.0) {
        return flow;
    }
    for _ in 0..STEPS {
        let whole = flow.map(|value| value.floor() as i64);
        let fraction = flow.map(|value| value - value.floor());
        let [bx, by] = window().fold([0.0; 2], |[bx, by], ([dx, dy], tap)| {
            let there = between(before, x + dx + whole[0], y + dy + whole[1], fraction);
            let difference = tap[0] - there;
            [bx + difference * tap[1], by + difference * tap[2]]
        });
        // The inverse of the 2x2 matrix.
        let step = [(yy * bx - xy * by) / determinant, (xx * by - xy * bx) / determinant];
        flow = [0, 1].map(|axis| (flow[axis] + step[axis]).clamp(-LONGEST, LONGEST));
    }
    flow
}

/// A level, from the coarser one's flow or from none.
pub(super) fn track(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let before = pass.second.expect("a level has two pictures");
    for (x, out) in (0i64..).zip(out) {
        let y = i64::from(y);
        let guess = pass.third.map_or([0.0; 2], |coarser| {
            let [u, v, ..] = coarser.at(x / 2, y / 2);
            [2.0 * u, 2.0 * v]
        });
        let [u, v] = match pass.kept_frames {
            0 => [0.0; 2],
            _ => tracked(&pass.source, &before, [x, y], guess),
        };
        *out = [u, v, 0.0, 0.0];
    }
}

/// The wheel's colours: from one pure colour to the next in so many steps.
fn wheel(index: usize) -> [f32; 3] {
    const RAMPS: [(usize, [i32; 3], [i32; 3]); 6] = [
        (15, [1, 0, 0], [0, 1, 0]),
        (6, [1, 1, 0], [-1, 0, 0]),
        (4, [0, 1, 0], [0, 0, 1]),
        (11, [0, 1, 1], [0, -1, 0]),
        (13, [0, 0, 1], [1, 0, 0]),
        (6, [1, 0, 1], [0, 0, -1]),
    ];
    let mut rest = index;
    for (steps, from, change) in RAMPS {
        if rest < steps {
            // In whole steps of 8 bits.
            let risen = (255 * rest / steps) as f32 / 255.0;
            return std::array::from_fn(|c| from[c] as f32 + change[c] as f32 * risen);
        }
        rest -= steps;
    }
    [1.0, 0.0, 0.0]
}

/// The colour of a flow, 1 long at the end of the range, as sRGB from 0 to 1: white where nothing moves, darker beyond the range.
fn color_of([u, v]: [f32; 2], speed: f32) -> [f32; 3] {
    let turn = (0.0 - v).atan2(0.0 - u) / std::f32::consts::PI;
    let place = (turn + 1.0) * 0.5 * 54.0;
    let first = (place as usize).min(54);
    let share = place - first as f32;
    let (one, next) = (wheel(first), wheel((first + 1) % 55));
    std::array::from_fn(|c| {
        let hue = one[c] * (1.0 - share) + next[c] * share;
        if speed <= 1.0 {
            1.0 - speed * (1.0 - hue)
        } else {
            hue * 0.75
        }
    })
}

/// IEC 61966-2-1.
fn decoded(value: f32) -> f32 {
    if value <= 0.04045 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    }
}

pub(super) fn show(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (range, strength) = (pass.parameter::<f32>(RANGE), pass.parameter::<f32>(STRENGTH));
    let picture = pass.second.expect("optical_flow_show has two inputs").row(i64::from(y));
    for ((out, back), color) in out.iter_mut().zip(pass.source.row(i64::from(y))).zip(picture) {
        let flow = [0.0 - back[0], 0.0 - back[1]];
        let speed = (flow[0] * flow[0] + flow[1] * flow[1]).sqrt() / range;
        let shown = color_of(flow, speed).map(decoded);
        let mixed = |c: usize| color[c] * (1.0 - strength) + shown[c] * strength;
        *out = [mixed(0), mixed(1), mixed(2), color[3]];
    }
}

#[cfg(test)]
#[path = "optical_flow_tests.rs"]
mod tests;
