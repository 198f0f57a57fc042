//! What can end a run of frames.

use std::time::Duration;

use crate::frame::FrameNumber;
use crate::kernels::Guide;
use crate::{present, process, vulkan};

/// An error of the frame loop.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A Vulkan call failed.
    #[error(transparent)]
    Vulkan(#[from] vulkan::Error),
    /// The chain failed.
    #[error(transparent)]
    Process(#[from] process::Error),
    /// Presenting failed.
    #[error(transparent)]
    Present(#[from] present::Error),
    /// The chain reads a guide that the scene does not write: its plan was made for what [`Renderer::given`](super::Renderer::given)
    /// said of another scene.
    #[error("the chain reads the guide {guide:?}, which the scene {scene} does not write")]
    MissingGuide {
        /// The guide.
        guide: Guide,
        /// The scene's name.
        scene: &'static str,
    },
    /// An earlier frame failed, so the ones after it are not waited for.
    #[error("an earlier frame failed: there are no more frames")]
    Broken,
    /// There is no picture to read.
    #[error("nothing has been shown yet: there is no picture to write")]
    NothingShown,
    /// A frame did not come within the limit.
    #[error(
        "frame {frame} is overdue: after {limit:?} the timeline `{timeline}` stands at {reached} and {frame} was expected \
         ({standing})\n  {blame}"
    )]
    Overdue {
        /// The frame waited for.
        frame: FrameNumber,
        /// How long it was waited for.
        limit: Duration,
        /// The first timeline of the frame that did not reach it.
        timeline: &'static str,
        /// Where it stands.
        reached: u64,
        /// Where all three stand.
        standing: String,
        /// Who should have signalled it.
        blame: String,
    },
}

impl Error {
    /// Memory ran out: fewer frames in flight or smaller ones would do.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Vulkan(error) => error.is_out_of_memory(),
            Self::Process(error) => error.is_out_of_memory(),
            Self::Present(present::Error::Vulkan(error)) => error.is_out_of_memory(),
            _ => false,
        }
    }
}
