//! The encoding of sRGB: IEC 61966-2-1.

/// From the encoded value to light; both in [0, 1].
pub(super) fn decode(encoded: f32) -> f32 {
    if encoded <= 0.04045 {
        encoded / 12.92
    } else {
        ((encoded + 0.055) / 1.055).powf(2.4)
    }
}

/// From light to the encoded value; both in [0, 1].
///
/// What is quantized must not hang on how a library rounds a power, so the steps are part of the definition, in float:
/// `light^(1/2.4)` is `light^(1/4)` times the cube root of `light^(1/2)`, which three steps of Halley's method find.
pub(super) fn encode(light: f32) -> f32 {
    if light <= 0.003_130_8 {
        return 12.92 * light;
    }
    let root = light.sqrt();
    let halley = |x: f32, _| {
        let cube = x * x * x;
        x * (cube + 2.0 * root) / (2.0 * cube + root)
    };
    let cube_root = (0..3).fold(0.45 + 0.55 * root, halley);
    1.055 * (root.sqrt() * cube_root) - 0.055
}

#[cfg(test)]
mod tests {
    use super::*;
    use half::f16;

    /// Every half from 0 to 1, against the standard's powers in double.
    #[test]
    fn both_directions_are_the_standard_s() {
        for light in (0..=f16::ONE.to_bits()).map(|bits| f16::from_bits(bits).to_f32()) {
            let exact = match f64::from(light) {
                low if low <= 0.003_130_8 => 12.92 * low,
                high => 1.055 * high.powf(1.0 / 2.4) - 0.055,
            };
            let encoded = encode(light);
            assert!(
                (f64::from(encoded) - exact).abs() < 3e-7,
                "{light}: {encoded} for {exact}"
            );
            // The two pieces of the standard do not quite meet.
            assert!((decode(encoded) - light).abs() <= 2e-6 * light + 1e-8, "{light}");
        }
    }
}
