//! The launches a chain takes, each with the images and buffers it reads and writes.

use super::chain::Chain;
use super::effect::{
    BufferDescription, BufferSize, Effect, Guide, ImageShape, PassBuffer, PassDescription, PassImage, TexelFormat,
};
use super::grid::{Grid, Transform};
use super::table::Table;
use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An image of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ImageId {
    /// The scene, which the chain reads and never writes: RGBA16F, linear light.
    Color,
    /// What the chain hands back; its last launch writes it: RGBA16F, linear light.
    Processed,
    /// An image of the chain's own, an index into [`Plan::scratch`].
    Scratch(usize),
    /// An image that lasts to the next frame.
    Kept(KeptId),
}

/// A buffer of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BufferId {
    /// An index into [`Plan::buffers`].
    Scratch(usize),
    /// A buffer that lasts to the next frame.
    Kept(KeptId),
    /// Content that the plan carries, an index into [`Plan::tables`]. No launch writes it.
    Table(usize),
}

/// What lasts from frame to frame: there are two of each, this frame's and the previous frame's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct KeptId {
    /// An index into [`Plan::states`].
    pub state: usize,
    /// An index into the state's images or buffers.
    pub index: usize,
    /// The previous frame's.
    pub previous: bool,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Catalogue index.
    pub effect: usize,
    /// Index into the effect's passes.
    pub pass: usize,
    /// The effect itself, as it was when the plan was made.
    pub of: Arc<Effect>,
    /// What it reads.
    pub sources: [Option<ImageId>; 3],
    /// What it writes, none of what it reads.
    pub destination: Option<ImageId>,
    /// What it reads or writes besides.
    pub buffers: [Option<BufferId>; 4],
    /// Buffers that are set to zero before it: indices into [`Plan::buffers`].
    pub zeroes: Vec<usize>,
    /// What its effect keeps, an index into [`Plan::states`].
    pub state: Option<usize>,
    /// The effect's parameter struct; never empty.
    pub parameters: Vec<u8>,
}

/// The extents of a frame, texels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FrameExtents {
    /// Of the scene and its guides.
    pub scene: [u32; 2],
    /// Of what is shown.
    pub display: [u32; 2],
}

impl FrameExtents {
    /// A scene drawn as large as it is shown.
    pub fn same(extent: [u32; 2]) -> Self {
        Self {
            scene: extent,
            display: extent,
        }
    }

    fn of(self, domain: Domain) -> [u32; 2] {
        match domain {
            Domain::Scene => self.scene,
            Domain::Display => self.display,
        }
    }
}

/// Whose extent an image's is divided from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Domain {
    /// [`FrameExtents::scene`].
    Scene,
    /// [`FrameExtents::display`].
    Display,
}

/// An image that the chain needs for itself. Launches reuse it; its content means nothing between frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnImage {
    /// Divisor and format.
    pub shape: ImageShape,
    /// What is divided.
    pub domain: Domain,
}

impl OwnImage {
    /// Its extent in such a frame.
    pub fn extent(&self, extents: FrameExtents) -> [u32; 2] {
        extents
            .of(self.domain)
            .map(|length| length.div_ceil(self.shape.divisor).max(1))
    }
}

/// A buffer that the chain needs for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OwnBuffer {
    /// How large it is.
    pub size: BufferSize,
    /// Whose texels count.
    pub domain: Domain,
}

impl OwnBuffer {
    /// Its bytes in such a frame.
    pub fn bytes(&self, extents: FrameExtents) -> u64 {
        self.size.bytes(extents.of(self.domain))
    }
}

/// What one effect keeps from frame to frame. It is lost when the effect is switched off, changed, or given another extent.
#[derive(Clone, Debug, PartialEq)]
pub struct State {
    /// Whose it is.
    pub of: Arc<Effect>,
    /// What [`KeptId::index`] counts in an [`ImageId::Kept`].
    pub images: Vec<OwnImage>,
    /// What [`KeptId::index`] counts in a [`BufferId::Kept`].
    pub buffers: Vec<OwnBuffer>,
}

/// What a chain is run over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given {
    /// The scene writes guides. Without, effects that read them do not run.
    pub guides: bool,
    /// The scene is smaller than what is shown. Effects that read guides run before the one that upscales; where none is on that
    /// does, the hidden effect `enlarge` runs in the place of `easu`.
    pub scaled: bool,
    /// Fourier transforms can be computed. Where not, effects that need them do not run.
    pub transforms: bool,
}

/// The launches of a chain, in order.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// At least one.
    pub launches: Vec<Launch>,
    /// What [`ImageId::Scratch`] counts.
    pub scratch: Vec<OwnImage>,
    /// What [`BufferId::Scratch`] counts.
    pub buffers: Vec<OwnBuffer>,
    /// By effect, those that keep something.
    pub states: Vec<State>,
    /// What [`BufferId::Table`] counts.
    pub tables: Vec<Arc<Table>>,
    /// The guides that launches read.
    pub guides: Vec<Guide>,
    /// An effect wants the scene's projection moved by a fraction of a texel.
    pub jitter: bool,
    /// No other plan has it.
    pub id: u64,
}

