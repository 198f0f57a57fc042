//! The window app driven from outside, by keys, pointer and a covering window, as a user does.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

#[expect(dead_code, reason = "the presenters' tests use the rest")]
mod support;

use std::process::Command;
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::{Duration, Instant};

use ash::vk;
use handover::app::{Action, Flow, Input, Session, WindowOptions, run};
use support::on_xvfb;
use winit::raw_window_handle::{HasWindowHandle, RawWindowHandle};
use winit::window::Window;
use x11rb::connection::Connection;
use x11rb::protocol::xproto::{ConnectionExt, CreateWindowAux, WindowClass};

/// What a session saw.
#[derive(Default)]
struct Seen {
    actions: Vec<Action>,
    orbit: [f32; 2],
    pan: [f32; 2],
    dolly: f32,
    moved_forward: u32,
    pointer: [f32; 2],
    extent: Option<vk::Extent2D>,
    frames: u32,
    titles: u32,
    closings: u32,
}

/// A session that writes down what it sees.
#[derive(Clone, Default)]
struct Witness {
    seen: Arc<Mutex<Seen>>,
    /// Ends with an error, or by itself, at this frame.
    fails_at: Option<u32>,
    ends_at: Option<u32>,
}

impl Witness {
    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap()
    }
}

impl Session for Witness {
    fn frame(&mut self, input: &Input) -> anyhow::Result<Flow> {
        // About the pace of a display, so that the cores are left to the X server.
        std::thread::sleep(Duration::from_millis(5));
        let mut seen = self.seen();
        seen.frames += 1;
        for axis in 0..2 {
            seen.orbit[axis] += input.drag_orbit[axis];
            seen.pan[axis] += input.pan[axis];
        }
        seen.dolly += input.dolly;
        seen.moved_forward += u32::from(input.held.forward);
        seen.pointer = input.pointer;
        anyhow::ensure!(Some(seen.frames) != self.fails_at, "the frame failed");
        Ok(if Some(seen.frames) == self.ends_at {
            Flow::Exit
        } else {
            Flow::Continue
        })
    }

    fn act(&mut self, action: Action) -> anyhow::Result<()> {
        self.seen().actions.push(action);
        Ok(())
    }

    fn resized(&mut self, extent: vk::Extent2D) -> anyhow::Result<()> {
        self.seen().extent = Some(extent);
        Ok(())
    }

    fn scaled(&mut self, _pixels_per_point: f64) {}

    fn title(&self, frames_per_second: f64) -> String {
        self.seen().titles += 1;
        format!("witness at {frames_per_second:.0} fps")
    }

    fn closing(&mut self) -> anyhow::Result<()> {
        self.seen().closings += 1;
        Ok(())
    }
}

/// Runs the witness in a window, `drive` beside it with the window's id.
fn run_with(witness: &Witness, drive: impl FnOnce(u32) + Send + 'static) -> anyhow::Result<()> {
    let options = WindowOptions {
        title: "witness".into(),
        extent: vk::Extent2D {
            width: 300,
            height: 200,
        },
        fullscreen: false,
        any_thread: true,
    };
    let session = witness.clone();
    let mut driver = None;
    let driver_of = &mut driver;
    let display = handover::present::find_display().unwrap();
    let result = run(display, options, move |window| {
        let id = id_of(&window);
        let seen = session.clone();
        *driver_of = Some(std::thread::spawn(move || {
            until("the first frame", || seen.seen().frames > 0);
            drive(id);
        }));
        Ok(Box::new(session))
    });
    driver.unwrap().join().unwrap();
    result
}

fn id_of(window: &Window) -> u32 {
    match window.window_handle().unwrap().as_raw() {
        RawWindowHandle::Xlib(handle) => handle.window as u32,
        RawWindowHandle::Xcb(handle) => handle.window.get(),
        other => panic!("not a window of X: {other:?}"),
    }
}

