//! A fluid on a staggered grid: Stam, *Stable Fluids*, SIGGRAPH 1999; Harlow and Welch 1965; vorticity confinement after Fedkiw,
//! Stam and Jensen, SIGGRAPH 2001.
//!
//! Its texels hold the velocity through their left face, that through their upper face, and the pressure in their middle. Nothing
//! flows through the edge.

use super::{FloatImage, ReferencePass, Texel};

const FORCE: usize = 0;
const BRUSH: usize = 1;
const DYE: usize = 2;
const FADE: usize = 3;
const DRAG: usize = 4;
const SWIRL: usize = 5;
const WANDER: usize = 6;
const OPACITY: usize = 7;

/// Texels of the picture across one of the fluid's.
const SCALE: f32 = 4.0;
/// Texels of the fluid a second.
const SPEED_LIMIT: f32 = 4096.0;
/// Seconds that a frame moves at most.
const LONGEST_STEP: f32 = 0.05;
/// Light.
const DYE_LIMIT: f32 = 16.0;
/// What the pressure keeps from frame to frame.
const PRESSURE_KEPT: f32 = 0.98;

/// The two axes: what flows through left faces, and through upper ones.
#[derive(Clone, Copy, PartialEq)]
enum Axis {
    X,
    Y,
}

/// A component of the velocity, where it stands.
struct Faces<'a> {
    flow: FloatImage<'a>,
    axis: Axis,
}

impl Faces<'_> {
    /// Through the face of a texel; one past the last texel is the edge.
    fn through(&self, x: i64, y: i64) -> f32 {
        let (place, index) = match self.axis {
            Axis::X => (x, 0),
            Axis::Y => (y, 1),
        };
        if place <= 0 || place >= i64::from(self.flow.extent[index]) {
            return 0.0;
        }
        self.flow.at(x, y)[index]
    }

    /// At a position in texels: bilinear between the faces' middles.
    fn at(&self, position: [f32; 2]) -> f32 {
        let [width, height] = self.flow.extent.map(|length| length as f32);
        let (x, y) = match self.axis {
            Axis::X => (
                position[0].clamp(0.0, width),
                (position[1] - 0.5).clamp(0.0, height - 1.0),
            ),
            Axis::Y => (
                (position[0] - 0.5).clamp(0.0, width - 1.0),
                position[1].clamp(0.0, height),
            ),
        };
        let row = |y: i64| {
            let (left, share) = (x.floor(), x - x.floor());
            self.through(left as i64, y) * (1.0 - share) + self.through(left as i64 + 1, y) * share
        };
        let (top, share) = (y.floor(), y - y.floor());
        row(top as i64) * (1.0 - share) + row(top as i64 + 1) * share
    }
}

fn faces(flow: FloatImage) -> [Faces; 2] {
    [Axis::X, Axis::Y].map(|axis| Faces { flow, axis })
}

fn step_of(pass: &ReferencePass) -> f32 {
    pass.frame.time_delta.clamp(0.0, LONGEST_STEP)
}

/// A movement of a brush, texels of the fluid.
struct Stroke {
    from: [f32; 2],
    way: [f32; 2],
    strength: f32,
}

impl Stroke {
    fn new(from: [f32; 2], to: [f32; 2], strength: f32) -> Self {
        Self {
            from,
            way: [to[0] - from[0], to[1] - from[1]],
            strength,
        }
    }

    /// 1 on the way, 0 at the radius around it; nothing where the brush rests.
    fn on(&self, at: [f32; 2], radius: f32) -> f32 {
        let dot = |a: [f32; 2], b: [f32; 2]| a[0] * b[0] + a[1] * b[1];
        let squared = dot(self.way, self.way);
        if squared <= 0.0 {
            return 0.0;
        }
        let offset = [at[0] - self.from[0], at[1] - self.from[1]];
        let share = (dot(offset, self.way) / squared).clamp(0.0, 1.0);
        let off = [offset[0] - self.way[0] * share, offset[1] - self.way[1] * share];
        let inside = (1.0 - dot(off, off) / (radius * radius)).max(0.0);
        self.strength * (inside * inside)
    }
}

/// A smooth wave between -1 and 1, of period 1.
fn wave(phase: f32) -> f32 {
    let triangle = (2.0 * (phase - phase.floor()) - 1.0).abs();
    2.0 * super::smoothstep(triangle) - 1.0
}

