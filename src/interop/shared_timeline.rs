//! A timeline semaphore that both a Vulkan queue and a CUDA stream wait for and signal.

use std::mem::MaybeUninit;
use std::os::fd::{AsRawFd, FromRawFd, IntoRawFd, OwnedFd};
use std::sync::Arc;

use ash::vk;
use cudarc::driver::{CudaContext, CudaStream, sys};

use crate::cuda::{self, ResultExt as _};
use crate::vulkan::{Device, ResultExt as _, Timeline};

use super::Error;

/// CUDA's side of an exported [`Timeline`].
pub struct SharedTimeline {
    raw: sys::CUexternalSemaphore,
    name: &'static str,
    context: Arc<CudaContext>,
}

impl SharedTimeline {
    /// Imports `timeline`, which must have been created as exported, into the CUDA context of the same GPU.
    ///
    /// # Errors
    /// The call that failed; nothing is left open.
    pub fn import(device: &Device, context: &Arc<CudaContext>, timeline: &Timeline) -> Result<Self, Error> {
        use sys::CUexternalSemaphoreHandleType::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_TIMELINE_SEMAPHORE_FD as TIMELINE_FD;
        let name = timeline.name();
        let fd = export(device, timeline)?;
        let what = || format!("import the timeline `{name}` into CUDA");
        context.bind_to_thread().during(what)?;
        let mut description = MaybeUninit::<sys::CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC>::zeroed();
        // The enum `type_` has no 0, so it is written in place before the whole counts as initialized.
        // SAFETY: the pointer is valid for writes; all-zero is a valid value for what is not written here.
        let description = unsafe {
            (&raw mut (*description.as_mut_ptr()).type_).write(TIMELINE_FD);
            (&raw mut (*description.as_mut_ptr()).handle.fd).write(fd.as_raw_fd());
            description.assume_init()
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4.
        unsafe { sys::cuImportExternalSemaphore(&raw mut raw, &raw const description) }.during(what)?;
        // The import succeeded: the descriptor is CUDA's now.
        let _ = fd.into_raw_fd();
        Ok(Self {
            raw,
            name,
            context: Arc::clone(context),
        })
    }

    /// Makes the stream wait until the timeline reaches `value`.
    ///
    /// # Errors
    /// The driver refused.
    pub fn wait(&self, stream: &CudaStream, value: u64) -> Result<(), cuda::Error> {
        // SAFETY: C3: plain integers, for which all-zero is valid.
        let mut parameters: sys::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS = unsafe { std::mem::zeroed() };
        parameters.params.fence.value = value;
        // SAFETY: C3, C4.
        unsafe { sys::cuWaitExternalSemaphoresAsync(&raw const self.raw, &raw const parameters, 1, stream.cu_stream()) }
            .during(|| format!("make CUDA wait for the timeline `{}` to reach {value}", self.name))
    }

    /// Makes the stream signal `value` when it has done all that was enqueued before.
    ///
    /// # Errors
    /// The driver refused.
    pub fn signal(&self, stream: &CudaStream, value: u64) -> Result<(), cuda::Error> {
        // SAFETY: C3: plain integers, for which all-zero is valid.
        let mut parameters: sys::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS = unsafe { std::mem::zeroed() };
        parameters.params.fence.value = value;
        // SAFETY: C3, C4.
        unsafe {
            sys::cuSignalExternalSemaphoresAsync(&raw const self.raw, &raw const parameters, 1, stream.cu_stream())
        }
        .during(|| format!("make CUDA signal the timeline `{}` to {value}", self.name))
    }
}

impl Drop for SharedTimeline {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2.
            let _ = unsafe { sys::cuDestroyExternalSemaphore(self.raw) };
        }
    }
}

fn export(device: &Device, timeline: &Timeline) -> Result<OwnedFd, Error> {
    let Some(functions) = &device.external_semaphore_fd else {
        let device = device.physical.name.clone();
        return Err(Error::NotExportable {
            device,
            extension: "VK_KHR_external_semaphore_fd",
        });
    };
    let info = vk::SemaphoreGetFdInfoKHR::default()
        .semaphore(timeline.raw)
        .handle_type(vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD);
    // SAFETY: the semaphore was created with this handle type; V3.
    let fd =
        unsafe { functions.get_semaphore_fd(&info) }.during(|| format!("export the timeline `{}`", timeline.name()))?;
    // SAFETY: Vulkan gives a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
