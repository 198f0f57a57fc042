//! A binary semaphore that both a Vulkan queue and a CUDA stream wait for and signal.
//!
//! Its rules are in its types. An [`Idle`] one can only be signalled, which makes it [`Armed`]; an armed one can only be
//! waited for, which makes it idle again. Signalling twice, waiting twice, or waiting first does not compile:
//!
//! ```compile_fail,E0599
//! # use handover::interop::{Armed, Idle, SharedBinarySemaphore};
//! fn twice(semaphore: SharedBinarySemaphore<Idle>) {
//!     let (_, armed) = semaphore.signal_by_vulkan();
//!     let (_, again) = armed.signal_by_vulkan();
//! }
//! ```
//!
//! ```compile_fail,E0599
//! # use handover::interop::{Armed, Idle, SharedBinarySemaphore};
//! fn wait_first(semaphore: SharedBinarySemaphore<Idle>) {
//!     let (_, idle) = semaphore.wait_by_vulkan();
//! }
//! ```
//!
//! ```
//! # use handover::interop::{Armed, Idle, SharedBinarySemaphore};
//! fn in_turn(semaphore: SharedBinarySemaphore<Idle>) -> SharedBinarySemaphore<Idle> {
//!     let (_signal, armed) = semaphore.signal_by_vulkan();
//!     let (_wait, idle) = armed.wait_by_vulkan();
//!     idle
//! }
//! ```

use std::marker::PhantomData;
use std::sync::Arc;

use ash::vk;
use cudarc::driver::{CudaContext, CudaStream};

use crate::cuda;
use crate::vulkan::{Device, ResultExt as _};

use super::external_semaphore::export_semaphore;
use super::handle::BinaryHandle;
use super::{Error, ImportedBinarySemaphore};

/// Nothing is signalled: only a signal can follow.
#[derive(Debug)]
pub enum Idle {}
/// A signal was submitted: only its wait can follow.
#[derive(Debug)]
pub enum Armed {}

/// A binary semaphore in both APIs, in one of its two states. (CUDA guide, 4.19.2.1.4, 4.19.2.1.8 and 4.19.2.1.9.)
///
/// Use a [`SharedTimeline`](super::SharedTimeline) where you can: the host can neither read a binary semaphore nor let go a side that
/// waits for one.
///
/// **Owner.** It owns both sides: CUDA's goes first. Each signal and wait consumes it and gives it back in the other state.
///
/// **Rules.** One wait a signal, submitted after it; the next signal when the GPU has done that wait. The first two are in the types,
/// the third is the caller's: one queue or stream on each side sees to it.
///
/// **Errors.** [`Error::NotExportable`], or a failed call, named with the semaphore.
///
/// ```no_run
/// use handover::interop::SharedBinarySemaphore;
/// use handover::proof::Pair;
/// use handover::vulkan::CommandPool;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let (device, context, queue) = (&pair.device, &pair.context, pair.device.scene_queue);
///     let to_cuda = SharedBinarySemaphore::new(device, context, "to_cuda")?;
///     let to_vulkan = SharedBinarySemaphore::new(device, context, "to_vulkan")?;
///     let (before, after) = (CommandPool::new(device, queue, "before")?, CommandPool::new(device, queue, "after")?);
///     for pool in [&before, &after] {
///         pool.begin()?;
///         pool.end()?;
///     }
///     let (signal, to_cuda) = to_cuda.signal_by_vulkan();
///     device.submit(queue, before.commands, &[], &[signal])?;
///     let _to_cuda = to_cuda.wait_by_cuda(&pair.stream)?; // Idle again, to be signalled for the next frame.
///     let to_vulkan = to_vulkan.signal_by_cuda(&pair.stream)?;
///     let (wait, _to_vulkan) = to_vulkan.wait_by_vulkan();
///     device.submit(queue, after.commands, &[wait], &[])?;
///     Ok(pair.finish()?)
/// }
/// ```
pub struct SharedBinarySemaphore<State> {
    both: Both,
    state: PhantomData<State>,
}

