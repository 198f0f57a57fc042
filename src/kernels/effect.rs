//! What an effect is: its description, its parameters and its passes.

use std::iter::Sum;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use super::grid::{Grid, Transform};
use super::parameter::{Parameter, ParameterError, offset};
use super::table::TableFormat;
use super::tolerance::Tolerance;

/// What a user toggles: one kernel file.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The file's stem: its name on the command line, in labels, in columns.
    pub name: String,
    /// Name for people.
    pub title: String,
    /// What it does, in a sentence or two.
    pub summary: String,
    /// The paper or specification it is written from.
    pub source: String,
    /// Its place in the chain by default.
    pub stage: Stage,
    /// The key that toggles it, if it has one.
    pub key: Option<String>,
    /// Not shown to users.
    pub hidden: bool,
    /// What happens to alpha.
    pub alpha: String,
    /// What happens to NaN, infinities and negative values.
    pub broken_pixels: String,
    /// In the order of the kernel's parameter struct.
    pub parameters: Vec<Parameter>,
    /// In the order they run; the last one writes the output.
    pub passes: Vec<PassDescription>,
    /// What it needs besides the picture.
    pub guides: Vec<Guide>,
    /// How far a processor may be from the CPU reference.
    pub tolerance: Tolerance,
    /// The CUDA C++ with its front matter.
    pub code: String,
    /// Where the code includes other files from; `None` for the program's own effects, which include none.
    pub folder: Option<PathBuf>,
    /// Its kernels, compiled; none for an effect that has not been compiled yet.
    pub binary: Option<Binary>,
    /// The scene's projection is moved by a fraction of a texel, another each frame.
    pub jitter: bool,
    /// It is given the scene's extent and hands on the display's.
    pub upscales: bool,
    /// Images that last to the next frame: [`PassImage::Kept`] counts them.
    pub kept_images: Vec<ImageShape>,
    /// Memory besides images: [`PassBuffer`] counts it.
    pub buffers: Vec<BufferDescription>,
    /// Tells this effect from every other one that was ever parsed, and from itself with other code.
    pub id: EffectId,
}

/// Compiled kernels.
#[derive(Clone, Debug, PartialEq)]
pub enum Binary {
    /// PTX that comes with the program: the driver compiles it for its device.
    Ptx(&'static str),
    /// PTX made while running, by an NVRTC that does not know the device yet.
    NewPtx(Arc<str>),
    /// A cubin for the device.
    Cubin(Arc<[u8]>),
}

/// The identity of an [`Effect`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EffectId(u64);

impl EffectId {
    /// One that no effect has.
    pub fn next() -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}

/// One launch of an effect.
#[derive(Clone, Debug, PartialEq)]
pub struct PassDescription {
    /// The kernel's `extern "C"` name.
    pub entry: String,
    /// How its launches are named, in traces and profilers: the effect's name, and which of its passes it is where it has several.
    pub label: String,
    /// What it reads: `source`, `second`, `third`.
    pub sources: [Option<PassImage>; 3],
    /// The image it writes, if it writes one.
    pub destination: Option<PassImage>,
    /// What of [`Effect::buffers`] it reads and writes.
    pub buffers: [Option<PassBuffer>; 4],
    /// Threads of the grid, where these are not the texels of the destination (or, without one, of the source).
    pub threads: Option<[u32; 2]>,
    /// Texels that a thread writes, in x and y: the grid has fewer threads by so much.
    pub texels: [u32; 2],
    /// Threads of a block, in x and y.
    pub block: [u32; 2],
    /// Handed to the kernel: tells passes of one entry apart.
    pub index: u32,
    /// Its kernel is made by `HANDOVER_POINTWISE`: each texel is made of the source's at the same place. A thread makes several.
    pub pointwise: bool,
    /// It runs no kernel: it transforms the grid in its first buffer into the one in its second.
    pub transform: Option<Transform>,
    /// What it computes at least.
    pub arithmetic: Arithmetic,
    /// Bytes that it reads and writes at least for each of its texels (see [`Plan::texels_of`](super::Plan::texels_of)), where these
    /// are not all of its images and buffers once.
    pub bytes_per_texel: Option<u64>,
    /// What it makes depends on parameters and extents alone, and stays: it runs in the effect's first frame, and again in the first
    /// with other parameters. See [`BufferDescription::made`].
    pub once: bool,
}

/// An image as a pass names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PassImage {
    /// What the effect is given.
    Input,
    /// What the effect hands on.
    Output,
    /// An image of the effect's own, written by one of its passes.
    Scratch {
        /// Which one, counted from 0 in the order of the passes that write them.
        index: usize,
        /// Extent and format.
        shape: ImageShape,
    },
    /// An index into [`Effect::kept_images`]: this frame's, or the previous frame's, which holds nothing in the effect's
    /// first frame.
    Kept {
        /// Which one.
        index: usize,
        /// As it was at the end of the previous frame.
        previous: bool,
    },
}

