//! Where in their texels the samples of a frame are.

use crate::frame::FrameNumber;
use crate::kernels::Plan;

/// How far the projection of a frame's scene is moved, texels: Halton's sequence of bases 2 and 3 about the texel's middle, begun
/// anew every 16 frames, or not at all.
pub(super) fn jitter(frame: FrameNumber, plan: &Plan) -> [f32; 2] {
    if !plan.jitter {
        return [0.0; 2];
    }
    let halton = |base: u64| {
        let (mut rest, mut digit, mut value) = (frame.value() % 16 + 1, 1.0, 0.0);
        while rest > 0 {
            digit /= base as f32;
            value += digit * (rest % base) as f32;
            rest /= base;
        }
        value - 0.5
    };
    [halton(2), halton(3)]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::{Chain, catalogue};

    /// Halton's sequences of bases 2 and 3 begin 1/2, 1/4, 3/4, 1/8 and 1/3, 2/3, 1/9, 4/9.
    #[test]
    fn samples_are_halton_s_and_only_where_an_effect_wants_them() {
        let plan = |name| Chain::with_enabled(catalogue(), &[name]).expect("an effect").plan();
        let taa = plan("taa");
        for (number, wanted) in [
            (16, [0.5, 1.0 / 3.0]),
            (17, [0.25, 2.0 / 3.0]),
            (18, [0.75, 1.0 / 9.0]),
            (19, [0.125, 4.0 / 9.0]),
        ] {
            let found = jitter(FrameNumber::at(number), &taa);
            for (found, wanted) in found.into_iter().zip(wanted) {
                assert!((found + 0.5 - wanted).abs() < 1e-6, "frame {number}: {found}");
            }
        }
        assert_eq!(jitter(FrameNumber::at(17), &plan("tonemap")), [0.0; 2]);
    }
}
