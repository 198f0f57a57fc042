//! Gray and Scott's reaction and diffusion: Pearson, *Complex Patterns in a Simple System*, Science 261, 1993.
//!
//! u' = Du ∇²u - u v² + F (1 - u), v' = Dv ∇²v + u v² - (F + k) v. The field's texels hold u and v.

use super::{FloatImage, ReferencePass, Texel};

const FEED: usize = 0;
const KILL: usize = 1;
const RATE: usize = 2;
const BRUSH: usize = 3;
const REFRACTION: usize = 4;
const OPACITY: usize = 5;

/// Pearson's diffusion of 2e-5 and 1e-5, where 256 texels are 2.5 long.
const DIFFUSION: [f32; 2] = [
    (2e-5 * (256.0 / 2.5) * (256.0 / 2.5)) as f32,
    (1e-5 * (256.0 / 2.5) * (256.0 / 2.5)) as f32,
];
/// What is sown.
const SEED: [f32; 2] = [0.5, 0.25];
/// Side of the tiles that one disc each is sown in.
const TILE: u32 = 32;

/// Jarzynski and Olano, *Hash Functions for GPU Rendering*, JCGT 9(3), 2020: PCG.
fn pcg(value: u32) -> u32 {
    let state = value.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
    let word = ((state >> ((state >> 28) + 4)) ^ state).wrapping_mul(277_803_737);
    (word >> 22) ^ word
}

fn is_seed(x: u32, y: u32) -> bool {
    let random = pcg((x / TILE).wrapping_add(pcg(y / TILE)));
    let center = [8 + random % 16, 8 + random / 16 % 16];
    let squared_radius = 16 + random / 256 % 32;
    let [dx, dy] = [(x % TILE).abs_diff(center[0]), (y % TILE).abs_diff(center[1])];
    dx * dx + dy * dy < squared_radius
}

/// 1 on the way from one position to another, 0 at a radius around it; nothing where there is no way.
fn brush_on(at: [f32; 2], [from, to]: [[f32; 2]; 2], radius: f32) -> f32 {
    let dot = |a: [f32; 2], b: [f32; 2]| a[0] * b[0] + a[1] * b[1];
    let way = [to[0] - from[0], to[1] - from[1]];
    if dot(way, way) <= 0.0 {
        return 0.0;
    }
    let offset = [at[0] - from[0], at[1] - from[1]];
    let share = (dot(offset, way) / dot(way, way)).clamp(0.0, 1.0);
    let off = [offset[0] - way[0] * share, offset[1] - way[1] * share];
    (1.0 - dot(off, off) / (radius * radius)).max(0.0)
}

pub(super) fn sow(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let way = [pass.frame.previous_pointer, pass.frame.pointer];
    let radius = pass.parameter::<f32>(BRUSH);
    for (x, out) in (0..).zip(out) {
        let before = match (pass.kept_frames, is_seed(x, y)) {
            (1.., _) => {
                let texel = pass.source.at(i64::from(x), i64::from(y));
                [texel[0], texel[1]]
            }
            (0, true) => SEED,
            (0, false) => [1.0, 0.0],
        };
        let center = [x, y].map(|place| (place as f32 + 0.5) * 2.0);
        let sown = brush_on(center, way, radius);
        let toward = |index: usize| before[index] + (SEED[index] - before[index]) * sown;
        *out = [toward(0), toward(1), 0.0, 0.0];
    }
}

pub(super) fn step(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (feed, kill) = (pass.parameter::<f32>(FEED), pass.parameter::<f32>(KILL));
    let rate = pass.parameter::<f32>(RATE);
    let y = i64::from(y);
    let [above, here, below] = [-1, 0, 1].map(|row| pass.source.row(y + row));
    for (x, out) in out.iter_mut().enumerate() {
        let (left, right) = (here[x.saturating_sub(1)], here[(x + 1).min(here.len() - 1)]);
        let spread = |index: usize| {
            let neighbours = (left[index] + right[index]) + (above[x][index] + below[x][index]);
            DIFFUSION[index] * (neighbours - 4.0 * here[x][index])
        };
        let [u, v, ..] = here[x];
        let reaction = u * v * v;
        let change = [
            spread(0) - reaction + feed * (1.0 - u),
            spread(1) + reaction - (feed + kill) * v,
        ];
        *out = [
            (u + rate * change[0]).clamp(0.0, 1.0),
            (v + rate * change[1]).clamp(0.0, 1.0),
            0.0,
            0.0,
        ];
    }
}

pub(super) fn relief(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    for (x, out) in (0..).zip(out) {
        let v = |dx: i64, dy: i64| pass.source.at(x + dx, i64::from(y) + dy)[1];
        *out = [v(0, 0), v(1, 0) - v(-1, 0), v(0, 1) - v(0, -1), 0.0];
    }
}

/// Bilinear, at a position in texels whose centres are whole numbers.
fn sample(image: &FloatImage, x: f32, y: f32) -> Texel {
    let (left, top) = (x.floor(), y.floor());
    let mix = |a: Texel, b: Texel, share: f32| -> Texel {
        std::array::from_fn(|index| a[index] + (b[index] - a[index]) * share)
    };
    let row = |y: i64| {
        let at = |dx: i64| image.at(left as i64 + dx, y);
        mix(at(0), at(1), x - left)
    };
    mix(row(top as i64), row(top as i64 + 1), y - top)
}

pub(super) fn composite(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let (refraction, opacity) = (pass.parameter::<f32>(REFRACTION), pass.parameter::<f32>(OPACITY));
    let picture = pass.second.expect("reaction_diffusion_composite has two inputs");
    for (x, out) in (0u32..).zip(out) {
        let color = picture.at(i64::from(x), i64::from(y));
        let [in_relief_x, in_relief_y] = [x, y].map(|place| (place as f32 + 0.5) / 2.0 - 0.5);
        let [height, slope_x, slope_y, _] = sample(&pass.source, in_relief_x, in_relief_y);
        let through = sample(
            &picture,
            x as f32 + refraction * slope_x,
            y as f32 + refraction * slope_y,
        );
        let amount = (height * 4.0).clamp(0.0, 1.0);
        let cover = super::smoothstep(amount) * opacity;
        let shade = (1.0 + 3.0 * (slope_x + slope_y)).clamp(0.25, 2.0);
        let tint = [0.7 - 0.5 * amount, 0.9 - 0.35 * amount, 1.1 - 0.1 * amount];
        *out = color;
        for channel in 0..3 {
            let seen = through[channel] * (shade * tint[channel]);
            out[channel] = color[channel] + (seen - color[channel]) * cover;
        }
    }
}

#[cfg(test)]
#[path = "reaction_diffusion_tests.rs"]
mod tests;