/// The extent and format of an image of an effect's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ImageShape {
    /// The extent that the effect is given is divided by it, rounded up.
    pub divisor: u32,
    /// Of its texels.
    pub format: TexelFormat,
}

/// What texels of an effect's own image are.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum TexelFormat {
    /// Four halves: light, which is finite and at least 0.
    #[default]
    Rgba16f,
    /// Four floats: any values.
    Rgba32f,
}

impl TexelFormat {
    /// Bytes of a texel.
    pub const fn bytes(self) -> u64 {
        match self {
            Self::Rgba16f => 8,
            Self::Rgba32f => 16,
        }
    }
}

/// Memory of an effect besides images.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferDescription {
    /// How passes name it.
    pub name: String,
    /// How large it is.
    pub size: BufferSize,
    /// Zero when the effect begins in each frame.
    pub zeroed: bool,
    /// It lasts to the next frame.
    pub keeps: bool,
    /// Passes that run [`once`](PassDescription::once) use it: there is one, which stays as long as the effect runs.
    pub made: bool,
    /// It holds what the chain read from such a file, and is not written. An effect has at most one.
    pub table: Option<TableFormat>,
}

/// Bytes of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct BufferSize {
    /// Whatever the extent.
    pub fixed: u64,
    /// For each texel of what the effect is given.
    pub per_texel: u64,
    /// What it holds instead.
    pub grid: Option<Grid>,
}

impl BufferSize {
    /// For an effect that is given images of that extent. At least 1.
    pub fn bytes(self, extent: [u32; 2]) -> u64 {
        let texels = u64::from(extent[0]) * u64::from(extent[1]);
        let grid = self.grid.map_or(0, |grid| grid.bytes(extent));
        (self.fixed + self.per_texel * texels + grid).max(1)
    }
}

/// A buffer as a pass names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PassBuffer {
    /// An index into [`Effect::buffers`].
    pub index: usize,
    /// As it was at the end of the previous frame: of a buffer that [`BufferDescription::keeps`]. It holds nothing in the
    /// effect's first frame.
    pub previous: bool,
}

/// Where an effect stands in the chain by default, in the order of a frame: what needs the scene's light before what needs
/// the display's, what looks at the picture last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Stage {
    /// Takes noise out of the scene's light.
    Denoise,
    /// Anti-aliasing over frames.
    TemporalAntiAliasing,
    /// What an open shutter sees.
    MotionBlur,
    /// What a lens blurs.
    DepthOfField,
    /// Blurs of the whole picture.
    Blur,
    /// Light that spreads.
    Bloom,
    /// How bright the picture is.
    Exposure,
    /// From the scene's light to the display's.
    ToneMap,
    /// Colours, by table.
    Grade,
    /// Edges of the picture as it is seen.
    AntiAliasing,
    /// To the display's extent.
    Upscale,
    /// Sharper.
    Sharpen,
    /// What draws the picture anew: edges, cells, dots, fluids over it.
    Look,
    /// Darker towards the corners.
    Vignette,
    /// Noise of film.
    Grain,
    /// Fewer values, evenly spread.
    Dither,
    /// Shows what is in the picture or the guides.
    Inspect,
}

