//! Frame numbers, and the timelines whose values they are.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::vulkan::{Device, Error, Timeline, TimelineWait};

/// A frame's number: from 1, and only growing for the life of the process, through resizes and restarts.
///
/// Every value of every timeline is a frame number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct FrameNumber(u64);

impl FrameNumber {
    /// Before the first frame: what the timelines start at.
    pub const NONE: Self = Self(0);

    /// The frame of a number that came from outside: an option, a file.
    pub fn at(number: u64) -> Self {
        Self(number)
    }

    /// The next frame.
    pub fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// The number, as timelines and files hold it.
    pub fn value(self) -> u64 {
        self.0
    }
}

impl fmt::Display for FrameNumber {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(formatter)
    }
}

/// One timeline semaphore a *producer*. With one for both directions, frame N+1's `rendered` would pass a value that
/// the chain has yet to signal as soon as two frames are in flight, and values may only grow.
///
/// A frame whose chain runs in the queue itself signals `retired` alone: nothing waits for a part of it.
pub struct Timelines {
    /// Signalled by Vulkan when the scene of frame N is in the slot's images. The chain waits for it.
    pub rendered: Timeline,
    /// Signalled by whoever runs the chain when frame N is in `processed`. Vulkan waits for it.
    pub processed: Timeline,
    /// Signalled with `rendered`, for the host. The present pass cannot end before the scene, so `retired` says it too;
    /// but between the two is the chain, whose signals Vulkan's validation layer does not see: only a timeline that was
    /// never exported tells it that the scene's commands may be used again.
    pub drawn: Timeline,
    /// Signalled by Vulkan when frame N is on its way to the screen. The host waits for it before it reuses N's slot.
    pub retired: Timeline,
}

impl Timelines {
    /// Creates them at 0; with `exported` the two that CUDA uses can be imported by it.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, exported: bool) -> Result<Self, Error> {
        Ok(Self {
            rendered: Timeline::new(device, "rendered", exported)?,
            processed: Timeline::new(device, "processed", exported)?,
            drawn: Timeline::new(device, "drawn", false)?,
            retired: Timeline::new(device, "retired", false)?,
        })
    }

    /// Waits on the host until Vulkan has done all of `frame`: its scene and its present pass.
    ///
    /// # Errors
    /// A lost device.
    pub fn wait_retired(&self, frame: FrameNumber, limit: Duration) -> Result<TimelineWait, Error> {
        Timeline::wait_all(&[&self.retired, &self.drawn], frame.value(), limit)
    }

    /// Where a frame's timelines stand, for messages: `rendered 12, processed 11, retired 11`.
    ///
    /// # Errors
    /// A lost device.
    pub fn standing(&self) -> Result<String, Error> {
        let (rendered, processed, retired) = (self.rendered.value()?, self.processed.value()?, self.retired.value()?);
        Ok(format!("rendered {rendered}, processed {processed}, retired {retired}"))
    }

    /// The first timeline, in the order of a frame, that has not reached `frame`, or the last one; and where it stands.
    ///
    /// # Errors
    /// A lost device.
    pub fn overdue(&self, frame: FrameNumber) -> Result<(&Timeline, u64), Error> {
        for timeline in [&self.rendered, &self.processed] {
            let value = timeline.value()?;
            if value < frame.value() {
                return Ok((timeline, value));
            }
        }
        Ok((&self.retired, self.retired.value()?))
    }
}