/// An image before it is given a place: `effect` counts the effects that run.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Value {
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
struct Step {
    launch: Launch,
    sources: [Option<Value>; 3],
    destination: Option<Value>,
}

impl Step {
    fn images(&self) -> impl Iterator<Item = Value> {
        self.sources.into_iter().chain([self.destination]).flatten()
    }
}

impl Plan {
    pub(super) fn new(chain: &Chain, given: Given) -> Self {
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
        plan.place(steps);
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
        let state = State {
            of: Arc::clone(effect),
            images: effect.kept_images.iter().map(own).collect(),
            buffers: kept_buffers
                .map(|buffer| OwnBuffer {
                    size: buffer.size,
                    domain,
                })
                .collect(),
        };
        let state_index = self.states.len();
        let has_state = !(state.images.is_empty() && state.buffers.is_empty());
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
        let is_scratch = |buffer: &&BufferDescription| !buffer.keeps && buffer.table.is_none();
        let scratch_buffers = effect.buffers.iter().filter(is_scratch);
        self.buffers.extend(scratch_buffers.map(|buffer| OwnBuffer {
            size: buffer.size,
            domain,
        }));
        let buffer = |pass: PassBuffer| {
            let (before, described) = (&effect.buffers[..pass.index], &effect.buffers[pass.index]);
            let alike = |filter: &dyn Fn(&&BufferDescription) -> bool| before.iter().filter(filter).count();
            match (described.table, described.keeps) {
                (Some(_), _) => BufferId::Table(table_place),
                (None, true) => BufferId::Kept(kept(alike(&|other| other.keeps), pass.previous)),
                (None, false) => BufferId::Scratch(first_buffer + alike(&is_scratch)),
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

    /// The extent of an image in such a frame.
    pub fn extent_of(&self, image: ImageId, extents: FrameExtents) -> [u32; 2] {
        match image {
            ImageId::Color => extents.scene,
            ImageId::Processed => extents.display,
            ImageId::Scratch(index) => self.scratch[index].extent(extents),
            ImageId::Kept(kept) => self.states[kept.state].images[kept.index].extent(extents),
        }
    }

    /// The format of an image's texels.
    pub fn format_of(&self, image: ImageId) -> TexelFormat {
        match image {
            ImageId::Color | ImageId::Processed => TexelFormat::Rgba16f,
            ImageId::Scratch(index) => self.scratch[index].shape.format,
            ImageId::Kept(kept) => self.states[kept.state].images[kept.index].shape.format,
        }
    }

    /// The bytes of a buffer in such a frame.
    pub fn bytes_of(&self, buffer: BufferId, extents: FrameExtents) -> u64 {
        match buffer {
            BufferId::Scratch(index) => self.buffers[index].bytes(extents),
            BufferId::Kept(kept) => self.states[kept.state].buffers[kept.index].bytes(extents),
            BufferId::Table(index) => self.tables[index].bytes().len() as u64,
        }
    }

    /// The grid that a buffer is, and the extent that it is made for.
    fn grid_of(&self, buffer: BufferId, extents: FrameExtents) -> Option<(Grid, [u32; 2])> {
        match buffer {
            BufferId::Scratch(index) => {
                let OwnBuffer { size, domain } = self.buffers[index];
                Some((size.grid?, extents.of(domain)))
            }
            // Grids are not kept.
            BufferId::Kept(_) | BufferId::Table(_) => None,
        }
    }

    /// What a launch transforms, if it runs no kernel: the real grid's extent, and its planes.
    pub fn transform_of(&self, launch: &Launch, extents: FrameExtents) -> Option<(Transform, [u32; 2], u32)> {
        let transform = launch.description().transform?;
        let (grid, given) = self.grid_of(launch.buffers[0]?, extents)?;
        Some((transform, grid.extent(given), grid.planes))
    }

    /// Threads of a launch in x and y.
    pub fn threads_of(&self, launch: &Launch, extents: FrameExtents) -> [u32; 2] {
        let extent = |image: Option<ImageId>| image.map(|image| self.extent_of(image, extents));
        let grid = || {
            let (grid, given) = self.grid_of(launch.buffers[0]?, extents)?;
            Some(grid.elements(given))
        };
        launch
            .description()
            .threads
            .or_else(|| extent(launch.destination))
            .or_else(grid)
            .or_else(|| extent(launch.sources[0]))
            .unwrap_or([1, 1])
    }

    /// The fewest bytes that a launch must move in such frames: each image that it reads or writes, once. Guides and buffers
    /// are not counted.
    pub fn least_bytes(&self, launch: &Launch, extents: FrameExtents) -> u64 {
        let images = launch.sources.into_iter().chain([launch.destination]).flatten();
        let bytes = |image| {
            let [width, height] = self.extent_of(image, extents).map(u64::from);
            width * height * self.format_of(image).bytes()
        };
        images.map(bytes).sum()
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

impl Launch {
    /// Its pass, as the effect describes it.
    pub fn description(&self) -> &PassDescription {
        &self.of.passes[self.pass]
    }

    /// The kernel's `extern "C"` name.
    pub fn entry(&self) -> &str {
        &self.description().entry
    }

    /// How the launch is named in traces and profilers.
    pub fn label(&self) -> &str {
        &self.description().label
    }
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

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;
