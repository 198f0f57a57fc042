//! The presenters in a real window, with the validation layer watching.
#![cfg(target_os = "linux")]
#![expect(clippy::unwrap_used, reason = "a test ends at what it did not expect")]

mod support;

use std::cell::RefCell;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ash::vk;
use handover::app::{WindowOptions, run};
use handover::present::VSync;
use handover::vulkan::{ValidationCounts, ValidationLog};
use support::rig::{Kind, Plan, QUARTERS, Rig};
use support::{Xvfb, in_child, on_xvfb};
use winit::raw_window_handle::{HasWindowHandle, RawWindowHandle};
use winit::window::Window;
use x11rb::protocol::xproto::{ConnectionExt, ImageFormat};

#[test]
fn swapchain_survives_resizing_and_shows_the_right_colours() {
    on_xvfb("swapchain_survives_resizing_and_shows_the_right_colours", || {
        present(Plan {
            kind: Kind::Swapchain,
            frames: 100,
            resizes: 50,
            gives_up: false,
            vsync: VSync::Mailbox,
        });
    });
}

#[test]
fn swapchain_reuses_what_was_acquired_for_a_frame_that_was_given_up() {
    on_xvfb(
        "swapchain_reuses_what_was_acquired_for_a_frame_that_was_given_up",
        || {
            present(Plan {
                kind: Kind::Swapchain,
                frames: 60,
                resizes: 5,
                gives_up: true,
                vsync: VSync::On,
            });
        },
    );
}

#[test]
fn software_survives_resizing_and_shows_the_right_colours() {
    on_xvfb("software_survives_resizing_and_shows_the_right_colours", || {
        present(Plan {
            kind: Kind::Software,
            frames: 100,
            resizes: 50,
            gives_up: false,
            vsync: VSync::Mailbox,
        });
    });
}

#[test]
fn extensions_of_the_x_server_are_told_apart() {
    // What keeps a driver that needs GLX from being asked where there is none.
    let test = "extensions_of_the_x_server_are_told_apart";
    let server = Xvfb::start(&["-extension", "GLX"]);
    in_child(test, Some(&server.display), || {
        assert_eq!(handover::present::x_server_has("GLX"), Ok(false));
        assert_eq!(handover::present::x_server_has("BIG-REQUESTS"), Ok(true));
        assert!(handover::present::find_display().is_ok());
    });
}

#[test]
fn a_display_that_does_not_answer_counts_as_none() {
    let test = "a_display_that_does_not_answer_counts_as_none";
    in_child(test, Some(":9999"), || {
        let Err(reason) = handover::present::find_display() else {
            panic!("a display was found")
        };
        assert!(
            reason.contains("DISPLAY is :9999, but no X server answers there"),
            "{reason}"
        );
    });
}

#[test]
fn no_display_is_said_plainly() {
    in_child("no_display_is_said_plainly", None, || {
        let Err(reason) = handover::present::find_display() else {
            panic!("a display was found")
        };
        assert_eq!(reason, "neither DISPLAY nor WAYLAND_DISPLAY is set");
    });
}

fn options() -> WindowOptions {
    WindowOptions {
        title: "presenter test".into(),
        extent: vk::Extent2D {
            width: 320,
            height: 240,
        },
        fullscreen: false,
        any_thread: true,
    }
}

/// Carries the plan out, then checks what the window shows and what the layer said, teardown included.
fn present(plan: Plan) {
    let kept: Rc<RefCell<Option<Arc<ValidationLog>>>> = Rc::default();
    let keep = Rc::clone(&kept);
    let display = handover::present::find_display().unwrap();
    run(display, options(), move |window| {
        let (rig, log) = Rig::new(&window, plan, expect_quarters);
        *keep.borrow_mut() = Some(log);
        Ok(Box::new(rig))
    })
    .unwrap();
    let log = kept.take().unwrap();
    assert_eq!(log.counts(), ValidationCounts::default(), "{:?}", log.first_error());
}

/// The window shows the pattern, within a moment: what was presented may still be on its way.
fn expect_quarters(window: &Window) {
    let start = Instant::now();
    loop {
        let shown = quarters(window);
        if shown == QUARTERS {
            return;
        }
        assert!(start.elapsed() < Duration::from_secs(5), "the window shows {shown:?}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// The colours in the middle of the window's quarters, as the X server has them.
fn quarters(window: &Window) -> [[u8; 3]; 4] {
    let id = match window.window_handle().unwrap().as_raw() {
        RawWindowHandle::Xlib(handle) => handle.window as u32,
        RawWindowHandle::Xcb(handle) => handle.window.get(),
        other => panic!("not a window of X: {other:?}"),
    };
    let (connection, _) = x11rb::connect(None).unwrap();
    let size = connection.get_geometry(id).unwrap().reply().unwrap();
    let (width, height) = (size.width as usize, size.height as usize);
    let image = connection
        .get_image(ImageFormat::Z_PIXMAP, id, 0, 0, size.width, size.height, u32::MAX)
        .unwrap()
        .reply()
        .unwrap();
    let at = |x: usize, y: usize| {
        let start = (y * width + x) * 4;
        let pixel = &image.data[start..start + 4];
        [pixel[2], pixel[1], pixel[0]]
    };
    [
        at(width / 4, height / 4),
        at(width * 3 / 4, height / 4),
        at(width / 4, height * 3 / 4),
        at(width * 3 / 4, height * 3 / 4),
    ]
}
