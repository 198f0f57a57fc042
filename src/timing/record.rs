//! Everything that was measured about one frame.

use std::time::Duration;

use super::spans::{FrameSpans, HostWork};

/// What one frame cost. All `_ms` fields are milliseconds.
///
/// `None` says that this machine (or this run) cannot measure the value, or that the thing did not happen in this
/// frame. It is written as `NA` and is never replaced by 0, because 0 is a measurement.
///
/// The host's spans are slot wait, acquire, record, submit and present, in this order; where there is one queue only, the
/// next frame's scene comes between. The GPU's follow one another without a gap, where all are measured: scene, hand-over,
/// chain, hand-over, present pass.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrameRecord {
    /// The frame's number: starts at 1 and only grows for the life of the process.
    pub frame: u64,
    /// When the host began this frame, before it waited for anything; since the renderer was made.
    pub start: Duration,
    /// From [`start`](Self::start) to the frame's present call, milliseconds.
    pub until_present_ms: f64,
    /// From the previous frame's present call to this frame's, start to start. `None` for the first frame.
    ///
    /// A presenter without a window has no present call: there it is the moment the finished frame was handed to it.
    pub between_presents_ms: Option<f64>,

    /// Host: waiting until the slot's *previous* frame had retired (under the serial schedule, and with one frame in flight copied back or in-queue: the frame itself). It is
    /// the only wait of the host for the GPU.
    pub slot_wait_ms: Option<f64>,
    /// Which frame [`slot_wait_ms`](Self::slot_wait_ms) waited for. `None` while the slot was never used before.
    ///
    /// Under the pipelined schedule it is smaller than [`frame`](Self::frame) in every record: the host never waits for
    /// the current frame. Under the serial one, and with one frame in flight copied back or in-queue, it is the frame itself.
    pub waited_for_frame: Option<u64>,
    /// Host: acquiring the presentable image. `None` where the presenter has none to acquire.
    pub acquire_ms: Option<f64>,
    /// Host: recording command buffers.
    pub record_ms: Option<f64>,
    /// Host: submitting the scene, enqueueing the kernel chain and submitting the present pass.
    pub submit_ms: Option<f64>,
    /// Host: inside the present call. `None` where the presenter has no such call.
    pub present_ms: Option<f64>,

    /// From [`start`](Self::start) to the first GPU stamp of the scene. Needs host and GPU on one clock.
    pub gpu_latency_ms: Option<f64>,
    /// GPU: the scene, first stamp to last.
    pub scene_ms: Option<f64>,
    /// From the scene's end on the Vulkan queue to the kernel chain's first stamp.
    pub handover_to_cuda_ms: Option<f64>,
    /// Each effect's own time within the chain, at the effect's index in the catalogue. `None` where it did not run.
    pub kernels_ms: Vec<Option<f64>>,
    /// The fewest bytes that each effect's kernels must move, at the same index: see
    /// [`Plan::least_bytes`](crate::kernels::Plan::least_bytes). 0 where it did not run.
    pub kernels_bytes: Vec<u64>,
    /// Launches that ran passes of several effects at once, in their order.
    pub fused: Vec<FusedTime>,
    /// The kernel chain from its first stamp to its last, gaps between kernels included.
    pub chain_ms: Option<f64>,
    /// From the chain's last stamp to the present pass's first stamp on the Vulkan queue.
    pub handover_to_vulkan_ms: Option<f64>,
    /// GPU: what puts the processed image on its way to the screen, first stamp to last, but for the overlay.
    pub present_gpu_ms: Option<f64>,
    /// GPU: drawing the overlay. `None` while it is hidden. It is in no sum of the frame's parts.
    pub overlay_ms: Option<f64>,
    /// From [`start`](Self::start) to the moment the frame retired. Needs host and GPU on one clock.
    pub latency_ms: Option<f64>,
    /// How long the GPU executed work of this frame: scene, present pass, and the chain where it runs on the GPU.
    pub gpu_busy_ms: Option<f64>,

    /// When each part ran.
    pub spans: FrameSpans,
}

/// A launch that ran passes of several effects at once. What it took is none of theirs.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FusedTime {
    /// The effects' names, joined by `+`.
    pub label: &'static str,
    /// What it took, milliseconds.
    pub time_ms: f64,
    /// The fewest bytes that it must move: see [`Plan::least_bytes`](crate::kernels::Plan::least_bytes).
    pub bytes: u64,
}

impl FrameRecord {
    /// A record of nothing yet, with the memory of this one's lists.
    #[must_use]
    pub fn emptied(mut self) -> Self {
        self.kernels_ms.clear();
        self.kernels_bytes.clear();
        self.fused.clear();
        self.spans.host.clear();
        self.spans.kernels.clear();
        Self {
            kernels_ms: self.kernels_ms,
            kernels_bytes: self.kernels_bytes,
            fused: self.fused,
            spans: FrameSpans {
                host: self.spans.host,
                kernels: self.spans.kernels,
                ..FrameSpans::default()
            },
            ..Self::default()
        }
    }

    /// What all fused launches of the frame took. `None` where there was none.
    pub fn fused_ms(&self) -> Option<f64> {
        self.fused
            .iter()
            .map(|fused| fused.time_ms)
            .reduce(|sum, time| sum + time)
    }

    /// What the host did for the frame, but for its waits: milliseconds. `None` where that was not measured.
    pub fn host_ms(&self) -> Option<f64> {
        let waits = [HostWork::WaitForSlot, HostWork::WaitForFrame];
        let works = self.spans.host.iter().filter(|(work, _)| !waits.contains(work));
        works
            .map(|(_, interval)| interval.milliseconds())
            .reduce(|sum, time| sum + time)
    }

    /// From the first GPU stamp of the frame to the last, in milliseconds: the five GPU spans, which have no gaps but where the
    /// overlay was drawn.
    pub fn gpu_time_ms(&self) -> Option<f64> {
        let before_chain = self.scene_ms? + self.handover_to_cuda_ms?;
        let after_chain = self.handover_to_vulkan_ms? + self.present_gpu_ms?;
        Some(before_chain + self.chain_ms? + after_chain)
    }

    /// How much of [`gpu_time_ms`](Self::gpu_time_ms) the GPU did not execute work of this frame, in milliseconds.
    pub fn gpu_wait_ms(&self) -> Option<f64> {
        Some(self.gpu_time_ms()? - self.gpu_busy_ms?)
    }
}

/// A duration in milliseconds, as records hold it.
pub fn milliseconds(duration: Duration) -> f64 {
    // Not as_millis_f64: it is not stable. Seconds as f64 keep a nanosecond for over 100 days.
    duration.as_secs_f64() * 1e3
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_known_only_when_every_part_is() {
        let mut record = FrameRecord {
            slot_wait_ms: Some(1.0),
            record_ms: Some(0.5),
            submit_ms: Some(0.25),
            scene_ms: Some(1.0),
            handover_to_cuda_ms: Some(0.125),
            chain_ms: Some(2.0),
            handover_to_vulkan_ms: Some(0.125),
            present_gpu_ms: Some(0.25),
            gpu_busy_ms: Some(3.25),
            ..FrameRecord::default()
        };
        assert_eq!(record.gpu_time_ms(), Some(3.5));
        assert_eq!(record.gpu_wait_ms(), Some(0.25));
        record.handover_to_cuda_ms = None;
        assert_eq!(record.gpu_time_ms(), None);
        assert_eq!(record.gpu_wait_ms(), None);
    }

    #[test]
    fn milliseconds_keep_nanoseconds() {
        assert_eq!(milliseconds(Duration::from_nanos(1_234_567)), 1.234567);
    }
}
