//! The frame: the only place that submits to queues, waits for frames and signals them.
//!
//! ```text
//! host    reuse slot ─ acquire ─ submit scene N ─ enqueue chain N ─ submit present N ─ present
//! Vulkan  ………… scene N ──signal rendered=N              wait processed=N── present N ──signal retired=N
//! chain               wait rendered=N── kernel, kernel, … ──signal processed=N
//! ```

mod error;
mod jitter;
mod measure;
mod setup;

use std::collections::VecDeque;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;

use crate::frame::{FrameNumber, Timelines};
use crate::kernels::Plan;
use crate::overlay::DrawList;
use crate::present::{Acquired, OverlayPass, PresentPass, Presented, Presenter};
use crate::process::{Job, Processor, SlotImages};
use crate::scene::{Scene, SceneFrame, TagCheck, TagResult};
use crate::timing::{FrameRecord, GpuWork, HostWork, milliseconds};
use crate::vulkan::{CommandPool, Device, Queue, TimelineWait, TimestampPool};

pub use error::Error;
use jitter::jitter;
pub use measure::HostClock;
use measure::{InFlight, Stopwatch};
pub use setup::{Parts, Settings};

/// How often a wait looks whether what it waits for has failed.
const FAILURE_CHECK: Duration = Duration::from_millis(50);

/// The order in which the parts of frames are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// The samples' way: one frame at a time, the host waits for it. The baseline to compare with.
    Serial,
    /// Several frames in flight; the host waits only for a slot's previous frame.
    Pipelined,
}

/// What a frame is made from.
#[derive(Debug, Clone)]
pub struct View {
    /// The scene's time and camera; its frame number is filled in by the renderer.
    pub scene: SceneFrame,
    /// The chain's launches.
    pub plan: Arc<Plan>,
    /// Where the pointer is, in texels.
    pub pointer: [f32; 2],
}

/// How [`Renderer::render_frame`] ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rendered {
    /// The frame is under way.
    Frame(FrameNumber),
    /// The swapchain must be made anew; no frame number was used up.
    OutOfDate,
    /// Nothing can be shown just now; no frame number was used up.
    Skipped,
}

/// What [`Settings::check_tags`] found.
#[derive(Debug, Clone, Default)]
pub struct TagReport {
    /// Frames checked.
    pub frames: u64,
    /// Texels checked.
    pub texels: u64,
    /// Frames with texels that were not what the scene `none` wrote for that very frame.
    pub mismatches: Vec<(FrameNumber, TagResult)>,
}

/// What a slot keeps from one use to the next.
struct Slot {
    scene_commands: CommandPool,
    present_commands: CommandPool,
    timestamps: Option<TimestampPool>,
    in_flight: Option<InFlight>,
}

/// A frame whose present part is still to be submitted.
struct Pending {
    frame: FrameNumber,
    slot: usize,
    target: u32,
}

/// Draws frames, has them processed, presents them, and measures each. Fields in drop order.
pub struct Renderer {
    presenter: Box<dyn Presenter>,
    present_pass: PresentPass,
    /// Made when there is something to draw for the first time.
    overlay_pass: Option<OverlayPass>,
    /// What is drawn over frames.
    overlay: Option<Arc<DrawList>>,
    tag_check: Option<TagCheck>,
    scene: Box<dyn Scene>,
    images: Vec<SlotImages>,
    processor: Box<dyn Processor>,
    slots: Vec<Slot>,
    pending: VecDeque<Pending>,
    timelines: Arc<Timelines>,
    last_frame: FrameNumber,
    last_pointer: Option<[f32; 2]>,
    extent: vk::Extent2D,
    settings: Settings,
    needs_rebuild: bool,
    /// A frame failed half-way or did not come: it will never retire, and is not waited for again.
    is_broken: bool,
    /// The slot whose screen image holds the frame presented last.
    shown_slot: Option<usize>,
    present_queue: Queue,
    clock: HostClock,
    finished: Vec<FrameRecord>,
    tags: TagReport,
    device: Arc<Device>,
}