/// A guide image of the scene.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Guide {
    /// R32F, metres.
    Depth,
    /// RGBA16F, world space.
    Normal,
    /// RGBA8, linear.
    Albedo,
    /// RG16F, pixels.
    Motion,
}

impl Guide {
    /// All, in the order of the variants.
    pub const ALL: [Self; 4] = [Self::Depth, Self::Normal, Self::Albedo, Self::Motion];

    /// Bytes of a texel.
    pub const fn bytes(self) -> usize {
        match self {
            Self::Normal => 8,
            Self::Depth | Self::Albedo | Self::Motion => 4,
        }
    }
}

/// What a pass computes for each of its texels (see [`Plan::texels_of`](super::Plan::texels_of)), at least and at default parameters:
/// told where it may be bound by arithmetic and not by the bytes that it moves.
#[derive(Clone, Copy, Debug, Default, PartialEq, serde::Deserialize, serde::Serialize)]
#[serde(deny_unknown_fields)]
pub struct Arithmetic {
    /// Additions, multiplications, minima, maxima, comparisons and conversions of floats.
    #[serde(default)]
    pub operations: f64,
    /// Reciprocals, roots, exponentials, logarithms, sines.
    #[serde(default)]
    pub special: f64,
}

impl Sum for Arithmetic {
    fn sum<I: Iterator<Item = Self>>(all: I) -> Self {
        all.fold(Self::default(), |sum, one| Self {
            operations: sum.operations + one.operations,
            special: sum.special + one.special,
        })
    }
}

impl Effect {
    /// The parameter struct with every default. Never empty: without parameters it is `NoParameters`, four bytes.
    pub fn default_parameters(&self) -> Vec<u8> {
        if self.parameters.is_empty() {
            return vec![0; 4];
        }
        let encode = |parameter: &Parameter| {
            parameter
                .encode(parameter.default)
                .expect("front matter is range-checked")
        };
        self.parameters.iter().flat_map(encode).collect()
    }

    /// Reads one parameter of a parameter struct.
    pub fn get(&self, parameters: &[u8], name: &str) -> Result<f64, ParameterError> {
        let index = self.parameter_index(name)?;
        let bytes = parameters[offset(index)..offset(index + 1)]
            .try_into()
            .expect("the range is four bytes long");
        Ok(self.parameters[index].decode(bytes))
    }

    /// Writes one parameter of a parameter struct; a value out of range is an error and changes nothing.
    pub fn set(&self, parameters: &mut [u8], name: &str, value: f64) -> Result<(), ParameterError> {
        let index = self.parameter_index(name)?;
        parameters[offset(index)..offset(index + 1)].copy_from_slice(&self.parameters[index].encode(value)?);
        Ok(())
    }

    /// The passes that are kernels of its own: all but transforms.
    pub fn kernels(&self) -> impl Iterator<Item = &PassDescription> {
        self.passes.iter().filter(|pass| pass.transform.is_none())
    }

    /// The table that it reads, and how passes and settings name it.
    pub fn table(&self) -> Option<(&str, TableFormat)> {
        self.buffers
            .iter()
            .find_map(|buffer| Some((buffer.name.as_str(), buffer.table?)))
    }

    /// Something of it lasts from frame to frame.
    pub fn keeps(&self) -> bool {
        !self.kept_images.is_empty() || self.buffers.iter().any(|buffer| buffer.keeps)
    }

    /// The passes that do not run in every frame.
    pub fn once(&self) -> impl Iterator<Item = &PassDescription> {
        self.passes.iter().filter(|pass| pass.once)
    }

    /// A pass of it is a Fourier transform.
    pub fn transforms(&self) -> bool {
        self.passes.iter().any(|pass| pass.transform.is_some())
    }

    fn parameter_index(&self, name: &str) -> Result<usize, ParameterError> {
        self.parameters
            .iter()
            .position(|parameter| parameter.name == name)
            .ok_or_else(|| ParameterError::Unknown {
                effect: self.name.clone(),
                name: name.to_owned(),
                known: self.parameters.iter().map(|parameter| parameter.name.clone()).collect(),
            })
    }
}
