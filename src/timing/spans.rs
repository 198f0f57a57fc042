//! When each part of a frame ran: the intervals behind a [`FrameRecord`](super::FrameRecord)'s durations.
//!
//! GPU intervals are on the device's clock, to which the chain's stamps were related when the processor was made; the host's are
//! on the host's clock. [`FrameSpans::calibration`] relates the two for this frame.

use crate::vulkan::Calibration;

/// An interval in nanoseconds of one clock; `end` is never before `start`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Interval {
    /// Where it begins.
    pub start_ns: u64,
    /// Where it ends.
    pub end_ns: u64,
}

impl Interval {
    /// From two stamps. Stamps that are the other way round, by less than clocks can be told apart, are one instant.
    pub fn new(start_ns: u64, end_ns: u64) -> Self {
        Self {
            start_ns,
            end_ns: end_ns.max(start_ns),
        }
    }

    /// Its length, milliseconds.
    pub fn milliseconds(self) -> f64 {
        (self.end_ns - self.start_ns) as f64 * 1e-6
    }
}

/// What the host does for a frame, in the order of a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum HostWork {
    /// Waiting for the frame that used the slot before: [`FrameRecord::waited_for_frame`](super::FrameRecord::waited_for_frame).
    WaitForSlot,
    /// Reading that frame's measurements, and showing it where that is done once it has retired.
    Retire,
    /// Acquiring the presentable image.
    Acquire,
    /// Recording the scene's commands.
    RecordScene,
    /// Submitting them; signals `rendered` and `drawn`.
    SubmitScene,
    /// Enqueueing the chain's wait for `rendered`, its kernels and its signal of `processed`.
    EnqueueChain,
    /// Recording the chain, where it runs in the queue.
    RecordChain,
    /// Recording the present pass.
    RecordPresent,
    /// Submitting it; waits for `processed`, signals `retired`.
    SubmitPresent,
    /// Submitting scene, chain and present pass at once; signals `retired`.
    SubmitFrame,
    /// Inside the present call.
    Present,
    /// Waiting for the frame itself: under the serial schedule, with one frame in flight copied back or in-queue, and when the renderer finishes.
    WaitForFrame,
}

impl HostWork {
    /// All, in the order of a frame.
    pub const ALL: [Self; 12] = [
        Self::WaitForSlot,
        Self::Retire,
        Self::Acquire,
        Self::RecordScene,
        Self::SubmitScene,
        Self::EnqueueChain,
        Self::RecordChain,
        Self::RecordPresent,
        Self::SubmitPresent,
        Self::SubmitFrame,
        Self::Present,
        Self::WaitForFrame,
    ];

    /// The label, wherever it is shown.
    pub fn label(self) -> &'static str {
        match self {
            Self::WaitForSlot => "wait for slot",
            Self::Retire => "retire",
            Self::Acquire => "acquire",
            Self::RecordScene => "record scene",
            Self::SubmitScene => "submit scene",
            Self::EnqueueChain => "enqueue chain",
            Self::RecordChain => "record chain",
            Self::RecordPresent => "record present",
            Self::SubmitPresent => "submit present",
            Self::SubmitFrame => "submit frame",
            Self::Present => "present",
            Self::WaitForFrame => "wait for frame",
        }
    }
}

/// A part of the frame that is not the host's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GpuWork {
    /// The scene, on a Vulkan queue.
    Scene,
    /// The chain, on the CUDA stream or on the host's threads.
    Chain,
    /// The present pass, on a Vulkan queue.
    Present,
    /// The overlay, within the present pass or at the chain's end.
    Overlay,
}

impl GpuWork {
    /// The label, wherever it is shown.
    pub const fn label(self) -> &'static str {
        match self {
            Self::Scene => "scene",
            Self::Chain => "chain",
            Self::Present => "present",
            Self::Overlay => "overlay",
        }
    }
}

/// One launch of a kernel.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct KernelSpan {
    /// Index of the effect in the catalogue; of a fused launch the first one's.
    pub effect: usize,
    /// Index of the pass in the effect.
    pub pass: usize,
    /// It ran passes of several effects at once: their names, joined by `+`.
    pub fused: Option<&'static str>,
    /// When it ran, on the device's clock.
    pub interval: Interval,
    /// The fewest bytes that it must move: each image that it reads or writes, once.
    pub bytes: u64,
}

/// The intervals of one frame. What is `None` or missing was not measured.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FrameSpans {
    /// The host's, on its clock, in the order of time.
    pub host: Vec<(HostWork, Interval)>,
    /// The scene on the Vulkan queue.
    pub scene: Option<Interval>,
    /// The chain on the CUDA stream, or on the host's threads.
    pub chain: Option<Interval>,
    /// The kernels of the chain, in the order of their launches, each within the chain.
    pub kernels: Vec<KernelSpan>,
    /// The present pass on its Vulkan queue.
    pub present: Option<Interval>,
    /// Drawing the overlay, within the present, or at the chain's end where that makes the picture; `None` while it is hidden.
    pub overlay: Option<Interval>,
    /// Frames begun and not retired, this one included, when it was begun.
    pub in_flight: usize,
    /// Bytes of GPU memory that the process uses, where the driver tells; sampled now and then.
    pub memory_used: Option<u64>,
    /// The device's clock and the host's, read together not long before the frame retired.
    pub calibration: Option<Calibration>,
}

impl FrameSpans {
    /// The frame was submitted whole: nothing within it signals, and nothing waits.
    pub fn is_one_submission(&self) -> bool {
        self.host.iter().any(|(work, _)| *work == HostWork::SubmitFrame)
    }
}