impl Renderer {
    /// Starts one frame, and sends to the presenter the frame whose turn it is.
    ///
    /// # Errors
    /// [`Error::Overdue`] when the slot's previous frame does not come; a failed call.
    pub fn render_frame(&mut self, view: &View) -> Result<Rendered, Error> {
        if self.needs_rebuild || self.extent.width == 0 || self.extent.height == 0 {
            return Ok(if self.needs_rebuild {
                Rendered::OutOfDate
            } else {
                Rendered::Skipped
            });
        }
        if let (Some(guide), false) = (view.plan.guides.first(), self.scene.writes_guides()) {
            return Err(Error::MissingGuide {
                guide: *guide,
                scene: self.scene.name(),
            });
        }
        // The slot of the frame that comes next. Only its *previous* frame is ever waited for.
        let mut watch = Stopwatch::start(self.settings.instrument, HostWork::WaitForSlot);
        let slot = self.slot_of(self.last_frame.next());
        let waited_for = self.wait_for_slot(slot)?;
        watch.next(HostWork::Retire);
        self.retire(slot)?;
        watch.next(HostWork::Acquire);
        let target = match self.presenter.acquire(slot)? {
            Acquired::Image(target) => target,
            Acquired::OutOfDate => return Ok(self.out_of_date()),
            Acquired::NotReady => return self.skip(),
        };
        watch.next(HostWork::RecordScene);

        // From here on the frame's number is used up, and every timeline will reach it unless something fails.
        let frame = self.begin_frame(slot, &watch, waited_for);
        self.is_broken = true;
        let scene = self.record_scene(slot, frame, view)?;
        watch.next(HostWork::SubmitScene);
        let signals = [
            self.timelines.rendered.at(frame.value()),
            self.timelines.drawn.at(frame.value()),
        ];
        self.device.submit(self.device.scene_queue, scene, &[], &signals)?;
        watch.next(HostWork::EnqueueChain);
        self.processor.enqueue(self.job(slot, frame, view))?;
        self.last_pointer = Some(view.pointer);
        self.keep_laps(slot, watch);

        // On one queue the present of the frame before follows this scene, so that this scene does not queue behind a
        // wait for the chain. On two queues, and with the host waiting anyway, each present follows at once.
        self.pending.push_back(Pending { frame, slot, target });
        while self.pending.len() > self.present_lag() {
            self.present_next()?;
        }
        if self.settings.schedule == Schedule::Serial {
            self.wait_for_current(slot)?;
        }
        self.is_broken = false;
        Ok(Rendered::Frame(frame))
    }

    /// Submits and presents the oldest frame that is not on its way yet. All that the chain waits for and signals has
    /// been enqueued before.
    fn present_next(&mut self) -> Result<(), Error> {
        let Some(Pending { frame, slot, target }) = self.pending.pop_front() else {
            return Ok(());
        };
        let mut watch = Stopwatch::start(self.settings.instrument, HostWork::RecordPresent);
        let commands = self.record_present(slot, target, frame)?;
        watch.next(HostWork::SubmitPresent);
        let mut waits = vec![self.timelines.processed.at(frame.value())];
        waits.extend(self.presenter.wait(slot));
        let mut signals = vec![self.timelines.retired.at(frame.value())];
        signals.extend(self.presenter.signal(target));
        self.device.submit(self.present_queue, commands, &waits, &signals)?;
        self.shown_slot = Some(slot);
        watch.next(HostWork::Present);
        self.note_present(slot);
        if self.presenter.present(self.present_queue, slot, target)? == Presented::OutOfDate {
            self.needs_rebuild = true;
        }
        self.keep_laps(slot, watch);
        Ok(())
    }

    /// Waits, within the limit, for the frame that used the slot last.
    fn wait_for_slot(&mut self, slot: usize) -> Result<Option<FrameNumber>, Error> {
        let frame = self.slots[slot].in_flight.as_ref().map(|in_flight| in_flight.frame);
        if let Some(frame) = frame {
            self.wait_for(frame)?;
        }
        Ok(frame)
    }

    /// Takes the measurements of the slot's frame, which was waited for, and lets the presenter show what it read back.
    fn retire(&mut self, slot: usize) -> Result<(), Error> {
        let Some(in_flight) = self.slots[slot].in_flight.take() else {
            return Ok(());
        };
        let shown = Instant::now();
        self.presenter.retired(slot)?;
        self.measure(slot, in_flight, milliseconds(shown.elapsed()))
    }

    /// The serial schedule's wait for the frame it has just begun, counted as the host's wait of that frame.
    fn wait_for_current(&mut self, slot: usize) -> Result<(), Error> {
        self.note_wait_for_frame(slot);
        self.wait_and_retire(slot)
    }

    /// Waits for the slot's frame, which ends with it.
    fn wait_and_retire(&mut self, slot: usize) -> Result<(), Error> {
        let watch = Stopwatch::start(self.settings.instrument, HostWork::WaitForFrame);
        self.wait_for_slot(slot)?;
        self.keep_laps(slot, watch);
        self.retire(slot)
    }

