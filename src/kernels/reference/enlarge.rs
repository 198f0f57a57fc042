//! Enlarge: the bilinear filter between the middles of texels; positions outside are clamped to the edge.

use super::{ReferencePass, Texel};

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let source = pass.source;
    let scale = [0, 1].map(|axis| source.extent[axis] as f32 / pass.extent[axis] as f32);
    let place = |at: u32, axis: usize| (at as f32 + 0.5) * scale[axis] - 0.5;
    let between = |a: Texel, b: Texel, t: f32| std::array::from_fn(|c| a[c] * (1.0 - t) + b[c] * t);
    let py = place(y, 1);
    let top = py.floor();
    for (x, out) in (0..).zip(out) {
        let px = place(x, 0);
        let left = px.floor();
        let row = |y: i64| {
            let [a, b] = [0, 1].map(|dx| source.at(left as i64 + dx, y));
            between(a, b, px - left)
        };
        *out = between(row(top as i64), row(top as i64 + 1), py - top);
    }
}