/// The pointer's stroke, and the one that wanders by itself.
fn strokes(pass: &ReferencePass) -> [Stroke; 2] {
    let [width, height] = pass.extent.map(|length| length as f32);
    let wandered = |time: f32| {
        [
            width * (0.5 + 0.35 * wave(0.13 * time)),
            height * (0.5 + 0.35 * wave(0.19 * time + 0.3)),
        ]
    };
    let frame = &pass.frame;
    let [from, to] = [frame.previous_pointer, frame.pointer].map(|pointer| pointer.map(|place| place / SCALE));
    [
        Stroke::new(from, to, 1.0),
        Stroke::new(
            wandered(frame.time - step_of(pass)),
            wandered(frame.time),
            pass.parameter(WANDER),
        ),
    ]
}

pub(super) fn curl(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let y = i64::from(y);
    for (x, out) in (0..).zip(out) {
        let curl = match pass.kept_frames {
            0 => 0.0,
            _ => {
                let at = |x, y| pass.source.at(x, y);
                (at(x, y)[1] - at(x - 1, y)[1]) - (at(x, y)[0] - at(x, y - 1)[0])
            }
        };
        *out = [curl, curl.abs(), 0.0, 0.0];
    }
}

pub(super) fn force(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let curls = pass.second.expect("fluid_force has two inputs");
    let swirl = pass.parameter::<f32>(SWIRL) * step_of(pass);
    let (force, radius) = (pass.parameter::<f32>(FORCE), pass.parameter::<f32>(BRUSH) / SCALE);
    let strokes = strokes(pass);
    for (x, out) in (0u32..).zip(out) {
        let (i, j) = (i64::from(x), i64::from(y));
        let corner = |dx: i64, dy: i64| curls.at(i + dx, j + dy)[0];
        let magnitude = |dx: i64, dy: i64| curls.at(i + dx, j + dy)[1];
        // The unit vector towards more vorticity, crossed with it: along one axis from corner to corner of the face, along the
        // other by central differences.
        let confined =
            |curl: f32, along: f32, across: f32| curl * (along / ((along * along + across * across).sqrt() + 1e-4));
        let through_left = confined(
            0.5 * (corner(0, 0) + corner(0, 1)),
            magnitude(0, 1) - magnitude(0, 0),
            0.25 * ((magnitude(1, 0) + magnitude(1, 1)) - (magnitude(-1, 0) + magnitude(-1, 1))),
        );
        let through_top = confined(
            0.5 * (corner(0, 0) + corner(1, 0)),
            magnitude(1, 0) - magnitude(0, 0),
            0.25 * ((magnitude(0, 1) + magnitude(1, 1)) - (magnitude(0, -1) + magnitude(1, -1))),
        );
        let before = match pass.kept_frames {
            0 => [0.0; 4],
            _ => pass.source.at(i, j),
        };
        let mut velocity = [before[0] + swirl * through_left, before[1] - swirl * through_top];
        let middles = [[x as f32, y as f32 + 0.5], [x as f32 + 0.5, y as f32]];
        for stroke in &strokes {
            for axis in 0..2 {
                velocity[axis] += force * stroke.way[axis] * stroke.on(middles[axis], radius);
            }
        }
        let limited = |place: u32, value: f32| match place {
            0 => 0.0,
            _ => value.clamp(-SPEED_LIMIT, SPEED_LIMIT),
        };
        *out = [limited(x, velocity[0]), limited(y, velocity[1]), before[2], before[3]];
    }
}

pub(super) fn advect(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let step = step_of(pass);
    let kept = 1.0 / (1.0 + step * pass.parameter::<f32>(DRAG));
    let [left, top] = faces(pass.source);
    for (x, out) in (0u32..).zip(out) {
        let (i, j) = (i64::from(x), i64::from(y));
        let [u, v, pressure, _] = pass.source.at(i, j);
        let (x, y) = (x as f32, y as f32);
        let mut moved = [0.0; 2];
        if i > 0 {
            let around = [
                top.through(i - 1, j) + top.through(i, j),
                top.through(i - 1, j + 1) + top.through(i, j + 1),
            ];
            let v = 0.25 * (around[0] + around[1]);
            moved[0] = kept * left.at([x - step * u, (y + 0.5) - step * v]);
        }
        if j > 0 {
            let around = [
                left.through(i, j - 1) + left.through(i + 1, j - 1),
                left.through(i, j) + left.through(i + 1, j),
            ];
            let u = 0.25 * (around[0] + around[1]);
            moved[1] = kept * top.at([(x + 0.5) - step * u, y - step * v]);
        }
        *out = [moved[0], moved[1], pressure, 0.0];
    }
}

pub(super) fn divergence(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let [left, top] = faces(pass.source);
    let y = i64::from(y);
    for (x, out) in (0..).zip(out) {
        let [u, v, pressure, _] = pass.source.at(x, y);
        let outward = (left.through(x + 1, y) - u) + (top.through(x, y + 1) - v);
        *out = [PRESSURE_KEPT * pressure, outward, 0.0, 0.0];
    }
}

