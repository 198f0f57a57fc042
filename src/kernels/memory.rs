//! The images and buffers of a chain's own, from one plan to the next: found again, reused, never freed while a frame may use
//! them.

use super::effect::{EffectId, TexelFormat};
use super::plan::{BufferId, FrameExtents, ImageId, KeptId, Launch, MadeId, Plan};
use std::collections::BTreeMap;

/// Where images and buffers come from.
pub trait Memory {
    /// An image.
    type Image;
    /// A buffer.
    type Buffer;
    /// Why there is none.
    type Error;

    /// A new image, without defined contents.
    ///
    /// # Errors
    /// No memory.
    fn image(&mut self, extent: [u32; 2], format: TexelFormat) -> Result<Self::Image, Self::Error>;

    /// A new buffer, without defined contents.
    ///
    /// # Errors
    /// No memory.
    fn buffer(&mut self, bytes: u64) -> Result<Self::Buffer, Self::Error>;
}

/// What a chain's launches use besides the scene and the processed image. Chains run one after the other, so all frames use
/// the same; what lasts is there twice, and the two change places from frame to frame.
#[derive(Debug)]
pub struct ChainMemory<M: Memory> {
    images: Pool<([u32; 2], TexelFormat), M::Image>,
    buffers: Pool<u64, M::Buffer>,
    /// What the images and buffers below are of.
    made_for: Option<(u64, FrameExtents)>,
    scratch: Vec<usize>,
    scratch_buffers: Vec<usize>,
    /// In the order of [`Plan::states`].
    states: Vec<StateMemory>,
}

/// What an effect keeps, and for how long already.
#[derive(Debug)]
struct StateMemory {
    of: EffectId,
    images: Vec<[usize; 2]>,
    buffers: Vec<[usize; 2]>,
    frames: u32,
    made: Vec<usize>,
    /// What is made, or was made, with these parameters.
    parameters: Vec<u8>,
    /// It is there.
    is_made: bool,
}

/// Everything that was ever made, by what it is like, and what of it is free.
#[derive(Debug)]
struct Pool<K, T> {
    made: Vec<T>,
    keys: Vec<K>,
    free: BTreeMap<K, Vec<usize>>,
}

impl<M: Memory> Default for ChainMemory<M> {
    fn default() -> Self {
        Self {
            images: Pool::new(),
            buffers: Pool::new(),
            made_for: None,
            scratch: Vec::new(),
            scratch_buffers: Vec::new(),
            states: Vec::new(),
        }
    }
}

impl<M: Memory> ChainMemory<M> {
    /// Makes ready for a frame of the plan; at once where the frame before was of the same. What effects keep stays theirs as
    /// long as they run, unchanged and at the same extents; what launches made that do not run in every frame, as long as the parameters
    /// stay as well. With other extents everything is made anew: no frame is in flight.
    ///
    /// # Errors
    /// No memory. The next call begins anew.
    pub fn prepare(&mut self, plan: &Plan, extents: FrameExtents, memory: &mut M) -> Result<(), M::Error> {
        if self.made_for == Some((plan.id, extents)) {
            return Ok(());
        }
        if self.made_for.take().is_none_or(|(_, before)| before != extents) {
            *self = Self::default();
        }
        let mut before = std::mem::take(&mut self.states);
        // Everything but what is found again becomes free; what was made stays, since frames in flight may use it.
        let kept: Vec<Option<StateMemory>> = plan
            .states
            .iter()
            .map(|state| {
                let place = before.iter().position(|other| other.of == state.of.id)?;
                Some(before.swap_remove(place))
            })
            .collect();
        let states = || kept.iter().flatten();
        let images: Vec<usize> = states().flat_map(|state| &state.images).flatten().copied().collect();
        let buffers = states().flat_map(|state| state.buffers.as_flattened().iter().chain(&state.made));
        let buffers: Vec<usize> = buffers.copied().collect();
        self.images.free_all_but(&images);
        self.buffers.free_all_but(&buffers);

        self.scratch.clear();
        for image in &plan.scratch {
            let (extent, format) = (image.extent(extents), image.shape.format);
            self.scratch
                .push(self.images.take((extent, format), || memory.image(extent, format))?);
        }
        self.scratch_buffers.clear();
        for buffer in &plan.buffers {
            let bytes = buffer.bytes(extents);
            self.scratch_buffers
                .push(self.buffers.take(bytes, || memory.buffer(bytes))?);
        }
        for (state, kept) in plan.states.iter().zip(kept) {
            let made = match kept {
                Some(kept) if kept.parameters == state.parameters => kept,
                Some(kept) => StateMemory {
                    parameters: state.parameters.clone(),
                    is_made: false,
                    ..kept
                },
                None => {
                    let mut made = StateMemory {
                        of: state.of.id,
                        images: Vec::new(),
                        buffers: Vec::new(),
                        frames: 0,
                        made: Vec::new(),
                        parameters: state.parameters.clone(),
                        is_made: false,
                    };
                    for image in &state.images {
                        let (extent, format) = (image.extent(extents), image.shape.format);
                        let mut take = || self.images.take((extent, format), || memory.image(extent, format));
                        made.images.push([take()?, take()?]);
                    }
                    for buffer in &state.buffers {
                        let bytes = buffer.bytes(extents);
                        let mut take = || self.buffers.take(bytes, || memory.buffer(bytes));
                        made.buffers.push([take()?, take()?]);
                    }
                    for buffer in &state.made {
                        let bytes = buffer.bytes(extents);
                        made.made.push(self.buffers.take(bytes, || memory.buffer(bytes))?);
                    }
                    made
                }
            };
            self.states.push(made);
        }
        self.made_for = Some((plan.id, extents));
        Ok(())
    }

