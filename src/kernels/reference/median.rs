//! Median: of nine texels, channel by channel.

use super::{ReferencePass, Texel};

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let y = i64::from(y);
    let rows = [-1, 0, 1].map(|dy| pass.source.row(y + dy));
    let last = out.len() - 1;
    for (x, out) in out.iter_mut().enumerate() {
        let columns = [x.saturating_sub(1), x, (x + 1).min(last)];
        *out = rows[1][x];
        for (channel, out) in out[..3].iter_mut().enumerate() {
            let mut values = [0.0; 9];
            for (index, value) in values.iter_mut().enumerate() {
                *value = rows[index / 3][columns[index % 3]][channel];
            }
            *out = *values.select_nth_unstable_by(4, f32::total_cmp).1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;
    use crate::kernels::reference::test_picture::assert_as_in_fixture;

    /// The fixture has seven digits.
    #[test]
    fn a_picture_equals_scipy() {
        let fixture = include_str!("../../../tests/fixtures/median.csv");
        assert_as_in_fixture("median", fixture, 1, 1e-6);
    }

    #[test]
    fn a_lone_pixel_goes_and_a_straight_edge_stays() {
        let edge: Vec<Texel> = (0..48)
            .map(|index| [if index % 8 < 3 { 0.25 } else { 4.0 }, 1.0, 0.5, index as f32])
            .collect();
        assert_eq!(apply("median", &[], [8, 6], &edge), edge);
        let mut broken = edge.clone();
        broken[2 * 8 + 5] = [f32::NAN, f32::INFINITY, 0.0, 21.0];
        assert_eq!(apply("median", &[], [8, 6], &broken), edge);
    }
}
