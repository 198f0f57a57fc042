//! The frame whose chain runs in the queue: one command buffer, one submission, no semaphore within it.
//!
//! ```text
//! host    reuse slot ─ acquire ─ record scene, chain, present ─ submit N ─ present
//! Vulkan  ………… scene N ─barrier─ kernel, kernel, … ─barrier─ present N ──signal retired=N
//! ```

use std::time::Duration;

use crate::frame::FrameNumber;
use crate::present::Presented;
use crate::timing::HostWork;
use crate::vulkan::TimelineWait;

use super::measure::Stopwatch;
use super::{Error, Pending, Rendered, Renderer, View};

/// How long the GPU may take for what was submitted before a frame failed. Longer than any frame, shorter than patience.
const SETTLE_LIMIT: Duration = Duration::from_secs(2);

impl Renderer {
    /// The frame, from its scene on.
    pub(super) fn frame_in_queue(
        &mut self,
        Pending { frame, slot, target }: Pending,
        view: &View,
        mut watch: Stopwatch,
    ) -> Result<Rendered, Error> {
        let commands = self.slots[slot].scene_commands.begin()?;
        self.draw(commands, slot, frame, view);
        watch.next(HostWork::RecordChain);
        let job = self.job(slot, frame, view);
        self.processor.record_chain(commands, &job)?;
        self.last_pointer = Some(view.pointer);
        watch.next(HostWork::RecordPresent);
        self.show(commands, slot, target, frame)?;
        self.slots[slot].scene_commands.end()?;

        watch.next(HostWork::SubmitFrame);
        let acquired = self.presenter.wait(slot);
        let retired = self.timelines.retired.at(frame.value());
        let signals: &[_] = match self.presenter.signal(target) {
            Some(present_ready) => &[retired, present_ready],
            None => &[retired],
        };
        self.device
            .submit(self.scene_queue, commands, acquired.as_slice(), signals)?;
        self.last_in_queue = frame;
        self.shown_slot = Some(slot);

        watch.next(HostWork::Present);
        self.note_present(slot);
        if self.presenter.present(self.present_queue, slot, target)? == Presented::OutOfDate {
            self.needs_rebuild = true;
        }
        self.keep_laps(slot, watch);
        if self.is_one_at_a_time() {
            self.wait_for_current(slot)?;
        }
        self.is_broken = false;
        Ok(Rendered::Frame(frame))
    }

    /// What there is to say of a frame that did not come.
    pub(super) fn overdue_in_queue(&self, frame: FrameNumber) -> Result<Error, Error> {
        let retired = &self.timelines.retired;
        let reached = retired.value()?;
        Ok(Error::Overdue {
            frame,
            limit: self.settings.wait_limit,
            timeline: retired.name(),
            reached,
            standing: format!("the processor {} has no other", self.processor.name()),
            blame: "the GPU has not finished the frame, of which the kernels are a part: one of them may not end, or the GPU is \
                    overloaded or stopped"
                .into(),
        })
    }

    /// Lets go of frames that may not end. Nothing can be signalled in a kernel's place, and no wait for the queue would end: what it
    /// uses is left to the driver, which frees it with the process. What comes after the kernel in its frame is never reached.
    pub(super) fn abandon_in_queue(&mut self) -> Result<(), Error> {
        let last = self.last_in_queue.value();
        // A device that is lost has nothing left to do.
        if !matches!(
            self.timelines.retired.wait(last, SETTLE_LIMIT),
            Ok(TimelineWait::TimedOut)
        ) {
            return Ok(());
        }
        tracing::warn!("a kernel does not end: its memory is left to the driver");
        self.processor.stop();
        std::mem::forget(std::mem::take(&mut self.slots));
        std::mem::forget((self.device.clone(), self.timelines.clone()));
        Err(Error::Broken)
    }
}
