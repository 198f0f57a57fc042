//! The frame whose chain runs in the queue, on any Vulkan device: a processor that copies stands for one that launches kernels.
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[path = "support/copying.rs"]
mod copying;

use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use copying::{Copying, Trouble};
use handover::cli::{Machine, ProcessorChoice, Request};
use handover::frame::{FrameNumber, Timelines};
use handover::kernels::{Chain, catalogue};
use handover::present::Offscreen;
use handover::process::{Error as ProcessError, HostProcessor, Processor};
use handover::renderer::{Error, Parts, Rendered, Renderer, Schedule, Settings, View};
use handover::scene::{self, Camera, SceneFrame};
use handover::timing::Instrument;

/// A frame that does not come is overdue after this.
const WAIT_LIMIT: Duration = Duration::from_secs(60);

/// Which processors a renderer has.
#[derive(Clone, Copy, PartialEq)]
enum Who {
    InQueue(Trouble),
    /// With the host standing by.
    InQueueOrHost,
    Host,
}

const EXTENT: vk::Extent2D = vk::Extent2D { width: 64, height: 36 };

fn machine() -> Machine {
    let request = Request {
        validate: true,
        ..Request::offscreen(ProcessorChoice::Host)
    };
    Machine::open(&request, None).unwrap()
}

fn renderer(machine: &Machine, who: Who, settings: Settings) -> Renderer {
    let device = Arc::clone(&machine.device);
    let timelines = Arc::new(Timelines::new(&device, false).unwrap());
    let host = || -> Box<dyn Processor> { Box::new(HostProcessor::new(&device, &timelines).unwrap()) };
    let in_queue = |trouble| -> Box<dyn Processor> {
        let processor = Copying::new(&device, trouble);
        if let Trouble::Stalls(_, limit) = trouble {
            let (device, event) = (Arc::clone(&device), processor.event);
            std::thread::spawn(move || {
                std::thread::sleep(limit);
                // SAFETY: it is destroyed only when the queue is idle, which it is not before this.
                unsafe { device.raw.set_event(event) }.unwrap();
            });
        }
        Box::new(processor)
    };
    let (processor, standby) = match who {
        Who::InQueue(trouble) => (in_queue(trouble), None),
        Who::InQueueOrHost => (in_queue(Trouble::None), Some(host())),
        Who::Host => (host(), None),
    };
    let parts = Parts {
        scene: scene::create("none", &device).unwrap(),
        presenter: Box::new(Offscreen::new(EXTENT)),
        processor,
        standby,
        device: Arc::clone(&device),
        timelines,
    };
    Renderer::new(parts, settings).unwrap()
}

fn settings(frames_in_flight: usize) -> Settings {
    Settings {
        render_scale: 1.0,
        frames_in_flight,
        schedule: Schedule::Pipelined,
        wait_limit: WAIT_LIMIT,
        effects: catalogue().effects().len(),
        instrument: Instrument::Full,
        check_tags: true,
        check_complement: false,
    }
}

fn view(effects: &[&str]) -> View {
    View {
        scene: SceneFrame {
            frame: 0,
            time: 0.0,
            time_delta: 0.0,
            camera: Camera::default(),
            jitter: [0.0; 2],
        },
        plan: Arc::new(Chain::with_enabled(catalogue(), effects).unwrap().plan()),
        pointer: [0.0; 2],
    }
}

#[test]
fn every_texel_of_every_frame_is_that_frame_s_and_nothing_but_retired_is_signalled() {
    let machine = machine();
    for (frames_in_flight, schedule) in [
        (1, Schedule::Serial),
        (1, Schedule::Pipelined),
        (3, Schedule::Pipelined),
        (8, Schedule::Pipelined),
    ] {
        let settings = Settings {
            schedule,
            ..settings(frames_in_flight)
        };
        let mut renderer = renderer(&machine, Who::InQueue(Trouble::None), settings);
        let view = view(&[]);
        let (frames, mut records) = (60, Vec::new());
        for number in 1..=frames {
            assert_eq!(
                renderer.render_frame(&view).unwrap(),
                Rendered::Frame(FrameNumber::at(number))
            );
            records.extend(renderer.take_records());
        }
        renderer.finish().unwrap();
        records.extend(renderer.take_records());
        let (tags, texels) = (renderer.tags(), u64::from(EXTENT.width * EXTENT.height));
        assert!(tags.mismatches.is_empty(), "{:?}", tags.mismatches);
        assert_eq!((tags.frames, tags.texels), (frames, frames * texels));
        assert_eq!(records.len() as u64, frames);
        for (record, number) in records.iter().zip(1..) {
            assert_eq!(record.frame, number);
            // Scene, chain and present follow one another on one clock.
            for gap_ms in [record.handover_to_cuda_ms, record.handover_to_vulkan_ms] {
                assert!(gap_ms.is_some_and(|gap_ms| gap_ms >= 0.0), "{gap_ms:?}");
            }
            let submit_ms = record.submit_ms.unwrap();
            assert!(submit_ms > 0.0 && record.record_ms.is_some_and(|record_ms| record_ms > 0.0));
        }
    }
    machine.check_validation().unwrap();
}

