//! FXAA: Lottes' FXAA 3.11, quality preset 39, on the square root of the luminance.
//!
//! The order of the float operations on luma is part of the definition, for a comparison that turns out differently
//! shows.

use super::{ReferencePass, Texel, luminance};

const SUBPIX: usize = 0;
const EDGE_THRESHOLD: usize = 1;
const EDGE_THRESHOLD_MIN: usize = 2;

/// FXAA_QUALITY__P0 to P11 of preset 39, texels.
const STEPS: [f32; 12] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.5, 2.0, 2.0, 2.0, 2.0, 4.0, 8.0];

fn luma(color: Texel) -> f32 {
    luminance(color).min(1.0).sqrt()
}

/// Luma around a texel, by offsets along and across the edge.
struct Neighbourhood<'a> {
    pass: &'a ReferencePass<'a>,
    /// The texel.
    at: [i64; 2],
    /// Whether the edge goes along the columns.
    is_transposed: bool,
}

impl Neighbourhood<'_> {
    fn texel(&self, along: i64, across: i64) -> Texel {
        let (dx, dy) = if self.is_transposed {
            (across, along)
        } else {
            (along, across)
        };
        let row = self.pass.source.row(self.at[1] + dy);
        row[(self.at[0] + dx).clamp(0, row.len() as i64 - 1) as usize]
    }

    fn luma(&self, along: i64, across: i64) -> f32 {
        luma(self.texel(along, across))
    }

    /// A bilinear sample half way to the texel `across`, at a multiple of half a texel along the edge.
    fn edge_luma(&self, along: f32, across: i64) -> f32 {
        let pair = |along: i64| 0.5 * (self.luma(along, 0) + self.luma(along, across));
        // Towards the texel first, so that both directions add in the same order.
        let (near, far) = (along.trunc() as i64, (along + along.signum() * 0.5).trunc() as i64);
        if near == far {
            pair(near)
        } else {
            0.5 * (pair(near) + pair(far))
        }
    }

    /// The distance at which luma leaves the edge's, and its difference there.
    fn end(&self, direction: f32, across: i64, edge: f32, enough: f32) -> (f32, f32) {
        let mut distance = STEPS[0];
        let mut difference = 0.0;
        for step in &STEPS[1..] {
            difference = self.edge_luma(direction * distance, across) - edge;
            if difference.abs() >= enough {
                break;
            }
            distance += step;
        }
        (distance, difference)
    }
}

