//! What can go wrong in the hand-over.

use ash::vk;

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
    /// CUDA has no format like it.
    #[error("{format:?} cannot be shared with CUDA: {advice}")]
    NoTwin {
        /// Vulkan's format.
        format: vk::Format,
        /// What to do instead.
        advice: String,
    },
    /// A part of an allocation that does not lie in it, or not where it may.
    #[error("a buffer of {size} bytes at offset {offset} of an allocation of {allocation} bytes: {reason}")]
    Range {
        /// Bytes from the allocation's start.
        offset: u64,
        /// Bytes of the part.
        size: u64,
        /// Bytes of the allocation.
        allocation: u64,
        /// What is wrong with it.
        reason: String,
    },
    /// No Vulkan device is the chosen or any visible CUDA device.
    #[error("{0}")]
    NoMatch(String),
}

impl Error {
    /// Memory ran out.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Vulkan(error) => error.is_out_of_memory(),
            Self::Cuda(error) => error.is_out_of_memory(),
            _ => false,
        }
    }
}
