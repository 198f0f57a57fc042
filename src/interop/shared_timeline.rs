//! A timeline semaphore that both a Vulkan queue and a CUDA stream wait for and signal.

use std::sync::Arc;

use cudarc::driver::{CudaContext, CudaStream, sys};

use crate::cuda::{self, Graph, GraphNode, ResultExt as _};
use crate::vulkan::{Device, Timeline};

use super::Error;
use super::external_semaphore::{ExternalSemaphore, export_semaphore};
use super::handle::TimelineHandle;

/// CUDA's side of an exported [`Timeline`]: a stream waits for its values and signals them. (CUDA guide, 4.19.2.1.4, 4.19.2.1.8 and
/// 4.19.2.1.9.)
///
/// **Owner.** It owns the imported semaphore, and took the descriptor; the [`Timeline`] is the caller's, and goes after it.
///
/// **Units and ranges.** A value is a `u64` that only grows, from 0: whoever signals, signals more than all before. So one timeline has
/// one producer, and each direction a timeline of its own. Waits may be enqueued before their signals.
///
/// **Errors.** [`Error::NotExportable`], a timeline not created as exported, or a failed call, named with timeline and value.
/// A wait whose signal never comes blocks the stream: [`Timeline::signal`] on the host lets it go.
///
/// ```no_run
/// use std::time::Duration;
/// use handover::interop::SharedTimeline;
/// use handover::proof::Pair;
/// use handover::vulkan::{CommandPool, Timeline, TimelineWait};
///
/// fn main() -> Result<(), Box<dyn std::error::Error>> {
///     let pair = Pair::open()??;
///     let (device, queue) = (&pair.device, pair.device.scene_queue);
///     let (to_cuda, to_vulkan) = (Timeline::new(device, "to_cuda", true)?, Timeline::new(device, "to_vulkan", true)?);
///     let cuda_waits = SharedTimeline::import(device, &pair.context, &to_cuda)?;
///     let cuda_signals = SharedTimeline::import(device, &pair.context, &to_vulkan)?;
///     let drawn = Timeline::new(device, "drawn", false)?; // For the host alone: the validation layer knows its signals.
///     let pool = CommandPool::new(device, queue, "frame")?;
///     for frame in 1..=100 {
///         pool.begin()?; // Vulkan's part of the frame is recorded here …
///         pool.end()?;
///         device.submit(queue, pool.commands, &[], &[to_cuda.at(frame), drawn.at(frame)])?;
///         cuda_waits.wait(&pair.stream, frame)?; // … and CUDA's enqueued between these two.
///         cuda_signals.signal(&pair.stream, frame)?;
///         let ended = Timeline::wait_all(&[&to_vulkan, &drawn], frame, Duration::from_secs(1))?;
///         assert_eq!(ended, TimelineWait::Reached, "frame {frame}");
///     }
///     Ok(pair.finish()?)
/// }
/// ```
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

    /// Makes a wait that was recorded into a graph, of this timeline, wait for `value` from the graph's next launch on.
    ///
    /// # Errors
    /// The driver refused: the node is no wait.
    pub fn set_wait(&self, graph: &Graph, node: GraphNode, value: u64) -> Result<(), cuda::Error> {
        self.imported
            .set_wait(graph, node, value)
            .during(|| format!("make a graph wait for the timeline `{}` to reach {value}", self.name))
    }

    /// Makes a signal that was recorded into a graph, of this timeline, signal `value` from the graph's next launch on.
    ///
    /// # Errors
    /// The driver refused: the node is no signal.
    pub fn set_signal(&self, graph: &Graph, node: GraphNode, value: u64) -> Result<(), cuda::Error> {
        self.imported
            .set_signal(graph, node, value)
            .during(|| format!("make a graph signal the timeline `{}` to {value}", self.name))
    }
}
