//! The frame loop when the chain fails: the reason comes out at once, and the end does not wait for what cannot come.
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use handover::cli::{Machine, ProcessorChoice, Request};
use handover::frame::{FrameNumber, Timelines};
use handover::kernels::{Chain, FrameExtents, Plan, catalogue};
use handover::present::Offscreen;
use handover::process::{ChainTimes, Error as ProcessError, HostProcessor, Job, KernelLoader, Processor, SlotImages};
use handover::renderer::{Error, Parts, Renderer, Schedule, Settings, View};
use handover::scene::{self, Camera, SceneFrame, Target};
use handover::timing::{ClockProof, Instrument};

/// Longer than any test may take: whoever waits for it has waited for a frame that cannot come.
const WAIT_LIMIT: Duration = Duration::from_secs(60);
/// What a failure may take to come out, on a busy machine, and with a validation layer that blocks itself for ten seconds.
const PROMPT: Duration = Duration::from_secs(30);

/// How the chain fails in the frame [`FAILS_IN`].
#[derive(Clone, Copy, PartialEq)]
enum Failure {
    /// It cannot be enqueued.
    Enqueue,
    /// It is enqueued, and then found to have failed: a kernel fault.
    Later,
}

const FAILS_IN: u64 = 5;

/// The host's processor, until it fails.
struct Failing {
    inner: HostProcessor,
    failure: Failure,
    has_failed: bool,
}

fn fault() -> ProcessError {
    ProcessError::Effect {
        effect: "made to fail".into(),
        reason: "faulted".into(),
    }
}

impl Processor for Failing {
    fn name(&self) -> &'static str {
        self.inner.name()
    }

    fn description(&self) -> String {
        self.inner.description()
    }

    fn is_on_gpu(&self) -> bool {
        self.inner.is_on_gpu()
    }

    fn clock(&self) -> ClockProof {
        self.inner.clock()
    }

    fn prove_clock(&mut self) -> Result<ClockProof, ProcessError> {
        self.inner.prove_clock()
    }

    fn copy_bandwidth(&mut self) -> Result<Option<f64>, ProcessError> {
        self.inner.copy_bandwidth()
    }

    fn retarget(&mut self, extents: FrameExtents, slots: usize) -> Result<Vec<SlotImages>, ProcessError> {
        self.inner.retarget(extents, slots)
    }

    fn record_release(&self, commands: vk::CommandBuffer, slot: usize, written: &[Target], family: u32, plan: &Plan) {
        self.inner.record_release(commands, slot, written, family, plan);
    }

    fn record_acquire(&self, commands: vk::CommandBuffer, slot: usize, family: u32) {
        self.inner.record_acquire(commands, slot, family);
    }

    fn end_in_screen(&mut self) -> Result<(), ProcessError> {
        self.inner.end_in_screen()
    }

    fn screen(&self, slot: usize) -> Option<vk::Image> {
        self.inner.screen(slot)
    }

    fn record_acquire_screen(&self, commands: vk::CommandBuffer, slot: usize, family: u32) {
        self.inner.record_acquire_screen(commands, slot, family);
    }

    fn enqueue(&mut self, job: Job) -> Result<(), ProcessError> {
        if job.frame < FrameNumber::at(FAILS_IN) {
            return self.inner.enqueue(job);
        }
        self.has_failed = true;
        match self.failure {
            Failure::Enqueue => Err(fault()),
            Failure::Later => Ok(()),
        }
    }

    fn times(&mut self, slot: usize, times: &mut ChainTimes) {
        self.inner.times(slot, times);
    }

    fn kernel_loader(&self) -> Option<Arc<KernelLoader>> {
        self.inner.kernel_loader()
    }

    fn withhold_from(&mut self, frame: FrameNumber) {
        self.inner.withhold_from(frame);
    }

    fn stop(&mut self) {
        self.inner.stop();
    }

    fn failure(&mut self) -> Option<ProcessError> {
        (self.has_failed && self.failure == Failure::Later).then(fault)
    }
}

