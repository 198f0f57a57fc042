//! Images to test with: the same for the same seed, on every machine.

use half::f16;

/// Whether a test image has pixels that no renderer should make.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BrokenPixels {
    /// Finite light only, 0 and above.
    Absent,
    /// About one texel in 32 has a channel that is NaN, infinite, negative, the largest half or the smallest.
    Present,
}

/// A random RGBA16F image, rows without padding. Tiles of 8×8 texels are, in turn by chance: noise in [0, 1], light
/// from 2⁻¹² to 2¹⁰, a smooth ramp, or one even colour, so that flat, dim and very bright places meet. Alpha is in
/// [0, 1].
pub fn random_image(seed: u64, extent: [u32; 2], broken: BrokenPixels) -> Vec<[f16; 4]> {
    let [width, height] = extent;
    let mut image = Vec::with_capacity(width as usize * height as usize);
    for y in 0..height {
        for x in 0..width {
            let mut tile = Random::new(seed ^ (u64::from(x / 8) << 32) ^ (u64::from(y / 8) << 48) ^ 0x7411);
            let mut random = Random::new(seed.wrapping_add((u64::from(y) << 32) | u64::from(x)));
            let kind = tile.next() % 4;
            let mut color = [0.0; 4].map(|_: f32| match kind {
                0 => random.unit(),
                1 => (random.unit() * 22.0 - 12.0).exp2(),
                2 => tile.unit() * 0.5 + ((x % 8) as f32 * tile.unit() + (y % 8) as f32 * tile.unit()) / 14.0,
                _ => tile.unit() * 1.5,
            });
            color[3] = random.unit();
            let mut texel = color.map(f16::from_f32);
            if broken == BrokenPixels::Present && random.next().is_multiple_of(32) {
                let values = [
                    f16::NAN,
                    f16::INFINITY,
                    f16::NEG_INFINITY,
                    f16::from_f32(-0.75),
                    f16::MAX,
                ];
                let value = random.next() as usize % (values.len() + 1);
                let channel = random.next() as usize % 4;
                texel[channel] = values.get(value).copied().unwrap_or(f16::MIN_POSITIVE_SUBNORMAL);
            }
            image.push(texel);
        }
    }
    image
}

/// SplitMix64 (Steele, Lea and Flood, 2014).
pub(super) struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// In [0, 1).
    pub fn unit(&mut self) -> f32 {
        (self.next() >> 40) as f32 / (1u64 << 24) as f32
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_its_seed_s_and_has_what_is_asked_for() {
        let bits = |seed, broken| -> Vec<[u16; 4]> {
            random_image(seed, [61, 47], broken)
                .iter()
                .map(|texel| texel.map(f16::to_bits))
                .collect()
        };
        assert_eq!(bits(1, BrokenPixels::Present), bits(1, BrokenPixels::Present));
        assert_ne!(bits(1, BrokenPixels::Present), bits(2, BrokenPixels::Present));
        let sound = random_image(1, [61, 47], BrokenPixels::Absent);
        assert!(
            sound
                .iter()
                .flatten()
                .all(|value| value.is_finite() && *value >= f16::ZERO)
        );
        let broken = random_image(1, [61, 47], BrokenPixels::Present);
        for present in [
            |value: &f16| value.is_nan(),
            |value: &f16| *value == f16::INFINITY,
            |value: &f16| *value < f16::ZERO,
        ] {
            assert!(broken.iter().flatten().any(present));
        }
    }
}
