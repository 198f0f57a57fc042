//! What the schedule `copy-back` does differently: which queue carries the screen image, and how tags are checked beside it.

use std::sync::Arc;
use std::time::Duration;

use ash::vk;

use super::{Error, Renderer, Schedule};
use crate::frame::FrameNumber;
use crate::present::Presenter;
use crate::vulkan::{CommandPool, Device, Queue, Timeline};

/// The queue that takes frames to the screen, with a line where it is not the one that the schedule is for.
pub(super) fn present_queue(schedule: Schedule, device: &Device, presenter: &mut dyn Presenter) -> Queue {
    match schedule {
        // The samples' way, which the serial schedule keeps to compare with, has one queue.
        Schedule::Serial => device.scene_queue,
        Schedule::Pipelined => device.present_queue,
        Schedule::CopyBack => {
            let queue = device
                .transfer_queue
                .ok_or_else(|| format!("{} has no queue family that only transfers", device.physical.name))
                .and_then(|queue| presenter.copies_on(queue.family).map(|()| queue));
            queue.unwrap_or_else(|reason| {
                tracing::info!("frames are copied by the present queue: {reason}");
                device.present_queue
            })
        }
    }
}

/// Tags are looked at by a compute shader, which a queue that only transfers does not run: so in a submission of their own, on the
/// present queue of the other schedules, that the copy waits for.
pub(super) struct CheckSubmissions {
    /// One a slot.
    pools: Vec<CommandPool>,
    /// Frames whose tags were looked at.
    checked: Timeline,
    queue: Queue,
}

impl CheckSubmissions {
    /// Nothing is checked yet.
    ///
    /// # Errors
    /// A failed call.
    pub(super) fn new(device: &Arc<Device>, slots: usize) -> Result<Self, Error> {
        let queue = device.present_queue;
        let pools = (0..slots).map(|slot| CommandPool::new(device, queue, &format!("check of slot {slot}")));
        Ok(Self {
            pools: pools.collect::<Result<_, _>>()?,
            checked: Timeline::new(device, "checked", false)?,
            queue,
        })
    }

    /// A frame that retired was checked before. To be told so is for the validation layer, which lets the commands be recorded again.
    pub(super) fn retired(&self, frame: FrameNumber) -> Result<(), Error> {
        self.checked.wait(frame.value(), Duration::ZERO)?;
        Ok(())
    }
}

impl Renderer {
    /// Submits the check of the slot's tags, where it cannot be part of the present; the present then waits for it.
    pub(super) fn submit_check(
        &self,
        slot: usize,
        frame: FrameNumber,
    ) -> Result<Option<vk::SemaphoreSubmitInfo<'static>>, Error> {
        let (Some(submissions), Some(check)) = (&self.checks, &self.tag_check) else {
            return Ok(None);
        };
        let CheckSubmissions { pools, checked, queue } = submissions;
        let commands = pools[slot].begin()?;
        self.processor.record_acquire(commands, slot, queue.family);
        check.record(commands, slot, frame.value(), self.settings.check_complement);
        pools[slot].end()?;
        let waits = [self.timelines.processed.at(frame.value())];
        let signal = checked.at(frame.value());
        self.device.submit(*queue, commands, &waits, &[signal])?;
        Ok(Some(signal))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::ValueEnum;

    #[test]
    fn schedules_are_named_as_they_are_asked_for_and_written() {
        for schedule in Schedule::value_variants() {
            let asked_for = schedule.to_possible_value().expect("none is hidden");
            assert_eq!(asked_for.get_name(), schedule.name());
            assert_eq!(serde_json::to_value(schedule).expect("a name"), schedule.name());
        }
    }
}