/// CUDA's side, then Vulkan's: in this order they go.
struct Both {
    imported: ImportedBinarySemaphore,
    vulkan: VulkanSemaphore,
}

struct VulkanSemaphore {
    raw: vk::Semaphore,
    name: String,
    device: Arc<Device>,
}

impl<State> SharedBinarySemaphore<State> {
    /// Exports it, for another process. Each call makes a new handle.
    ///
    /// # Errors
    /// The device does not export, or is out of descriptors.
    pub fn export(&self) -> Result<BinaryHandle, Error> {
        self.both.vulkan.export()
    }

    fn submit_info(&self) -> vk::SemaphoreSubmitInfo<'static> {
        vk::SemaphoreSubmitInfo::default()
            .semaphore(self.both.vulkan.raw)
            .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
    }

    fn into<Next>(self) -> SharedBinarySemaphore<Next> {
        SharedBinarySemaphore {
            both: self.both,
            state: PhantomData,
        }
    }
}

impl SharedBinarySemaphore<Idle> {
    /// Creates it, exports it and imports it into the CUDA context of the same GPU.
    ///
    /// # Errors
    /// The call that failed; nothing is left open.
    pub fn new(device: &Arc<Device>, context: &Arc<CudaContext>, name: &str) -> Result<Self, Error> {
        let vulkan = VulkanSemaphore::new(device, name)?;
        let imported = ImportedBinarySemaphore::new(context, vulkan.export()?, name)?;
        Ok(Self {
            both: Both { imported, vulkan },
            state: PhantomData,
        })
    }

    /// Vulkan signals it: the half of a submission that must now be submitted.
    pub fn signal_by_vulkan(self) -> (vk::SemaphoreSubmitInfo<'static>, SharedBinarySemaphore<Armed>) {
        (self.submit_info(), self.into())
    }

    /// Makes the stream signal it.
    ///
    /// # Errors
    /// The driver refused.
    pub fn signal_by_cuda(self, stream: &CudaStream) -> Result<SharedBinarySemaphore<Armed>, cuda::Error> {
        self.both.imported.signal(stream)?;
        Ok(self.into())
    }
}

#[cfg(feature = "gl")]
impl SharedBinarySemaphore<Idle> {
    /// A third API was made to signal it.
    pub(super) fn signalled_elsewhere(self) -> SharedBinarySemaphore<Armed> {
        self.into()
    }
}

#[cfg(feature = "gl")]
impl SharedBinarySemaphore<Armed> {
    /// A third API was made to wait for it.
    pub(super) fn waited_for_elsewhere(self) -> SharedBinarySemaphore<Idle> {
        self.into()
    }
}

impl SharedBinarySemaphore<Armed> {
    /// Vulkan waits for it: the half of a submission that must now be submitted.
    pub fn wait_by_vulkan(self) -> (vk::SemaphoreSubmitInfo<'static>, SharedBinarySemaphore<Idle>) {
        (self.submit_info(), self.into())
    }

    /// Makes the stream wait for it.
    ///
    /// # Errors
    /// The driver refused.
    pub fn wait_by_cuda(self, stream: &CudaStream) -> Result<SharedBinarySemaphore<Idle>, cuda::Error> {
        self.both.imported.wait(stream)?;
        Ok(self.into())
    }
}

impl VulkanSemaphore {
    fn new(device: &Arc<Device>, name: &str) -> Result<Self, crate::vulkan::Error> {
        let mut export =
            vk::ExportSemaphoreCreateInfo::default().handle_types(vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD);
        let create_info = vk::SemaphoreCreateInfo::default().push_next(&mut export);
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_semaphore(&create_info, None) }
            .during(|| format!("create the binary semaphore `{name}`"))?;
        device.name(raw, name);
        Ok(Self {
            raw,
            name: name.into(),
            device: Arc::clone(device),
        })
    }

    fn export(&self) -> Result<BinaryHandle, Error> {
        Ok(BinaryHandle(export_semaphore(&self.device, self.raw, &self.name)?))
    }
}

impl Drop for VulkanSemaphore {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.destroy_semaphore(self.raw, None) };
    }
}
