//! Lays a chain's launches out: which run, and where each image stands.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::fuse::{FusedKernels, fuse};
use super::{BufferId, Domain, Given, ImageId, KeptId, Launch, MadeId, OwnBuffer, OwnImage, Plan, State};
use crate::kernels::Table;
use crate::kernels::chain::Chain;
use crate::kernels::effect::{BufferDescription, Effect, ImageShape, PassBuffer, PassImage, TexelFormat};

/// An image before it is given a place: `effect` counts the effects that run.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Value {
    /// What the effect of that number is given: what the one before wrote; of the first, the scene.
    Given {
        number: usize,
        domain: Domain,
    },
    /// A scratch image of an effect.
    Own {
        effect: usize,
        index: usize,
        image: OwnImage,
    },
    Kept(KeptId),
}

/// A launch whose images have no places yet.
pub(super) struct Step {
    pub launch: Launch,
    pub sources: [Option<Value>; 3],
    pub destination: Option<Value>,
}

impl Step {
    pub fn images(&self) -> impl Iterator<Item = Value> {
        self.sources.into_iter().chain([self.destination]).flatten()
    }
}

impl Plan {
    pub(in crate::kernels) fn new(chain: &Chain, given: Given, kernels: &FusedKernels) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let catalogue = chain.catalogue();
        let active = active(chain, given);
        let mut plan = Self {
            launches: Vec::new(),
            scratch: Vec::new(),
            buffers: Vec::new(),
            states: Vec::new(),
            tables: Vec::new(),
            guides: Vec::new(),
            jitter: false,
            id: NEXT.fetch_add(1, Ordering::Relaxed),
        };
        let mut domain = Domain::Scene;
        let mut steps = Vec::new();
        for (number, index) in active.iter().enumerate() {
            let effect = &catalogue.effects()[*index];
            let next = if effect.upscales { Domain::Display } else { domain };
            plan.guides.extend(&effect.guides);
            plan.jitter |= effect.jitter;
            plan.push_steps(
                &mut steps,
                number,
                (*index, effect),
                [domain, next],
                (chain.parameters(*index), chain.table(*index)),
            );
            domain = next;
        }
        plan.guides.sort();
        plan.guides.dedup();
        plan.place(fuse(steps, kernels));
        plan
    }

    /// The launches of one effect, and its buffers and state.
    fn push_steps(
        &mut self,
        steps: &mut Vec<Step>,
        number: usize,
        (index, effect): (usize, &Arc<Effect>),
        [domain, next]: [Domain; 2],
        (parameters, table): (&[u8], Option<&Arc<Table>>),
    ) {
        let kept_buffers = effect.buffers.iter().filter(|buffer| buffer.keeps);
        let own = |shape: &ImageShape| OwnImage {
            shape: *shape,
            domain: next,
        };
        let made_buffers = effect.buffers.iter().filter(|buffer| buffer.made);
        let own_buffer = |buffer: &BufferDescription| OwnBuffer {
            size: buffer.size,
            domain,
        };
        let state = State {
            of: Arc::clone(effect),
            images: effect.kept_images.iter().map(own).collect(),
            buffers: kept_buffers.map(own_buffer).collect(),
            made: made_buffers.map(own_buffer).collect(),
            parameters: parameters.to_vec(),
        };
        let state_index = self.states.len();
        let has_state = !(state.images.is_empty() && state.buffers.is_empty() && state.made.is_empty());
        if has_state {
            self.states.push(state);
        }
        let kept = |index, previous| KeptId {
            state: state_index,
            index,
            previous,
        };
        let table_place = self.tables.len();
        self.tables.extend(table.cloned());
        // Where each of the effect's buffers stands: among the scratch ones, or among those its state keeps, or it is the table.
        let first_buffer = self.buffers.len();
        let is_scratch = |buffer: &&BufferDescription| !buffer.keeps && !buffer.made && buffer.table.is_none();
        let scratch_buffers = effect.buffers.iter().filter(is_scratch);
        self.buffers.extend(scratch_buffers.map(own_buffer));
        let buffer = |pass: PassBuffer| {
            let (before, described) = (&effect.buffers[..pass.index], &effect.buffers[pass.index]);
            let alike = |filter: &dyn Fn(&&BufferDescription) -> bool| before.iter().filter(filter).count();
            match described {
                BufferDescription { table: Some(_), .. } => BufferId::Table(table_place),
                BufferDescription { keeps: true, .. } => {
                    BufferId::Kept(kept(alike(&|other| other.keeps), pass.previous))
                }
                BufferDescription { made: true, .. } => BufferId::Made(MadeId {
                    state: state_index,
                    index: alike(&|other| other.made),
                }),
                _ => BufferId::Scratch(first_buffer + alike(&is_scratch)),
            }
        };
        let value = |image: PassImage| match image {
            PassImage::Input => Value::Given { number, domain },
            PassImage::Output => Value::Given {
                number: number + 1,
                domain: next,
            },
            PassImage::Scratch { index, shape } => Value::Own {
                effect: number,
                index,
                image: own(&shape),
            },
            PassImage::Kept { index, previous } => Value::Kept(kept(index, previous)),
        };
        let mut used = Vec::new();
        for (pass, description) in effect.passes.iter().enumerate() {
            let mut zeroes = Vec::new();
            for used_buffer in description.buffers.iter().flatten() {
                if !used.contains(&used_buffer.index) {
                    used.push(used_buffer.index);
                    if let (true, BufferId::Scratch(place)) =
                        (effect.buffers[used_buffer.index].zeroed, buffer(*used_buffer))
                    {
                        zeroes.push(place);
                    }
                }
            }
            steps.push(Step {
                launch: Launch {
                    effect: index,
                    pass,
                    of: Arc::clone(effect),
                    fused: None,
                    sources: [None; 3],
                    destination: None,
                    buffers: description.buffers.map(|pass| pass.map(buffer)),
                    zeroes,
                    state: has_state.then_some(state_index),
                    parameters: parameters.to_vec(),
                },
                sources: description.sources.map(|image| image.map(value)),
                destination: description.destination.map(value),
            });
        }
    }

    /// Gives images their places, and takes them back after their last use.
    fn place(&mut self, steps: Vec<Step>) {
        let mut last_use: HashMap<Value, usize> = HashMap::new();
        for (index, step) in steps.iter().enumerate() {
            last_use.extend(step.images().map(|image| (image, index)));
        }
        let mut places = Places::default();
        let scene = Value::Given {
            number: 0,
            domain: Domain::Scene,
        };
        places.at.insert(scene, ImageId::Color);
        if let Some(last) = steps.last().and_then(|step| step.destination) {
            places.at.insert(last, ImageId::Processed);
        }
        for (index, step) in steps.into_iter().enumerate() {
            let destination = step.destination.map(|image| places.place(image));
            let sources = step.sources.map(|image| image.map(|image| places.place(image)));
            // Freed only now, so that no launch writes what it reads.
            for image in step.images().filter(|image| last_use[image] == index) {
                places.free(image);
            }
            self.launches.push(Launch {
                sources,
                destination,
                ..step.launch
            });
        }
        self.scratch = places.scratch;
    }
}

