//! The launches a chain takes, each with the images it reads and writes.

use super::chain::Chain;
use super::effect::{PassDescription, PassImage};
use std::collections::HashMap;

/// An image of a frame, RGBA16F in linear light.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageId {
    /// The scene, which the chain reads and never writes.
    Color,
    /// What the chain hands back; its last launch writes it.
    Processed,
    /// An image of the chain's own, an index into [`Plan::scratch`].
    Scratch(usize),
}

/// One kernel launch over the whole of its destination.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Catalogue index.
    pub effect: usize,
    /// Index into the effect's passes.
    pub pass: usize,
    /// The kernel's `extern "C"` name.
    pub entry: &'static str,
    /// How the launch is named in traces and profilers.
    pub label: &'static str,
    /// What it reads.
    pub source: ImageId,
    /// What it reads besides, if anything.
    pub second: Option<ImageId>,
    /// What it writes, none of what it reads.
    pub destination: ImageId,
    /// The effect's parameter struct; never empty.
    pub parameters: Vec<u8>,
}

/// An image that the chain needs for itself. Launches reuse it; its content means nothing between frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ScratchImage {
    /// The frame's extent is divided by it, rounded up.
    pub divisor: u32,
}

/// The launches of a chain, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// At least one.
    pub launches: Vec<Launch>,
    /// What [`ImageId::Scratch`] counts.
    pub scratch: Vec<ScratchImage>,
    /// The chain's revision this plan was made at.
    pub revision: u64,
}

/// Bytes of a texel of every image of a chain: RGBA16F.
pub const TEXEL_BYTES: u64 = 8;

/// An extent divided by a scratch image's divisor: rounded up, at least 1.
pub fn extent_divided(extent: [u32; 2], divisor: u32) -> [u32; 2] {
    extent.map(|length| length.div_ceil(divisor).max(1))
}

/// An image before it is given a place: `effect` counts the effects that run.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Value {
    /// What the effect before this one wrote; of the first, the scene.
    Input(usize),
    /// A scratch image of an effect.
    Own { effect: usize, index: usize, divisor: u32 },
}

impl Plan {
    pub(super) fn new(chain: &Chain) -> Self {
        let catalogue = chain.catalogue();
        let mut active = chain.active();
        if active.is_empty() {
            active.push(catalogue.index_of("copy").expect("copy comes with the program"));
        }
        let value = |effect: usize, image: PassImage| match image {
            PassImage::Input => Value::Input(effect),
            PassImage::Output => Value::Input(effect + 1),
            PassImage::Scratch { index, divisor } => Value::Own { effect, index, divisor },
        };
        // Each launch as (effect that runs, pass, what it reads, what it writes).
        let mut steps = Vec::new();
        for (effect, catalogue_index) in active.iter().enumerate() {
            for (pass, description) in catalogue.effects()[*catalogue_index].passes.iter().enumerate() {
                let source = value(effect, description.source);
                let second = description.second.map(|image| value(effect, image));
                steps.push((effect, pass, source, second, value(effect, description.destination)));
            }
        }
        let mut last_use: HashMap<Value, usize> = HashMap::new();
        for (step, (_, _, source, second, destination)) in steps.iter().enumerate() {
            for image in [Some(source), second.as_ref(), Some(destination)].into_iter().flatten() {
                last_use.insert(*image, step);
            }
        }

        let mut places = Places::default();
        places.at.insert(Value::Input(0), ImageId::Color);
        places.at.insert(Value::Input(active.len()), ImageId::Processed);
        let mut launches = Vec::new();
        for (step, (effect, pass, source, second, destination)) in steps.into_iter().enumerate() {
            let destination_id = places.place(destination);
            let source_id = places.at[&source];
            let second_id = second.map(|image| places.at[&image]);
            let PassDescription { entry, label, .. } = &catalogue.effects()[active[effect]].passes[pass];
            launches.push(Launch {
                effect: active[effect],
                pass,
                entry,
                label,
                source: source_id,
                second: second_id,
                destination: destination_id,
                parameters: chain.parameters(active[effect]).to_vec(),
            });
            // Freed only now, so that no launch writes what it reads.
            for image in [Some(source), second, Some(destination)].into_iter().flatten() {
                if last_use[&image] == step {
                    places.free(image);
                }
            }
        }
        Self {
            launches,
            scratch: places.scratch,
            revision: chain.revision(),
        }
    }

    /// The extent of an image for a frame of that extent.
    pub fn extent_of(&self, image: ImageId, frame_extent: [u32; 2]) -> [u32; 2] {
        match image {
            ImageId::Color | ImageId::Processed => frame_extent,
            ImageId::Scratch(index) => extent_divided(frame_extent, self.scratch[index].divisor),
        }
    }

    /// The fewest bytes that a launch must move in frames of that extent: each image that it reads or writes, once. Guides are
    /// not counted.
    pub fn least_bytes(&self, launch: &Launch, frame_extent: [u32; 2]) -> u64 {
        let bytes = |image| {
            self.extent_of(image, frame_extent)
                .into_iter()
                .map(u64::from)
                .product::<u64>()
                * TEXEL_BYTES
        };
        bytes(launch.source) + launch.second.map_or(0, bytes) + bytes(launch.destination)
    }
}

/// Where values stand, and which scratch images are free.
#[derive(Default)]
struct Places {
    at: HashMap<Value, ImageId>,
    scratch: Vec<ScratchImage>,
    free: Vec<usize>,
}

impl Places {
    /// The place of a value: where it is already, else a free scratch image of its size, else a new one.
    fn place(&mut self, value: Value) -> ImageId {
        if let Some(id) = self.at.get(&value) {
            return *id;
        }
        let divisor = match value {
            Value::Input(_) => 1,
            Value::Own { divisor, .. } => divisor,
        };
        let index = match self
            .free
            .iter()
            .position(|index| self.scratch[*index].divisor == divisor)
        {
            Some(position) => self.free.swap_remove(position),
            None => {
                self.scratch.push(ScratchImage { divisor });
                self.scratch.len() - 1
            }
        };
        self.at.insert(value, ImageId::Scratch(index));
        ImageId::Scratch(index)
    }

    fn free(&mut self, value: Value) {
        if let Some(ImageId::Scratch(index)) = self.at.get(&value)
            && !self.free.contains(index)
        {
            self.free.push(*index);
        }
    }
}

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
