//! The template: a colour on the line through its luminance.

use super::{ReferencePass, Texel};

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let amount = pass.parameter::<f32>(0);
    for (out, color) in out.iter_mut().zip(pass.source.row(i64::from(y))) {
        let [red, green, blue, alpha] = *color;
        let grey = 0.2126 * red + 0.7152 * green + 0.0722 * blue;
        let [red, green, blue] = [red, green, blue].map(|channel| grey + (channel - grey) * amount);
        *out = [red, green, blue, alpha];
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::test_images::apply;

    #[test]
    fn no_colour_the_colour_and_twice_the_colour() {
        let color = [[1.0, 0.5, 0.25, 0.75]];
        let at = |amount: f64| apply("template", &[("amount", amount)], [1, 1], &color)[0];
        // BT.709's luminance of the colour, as a half.
        let grey = half::f16::from_f32(0.2126 + 0.7152 * 0.5 + 0.0722 * 0.25).to_f32();
        assert_eq!(at(0.0), [grey, grey, grey, 0.75]);
        assert_eq!(at(1.0), color[0]);
        let twice = at(2.0);
        assert!(
            (twice[0] - (2.0 - grey)).abs() < 1e-3 && (twice[1] - (1.0 - grey)).abs() < 1e-3,
            "{twice:?}"
        );
        // What would be below black is black.
        assert_eq!(twice[2], 0.0);
    }
}