/// The effects that run, at least one.
fn active(chain: &Chain, given: Given) -> Vec<usize> {
    let catalogue = chain.catalogue();
    let reads_guides = |effect: &usize| !catalogue.effects()[*effect].guides.is_empty();
    let transforms = |effect: &usize| catalogue.effects()[*effect].transforms();
    let hidden = |name: &str| catalogue.index_of(name).expect("it comes with the program");
    let mut active = chain.active();
    active.retain(|effect| (given.guides || !reads_guides(effect)) && (given.transforms || !transforms(effect)));
    if given.scaled {
        let upscales = |effect: &usize| catalogue.effects()[*effect].upscales;
        if !active.iter().any(upscales) {
            let place = |effect: &usize| chain.order().iter().position(|other| other == effect);
            let easu = place(&hidden("easu"));
            let before = active.iter().take_while(|effect| place(effect) < easu).count();
            active.insert(before, hidden("enlarge"));
        }
        let at = active.iter().position(upscales).unwrap_or_default();
        let after = active.split_off(at);
        let (with_guides, others): (Vec<usize>, Vec<usize>) = after.into_iter().partition(reads_guides);
        active.extend(with_guides.into_iter().chain(others));
    }
    if active.is_empty() {
        active.push(hidden("copy"));
    }
    active
}

/// Where values stand, and which scratch images are free.
#[derive(Default)]
struct Places {
    at: HashMap<Value, ImageId>,
    scratch: Vec<OwnImage>,
    free: Vec<usize>,
}

impl Places {
    /// The place of a value: where it is already, else a free scratch image like it, else a new one.
    fn place(&mut self, value: Value) -> ImageId {
        if let Some(id) = self.at.get(&value) {
            return *id;
        }
        let image = match value {
            Value::Kept(kept) => return ImageId::Kept(kept),
            Value::Given { domain, .. } => OwnImage {
                shape: ImageShape {
                    divisor: 1,
                    format: TexelFormat::Rgba16f,
                },
                domain,
            },
            Value::Own { image, .. } => image,
        };
        let index = match self.free.iter().position(|index| self.scratch[*index] == image) {
            Some(position) => self.free.swap_remove(position),
            None => {
                self.scratch.push(image);
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
