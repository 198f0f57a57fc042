//! The host's waits for frames, and whom it blames for one that does not come.

use std::time::{Duration, Instant};

use super::measure::Stopwatch;
use super::{Error, Renderer};
use crate::frame::FrameNumber;
use crate::timing::{HostWork, milliseconds};
use crate::vulkan::TimelineWait;

/// How often a wait looks whether what it waits for has failed.
const FAILURE_CHECK: Duration = Duration::from_millis(50);

impl Renderer {
    /// Waits, within the limit, for the frame that used the slot last.
    pub(super) fn wait_for_slot(&mut self, slot: usize) -> Result<Option<FrameNumber>, Error> {
        let frame = self.slots[slot].in_flight.as_ref().map(|in_flight| in_flight.frame);
        if let Some(frame) = frame {
            self.wait_for(frame)?;
        }
        Ok(frame)
    }

    /// Takes the measurements of the slot's frame, which was waited for, and lets the presenter show what it read back.
    pub(super) fn retire(&mut self, slot: usize) -> Result<(), Error> {
        let Some(in_flight) = self.slots[slot].in_flight.take() else {
            return Ok(());
        };
        if let Some(checks) = &self.checks {
            checks.retired(in_flight.frame)?;
        }
        let shown = Instant::now();
        self.presenter.retired(slot)?;
        self.measure(slot, in_flight, milliseconds(shown.elapsed()))
    }

    /// The serial schedule's wait for the frame it has just begun, counted as the host's wait of that frame.
    pub(super) fn wait_for_current(&mut self, slot: usize) -> Result<(), Error> {
        self.note_wait_for_frame(slot);
        self.wait_and_retire(slot)
    }

    /// Waits for the slot's frame, which ends with it.
    pub(super) fn wait_and_retire(&mut self, slot: usize) -> Result<(), Error> {
        let watch = Stopwatch::start(self.settings.instrument, HostWork::WaitForFrame);
        self.wait_for_slot(slot)?;
        self.keep_laps(slot, watch);
        self.retire(slot)
    }

    pub(super) fn wait_for(&mut self, frame: FrameNumber) -> Result<(), Error> {
        let started = Instant::now();
        let limit = self.settings.wait_limit;
        while self.wait_a_while(frame, FAILURE_CHECK.min(limit))? != TimelineWait::Reached {
            if let Some(failure) = self.processor.failure() {
                self.is_broken = true;
                return Err(failure.into());
            }
            if started.elapsed() >= limit {
                self.is_broken = true;
                return Err(self.overdue(frame)?);
            }
        }
        Ok(())
    }

    /// Waits for the timelines that say it of the frame.
    fn wait_a_while(&self, frame: FrameNumber, limit: Duration) -> Result<TimelineWait, Error> {
        Ok(match self.processor.is_in_queue() {
            true => self.timelines.retired.wait(frame.value(), limit)?,
            false => self.timelines.wait_retired(frame, limit)?,
        })
    }

    /// Who is to blame for a frame that did not come.
    pub(super) fn overdue(&self, frame: FrameNumber) -> Result<Error, Error> {
        if self.processor.is_in_queue() {
            return self.overdue_in_queue(frame);
        }
        let (timeline, reached) = self.timelines.overdue(frame)?;
        let blame = match timeline.name() {
            "rendered" => "Vulkan has not finished the scene: the GPU is overloaded or stopped".to_owned(),
            "processed" => format!(
                "the processor `{}` has not signalled that its kernels are done: one of them may not end",
                self.processor.name()
            ),
            _ => "Vulkan has not finished the present pass: the GPU is overloaded or stopped".to_owned(),
        };
        Ok(Error::Overdue {
            frame,
            limit: self.settings.wait_limit,
            timeline: timeline.name(),
            reached,
            standing: self.timelines.standing()?,
            blame,
        })
    }
}
