//! The frame: the only place that submits to queues, waits for frames and signals them.
//!
//! ```text
//! host    reuse slot ─ acquire ─ submit scene N ─ enqueue chain N ─ submit present N ─ present
//! Vulkan  ………… scene N ──signal rendered=N              wait processed=N── present N ──signal retired=N
//! chain               wait rendered=N── kernel, kernel, … ──signal processed=N
//! ```
//!
//! Where the chain runs in the queue itself, all three are one submission: see `in_queue`.

mod copy_back;
mod error;
mod in_queue;
mod jitter;
mod measure;
mod record;
mod settings;
mod setup;
mod slots;
mod standby;
mod wait;

use std::collections::VecDeque;
use std::sync::Arc;

use ash::vk;
use smallvec::SmallVec;

use crate::frame::{FrameNumber, Timelines};
use crate::kernels::Plan;
use crate::overlay::DrawList;
use crate::present::{Acquired, OverlayPass, PresentPass, Presented, Presenter, Screen};
use crate::process::{ChainTimes, Job, Processor, SlotImages};
use crate::scene::{Camera, Scene, SceneFrame, TagCheck, TagResult};
use crate::timing::{FrameRecord, HostWork};
use crate::vulkan::{CommandPool, Device, Queue, TimestampPool};

use copy_back::CheckSubmissions;
pub use error::Error;
use jitter::jitter;
pub use measure::HostClock;
use measure::{InFlight, Stopwatch};
pub use settings::Settings;
pub use setup::Parts;

/// The order in which the parts of frames are submitted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Schedule {
    /// The samples' way: one frame at a time, the host waits for it. The baseline to compare with.
    Serial,
    /// Several frames in flight; the host waits only for a slot's previous frame.
    Pipelined,
    /// As pipelined, but the chain ends in the picture that is shown, and the GPU's copy engine carries it: Vulkan draws and computes
    /// nothing after the chain.
    CopyBack,
}

impl Schedule {
    /// Its name on the command line and in files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Serial => "serial",
            Self::Pipelined => "pipelined",
            Self::CopyBack => "copy-back",
        }
    }
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

impl View {
    /// The scene as it starts, seen by the default camera.
    pub fn first(plan: &Arc<Plan>) -> Self {
        Self {
            scene: SceneFrame {
                frame: 0,
                time: 0.0,
                time_delta: 0.0,
                camera: Camera::default(),
                jitter: [0.0; 2],
            },
            plan: Arc::clone(plan),
            pointer: [0.0; 2],
        }
    }
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
    /// None where the chain ends in the screen image.
    present_pass: Option<PresentPass>,
    /// Made when there is something to draw for the first time.
    overlay_pass: Option<OverlayPass>,
    /// What is drawn over frames.
    overlay: Option<Arc<DrawList>>,
    tag_check: Option<TagCheck>,
    /// Where tags are not checked by the present's submissions.
    checks: Option<CheckSubmissions>,
    scene: Box<dyn Scene>,
    images: Vec<SlotImages>,
    processor: Box<dyn Processor>,
    /// Runs the plans that the usual processor cannot; while it does, the usual one is here.
    standby: Option<Box<dyn Processor>>,
    is_standing_in: bool,
    slots: Vec<Slot>,
    pending: VecDeque<Pending>,
    timelines: Arc<Timelines>,
    last_frame: FrameNumber,
    /// The last frame that was submitted with its chain in the queue.
    last_in_queue: FrameNumber,
    last_pointer: Option<[f32; 2]>,
    extent: vk::Extent2D,
    settings: Settings,
    needs_rebuild: bool,
    /// A frame failed half-way or did not come: it will never retire, and is not waited for again.
    is_broken: bool,
    /// The slot whose screen image holds the frame presented last.
    shown_slot: Option<usize>,
    scene_queue: Queue,
    present_queue: Queue,
    /// That queue can do nothing but copy: its commands take no labels.
    only_copies: bool,
    clock: HostClock,
    finished: Vec<FrameRecord>,
    /// Records that were given back, for frames to come.
    spare: Vec<FrameRecord>,
    /// Of the frame that retires.
    chain_times: ChainTimes,
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
        self.choose_processor(&view.plan)?;
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
        if self.processor.is_in_queue() {
            return self.frame_in_queue(Pending { frame, slot, target }, view, watch);
        }
        let scene = self.record_scene(slot, frame, view)?;
        watch.next(HostWork::SubmitScene);
        let signals = [
            self.timelines.rendered.at(frame.value()),
            self.timelines.drawn.at(frame.value()),
        ];
        self.device.submit(self.scene_queue, scene, &[], &signals)?;
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
        if self.is_one_at_a_time() {
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
        let mut waits: SmallVec<[_; 4]> = SmallVec::new();
        waits.push(self.timelines.processed.at(frame.value()));
        waits.extend(self.submit_check(slot, frame)?);
        waits.extend(self.presenter.wait(slot));
        let mut signals: SmallVec<[_; 4]> = SmallVec::new();
        signals.push(self.timelines.retired.at(frame.value()));
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
            overlay: self.overlay.clone().filter(|_| self.present_pass.is_none()),
        }
    }

    /// The slot's screen image.
    fn screen(&self, slot: usize) -> Option<Screen> {
        match &self.present_pass {
            Some(pass) => Some(pass.screen(slot).into()),
            None => Some(Screen {
                image: self.processor.screen(slot)?,
                extent: self.extent,
            }),
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

    /// The host waits for each frame before it is given another: the serial schedule's way; and where whoever chose the fastest way has
    /// one frame in flight, since coming back earlier gains nothing there, and the next frame's view would be as old as this frame takes.
    fn is_one_at_a_time(&self) -> bool {
        match self.settings.schedule {
            Schedule::Serial => true,
            Schedule::CopyBack => self.slots.len() == 1,
            Schedule::Pipelined => self.slots.len() == 1 && self.processor.is_in_queue(),
        }
    }

    /// How many frames' presents may trail their scenes.
    fn present_lag(&self) -> usize {
        let is_one_queue = self.present_queue.raw == self.scene_queue.raw;
        let overlaps = self.settings.schedule != Schedule::Serial && self.slots.len() > 1;
        usize::from(is_one_queue && overlaps)
    }
}
