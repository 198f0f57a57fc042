//! Semaphores of Vulkan's, imported into CUDA, of either kind.

use std::mem::MaybeUninit;
use std::os::fd::{FromRawFd, OwnedFd};
use std::sync::Arc;

use ash::vk;
use cudarc::driver::{CudaContext, CudaStream, sys};

use crate::cuda::{self, Graph, GraphNode, ResultExt as _};
use crate::vulkan::{Device, ResultExt as _};

use super::Error;
use super::handle::Offered;

/// `CUexternalSemaphore`.
pub(super) struct ExternalSemaphore {
    raw: sys::CUexternalSemaphore,
    context: Arc<CudaContext>,
}

impl ExternalSemaphore {
    pub fn import(
        context: &Arc<CudaContext>,
        fd: OwnedFd,
        kind: sys::CUexternalSemaphoreHandleType,
        name: &str,
    ) -> Result<Self, cuda::Error> {
        let what = || format!("import {name} into CUDA");
        context.bind_to_thread().during(what)?;
        let fd = Offered::new(fd);
        let mut description = MaybeUninit::<sys::CUDA_EXTERNAL_SEMAPHORE_HANDLE_DESC>::zeroed();
        // The enum `type_` has no 0, so it is written in place before the whole counts as initialized.
        // SAFETY: the pointer is valid for writes; all-zero is a valid value for what is not written here.
        let description = unsafe {
            (&raw mut (*description.as_mut_ptr()).type_).write(kind);
            (&raw mut (*description.as_mut_ptr()).handle.fd).write(fd.raw());
            description.assume_init()
        };
        let mut raw = std::ptr::null_mut();
        // SAFETY: C3, C4.
        unsafe { sys::cuImportExternalSemaphore(&raw mut raw, &raw const description) }.during(what)?;
        fd.taken();
        Ok(Self {
            raw,
            context: Arc::clone(context),
        })
    }

    /// Enqueues a wait; `value` is a timeline's, and of no meaning for a binary semaphore.
    pub fn wait(&self, stream: &CudaStream, value: u64) -> sys::CUresult {
        let parameters = wait_for(value);
        // SAFETY: C3, C4.
        unsafe { sys::cuWaitExternalSemaphoresAsync(&raw const self.raw, &raw const parameters, 1, stream.cu_stream()) }
    }

    /// Enqueues a signal; `value` as for [`ExternalSemaphore::wait`].
    pub fn signal(&self, stream: &CudaStream, value: u64) -> sys::CUresult {
        let parameters = signal_of(value);
        // SAFETY: C3, C4.
        unsafe {
            sys::cuSignalExternalSemaphoresAsync(&raw const self.raw, &raw const parameters, 1, stream.cu_stream())
        }
    }

    /// Makes a wait that was recorded into the graph wait for `value` from the next launch on.
    pub fn set_wait(&self, graph: &Graph, node: GraphNode, value: u64) -> sys::CUresult {
        let (mut semaphore, parameters) = (self.raw, wait_for(value));
        let parameters = sys::CUDA_EXT_SEM_WAIT_NODE_PARAMS {
            extSemArray: &raw mut semaphore,
            paramsArray: &raw const parameters,
            numExtSems: 1,
        };
        // SAFETY: C3, C4; a node of another kind is refused.
        unsafe { sys::cuGraphExecExternalSemaphoresWaitNodeSetParams(graph.raw(), node.raw(), &raw const parameters) }
    }

    /// Makes a signal that was recorded into the graph signal `value` from the next launch on.
    pub fn set_signal(&self, graph: &Graph, node: GraphNode, value: u64) -> sys::CUresult {
        let (mut semaphore, parameters) = (self.raw, signal_of(value));
        let parameters = sys::CUDA_EXT_SEM_SIGNAL_NODE_PARAMS {
            extSemArray: &raw mut semaphore,
            paramsArray: &raw const parameters,
            numExtSems: 1,
        };
        // SAFETY: C3, C4; a node of another kind is refused.
        unsafe { sys::cuGraphExecExternalSemaphoresSignalNodeSetParams(graph.raw(), node.raw(), &raw const parameters) }
    }
}

fn wait_for(value: u64) -> sys::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS {
    // SAFETY: plain integers, for which all-zero is valid.
    let mut parameters: sys::CUDA_EXTERNAL_SEMAPHORE_WAIT_PARAMS = unsafe { std::mem::zeroed() };
    parameters.params.fence.value = value;
    parameters
}

fn signal_of(value: u64) -> sys::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS {
    // SAFETY: plain integers, for which all-zero is valid.
    let mut parameters: sys::CUDA_EXTERNAL_SEMAPHORE_SIGNAL_PARAMS = unsafe { std::mem::zeroed() };
    parameters.params.fence.value = value;
    parameters
}

impl Drop for ExternalSemaphore {
    fn drop(&mut self) {
        if self.context.bind_to_thread().is_ok() {
            // SAFETY: C1, C2.
            let _ = unsafe { sys::cuDestroyExternalSemaphore(self.raw) };
        }
    }
}

/// Exports the payload of a semaphore that was created for it.
pub(super) fn export_semaphore(device: &Device, semaphore: vk::Semaphore, name: &str) -> Result<OwnedFd, Error> {
    let Some(functions) = &device.external_semaphore_fd else {
        let device = device.physical.name.clone();
        return Err(Error::NotExportable {
            device,
            extension: "VK_KHR_external_semaphore_fd",
        });
    };
    let info = vk::SemaphoreGetFdInfoKHR::default()
        .semaphore(semaphore)
        .handle_type(vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD);
    // SAFETY: the semaphore was created with this handle type; V3.
    let fd = unsafe { functions.get_semaphore_fd(&info) }.during(|| format!("export the semaphore `{name}`"))?;
    // SAFETY: Vulkan gives a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}
