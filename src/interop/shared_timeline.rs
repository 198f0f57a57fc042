//! A timeline semaphore that both a Vulkan queue and a CUDA stream wait for and signal.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use crate::cuda::{self, ResultExt as _};
use crate::vulkan::{Device, Timeline};

use super::Error;
use super::external_semaphore::{ExternalSemaphore, export_semaphore};
use super::handle::TimelineHandle;

/// CUDA's side of an exported [`Timeline`].
pub struct SharedTimeline {
    imported: ExternalSemaphore,
    name: &'static str,
}

impl SharedTimeline {
    /// Imports `timeline`, which must have been created as exported, into the CUDA context of the same GPU.
    ///
    /// # Errors
    /// The call that failed; nothing is left open.
    pub fn import(device: &Device, context: &Arc<CudaContext>, timeline: &Timeline) -> Result<Self, Error> {
        Ok(Self::from_handle(
            context,
            Self::export(device, timeline)?,
            timeline.name(),
        )?)
    }

    /// Exports a timeline that was created as exported. Each call makes a new handle.
    ///
    /// # Errors
    /// The device does not export, or is out of descriptors.
    pub fn export(device: &Device, timeline: &Timeline) -> Result<TimelineHandle, Error> {
        Ok(TimelineHandle(export_semaphore(device, timeline.raw, timeline.name())?))
    }

    /// Imports an exported timeline, in this process or in another than Vulkan's.
    ///
    /// # Errors
    /// The driver refused; the handle is closed.
    pub fn from_handle(
        context: &Arc<CudaContext>,
        handle: TimelineHandle,
        name: &'static str,
    ) -> Result<Self, cuda::Error> {
        use sys::CUexternalSemaphoreHandleType::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD as KIND;
        let imported = ExternalSemaphore::import(context, handle.0, KIND, &format!("the timeline `{name}`"))?;
        Ok(Self { imported, name })
    }

    /// Makes the stream wait until the timeline reaches `value`.
    ///
    /// # Errors
    /// The driver refused.
    pub fn wait(&self, stream: &CudaStream, value: u64) -> Result<(), cuda::Error> {
        self.imported
            .wait(stream, value)
            .during(|| format!("make CUDA wait for the timeline `{}` to reach {value}", self.name))
    }

    /// Makes the stream signal `value` when it has done all that was enqueued before.
    ///
    /// # Errors
    /// The driver refused.
    pub fn signal(&self, stream: &CudaStream, value: u64) -> Result<(), cuda::Error> {
        self.imported
            .signal(stream, value)
            .during(|| format!("make CUDA signal the timeline `{}` to {value}", self.name))
    }
}