    /// An image of the plan that was prepared for; `None` for the scene and the processed image.
    pub fn image(&self, image: ImageId) -> Option<&M::Image> {
        self.image_place(image).map(|place| &self.images.made[place])
    }

    /// The same, to write to.
    pub fn image_mut(&mut self, image: ImageId) -> Option<&mut M::Image> {
        self.image_place(image).map(|place| &mut self.images.made[place])
    }

    /// A buffer of the plan that was prepared for; `None` for a table, which the plan carries.
    pub fn buffer(&self, buffer: BufferId) -> Option<&M::Buffer> {
        self.buffer_place(buffer).map(|place| &self.buffers.made[place])
    }

    /// The same, to write to.
    pub fn buffer_mut(&mut self, buffer: BufferId) -> Option<&mut M::Buffer> {
        self.buffer_place(buffer).map(|place| &mut self.buffers.made[place])
    }

    /// Frames that a state has lasted for: 0 in its first.
    pub fn frames(&self, state: usize) -> u32 {
        self.states[state].frames
    }

    /// Whether a launch of the plan that was prepared for runs in this frame: all do but those whose work is there from a frame before.
    pub fn runs(&self, launch: &Launch) -> bool {
        !launch.is_once() || launch.state.is_none_or(|state| !self.states[state].is_made)
    }

    /// In the next frame all launches run.
    pub fn forget_made(&mut self) {
        self.states.iter_mut().for_each(|state| state.is_made = false);
    }

    /// The frame is done: what it kept is the previous frame's now.
    pub fn end_frame(&mut self) {
        for state in &mut self.states {
            let pairs = state.images.iter_mut().chain(&mut state.buffers);
            pairs.for_each(|pair| pair.swap(0, 1));
            state.frames = state.frames.saturating_add(1);
            state.is_made = true;
        }
    }

    fn image_place(&self, image: ImageId) -> Option<usize> {
        match image {
            ImageId::Color | ImageId::Processed => None,
            ImageId::Scratch(index) => Some(self.scratch[index]),
            ImageId::Kept(KeptId { state, index, previous }) => {
                Some(self.states[state].images[index][usize::from(previous)])
            }
        }
    }

    fn buffer_place(&self, buffer: BufferId) -> Option<usize> {
        match buffer {
            BufferId::Table(_) => None,
            BufferId::Scratch(index) => Some(self.scratch_buffers[index]),
            BufferId::Made(MadeId { state, index }) => Some(self.states[state].made[index]),
            BufferId::Kept(KeptId { state, index, previous }) => {
                Some(self.states[state].buffers[index][usize::from(previous)])
            }
        }
    }
}

impl<K: Ord + Copy, T> Pool<K, T> {
    fn new() -> Self {
        Self {
            made: Vec::new(),
            free: BTreeMap::new(),
            keys: Vec::new(),
        }
    }

    fn free_all_but(&mut self, in_use: &[usize]) {
        self.free.clear();
        for (place, key) in self
            .keys
            .iter()
            .enumerate()
            .filter(|(place, _)| !in_use.contains(place))
        {
            self.free.entry(*key).or_default().push(place);
        }
    }

    /// One that is free, or a new one.
    fn take<E>(&mut self, key: K, make: impl FnOnce() -> Result<T, E>) -> Result<usize, E> {
        if let Some(place) = self.free.get_mut(&key).and_then(Vec::pop) {
            return Ok(place);
        }
        self.made.push(make()?);
        self.keys.push(key);
        Ok(self.made.len() - 1)
    }
}

#[cfg(test)]
#[path = "memory_tests.rs"]
mod tests;
