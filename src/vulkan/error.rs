//! What can go wrong with Vulkan: each error names the call, what it was for, and what to do where we know it.

use ash::vk;

/// An error of the Vulkan side.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// libvulkan is not installed.
    #[error(
        "no Vulkan loader: {reason}\n  install libvulkan1 (Debian, Ubuntu), vulkan-loader (Fedora) or the Vulkan SDK"
    )]
    NoLoader {
        /// What the dynamic linker said.
        reason: String,
    },
    /// The loader is there, but it knows no driver.
    #[error(
        "the Vulkan loader found no driver ({result})\n  install the GPU's Vulkan driver, or the software one \
         (mesa-vulkan-drivers); in a container, add the capability `graphics` (NVIDIA_DRIVER_CAPABILITIES) so that the \
         driver's ICD file is mounted"
    )]
    NoDriver {
        /// What `vkCreateInstance` or `vkEnumeratePhysicalDevices` returned.
        result: vk::Result,
    },
    /// The layer was asked for and is not installed.
    #[error(
        "--validate needs the layer VK_LAYER_KHRONOS_validation, which the loader does not find\n  install \
         vulkan-validationlayers, or set VK_LAYER_PATH to the folder of its JSON file"
    )]
    NoValidationLayer,
    /// The chosen device lacks something that is used.
    #[error("{device} lacks what Handover uses:\n  {}", .missing.join("\n  "))]
    Missing {
        /// The device's name.
        device: String,
        /// All that is missing, a phrase each.
        missing: Vec<String>,
    },
    /// The window has no handle that a surface could be made of.
    #[error("the window system gives no handle of its window: {reason}")]
    NoWindowHandle {
        /// What it said.
        reason: String,
    },
    /// The validation layer has something to say.
    #[error("the validation layer counted {errors} errors; the first: {first}")]
    Validation {
        /// How many.
        errors: u64,
        /// The layer's text of the first.
        first: String,
    },
    /// A call failed.
    #[error("{what}: {result}{}", hint(*.result))]
    Call {
        /// What the call was for, with its arguments.
        what: String,
        /// What it returned.
        result: vk::Result,
    },
    /// Memory of gpu-allocator could not be had.
    #[error("{what}: {source}")]
    Allocation {
        /// What the memory was for.
        what: String,
        /// gpu-allocator's error.
        #[source]
        source: gpu_allocator::AllocationError,
    },
}

impl Error {
    /// Memory ran out, the device's or the host's.
    pub fn is_out_of_memory(&self) -> bool {
        match self {
            Self::Call { result, .. } => matches!(
                *result,
                vk::Result::ERROR_OUT_OF_DEVICE_MEMORY | vk::Result::ERROR_OUT_OF_HOST_MEMORY
            ),
            Self::Allocation { source, .. } => matches!(source, gpu_allocator::AllocationError::OutOfMemory),
            _ => false,
        }
    }
}

fn hint(result: vk::Result) -> &'static str {
    match result {
        vk::Result::ERROR_DEVICE_LOST => {
            "\n  the GPU stopped: a kernel fault or a time-out; the kernel log has the driver's reason (NVRM: Xid)"
        }
        vk::Result::ERROR_OUT_OF_DEVICE_MEMORY => "\n  choose a smaller --size or fewer --frames-in-flight",
        _ => "",
    }
}

/// Turns a bare `VkResult` into an [`Error`] that says what the call was for.
pub trait ResultExt<T> {
    /// Names the call; `what` is evaluated only on failure.
    fn during<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T, Error>;
}

impl<T> ResultExt<T> for Result<T, vk::Result> {
    fn during<S: Into<String>>(self, what: impl FnOnce() -> S) -> Result<T, Error> {
        self.map_err(|result| Error::Call {
            what: what().into(),
            result,
        })
    }
}
