//! What tests with a window share: an X server of their own, and a process of their own.

pub mod rig;
mod xvfb;

use std::process::Command;
use std::time::{Duration, Instant};

pub use xvfb::Xvfb;

/// Names the test whose body a child process runs.
const CHILD: &str = "HANDOVER_TEST_CHILD";

/// A child that takes longer hangs.
const LIMIT: Duration = Duration::from_secs(180);

/// Runs the body of the test `name` in a child process whose display is `display`: a process can have one event loop
/// only, and the variables that name the display are the whole process's.
pub fn in_child(name: &str, display: Option<&str>, body: impl FnOnce()) {
    if std::env::var(CHILD).is_ok_and(|child| child == name) {
        tracing_subscriber::fmt().with_max_level(tracing::Level::WARN).init();
        return body();
    }
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(["--exact", name, "--nocapture"]).env(CHILD, name);
    command.env_remove("WAYLAND_DISPLAY").env_remove("WAYLAND_SOCKET");
    match display {
        Some(display) => command.env("DISPLAY", display),
        None => command.env_remove("DISPLAY"),
    };
    let mut child = command.spawn().unwrap();
    let start = Instant::now();
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if start.elapsed() > LIMIT {
            let _ = child.kill();
            panic!("{name} did not end within {LIMIT:?}");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert!(status.success(), "{name} failed in its child process: {status}");
}

/// [`in_child`] with an X server that is there for this test only.
pub fn on_xvfb(name: &str, body: impl FnOnce()) {
    if std::env::var(CHILD).is_ok() {
        return in_child(name, None, body);
    }
    let server = Xvfb::start(&[]);
    in_child(name, Some(&server.display), body);
}