    fn wait_for(&mut self, frame: FrameNumber) -> Result<(), Error> {
        let started = Instant::now();
        let limit = self.settings.wait_limit;
        while self.timelines.wait_retired(frame, FAILURE_CHECK.min(limit))? != TimelineWait::Reached {
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

    /// Who is to blame for a frame that did not come.
    fn overdue(&self, frame: FrameNumber) -> Result<Error, Error> {
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

    fn record_scene(&mut self, slot: usize, frame: FrameNumber, view: &View) -> Result<vk::CommandBuffer, Error> {
        let Slot {
            scene_commands,
            timestamps,
            ..
        } = &self.slots[slot];
        let images = &self.images[slot];
        let commands = scene_commands.begin()?;
        self.device.begin_label(commands, GpuWork::Scene.label());
        write_stamp(timestamps.as_ref(), commands, SCENE_START);
        self.scene.record(
            commands,
            slot,
            &SceneFrame {
                frame: frame.value(),
                jitter: jitter(frame, &view.plan),
                ..view.scene
            },
        );
        let written = if self.scene.writes_guides() { 5 } else { 1 };
        let family = self.device.scene_queue.family;
        self.processor
            .record_release(commands, slot, &images.scene.all()[..written], family, &view.plan);
        write_stamp(timestamps.as_ref(), commands, SCENE_END);
        self.device.end_label(commands);
        scene_commands.end()?;
        Ok(commands)
    }

    fn record_present(&mut self, slot: usize, target: u32, frame: FrameNumber) -> Result<vk::CommandBuffer, Error> {
        if self.overlay.is_some() && self.overlay_pass.is_none() {
            self.overlay_pass = Some(OverlayPass::new(&self.device, self.slots.len())?);
        }
        let Slot {
            present_commands,
            timestamps,
            ..
        } = &self.slots[slot];
        let commands = present_commands.begin()?;
        self.device.begin_label(commands, GpuWork::Present.label());
        write_stamp(timestamps.as_ref(), commands, PRESENT_START);
        self.processor.record_acquire(commands, slot, self.present_queue.family);
        if let Some(check) = &self.tag_check {
            check.record(commands, slot, frame.value(), self.settings.check_complement);
        }
        self.present_pass.record(commands, slot);
        let screen = self.present_pass.screen(slot);
        let mut stamps = OVERLAY_START;
        if let (Some(list), Some(pass)) = (&self.overlay, &mut self.overlay_pass) {
            write_stamp(timestamps.as_ref(), commands, OVERLAY_START);
            pass.record(commands, slot, screen, list)?;
            write_stamp(timestamps.as_ref(), commands, OVERLAY_END);
            stamps = TIMESTAMPS;
        }
        self.presenter.record(commands, slot, target, screen);
        write_stamp(timestamps.as_ref(), commands, PRESENT_END);
        if let Some(timestamps) = timestamps {
            timestamps.copy(commands, stamps);
        }
        self.device.end_label(commands);
        present_commands.end()?;
        Ok(commands)
    }

    fn job(&self, slot: usize, frame: FrameNumber, view: &View) -> Job {
        Job {
            slot,
            frame,
            plan: Arc::clone(&view.plan),
            has_guides: self.scene.writes_guides(),
            time: view.scene.time,
            time_delta: view.scene.time_delta,
            pointer: view.pointer,
            previous_pointer: self.last_pointer.unwrap_or(view.pointer),
            jitter: jitter(frame, &view.plan),
            instrument: self.settings.instrument,
        }
    }

    fn out_of_date(&mut self) -> Rendered {
        self.needs_rebuild = true;
        Rendered::OutOfDate
    }

    /// Nothing could be acquired: perhaps because a frame that holds an image is not presented yet.
    fn skip(&mut self) -> Result<Rendered, Error> {
        while !self.pending.is_empty() {
            self.present_next()?;
        }
        Ok(Rendered::Skipped)
    }

    fn slot_of(&self, frame: FrameNumber) -> usize {
        (frame.value() % self.slots.len() as u64) as usize
    }

    /// How many frames' presents may trail their scenes.
    fn present_lag(&self) -> usize {
        let overlaps_on_one_queue =
            !self.device.has_present_queue() && self.settings.schedule == Schedule::Pipelined && self.slots.len() > 1;
        usize::from(overlaps_on_one_queue)
    }
}

/// Places of a slot's timestamps.
const SCENE_START: u32 = 0;
const SCENE_END: u32 = 1;
const PRESENT_START: u32 = 2;
const PRESENT_END: u32 = 3;
/// These two only where there is an overlay.
const OVERLAY_START: u32 = 4;
const OVERLAY_END: u32 = 5;
const TIMESTAMPS: u32 = 6;

fn write_stamp(timestamps: Option<&TimestampPool>, commands: vk::CommandBuffer, index: u32) {
    if let Some(timestamps) = timestamps {
        timestamps.write(commands, index);
    }
}
