//! Box blur: the mean along rows and then along columns. Sums of halves are exact in f64.

use super::{ReferencePass, Texel};

fn add(sum: &mut [f64; 4], texel: &Texel, sign: f64) {
    for (sum, value) in sum.iter_mut().zip(texel) {
        *sum += sign * f64::from(*value);
    }
}

/// A window slides along the row: one texel comes in, one goes out.
pub(super) fn rows(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let radius = i64::from(pass.parameter::<u32>(0));
    let source = pass.source.row(i64::from(y));
    let at = |x: i64| &source[x.clamp(0, source.len() as i64 - 1) as usize];
    let mut sum = [0.0; 4];
    (-radius..=radius).for_each(|x| add(&mut sum, at(x), 1.0));
    for (x, out) in (0..).zip(out) {
        *out = sum.map(|sum| (sum / (2 * radius + 1) as f64) as f32);
        add(&mut sum, at(x + radius + 1), 1.0);
        add(&mut sum, at(x - radius), -1.0);
    }
}

pub(super) fn columns(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let radius = i64::from(pass.parameter::<u32>(0));
    let mut sums = vec![[0.0; 4]; out.len()];
    for tap in -radius..=radius {
        let row = pass.source.row(i64::from(y) + tap);
        sums.iter_mut().zip(row).for_each(|(sum, texel)| add(sum, texel, 1.0));
    }
    for (out, sum) in out.iter_mut().zip(sums) {
        *out = sum.map(|sum| (sum / (2 * radius + 1) as f64) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::reference::test_images::apply;
    use crate::kernels::reference::test_picture::{assert_as_in_fixture, halves};

    #[test]
    fn a_picture_equals_scipy() {
        let fixture = include_str!("../../../tests/fixtures/box.csv");
        assert_as_in_fixture("box", fixture, 3, 1e-3);
    }

    #[test]
    fn an_impulse_becomes_a_square() {
        let mut image = vec![[0.0; 4]; 11 * 9];
        image[4 * 11 + 5] = [49.0; 4];
        let out = apply("box", &[("radius", 3.0)], [11, 9], &image);
        for (index, texel) in out.iter().enumerate() {
            let inside = (index % 11).abs_diff(5) <= 3 && (index / 11).abs_diff(4) <= 3;
            assert_eq!(*texel, [f32::from(u8::from(inside)); 4], "{index}");
        }
    }

    #[test]
    fn a_flat_image_stays_and_radius_0_is_the_identity() {
        let flat = [[0.3, 2.0, 60000.0, 1.0]; 15];
        assert_eq!(apply("box", &[("radius", 64.0)], [5, 3], &flat), halves(&flat));
        let image: Vec<Texel> = (0..15).map(|index| [index as f32, 1.0, 0.25, 1.0]).collect();
        assert_eq!(apply("box", &[("radius", 0.0)], [5, 3], &image), image);
    }
}
