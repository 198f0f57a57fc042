//! What can go wrong in the hand-over.

use crate::{cuda, vulkan};

/// An error of sharing.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A Vulkan call failed.
    #[error(transparent)]
    Vulkan(#[from] vulkan::Error),
    /// A CUDA call failed.
    #[error(transparent)]
    Cuda(#[from] cuda::Error),
    /// The device was made without the extensions that export.
    #[error("the Vulkan device {device} was created without {extension}, which exporting needs")]
    NotExportable {
        /// The device.
        device: String,
        /// The extension.
        extension: &'static str,
    },
    /// The driver says that such an image cannot be shared or mapped.
    #[error("{device} cannot make {image}: {reason}")]
    Unsupported {
        /// The device.
        device: String,
        /// The image asked for.
        image: String,
        /// What is missing.
        reason: String,
    },
    /// No Vulkan device is the chosen or any visible CUDA device.
    #[error("{0}")]
    NoMatch(String),
}
