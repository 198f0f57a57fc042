//! The kernel library: what effects there are, the chain a user makes of them, the launches it takes, and each effect
//! on the CPU.
//!
//! Nothing here knows a GPU: [`Plan`] says what to launch on which image, [`Pass`] is what a launch is given.

mod catalogue;
mod chain;
mod compare;
mod cube;
mod effect;
mod front_matter;
mod fusion;
mod grid;
mod images;
mod memory;
pub(crate) mod nearest;
mod parameter;
mod pass;
mod plan;
mod preset;
pub mod reference;
mod screen;
mod table;
mod test_chains;
mod test_guides;
mod tolerance;

pub use catalogue::{Catalogue, CatalogueError, UnknownEffect, catalogue};
pub use chain::{Chain, SettingError};
pub use compare::{Comparison, Mismatch, compare};
pub use effect::{
    Arithmetic, Binary, BufferDescription, BufferSize, Effect, EffectId, Guide, ImageShape, PassBuffer,
    PassDescription, PassImage, Stage, TexelFormat,
};
pub use front_matter::{FrontMatterError, parse};
pub use fusion::{FusedSource, Member};
pub use grid::{Grid, GridKind, Transform, padded};
pub use images::{BrokenPixels, random_image};
pub use memory::{ChainMemory, Memory};
pub use parameter::{Parameter, ParameterError, ParameterType};
pub use pass::{Buffer, Image, Pass};
pub use plan::{
    BufferId, Domain, FrameExtents, FusedKernels, Given, ImageId, KeptId, Launch, MadeId, OwnBuffer, OwnImage, Plan,
    State,
};
pub use preset::{Preset, PresetError};
pub use screen::{ScreenKernel, SrgbTable};
pub use table::{Table, TableError, TableFormat};
pub use test_chains::{SMOOTH_CHAINS, TEST_CHAINS, TestSetting};
pub use test_guides::TestGuides;
pub use tolerance::Tolerance;

/// One embedded kernel file.
struct Source {
    /// The file's stem, the effect's name.
    name: &'static str,
    /// CUDA C++ with its front matter.
    code: &'static str,
    /// PTX of that code, compiled ahead.
    ptx: &'static str,
}

/// One embedded kernel of several effects.
struct Fused {
    /// CUDA C++ that includes the effects'.
    code: &'static str,
    /// PTX of that code, compiled ahead.
    ptx: &'static str,
}

include!(concat!(env!("OUT_DIR"), "/kernels.rs"));

/// The options every kernel is compiled with, apart from the architecture.
///
/// A run-time compiler adds `--gpu-architecture=sm_XY` of its device.
pub fn compile_options() -> impl Iterator<Item = &'static str> {
    OPTIONS
        .split_whitespace()
        .filter(|option| !option.starts_with("--gpu-architecture"))
}
