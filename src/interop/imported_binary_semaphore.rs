//! CUDA's side of a binary semaphore of Vulkan's.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use crate::cuda::{Error, ResultExt};

use super::external_semaphore::ExternalSemaphore;
use super::handle::BinaryHandle;

/// CUDA's side of a binary semaphore: a stream waits for it and signals it. (CUDA guide, 4.19.2.1.4.)
///
/// [`SharedBinarySemaphore`](super::SharedBinarySemaphore) has one, and keeps its rules by types. By itself it is for a process that
/// CUDA runs in and Vulkan does not; there the two programs keep the rules: one wait a signal, enqueued after it.
///
/// **Owner.** It owns the imported semaphore, and took the descriptor. Drop it when the stream has done its last use.
///
/// **Errors.** The driver refused; a handle is closed.
///
/// ```no_run
/// use handover::interop::{ImportedBinarySemaphore, SharedBinarySemaphore};
/// use handover::proof::Pair;
/// use handover::vulkan::CommandPool;
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let (device, queue) = (&pair.device, pair.device.scene_queue);
///     let semaphore = SharedBinarySemaphore::new(device, &pair.context, "drawn")?;
///     let elsewhere = ImportedBinarySemaphore::new(&pair.context, semaphore.export()?, "drawn")?;
///     let pool = CommandPool::new(device, queue, "draw")?;
///     pool.begin()?;
///     pool.end()?;
///     let (signal, _armed) = semaphore.signal_by_vulkan();
///     device.submit(queue, pool.commands, &[], &[signal])?;
///     elsewhere.wait(&pair.stream)?;
///     Ok(pair.finish()?)
/// }
/// ```
pub struct ImportedBinarySemaphore {
    imported: ExternalSemaphore,
    name: String,
}

impl ImportedBinarySemaphore {
    /// Imports an exported binary semaphore, in this process or in another than Vulkan's.
    ///
    /// # Errors
    /// The driver refused; the handle is closed.
    pub fn new(context: &Arc<CudaContext>, handle: BinaryHandle, name: &str) -> Result<Self, Error> {
        use sys::CUexternalSemaphoreHandleType::CU_EXTERNAL_SEMAPHORE_HANDLE_TYPE_OPAQUE_FD as KIND;
        let what = format!("the binary semaphore `{name}`");
        Ok(Self {
            imported: ExternalSemaphore::import(context, handle.0, KIND, &what)?,
            name: name.into(),
        })
    }

    /// Makes the stream wait for it, which unsignals it. Its signal must have been submitted before.
    ///
    /// # Errors
    /// The driver refused.
    pub fn wait(&self, stream: &CudaStream) -> Result<(), Error> {
        let result = self.imported.wait(stream, 0);
        result.during(|| format!("make CUDA wait for the binary semaphore `{}`", self.name))
    }

    /// Makes the stream signal it when it has done all that was enqueued before.
    ///
    /// # Errors
    /// The driver refused.
    pub fn signal(&self, stream: &CudaStream) -> Result<(), Error> {
        let result = self.imported.signal(stream, 0);
        result.during(|| format!("make CUDA signal the binary semaphore `{}`", self.name))
    }
}