fn renderer(failure: Failure, schedule: Schedule, frames_in_flight: usize) -> (Renderer, Machine) {
    let request = Request {
        validate: true,
        ..Request::offscreen(ProcessorChoice::Host)
    };
    let machine = Machine::open(&request, None).unwrap();
    let device = Arc::clone(&machine.device);
    let timelines = Arc::new(Timelines::new(&device, false).unwrap());
    let processor = Failing {
        inner: HostProcessor::new(&device, &timelines).unwrap(),
        failure,
        has_failed: false,
    };
    let extent = vk::Extent2D { width: 64, height: 36 };
    let parts = Parts {
        scene: scene::create("none", &device).unwrap(),
        presenter: Box::new(Offscreen::new(extent)),
        processor: Box::new(processor),
        standby: None,
        device,
        timelines,
    };
    let settings = Settings {
        render_scale: 1.0,
        frames_in_flight,
        schedule,
        wait_limit: WAIT_LIMIT,
        effects: catalogue().effects().len(),
        instrument: Instrument::Full,
        check_tags: false,
        check_complement: false,
    };
    (Renderer::new(parts, settings).unwrap(), machine)
}

fn view() -> View {
    View {
        scene: SceneFrame {
            frame: 0,
            time: 0.0,
            time_delta: 0.0,
            camera: Camera::default(),
            jitter: [0.0; 2],
        },
        plan: Arc::new(Chain::new(catalogue()).plan()),
        pointer: [0.0; 2],
    }
}

#[test]
fn a_chain_that_fails_ends_the_run_at_once_with_its_reason() {
    for failure in [Failure::Enqueue, Failure::Later] {
        for (schedule, frames_in_flight) in [
            (Schedule::Serial, 1),
            (Schedule::Pipelined, 1),
            (Schedule::Pipelined, 3),
            (Schedule::Pipelined, 8),
            (Schedule::CopyBack, 1),
            (Schedule::CopyBack, 3),
        ] {
            let started = Instant::now();
            let (mut renderer, machine) = renderer(failure, schedule, frames_in_flight);
            let view = view();
            let error = (0..100)
                .find_map(|_| renderer.render_frame(&view).err())
                .expect("it fails");
            assert!(
                matches!(&error, Error::Process(ProcessError::Effect { reason, .. }) if reason == "faulted"),
                "{error}"
            );
            assert!(matches!(renderer.finish(), Err(Error::Broken)));
            assert!(renderer.read_screen().is_err(), "no picture of a frame that failed");
            drop(renderer);
            assert!(
                started.elapsed() < PROMPT,
                "{schedule:?}, {frames_in_flight}: {:?}",
                started.elapsed()
            );
            machine.check_validation().unwrap();
        }
    }
}

#[test]
fn there_is_no_picture_before_the_first_frame_or_right_after_a_resize() {
    for schedule in [Schedule::Pipelined, Schedule::CopyBack] {
        nothing_is_shown_before_the_first_frame_or_right_after_a_resize(schedule);
    }
}

fn nothing_is_shown_before_the_first_frame_or_right_after_a_resize(schedule: Schedule) {
    let (mut renderer, machine) = renderer(Failure::Enqueue, schedule, 2);
    assert!(matches!(renderer.read_screen(), Err(Error::NothingShown)));
    renderer.render_frame(&view()).unwrap();
    assert_eq!(renderer.read_screen().unwrap().dimensions(), (64, 36));
    let extent = vk::Extent2D { width: 100, height: 50 };
    renderer.resize(extent).unwrap();
    assert!(matches!(renderer.read_screen(), Err(Error::NothingShown)));
    renderer.render_frame(&view()).unwrap();
    assert_eq!(renderer.read_screen().unwrap().dimensions(), (100, 50));
    // Minimized: nothing to draw, nothing to read, and back again.
    renderer.resize(vk::Extent2D::default()).unwrap();
    assert!(matches!(
        renderer.render_frame(&view()),
        Ok(handover::renderer::Rendered::Skipped)
    ));
    assert!(matches!(renderer.read_screen(), Err(Error::NothingShown)));
    renderer.resize(extent).unwrap();
    renderer.render_frame(&view()).unwrap();
    assert_eq!(renderer.last_frame(), FrameNumber::at(3), "frame numbers go on");
    drop(renderer);
    machine.check_validation().unwrap();
}
