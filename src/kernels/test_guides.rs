//! Guides to test with, as a scene writes them: the same for the same seed, on every machine.

use super::Guide;
use super::images::Random;
use super::reference::{HostGuides, MappedImage};
use half::f16;

/// The four guides of one frame, rows without padding.
#[derive(Clone, Debug)]
pub struct TestGuides {
    bytes: [Vec<u8>; 4],
    width: usize,
}

impl TestGuides {
    /// Tiles of 8x8 texels are surfaces: a depth from 0.3 m to 100 m with a slope, a unit normal (in some, as where nothing is,
    /// none), a base colour with some noise, and a motion of up to 6 texels, whole or fractional or none.
    pub fn random(seed: u64, extent: [u32; 2]) -> Self {
        let [width, height] = extent.map(|length| length as usize);
        let mut bytes = Guide::ALL.map(|guide| Vec::with_capacity(width * height * guide.bytes()));
        for y in 0..height as u64 {
            for x in 0..width as u64 {
                let mut tile = Random::new(seed ^ ((x / 8) << 32) ^ ((y / 8) << 48) ^ 0x6d1d);
                let mut random = Random::new(seed.wrapping_add((y << 32) | x) ^ 0x9a17);
                let (kind, near) = (tile.next() % 8, (tile.unit() * 5.8 - 1.2).exp());
                let slope = [tile.unit() - 0.5, tile.unit() - 0.5];
                let depth = near * (1.0 + 0.02 * (slope[0] * (x % 8) as f32 + slope[1] * (y % 8) as f32));
                let axis = [0; 3].map(|_| 2.0 * tile.unit() - 1.0);
                let length = axis.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-3);
                let normal = axis.map(|value| if kind == 0 { 0.0 } else { value / length });
                let base = [tile.unit(), tile.unit(), tile.unit()];
                let motion = [tile.unit(), tile.unit()].map(|value| match kind % 4 {
                    0 => 0.0,
                    1 => (12.0 * value - 6.0).round(),
                    _ => 12.0 * value - 6.0,
                });
                bytes[Guide::Depth as usize].extend(depth.to_le_bytes());
                for value in [normal[0], normal[1], normal[2], 0.0] {
                    bytes[Guide::Normal as usize].extend(f16::from_f32(value).to_le_bytes());
                }
                let albedo = base.map(|value| (255.0 * (0.9 * value + 0.1 * random.unit())) as u8);
                bytes[Guide::Albedo as usize].extend([albedo[0], albedo[1], albedo[2], 255]);
                for value in motion {
                    bytes[Guide::Motion as usize].extend(f16::from_f32(value).to_le_bytes());
                }
            }
        }
        Self { bytes, width }
    }

    /// The guides of these texels: depth, normal, albedo (0 to 1) and motion.
    ///
    /// # Panics
    /// If there are not as many of each, in whole rows.
    pub fn new(width: u32, depth: &[f32], normal: &[[f32; 3]], albedo: &[[f32; 3]], motion: &[[f32; 2]]) -> Self {
        let lengths = [normal.len(), albedo.len(), motion.len()];
        assert!(lengths == [depth.len(); 3] && depth.len().is_multiple_of(width as usize));
        let half = |value: &f32| f16::from_f32(*value).to_le_bytes();
        let normals = normal.iter().map(|[x, y, z]| [*x, *y, *z, 0.0]);
        let albedos = albedo.iter().map(|[r, g, b]| [*r, *g, *b, 1.0]);
        Self {
            bytes: [
                depth.iter().flat_map(|value| value.to_le_bytes()).collect(),
                normals.flatten().flat_map(|value| half(&value)).collect(),
                albedos.flatten().map(|value| (255.0 * value + 0.5) as u8).collect(),
                motion.iter().flatten().flat_map(half).collect(),
            ],
            width: width as usize,
        }
    }

    /// A guide's texels.
    pub fn bytes(&self, guide: Guide) -> &[u8] {
        &self.bytes[guide as usize]
    }

    /// All, for references.
    pub fn host(&self) -> HostGuides<'_> {
        let image = |guide: Guide| {
            Some(MappedImage {
                bytes: self.bytes(guide),
                pitch: self.width * guide.bytes(),
            })
        };
        HostGuides {
            depth: image(Guide::Depth),
            normal: image(Guide::Normal),
            albedo: image(Guide::Albedo),
            motion: image(Guide::Motion),
        }
    }
}
