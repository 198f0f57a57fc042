//! What can go wrong beside OpenGL.

use crate::{cuda, interop};

/// An error of OpenGL's, or of what CUDA makes of its objects.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// There is no EGL, or none that works without a window.
    #[error("no OpenGL without a window: {0}")]
    Egl(String),
    /// No OpenGL device is the wanted GPU.
    #[error("no OpenGL device has the UUID {wanted}; there are:{found}")]
    NoMatch {
        /// As `nvidia-smi -L` prints it.
        wanted: String,
        /// A line for each device.
        found: String,
    },
    /// The context lacks an extension.
    #[error("the OpenGL context ({renderer}) has no {extension}")]
    NoExtension {
        /// `GL_RENDERER`.
        renderer: String,
        /// The extension.
        extension: &'static str,
    },
    /// libcuda has no OpenGL part.
    #[error("the CUDA driver library lacks {0}: it comes with the OpenGL part of NVIDIA's driver")]
    NoSymbol(&'static str),
    /// OpenGL refused a call, or its debug output counted errors.
    #[error("{what}: {message}")]
    Refused {
        /// What the call was for, with its arguments.
        what: String,
        /// OpenGL's name of the error, or the text of its debug output.
        message: String,
    },
    /// A size or a level that such an object cannot have.
    #[error("{what}: {reason}")]
    Range {
        /// The object asked for.
        what: String,
        /// What is wrong with it.
        reason: String,
    },
    /// A CUDA call failed.
    #[error(transparent)]
    Cuda(#[from] cuda::Error),
    /// Vulkan's half failed.
    #[error(transparent)]
    Interop(#[from] interop::Error),
}
