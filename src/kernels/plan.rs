//! The launches a chain takes, each with the images and buffers it reads and writes.

mod fuse;
mod layout;

use super::effect::{BufferSize, Effect, Guide, ImageShape, PassDescription, TexelFormat};
use super::grid::{Grid, Transform};
use super::table::Table;
use std::sync::Arc;

pub use fuse::FusedKernels;

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
    /// A buffer of launches that do not run in every frame: it lasts too, and there is one.
    Made(MadeId),
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

/// What launches made that do not run in every frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MadeId {
    /// An index into [`Plan::states`].
    pub state: usize,
    /// An index into [`State::made`].
    pub index: usize,
}

/// One kernel launch.
#[derive(Clone, Debug, PartialEq)]
pub struct Launch {
    /// Catalogue index.
    pub effect: usize,
    /// Index into the effect's passes.
    pub pass: usize,
    /// The effect itself, as it was when the plan was made; of a fused launch one made of all its effects.
    pub of: Arc<Effect>,
    /// It runs passes of several effects at once: their names, joined by `+`. [`Self::effect`] is the first one's.
    pub fused: Option<&'static str>,
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
    /// The effect's parameter struct, or those of all its effects one after the other; never empty.
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
    /// What [`MadeId::index`] counts in a [`BufferId::Made`].
    pub made: Vec<OwnBuffer>,
    /// The effect's parameter struct: with another, what was made is made again.
    pub parameters: Vec<u8>,
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

impl Plan {
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
            BufferId::Made(made) => self.states[made.state].made[made.index].bytes(extents),
            BufferId::Table(index) => self.tables[index].bytes().len() as u64,
        }
    }

    /// Bytes of all images and buffers of the chain's own in such frames, those that last twice. All frames in flight share them.
    pub fn own_bytes(&self, extents: FrameExtents) -> u64 {
        let image = |image: &OwnImage| {
            let [width, height] = image.extent(extents).map(u64::from);
            width * height * image.shape.format.bytes()
        };
        let buffer = |buffer: &OwnBuffer| buffer.bytes(extents);
        let kept = |state: &State| {
            2 * (state.images.iter().map(image).sum::<u64>() + state.buffers.iter().map(buffer).sum::<u64>())
                + state.made.iter().map(buffer).sum::<u64>()
        };
        self.scratch.iter().map(image).sum::<u64>()
            + self.buffers.iter().map(buffer).sum::<u64>()
            + self.states.iter().map(kept).sum::<u64>()
    }

    /// The grid that a buffer is, and the extent that it is made for.
    fn grid_of(&self, buffer: BufferId, extents: FrameExtents) -> Option<(Grid, [u32; 2])> {
        let OwnBuffer { size, domain } = match buffer {
            BufferId::Scratch(index) => self.buffers[index],
            BufferId::Made(MadeId { state, index }) => self.states[state].made[index],
            // Grids are not kept.
            BufferId::Kept(_) | BufferId::Table(_) => return None,
        };
        Some((size.grid?, extents.of(domain)))
    }

    /// What a launch transforms, if it runs no kernel: the real grid's extent, and its planes.
    pub fn transform_of(&self, launch: &Launch, extents: FrameExtents) -> Option<(Transform, [u32; 2], u32)> {
        let transform = launch.description().transform?;
        let (grid, given) = self.grid_of(launch.buffers[0]?, extents)?;
        Some((transform, grid.extent(given), grid.planes))
    }

    /// Texels of a launch in x and y: those of its destination, without one the elements of a plane of the grid that is its first
    /// buffer, or those of its source; the threads of one that says how many there are.
    pub fn texels_of(&self, launch: &Launch, extents: FrameExtents) -> [u32; 2] {
        let extent = |image: Option<ImageId>| image.map(|image| self.extent_of(image, extents));
        let grid = || {
            let (grid, given) = self.grid_of(launch.buffers[0]?, extents)?;
            Some(grid.elements(given))
        };
        let threads = launch.description().threads;
        threads
            .or_else(|| extent(launch.destination))
            .or_else(grid)
            .or_else(|| extent(launch.sources[0]))
            .unwrap_or([1, 1])
    }

    /// Threads of a launch in x and y.
    pub fn threads_of(&self, launch: &Launch, extents: FrameExtents) -> [u32; 2] {
        let [width, height] = self.texels_of(launch, extents);
        let [across, down] = launch.description().texels;
        [width.div_ceil(across), height.div_ceil(down)]
    }

    /// The fewest bytes that a launch must move in such frames: what its pass says of each texel, or each image and each buffer that
    /// it reads or writes, once, and each guide, in the first launch of those that read it. Tables are not counted.
    pub fn least_bytes(&self, launch: &Launch, extents: FrameExtents) -> u64 {
        let product = |extent: [u32; 2]| extent.map(u64::from).iter().product::<u64>();
        if let Some(bytes) = launch.description().bytes_per_texel {
            return bytes * product(self.texels_of(launch, extents));
        }
        let images = launch.sources.into_iter().chain([launch.destination]).flatten();
        let bytes = |image| product(self.extent_of(image, extents)) * self.format_of(image).bytes();
        let buffers = launch.buffers.into_iter().flatten();
        let buffers = buffers.filter(|buffer| !matches!(buffer, BufferId::Table(_)));
        let guides = launch.of.guides.iter().filter(|_| launch.pass == 0);
        let guides = guides.map(|guide| product(extents.scene) * guide.bytes() as u64);
        let buffers = buffers.map(|buffer| self.bytes_of(buffer, extents));
        images.map(bytes).sum::<u64>() + buffers.sum::<u64>() + guides.sum::<u64>()
    }
}

impl Launch {
    /// Its pass, as the effect describes it.
    pub fn description(&self) -> &PassDescription {
        &self.of.passes[self.pass]
    }

    /// It runs only where what it makes is not there from the frame before: see [`PassDescription::once`]. It is given no picture, no
    /// guide and nothing of the frame: of its source the extent.
    pub fn is_once(&self) -> bool {
        self.description().once
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

#[cfg(test)]
#[path = "plan_tests.rs"]
mod tests;

#[cfg(test)]
#[path = "plan_size_tests.rs"]
mod size_tests;