pub(super) fn pressure(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let [above, here, below] = [-1, 0, 1].map(|row| pass.source.row(i64::from(y) + row));
    for (x, out) in out.iter_mut().enumerate() {
        let across = here[x.saturating_sub(1)][0] + here[(x + 1).min(here.len() - 1)][0];
        let along = above[x][0] + below[x][0];
        let outward = here[x][1];
        *out = [0.25 * ((across + along) - outward), outward, 0.0, 0.0];
    }
}

pub(super) fn project(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let flow = pass.second.expect("fluid_project has two inputs");
    let y = i64::from(y);
    for (x, out) in (0..).zip(out) {
        let pressure = |dx: i64, dy: i64| pass.source.at(x + dx, y + dy)[0];
        let [u, v, ..] = flow.at(x, y);
        let limited = |place: i64, value: f32| match place {
            0 => 0.0,
            _ => value.clamp(-SPEED_LIMIT, SPEED_LIMIT),
        };
        *out = [
            limited(x, u - (pressure(0, 0) - pressure(-1, 0))),
            limited(y, v - (pressure(0, 0) - pressure(0, -1))),
            pressure(0, 0),
            0.0,
        ];
    }
}

/// Bilinear, at a position in texels.
fn sample(image: &FloatImage, position: [f32; 2]) -> Texel {
    let [x, y] = std::array::from_fn(|axis| (position[axis] - 0.5).clamp(0.0, image.extent[axis] as f32 - 1.0));
    let mix = |a: Texel, b: Texel, share: f32| -> Texel {
        std::array::from_fn(|index| a[index] * (1.0 - share) + b[index] * share)
    };
    let row = |y: i64| {
        let left = x.floor() as i64;
        mix(image.at(left, y), image.at(left + 1, y), x - x.floor())
    };
    mix(row(y.floor() as i64), row(y.floor() as i64 + 1), y - y.floor())
}

/// Red, green and blue of a hue, full and of period 1.
fn hue(phase: f32) -> [f32; 3] {
    [0.0, 2.0 / 3.0, 1.0 / 3.0].map(|offset: f32| {
        let place = phase + offset;
        ((6.0 * (place - place.floor()) - 3.0).abs() - 1.0).clamp(0.0, 1.0)
    })
}

pub(super) fn dye(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let [left, top] = faces(pass.second.expect("fluid_dye has two inputs"));
    let step = step_of(pass);
    let kept = 1.0 / (1.0 + step * pass.parameter::<f32>(FADE));
    let (added, radius) = (pass.parameter::<f32>(DYE), pass.parameter::<f32>(BRUSH) / SCALE);
    let (strokes, turn) = (strokes(pass), 0.07 * pass.frame.time);
    for (x, out) in (0u32..).zip(out) {
        let (i, j) = (i64::from(x), i64::from(y));
        let middle = [x as f32 + 0.5, y as f32 + 0.5];
        let mut color = match pass.kept_frames {
            0 => [0.0; 4],
            _ => {
                let u = 0.5 * (left.through(i, j) + left.through(i + 1, j));
                let v = 0.5 * (top.through(i, j) + top.through(i, j + 1));
                sample(&pass.source, [middle[0] - step * u, middle[1] - step * v]).map(|value| value * kept)
            }
        };
        for (stroke, phase) in strokes.iter().zip([turn, turn + 0.5]) {
            let amount = added * stroke.on(middle, radius);
            for (color, hue) in color.iter_mut().zip(hue(phase)) {
                *color += amount * hue;
            }
        }
        *out = [
            color[0].min(DYE_LIMIT),
            color[1].min(DYE_LIMIT),
            color[2].min(DYE_LIMIT),
            0.0,
        ];
    }
}

pub(super) fn composite(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let opacity = pass.parameter::<f32>(OPACITY);
    let picture = pass.second.expect("fluid_composite has two inputs").row(i64::from(y));
    for ((x, out), color) in (0u32..).zip(out).zip(picture) {
        let dye = sample(&pass.source, [x, y].map(|place| (place as f32 + 0.5) / SCALE));
        let most = dye[0].max(dye[1]).max(dye[2]);
        let seen = 1.0 - opacity * (most / (1.0 + most));
        *out = *color;
        for channel in 0..3 {
            out[channel] = color[channel] * seen + dye[channel] * opacity;
        }
    }
}

#[cfg(test)]
#[path = "fluid_tests.rs"]
mod tests;
