//! Runs one effect over small images, for the references' tests.

use super::{FrameParameters, HostImages, HostScratch, MappedImage, Texel, run};
use crate::kernels::images::Random;
use crate::kernels::{Chain, FrameExtents, TestGuides, catalogue};
use half::f16;

/// One effect on the CPU, frame after frame: what it keeps is there in the next.
pub(crate) struct Bench {
    chain: Chain,
    extents: FrameExtents,
    scratch: HostScratch,
}

impl Bench {
    /// Settings are parameter names with values.
    pub fn new(effect: &str, settings: &[(&str, f64)], extents: FrameExtents) -> Self {
        let mut chain = Chain::with_enabled(catalogue(), &[effect]).expect("an effect");
        for (name, value) in settings {
            chain.set(&format!("{effect}.{name}"), *value).expect("in range");
        }
        Self {
            chain,
            extents,
            scratch: HostScratch::default(),
        }
    }

    /// The next frame. Without guides, for effects that read none.
    pub fn frame(&mut self, image: &[Texel], guides: Option<&TestGuides>, frame: &FrameParameters) -> Vec<Texel> {
        let halves: Vec<[f16; 4]> = image.iter().map(|texel| texel.map(f16::from_f32)).collect();
        let [width, height] = self.extents.display.map(|length| length as usize);
        let mut processed = vec![[f16::ZERO; 4]; width * height];
        let color = MappedImage {
            bytes: bytemuck::cast_slice(&halves),
            pitch: self.extents.scene[0] as usize * 8,
        };
        let out = (bytemuck::cast_slice_mut(&mut processed), width * 8);
        let mut images = HostImages::new(self.extents, color, out, &mut self.scratch).expect("images fit");
        if let Some(guides) = guides {
            images = images.with_guides(guides.host());
        }
        run(&self.chain.plan(), &mut images, frame).expect("has a reference");
        processed.into_iter().map(|texel| texel.map(f16::to_f32)).collect()
    }
}

/// The effect's result over an image, frame 1.
pub(crate) fn apply(effect: &str, settings: &[(&str, f64)], extent: [u32; 2], image: &[Texel]) -> Vec<Texel> {
    apply_at(effect, settings, extent, image, 1)
}

/// The same at a given frame.
pub(crate) fn apply_at(
    effect: &str,
    settings: &[(&str, f64)],
    extent: [u32; 2],
    image: &[Texel],
    frame: u64,
) -> Vec<Texel> {
    let frame = FrameParameters {
        frame,
        ..Default::default()
    };
    Bench::new(effect, settings, FrameExtents::same(extent)).frame(image, None, &frame)
}

/// A number in [0, 1) for each index and seed, evenly spread and without a pattern.
pub(crate) fn noise(index: usize, seed: u64) -> f32 {
    Random::new((seed << 40) ^ index as u64).unit()
}
