//! Semaphores: timelines that count frames, and the binary ones that a swapchain needs.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;
use smallvec::{SmallVec, smallvec};

use super::{Device, Error, ResultExt};

/// How a bounded wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimelineWait {
    /// The value was reached.
    Reached,
    /// The limit passed first.
    TimedOut,
}

/// A timeline `VkSemaphore`.
pub struct Timeline {
    /// The raw handle.
    pub raw: vk::Semaphore,
    name: &'static str,
    device: Arc<Device>,
}

impl Timeline {
    /// Creates a timeline at 0; `exported` makes its payload exportable as an opaque fd.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, name: &'static str, exported: bool) -> Result<Self, Error> {
        let mut kind = vk::SemaphoreTypeCreateInfo::default().semaphore_type(vk::SemaphoreType::TIMELINE);
        let mut export =
            vk::ExportSemaphoreCreateInfo::default().handle_types(vk::ExternalSemaphoreHandleTypeFlags::OPAQUE_FD);
        let mut create_info = vk::SemaphoreCreateInfo::default().push_next(&mut kind);
        if exported {
            create_info = create_info.push_next(&mut export);
        }
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_semaphore(&create_info, None) }
            .during(|| format!("create the timeline semaphore `{name}`"))?;
        device.name(raw, name);
        Ok(Self {
            raw,
            name,
            device: Arc::clone(device),
        })
    }

    /// The name it goes by in messages.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The submission half of a wait or signal at `value`, over all commands.
    pub fn at(&self, value: u64) -> vk::SemaphoreSubmitInfo<'static> {
        vk::SemaphoreSubmitInfo::default()
            .semaphore(self.raw)
            .value(value)
            .stage_mask(vk::PipelineStageFlags2::ALL_COMMANDS)
    }

    /// The value reached.
    ///
    /// # Errors
    /// A lost device.
    pub fn value(&self) -> Result<u64, Error> {
        // SAFETY: V1.
        unsafe { self.device.raw.get_semaphore_counter_value(self.raw) }
            .during(|| format!("read the timeline `{}`", self.name))
    }

    /// Waits on the host until every one of `timelines`, all of one device, reaches `value`, or until `limit` has passed.
    ///
    /// # Errors
    /// A lost device.
    pub fn wait_all(timelines: &[&Self], value: u64, limit: Duration) -> Result<TimelineWait, Error> {
        let Some(first) = timelines.first() else {
            return Ok(TimelineWait::Reached);
        };
        let semaphores: SmallVec<[_; 4]> = timelines.iter().map(|timeline| timeline.raw).collect();
        let values: SmallVec<[_; 4]> = smallvec![value; timelines.len()];
        let wait_info = vk::SemaphoreWaitInfo::default().semaphores(&semaphores).values(&values);
        let nanoseconds = u64::try_from(limit.as_nanos()).unwrap_or(u64::MAX);
        // SAFETY: V1, V3.
        match unsafe { first.device.raw.wait_semaphores(&wait_info, nanoseconds) } {
            Ok(()) => Ok(TimelineWait::Reached),
            Err(vk::Result::TIMEOUT) => Ok(TimelineWait::TimedOut),
            Err(result) => Err(Error::Call {
                what: format!("wait for the timeline `{}` to reach {value}", first.name),
                result,
            }),
        }
    }

    /// Waits on the host until `value` is reached or `limit` has passed.
    ///
    /// # Errors
    /// A lost device.
    pub fn wait(&self, value: u64, limit: Duration) -> Result<TimelineWait, Error> {
        Self::wait_all(&[self], value, limit)
    }

    /// Signals `value` from the host. `value` must be above all that was signalled and under all that is pending.
    ///
    /// # Errors
    /// A lost device.
    pub fn signal(&self, value: u64) -> Result<(), Error> {
        let signal_info = vk::SemaphoreSignalInfo::default().semaphore(self.raw).value(value);
        // SAFETY: V1, V3; the value rule is the caller's promise.
        unsafe { self.device.raw.signal_semaphore(&signal_info) }
            .during(|| format!("signal the timeline `{}` to {value} from the host", self.name))
    }
}

impl Drop for Timeline {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.destroy_semaphore(self.raw, None) };
    }
}

/// A binary `VkSemaphore`, for `vkAcquireNextImageKHR` and `vkQueuePresentKHR`.
pub struct BinarySemaphore {
    /// The raw handle.
    pub raw: vk::Semaphore,
    device: Arc<Device>,
}

impl BinarySemaphore {
    /// Creates it unsignalled.
    ///
    /// # Errors
    /// A failed call.
    pub fn new(device: &Arc<Device>, name: &str) -> Result<Self, Error> {
        // SAFETY: V3.
        let raw = unsafe { device.raw.create_semaphore(&vk::SemaphoreCreateInfo::default(), None) }
            .during(|| format!("create the semaphore `{name}`"))?;
        device.name(raw, name);
        Ok(Self {
            raw,
            device: Arc::clone(device),
        })
    }

    /// The submission half of a wait or signal, over the given stages.
    pub fn submit_info(&self, stages: vk::PipelineStageFlags2) -> vk::SemaphoreSubmitInfo<'static> {
        vk::SemaphoreSubmitInfo::default()
            .semaphore(self.raw)
            .stage_mask(stages)
    }
}

impl Drop for BinarySemaphore {
    fn drop(&mut self) {
        // SAFETY: V1, V2.
        unsafe { self.device.raw.destroy_semaphore(self.raw, None) };
    }
}
