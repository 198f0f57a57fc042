//! Albedo view: the albedo guide as it is.

use super::{ReferencePass, Texel};

pub(super) fn row(pass: &ReferencePass, y: u32, out: &mut [Texel]) {
    let y = i64::from(y);
    for ((out, source), albedo) in out.iter_mut().zip(pass.source.row(y)).zip(pass.guides.albedo.row(y)) {
        *out = [albedo[0], albedo[1], albedo[2], source[3]];
    }
}

#[cfg(test)]
mod tests {
    use crate::kernels::reference::FrameParameters;
    use crate::kernels::reference::test_images::Bench;
    use crate::kernels::{FrameExtents, TestGuides};
    use half::f16;

    #[test]
    fn bytes_of_the_guide_are_shown_as_shares_of_255() {
        let albedo: Vec<[f32; 3]> = (0..256)
            .map(|byte| [byte as f32 / 255.0, 0.0, (255 - byte) as f32 / 255.0])
            .collect();
        let guides = TestGuides::new(16, &[1.0; 256], &[[0.0; 3]; 256], &albedo, &[[0.0; 2]; 256]);
        let mut bench = Bench::new("albedo_view", &[], FrameExtents::same([16, 16]));
        let out = bench.frame(
            &[[9.0, 9.0, 9.0, 0.75]; 256],
            Some(&guides),
            &FrameParameters::default(),
        );
        for (byte, texel) in out.iter().enumerate() {
            let share = |byte: usize| f16::from_f64(byte as f64 / 255.0).to_f32();
            assert_eq!(*texel, [share(byte), 0.0, share(255 - byte), 0.75]);
        }
    }
}
