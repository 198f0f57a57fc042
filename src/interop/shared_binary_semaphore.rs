//! A binary semaphore that both a Vulkan queue and a CUDA stream wait for and signal.
//!
//! Its rules are in its types. An [`Idle`] one can only be signalled, which makes it [`Armed`]; an armed one can only be
//! waited for, which makes it idle again. Signalling twice, waiting twice, or waiting first does not compile:
//!
//! ```compile_fail
//! # use handover::interop::{Armed, Idle, SharedBinarySemaphore};
//! fn twice(semaphore: SharedBinarySemaphore<Idle>) {
//!     let (_, armed) = semaphore.signal_by_vulkan();
//!     let (_, again) = armed.signal_by_vulkan();
//! }
//! ```
//!
//! ```compile_fail
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
use cudarc::driver::{CudaContext, CudaStream, sys};

use crate::cuda::{self, ResultExt as _};
use crate::vulkan::{Device, ResultExt as _};

use super::Error;
use super::external_semaphore::{ExternalSemaphore, export_semaphore};
use super::handle::BinaryHandle;

/// Nothing is signalled: only a signal can follow.
#[derive(Debug)]
pub enum Idle {}
/// A signal was submitted: only its wait can follow.
#[derive(Debug)]
pub enum Armed {}

/// A binary semaphore in one of its two states.
pub struct SharedBinarySemaphore<State> {
    both: Both,
    state: PhantomData<State>,
}

/// CUDA's side, then Vulkan's: in this order they go.
struct Both {
    imported: ExternalSemaphore,
    vulkan: VulkanSemaphore,
}

struct VulkanSemaphore {
    raw: vk::Semaphore,
    name: String,
    device: Arc<Device>,
}

impl<State> SharedBinarySemaphore<State> {
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
        use sys::CUexternalSemaphoreHandleType::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD as KIND;
        let vulkan = VulkanSemaphore::new(device, name)?;
        let BinaryHandle(fd) = BinaryHandle(export_semaphore(device, vulkan.raw, name)?);
        let imported = ExternalSemaphore::import(context, fd, KIND, &format!("the binary semaphore `{name}`"))?;
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
        let result = self.both.imported.signal(stream, 0);
        result.during(|| format!("make CUDA signal the binary semaphore `{}`", self.both.vulkan.name))?;
        Ok(self.into())
    }
}

#[cfg(feature = "gl")]
impl SharedBinarySemaphore<Idle> {
    /// Exports it once more, for a third API.
    pub(super) fn export(&self) -> Result<BinaryHandle, Error> {
        let VulkanSemaphore { raw, name, device } = &self.both.vulkan;
        Ok(BinaryHandle(export_semaphore(device, *raw, name)?))
    }

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
        let result = self.both.imported.wait(stream, 0);
        result.during(|| format!("make CUDA wait for the binary semaphore `{}`", self.both.vulkan.name))?;
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
}

impl Drop for VulkanSemaphore {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.destroy_semaphore(self.raw, None) };
    }
}
