//! Colours by table: Adobe's Cube LUT Specification 1.0, tetrahedral between entries of three dimensions.

use super::{ReferencePass, Texel, light};

const INTENSITY: usize = 0;
const ENCODING: usize = 1;

/// A table as a pass is given it: see [`Table`](crate::kernels::Table).
struct Cube<'a> {
    size: usize,
    dimensions: u32,
    minimum: Texel,
    maximum: Texel,
    entries: &'a [Texel],
}

impl<'a> Cube<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let (head, entries) = bytemuck::cast_slice::<u8, Texel>(bytes).split_at(3);
        Self {
            size: head[0][0] as usize,
            dimensions: head[0][1] as u32,
            minimum: head[1],
            maximum: head[2],
            entries,
        }
    }

    /// The cell that a channel's value is in, and where in it, from 0 to 1.
    fn cell(&self, channel: usize, value: f64) -> (usize, f64) {
        let [low, high] = [self.minimum, self.maximum].map(|bound| f64::from(bound[channel]));
        let position = (value.clamp(low, high) - low) / (high - low) * (self.size - 1) as f64;
        let cell = (position as usize).min(self.size - 2);
        (cell, position - cell as f64)
    }

    fn look_up(&self, color: [f64; 3]) -> [f64; 3] {
        let cells = [0, 1, 2].map(|channel| self.cell(channel, color[channel]));
        if self.dimensions == 1 {
            return [0, 1, 2].map(|channel| {
                let (cell, share) = cells[channel];
                let [from, to] = [0, 1].map(|next| f64::from(self.entries[cell + next][channel]));
                from * (1.0 - share) + to * share
            });
        }
        // Barycentric in the tetrahedron whose corners are passed by from the cell's lower corner to its upper one: along the
        // axis of the largest share first.
        let mut axes = [0, 1, 2];
        axes.sort_by(|a, b| cells[*b].1.total_cmp(&cells[*a].1));
        let shares = axes.map(|axis| cells[axis].1);
        let weights = [1.0 - shares[0], shares[0] - shares[1], shares[1] - shares[2], shares[2]];
        let mut corner = cells.map(|(cell, _)| cell);
        let mut sum = [0.0; 3];
        for (step, weight) in weights.into_iter().enumerate() {
            if step > 0 {
                corner[axes[step - 1]] += 1;
            }
            let [red, green, blue] = corner;
            let entry = self.entries[red + self.size * (green + self.size * blue)];
            for (sum, value) in sum.iter_mut().zip(entry) {
                *sum += weight * f64::from(value);
            }
        }
        sum
    }
}

/// IEC 61966-2-1, beyond 1 as well.
fn encode(value: f64) -> f64 {
    if value <= 0.0031308 {
        12.92 * value
    } else {
        1.055 * value.powf(1.0 / 2.4) - 0.055
    }
}

fn decode(value: f64) -> f64 {
    if value <= 0.04045 {
        value / 12.92
    } else {
        ((value + 0.055) / 1.055).powf(2.4)
    }
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let cube = Cube::of(pass.buffers[0]);
    let intensity = pass.parameter::<f32>(INTENSITY);
    let is_srgb = pass.parameter::<u32>(ENCODING) == 1;
    for (out, color) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        let given = [color[0], color[1], color[2]].map(f64::from);
        let found = match is_srgb {
            true => cube.look_up(given.map(encode)).map(decode),
            false => cube.look_up(given),
        };
        *out = *color;
        for (out, found) in out.iter_mut().zip(found) {
            *out = *out * (1.0 - intensity) + light(found as f32) * intensity;
        }
    }
}

#[cfg(test)]
#[path = "lut_tests.rs"]
mod tests;