fn until(what: &str, mut reached: impl FnMut() -> bool) {
    let start = Instant::now();
    while !reached() {
        if start.elapsed() > Duration::from_secs(20) {
            // A panic of this thread would leave the window running.
            eprintln!("waited in vain for {what}");
            std::process::exit(1);
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn xdotool(arguments: &str) -> String {
    let output = Command::new("xdotool")
        .args(arguments.split_whitespace())
        .output()
        .unwrap_or_else(|error| {
            panic!("start xdotool: {error}\n  install xdotool (Debian, Ubuntu: apt install xdotool)")
        });
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn keys_become_actions() {
    on_xvfb("keys_become_actions", || {
        let witness = Witness::default();
        let seen = witness.clone();
        run_with(&witness, move |id| {
            xdotool(&format!("windowfocus --sync {id}"));
            xdotool("key 1 2 3 4 5 6 7 8 shift+1 shift+3 0 b F2 p space period n shift+n i Tab r ctrl+1 h");
            xdotool("key j shift+k Return bracketright minus shift+equal BackSpace l F5");
            xdotool("key 9");
            until("the last key", || {
                seen.seen().actions.last() == Some(&Action::ToggleEffect(8))
            });
            until("two titles", || seen.seen().titles > 1);
            let title = xdotool(&format!("getwindowname {id}"));
            assert!(title.starts_with("witness at "), "{title}");
            xdotool("key q");
        })
        .unwrap();
        let mut expected: Vec<_> = (0..8).map(Action::ToggleEffect).collect();
        expected.extend([
            Action::SoloEffect(0),
            Action::SoloEffect(2),
            Action::BypassAll,
            Action::BypassAll,
            Action::ToggleCapture,
            Action::Screenshot,
            Action::Pause,
            Action::StepFrame,
            Action::SwitchScene(1),
            Action::SwitchScene(-1),
            Action::ToggleOverlay,
            Action::HideAll,
            Action::ResetCamera,
            Action::ChooseEffect(1),
            Action::MoveChosen(-1),
            Action::ToggleChosen,
            Action::ChooseParameter(1),
            Action::ChangeParameter(-1),
            Action::ChangeParameter(10),
            Action::ResetParameter,
            Action::SwitchPreset(1),
            Action::SavePreset,
            Action::ToggleEffect(8),
        ]);
        assert_eq!(witness.seen().actions, expected);
        assert_eq!(witness.seen().closings, 1);
    });
}

#[test]
fn pointer_and_held_keys_become_input() {
    on_xvfb("pointer_and_held_keys_become_input", || {
        let witness = Witness::default();
        let seen = witness.clone();
        run_with(&witness, move |id| {
            xdotool(&format!("windowfocus --sync {id} mousemove --window {id} 100 100"));
            until("the pointer", || seen.seen().pointer == [100.0, 100.0]);
            xdotool(&format!("mousedown 1 mousemove --window {id} 130 90 mouseup 1"));
            until("the orbit", || seen.seen().orbit == [30.0, -10.0]);
            xdotool(&format!("mousedown 2 mousemove --window {id} 120 110 mouseup 2"));
            until("the pan", || seen.seen().pan == [-10.0, 20.0]);
            xdotool(&format!(
                "keydown shift mousedown 1 mousemove --window {id} 121 111 mouseup 1 keyup shift"
            ));
            until("the second pan", || seen.seen().pan == [-9.0, 21.0]);
            // A wheel that xdotool turns may count twice: the X server sends it as a button and as a scroll.
            xdotool("click 4");
            until("the wheel", || seen.seen().dolly >= 1.0);
            xdotool("click 5");
            until("the wheel back", || seen.seen().dolly == 0.0);
            xdotool("keydown w");
            until("moving", || seen.seen().moved_forward > 3);
            xdotool("keyup w");
            let at = seen.seen().frames;
            until("a few frames more", || seen.seen().frames > at + 5);
            let stopped = seen.seen().moved_forward;
            let at = seen.seen().frames;
            until("a few frames more", || seen.seen().frames > at + 5);
            assert_eq!(seen.seen().moved_forward, stopped, "a released key moves on");
            xdotool(&format!("windowsize {id} 411 222"));
            let size = vk::Extent2D {
                width: 411,
                height: 222,
            };
            until("the new extent", || seen.seen().extent == Some(size));
            xdotool("key Escape");
        })
        .unwrap();
        assert_eq!(witness.seen().orbit, [30.0, -10.0]);
    });
}

#[test]
fn a_covered_window_renders_nothing_until_it_is_seen_again() {
    on_xvfb("a_covered_window_renders_nothing_until_it_is_seen_again", || {
        let witness = Witness::default();
        let seen = witness.clone();
        run_with(&witness, move |id| {
            let (connection, screen) = x11rb::connect(None).unwrap();
            let root = connection.setup().roots[screen].root;
            let cover = connection.generate_id().unwrap();
            let values = CreateWindowAux::new().background_pixel(0);
            let (class, depth) = (WindowClass::INPUT_OUTPUT, x11rb::COPY_DEPTH_FROM_PARENT);
            connection
                .create_window(
                    depth,
                    cover,
                    root,
                    0,
                    0,
                    1280,
                    800,
                    0,
                    class,
                    x11rb::COPY_FROM_PARENT,
                    &values,
                )
                .unwrap();
            connection.map_window(cover).unwrap();
            connection.flush().unwrap();
            let mut last = 0;
            let mut steady_since = Instant::now();
            until("the frames to stop", || {
                let frames = seen.seen().frames;
                if frames != last {
                    (last, steady_since) = (frames, Instant::now());
                }
                steady_since.elapsed() > Duration::from_millis(500)
            });
            let before = cpu_time();
            std::thread::sleep(Duration::from_secs(1));
            let used = cpu_time() - before;
            assert!(
                used < Duration::from_millis(100),
                "a covered window used {used:?} of a second"
            );
            assert_eq!(seen.seen().frames, last);
            connection.unmap_window(cover).unwrap();
            connection.flush().unwrap();
            until("frames again", || seen.seen().frames > last + 5);
            xdotool(&format!("windowfocus --sync {id}"));
            xdotool("key q");
        })
        .unwrap();
    });
}

#[test]
fn an_error_in_a_frame_comes_out_of_run() {
    on_xvfb("an_error_in_a_frame_comes_out_of_run", || {
        let witness = Witness {
            fails_at: Some(3),
            ..Default::default()
        };
        let error = run_with(&witness, |_| {}).unwrap_err();
        assert_eq!(error.to_string(), "the frame failed");
        let seen = witness.seen();
        assert_eq!((seen.frames, seen.closings), (3, 1));
    });
}

#[test]
fn an_error_while_opening_comes_out_of_run() {
    on_xvfb("an_error_while_opening_comes_out_of_run", || {
        let options = WindowOptions {
            title: "broken".into(),
            extent: vk::Extent2D {
                width: 100,
                height: 100,
            },
            fullscreen: true,
            any_thread: true,
        };
        let display = handover::present::find_display().unwrap();
        let error = run(display, options, |_| anyhow::bail!("no renderer")).unwrap_err();
        assert_eq!(error.to_string(), "no renderer");
    });
}

#[test]
fn exit_ends_after_the_frames_asked_for() {
    on_xvfb("exit_ends_after_the_frames_asked_for", || {
        let witness = Witness {
            ends_at: Some(20),
            ..Default::default()
        };
        run_with(&witness, |_| {}).unwrap();
        let seen = witness.seen();
        assert_eq!((seen.frames, seen.closings), (20, 1));
    });
}

/// User and system time of this process so far.
fn cpu_time() -> Duration {
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap();
    // After the name, which may hold spaces: the fields from the third on; utime and stime are the 14th and 15th.
    let fields: Vec<_> = stat.rsplit_once(')').unwrap().1.split_whitespace().collect();
    let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
    // Linux counts them in hundredths of a second for every program (USER_HZ).
    Duration::from_millis(ticks * 10)
}