/// One texel whose cross of lumas (north, south, west, east, itself) has the given range.
fn filtered(pass: &ReferencePass, at: [i64; 2], range: f32, subpix: f32) -> Texel {
    let mut around = Neighbourhood {
        pass,
        at,
        is_transposed: false,
    };
    let l = |dx, dy| around.luma(dx, dy);
    let (n, s, w, e, m) = (l(0, -1), l(0, 1), l(-1, 0), l(1, 0), l(0, 0));
    let (nw, ne, sw, se) = (l(-1, -1), l(1, -1), l(-1, 1), l(1, 1));
    let bend = |before: f32, middle: f32, after: f32| (-2.0 * middle + (before + after)).abs();
    let horizontal = bend(nw, w, sw) + (bend(n, m, s) * 2.0 + bend(ne, e, se));
    let vertical = bend(sw, s, se) + (bend(w, m, e) * 2.0 + bend(nw, n, ne));
    around.is_transposed = horizontal < vertical;

    let gradient = |across: i64| (around.luma(0, across) - m).abs();
    let across = if gradient(-1) >= gradient(1) { -1 } else { 1 };
    let edge = 0.5 * (around.luma(0, across) + m);
    let enough = gradient(across) / 4.0;
    let negative = around.end(-1.0, across, edge, enough);
    let positive = around.end(1.0, across, edge, enough);
    let (distance, difference) = if negative.0 < positive.0 { negative } else { positive };
    let crosses = (difference < 0.0) != (m - edge < 0.0);
    let edge_offset = if crosses {
        0.5 - distance / (negative.0 + positive.0)
    } else {
        0.0
    };

    let low_pass = (2.0 * (n + s + (w + e)) + (nw + sw + (ne + se))) * (1.0 / 12.0);
    let stands_out = ((low_pass - m).abs() / range).min(1.0);
    let smooth = stands_out * stands_out * (3.0 - 2.0 * stands_out);
    let offset = edge_offset.max(smooth * smooth * subpix);
    let (own, other) = (around.texel(0, 0), around.texel(0, across));
    let blend = |channel: usize| own[channel] * (1.0 - offset) + other[channel] * offset;
    [blend(0), blend(1), blend(2), own[3]]
}

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let subpix = pass.parameter::<f32>(SUBPIX);
    let (threshold, least) = (
        pass.parameter::<f32>(EDGE_THRESHOLD),
        pass.parameter::<f32>(EDGE_THRESHOLD_MIN),
    );
    let y = i64::from(y);
    let [above, here, below] = [-1, 0, 1].map(|dy| {
        pass.source
            .row(y + dy)
            .iter()
            .map(|color| luma(*color))
            .collect::<Vec<f32>>()
    });
    let last = here.len() - 1;
    out.copy_from_slice(pass.source.row(y));
    for (x, out) in out.iter_mut().enumerate() {
        let cross = [
            above[x],
            below[x],
            here[x.saturating_sub(1)],
            here[(x + 1).min(last)],
            here[x],
        ];
        let brightest = cross.into_iter().fold(0.0, f32::max);
        let range = brightest - cross.into_iter().fold(1.0, f32::min);
        if range >= least.max(brightest * threshold) {
            *out = filtered(pass, [x as i64, y], range, subpix);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;
    use crate::kernels::reference::test_picture::{assert_as_in_fixture, halves};

    #[test]
    fn a_picture_equals_the_published_steps_in_float64() {
        let fixture = include_str!("../../../tests/fixtures/fxaa.csv");
        assert_as_in_fixture("fxaa", fixture, 3, 6e-4);
    }

    #[test]
    fn a_picture_without_edges_and_what_is_all_above_1_are_left_alone() {
        // Luma rises by 1/64 a column: far below the thresholds.
        let ramp: Vec<Texel> = (0..32 * 8)
            .map(|index| {
                let tone = 0.25 + (index % 32) as f32 / 64.0;
                [tone * tone, tone * tone, tone * tone, 0.5]
            })
            .collect();
        assert_eq!(apply("fxaa", &[], [32, 8], &ramp), halves(&ramp));
        let bright: Vec<Texel> = (0..60).map(|index| [1.0 + (index % 7) as f32, 3.0, 2.0, 1.0]).collect();
        assert_eq!(apply("fxaa", &[], [10, 6], &bright), bright);
    }

    /// The share of light that a straight edge gives a texel is the share of the texel that it covers.
    #[test]
    fn a_slanted_edge_gets_the_light_of_its_coverage() {
        let (width, height, slope) = (64usize, 24usize, 1.0 / 8.0);
        let edge_at = |x: f64| 8.0 + slope * x;
        // Lit where the texel's centre is below the edge.
        let aliased: Vec<Texel> = (0..width * height)
            .map(|index| {
                let (x, y) = ((index % width) as f64 + 0.5, (index / width) as f64 + 0.5);
                [f32::from(u8::from(y > edge_at(x))); 4]
            })
            .collect();
        let transposed = |image: &[Texel], width: usize, height: usize| -> Vec<Texel> {
            (0..width * height)
                .map(|index| image[index % height * width + index / height])
                .collect()
        };
        let rows = apply("fxaa", &[("subpix", 0.0)], [width as u32, height as u32], &aliased);
        let columns = apply(
            "fxaa",
            &[("subpix", 0.0)],
            [height as u32, width as u32],
            &transposed(&aliased, width, height),
        );
        assert_eq!(transposed(&columns, height, width), rows);
        let (mut before, mut after) = (0.0f64, 0.0f64);
        // Steps at the picture's sides have no other end.
        for x in 16..48 {
            for y in 0..height {
                // The edge is nearly level: the mean height over the texel's width.
                let covered = (y as f64 + 1.0 - edge_at(x as f64 + 0.5)).clamp(0.0, 1.0);
                before = before.max((f64::from(aliased[y * width + x][0]) - covered).abs());
                after = after.max((f64::from(rows[y * width + x][0]) - covered).abs());
            }
        }
        assert!(before > 0.43 && after < 0.1, "{before} before, {after} after");
    }

    #[test]
    fn a_straight_edge_along_the_texels_stays_and_a_lone_texel_is_softened() {
        let edge: Vec<Texel> = (0..40 * 40)
            .map(|index| [f32::from(u8::from(index < 800)); 4])
            .collect();
        let out = apply("fxaa", &[("subpix", 0.0)], [40, 40], &edge);
        assert_eq!(out, edge);
        let mut lone = vec![[0.0; 4]; 81];
        lone[40] = [1.0; 4];
        let out = apply("fxaa", &[("subpix", 1.0)], [9, 9], &lone);
        assert!(out[40][0] < 0.5 && out[40][3] == 1.0, "{:?}", out[40]);
    }
}