#[test]
fn resizes_and_pictures_are_as_with_other_processors() {
    let machine = machine();
    let mut renderer = renderer(&machine, Who::InQueue(Trouble::None), settings(3));
    let view = view(&[]);
    assert!(matches!(renderer.read_screen(), Err(Error::NothingShown)));
    let mut texels = 0;
    for step in 0..20 {
        let extent = vk::Extent2D {
            width: 16 + step * 7 % 50,
            height: 16 + step * 5 % 30,
        };
        renderer.resize(extent).unwrap();
        for _ in 0..4 {
            renderer.render_frame(&view).unwrap();
        }
        texels += 4 * u64::from(extent.width * extent.height);
        assert_eq!(
            renderer.read_screen().unwrap().dimensions(),
            (extent.width, extent.height)
        );
    }
    assert_eq!((renderer.tags().texels, renderer.tags().mismatches.len()), (texels, 0));
    assert_eq!(renderer.last_frame(), FrameNumber::at(80));
    drop(renderer);
    machine.check_validation().unwrap();
}

/// Plans with Fourier transforms go to the processor that stands by, others come back: the pictures are those of frames that were
/// all the standby's, and frame numbers go on.
#[test]
fn processors_take_turns_where_one_cannot_transform() {
    let machine = machine();
    let settings = Settings {
        check_tags: false,
        ..settings(3)
    };
    let mut both = renderer(&machine, Who::InQueueOrHost, settings.clone());
    let mut host = renderer(&machine, Who::Host, settings);
    assert!(both.transforms().is_ok(), "the host can");
    let (copies, transforms) = (view(&[]), view(&["fft_bloom"]));
    let turns = [
        ("copying", &copies),
        ("host", &transforms),
        ("copying", &copies),
        ("host", &transforms),
        ("copying", &copies),
    ];
    let mut records = 0;
    for (place, (name, view)) in turns.iter().enumerate() {
        for _ in 0..5 {
            both.render_frame(view).unwrap();
            host.render_frame(view).unwrap();
            records += both.take_records().len();
        }
        assert_eq!(both.processor().name(), *name, "turn {place}");
        assert!(
            both.read_screen().unwrap() == host.read_screen().unwrap(),
            "turn {place}"
        );
        records += both.take_records().len();
    }
    assert_eq!(both.last_frame(), FrameNumber::at(25));
    assert_eq!(records, 25);
    drop((both, host));
    machine.check_validation().unwrap();
}

#[test]
fn a_chain_that_cannot_be_recorded_ends_the_run_at_once_with_its_reason() {
    let machine = machine();
    let started = Instant::now();
    let mut renderer = renderer(&machine, Who::InQueue(Trouble::Fails(5)), settings(3));
    let view = view(&[]);
    let error = (0..100)
        .find_map(|_| renderer.render_frame(&view).err())
        .expect("it fails");
    assert!(
        matches!(&error, Error::Process(ProcessError::Effect { reason, .. }) if reason == "did not load"),
        "{error}"
    );
    assert_eq!(renderer.last_frame(), FrameNumber::at(5));
    assert!(matches!(renderer.finish(), Err(Error::Broken)));
    drop(renderer);
    assert!(started.elapsed() < WAIT_LIMIT / 6, "{:?}", started.elapsed());
    machine.check_validation().unwrap();
}

#[test]
fn a_frame_that_does_not_end_in_time_is_overdue_and_says_who_is_to_blame() {
    let machine = machine();
    let settings = Settings {
        wait_limit: Duration::from_millis(300),
        ..settings(2)
    };
    let stall = Trouble::Stalls(4, Duration::from_secs(1));
    let mut renderer = renderer(&machine, Who::InQueue(stall), settings);
    let view = view(&[]);
    let error = (0..100)
        .find_map(|_| renderer.render_frame(&view).err())
        .expect("it is overdue");
    assert!(
        matches!(error, Error::Overdue { frame, timeline: "retired", reached: 3, .. } if frame == FrameNumber::at(4)),
        "{error}"
    );
    assert!(error.to_string().contains("of which the kernels are a part"), "{error}");
    drop(renderer);
    machine.check_validation().unwrap();
}
