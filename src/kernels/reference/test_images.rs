//! Runs one effect over small images, for the references' tests.

use super::{FloatImage, FrameParameters, Guides, HostImages, HostScratch, MappedImage, ReferencePass, Texel, run};
use crate::kernels::images::Random;
use crate::kernels::{Chain, FrameExtents, Table, TestGuides, catalogue};
use half::f16;
use std::sync::Arc;

impl<'a> ReferencePass<'a> {
    /// A pass over one image, for tests of a single one.
    pub(crate) fn over(source: FloatImage<'a>, parameters: &'a [u8]) -> Self {
        Self {
            source,
            second: None,
            third: None,
            extent: source.extent,
            parameters,
            frame: FrameParameters::default(),
            guides: Guides::NONE,
            buffers: [&[]; 4],
            kept_frames: 1,
            index: 0,
        }
    }
}

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

    /// The effect's table.
    pub fn set_table(&mut self, table: &Arc<Table>) {
        let effect = self.chain.active()[0];
        self.chain.set_table(effect, Arc::clone(table));
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

/// An effect's parameter struct, defaults but for these.
pub(crate) fn effect_parameters(effect: &str, settings: &[(&str, f64)]) -> Vec<u8> {
    let effect = catalogue().by_name(effect).expect("an effect");
    let mut parameters = effect.default_parameters();
    for (name, value) in settings {
        effect.set(&mut parameters, name, *value).expect("in range");
    }
    parameters
}

/// The effect's result over an image, frame 1.
pub(crate) fn apply(effect: &str, settings: &[(&str, f64)], extent: [u32; 2], image: &[Texel]) -> Vec<Texel> {
    apply_at(effect, settings, extent, image, 1)
}

/// The same at a given frame, of which there are 60 a second.
pub(crate) fn apply_at(
    effect: &str,
    settings: &[(&str, f64)],
    extent: [u32; 2],
    image: &[Texel],
    frame: u64,
) -> Vec<Texel> {
    let frame = FrameParameters {
        frame,
        time: frame as f32 / 60.0,
        ..Default::default()
    };
    Bench::new(effect, settings, FrameExtents::same(extent)).frame(image, None, &frame)
}

/// Compares one-texel pictures with a fixture of lines `name,red,green,blue,shown red,shown green,shown blue`, in which
/// the name's first word is the effect; `cases` lines have the name.
pub(crate) fn assert_fixture(fixture: &str, name: &str, settings: &[(&str, f64)], cases: usize) {
    let effect = name.split(' ').next().expect("a word");
    let lines = fixture
        .lines()
        .filter_map(|line| line.strip_prefix(name)?.strip_prefix(','));
    let mut compared = 0;
    for line in lines {
        let fields: Vec<f64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
        let color = [fields[0] as f32, fields[1] as f32, fields[2] as f32, 0.5];
        let out = apply(effect, settings, [1, 1], &[color])[0];
        for (shown, expected) in out.iter().zip(&fields[3..]) {
            // Half a step of half, and what float arithmetic adds.
            let error = (f64::from(*shown) - expected).abs();
            assert!(error <= 5.5e-4 * expected + 1e-6, "{name},{line}: {out:?}");
        }
        assert_eq!(out[3], 0.5);
        compared += 1;
    }
    assert_eq!(compared, cases, "{name}");
}

/// A number in [0, 1) for each index and seed, evenly spread and without a pattern.
pub(crate) fn noise(index: usize, seed: u64) -> f32 {
    Random::new((seed << 40) ^ index as u64).unit()
}
