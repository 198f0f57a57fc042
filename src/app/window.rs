//! The window and its event loop: events in, calls of the [`Session`] out.

use std::sync::Arc;
use std::time::Instant;

use anyhow::Context;
use ash::vk;
use winit::application::ApplicationHandler;
use winit::dpi::PhysicalSize;
use winit::event::{ElementState, KeyEvent, WindowEvent};
use winit::event_loop::{ActiveEventLoop, ControlFlow, EventLoop};
use winit::keyboard::ModifiersState;
use winit::window::{Fullscreen, Window, WindowAttributes, WindowId};

use super::keys::{Meaning, Press, meaning};
use super::pace::{Next, Pace};
use super::pointer::Gatherer;
use super::{Action, Flow, Session, text_table};
use crate::present::{Display, DisplayServer};

/// What [`run`] is asked for.
#[derive(Debug, Clone)]
pub struct WindowOptions {
    /// The first title; [`Session::title`] follows.
    pub title: String,
    /// The first extent, in pixels. The window system may give another.
    pub extent: vk::Extent2D,
    /// Start without borders on the whole screen.
    pub fullscreen: bool,
    /// Let a thread other than the main one run the loop, where the window system allows that: for tests.
    pub any_thread: bool,
}

/// Opens the window on `display`, makes the session in it and runs both until one of them ends. A process can do so once.
///
/// # Errors
/// The window system refused, or what the session or its `make` failed with.
pub fn run(
    display: Display,
    options: WindowOptions,
    make: impl FnOnce(Arc<Window>) -> anyhow::Result<Box<dyn Session>>,
) -> anyhow::Result<()> {
    let event_loop = without_panic(|| event_loop(display.server, options.any_thread))
        .ok_or_else(|| {
            anyhow::anyhow!(
                "no window can be opened: the window system has no keyboard data\n  install xkb-data \
                 (xkeyboard-config), or set XKB_CONFIG_ROOT to its folder"
            )
        })?
        .context("start the window system's event loop")?;
    let mut handler = Handler {
        options,
        make: Some(make),
        open: None,
        gatherer: Gatherer::default(),
        modifiers: ModifiersState::empty(),
        pace: Pace::new(Instant::now()),
        resized: None,
        failure: None,
    };
    let ran = event_loop.run_app(&mut handler).context("run the event loop");
    handler.failure.map_or(ran, Err)
}

/// Runs what panics in winit itself when the X keyboard data are missing; `None`: it did.
fn without_panic<T>(make: impl FnOnce() -> T) -> Option<T> {
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    // Unwind safe: what `make` borrows is not used after a panic.
    let made = std::panic::catch_unwind(std::panic::AssertUnwindSafe(make)).ok();
    std::panic::set_hook(hook);
    made
}

#[cfg(target_os = "linux")]
fn event_loop(server: DisplayServer, any_thread: bool) -> Result<EventLoop<()>, winit::error::EventLoopError> {
    use winit::platform::wayland::EventLoopBuilderExtWayland;
    use winit::platform::x11::EventLoopBuilderExtX11;
    let mut builder = EventLoop::builder();
    EventLoopBuilderExtX11::with_any_thread(&mut builder, any_thread);
    // winit looks at the variables only; this is the server that answered.
    match server {
        DisplayServer::X11 => builder.with_x11(),
        DisplayServer::Wayland => builder.with_wayland(),
        DisplayServer::Native => &mut builder,
    };
    builder.build()
}

#[cfg(not(target_os = "linux"))]
fn event_loop(_server: DisplayServer, _any_thread: bool) -> Result<EventLoop<()>, winit::error::EventLoopError> {
    EventLoop::new()
}

/// The window with what runs in it. The session is dropped first: it presents to the window.
struct Open {
    session: Box<dyn Session>,
    window: Arc<Window>,
}

struct Handler<M> {
    options: WindowOptions,
    /// Taken when the window is there.
    make: Option<M>,
    open: Option<Open>,
    gatherer: Gatherer,
    modifiers: ModifiersState,
    pace: Pace,
    /// The window's new extent, which the session does not know yet.
    resized: Option<vk::Extent2D>,
    /// The first error; winit's callbacks cannot return one, so `run` does.
    failure: Option<anyhow::Error>,
}

impl<M> Handler<M> {
    fn fail(&mut self, event_loop: &ActiveEventLoop, error: anyhow::Error) {
        if self.failure.is_none() {
            self.failure = Some(error);
        } else {
            // What follows a failure mostly follows from it.
            tracing::debug!("{error:#}");
        }
        event_loop.exit();
    }

    /// Calls the session, keeping its error.
    fn with<T>(
        &mut self,
        event_loop: &ActiveEventLoop,
        call: impl FnOnce(&mut Open) -> anyhow::Result<T>,
    ) -> Option<T> {
        match call(self.open.as_mut()?) {
            Ok(value) => Some(value),
            Err(error) => {
                self.fail(event_loop, error);
                None
            }
        }
    }

    fn key(&mut self, event_loop: &ActiveEventLoop, event: &KeyEvent, is_synthetic: bool) {
        if event.state == ElementState::Released {
            return self.gatherer.release(event.physical_key);
        }
        // Synthetic: it went down before the window had the focus. The others belong to the desktop.
        let others = ModifiersState::CONTROL | ModifiersState::ALT | ModifiersState::SUPER;
        if is_synthetic || self.modifiers.intersects(others) {
            return;
        }
        let press = Press {
            physical: event.physical_key,
            logical: &event.logical_key,
            shift: self.modifiers.shift_key(),
            repeat: event.repeat,
        };
        match meaning(&press) {
            Some(Meaning::Hold(motion)) => self.gatherer.hold(event.physical_key, motion),
            Some(Meaning::Act(action)) => self.act(event_loop, action),
            None => {}
        }
    }

    fn act(&mut self, event_loop: &ActiveEventLoop, action: Action) {
        match action {
            Action::Quit => event_loop.exit(),
            Action::Help => tracing::info!("keys:\n{}", text_table()),
            Action::ToggleFullscreen => {
                self.with(event_loop, |open| {
                    let next = open
                        .window
                        .fullscreen()
                        .is_none()
                        .then_some(Fullscreen::Borderless(None));
                    open.window.set_fullscreen(next);
                    Ok(())
                });
            }
            action => {
                self.with(event_loop, |open| open.session.act(action));
            }
        }
    }

    fn resize(&mut self, size: PhysicalSize<u32>) {
        self.pace.empty = size.width == 0 || size.height == 0;
        if !self.pace.empty {
            self.resized = Some(vk::Extent2D {
                width: size.width,
                height: size.height,
            });
        }
    }

    fn frame(&mut self, event_loop: &ActiveEventLoop) {
        let input = self.gatherer.take(self.modifiers.shift_key());
        let resized = self.resized.take();
        let flow = self.with(event_loop, |open| {
            if let Some(extent) = resized {
                open.session.resized(extent)?;
            }
            open.session.frame(&input)
        });
        let now = Instant::now();
        match flow {
            Some(Flow::Continue) => self.pace.frame(true, now),
            Some(Flow::Skipped) => {
                self.pace.frame(false, now);
                self.look_whether_minimized();
            }
            Some(Flow::Exit) => event_loop.exit(),
            None => {}
        }
        self.tick(now);
    }

    /// What is done twice a second.
    fn tick(&mut self, now: Instant) {
        let Some(rate) = self.pace.tick(now) else { return };
        if let Some(open) = &self.open {
            open.window.set_title(&open.session.title(rate));
        }
        self.look_whether_minimized();
    }

    fn look_whether_minimized(&mut self) {
        if let Some(open) = &self.open {
            self.pace.minimized = open.window.is_minimized().unwrap_or(false);
        }
    }
}

impl<M> ApplicationHandler for Handler<M>
where
    M: FnOnce(Arc<Window>) -> anyhow::Result<Box<dyn Session>>,
{
    fn resumed(&mut self, event_loop: &ActiveEventLoop) {
        let Some(make) = self.make.take() else { return };
        let opened = event_loop
            .create_window(attributes(&self.options))
            .context("open the window")
            .and_then(|window| {
                let window = Arc::new(window);
                let session = make(Arc::clone(&window))?;
                Ok(Open { session, window })
            });
        match opened {
            Ok(open) => self.open = Some(open),
            Err(error) => self.fail(event_loop, error),
        }
    }

    fn window_event(&mut self, event_loop: &ActiveEventLoop, _window: WindowId, event: WindowEvent) {
        // After the exit was asked for, events still arrive; the session has seen its last frame.
        if event_loop.exiting() {
            return;
        }
        match event {
            WindowEvent::CloseRequested => event_loop.exit(),
            WindowEvent::Resized(size) => self.resize(size),
            WindowEvent::ScaleFactorChanged { scale_factor, .. } => {
                if let Some(open) = &mut self.open {
                    open.session.scaled(scale_factor);
                }
            }
            WindowEvent::Occluded(occluded) => self.pace.occluded = occluded,
            WindowEvent::Focused(false) => self.gatherer.release_all(),
            WindowEvent::ModifiersChanged(modifiers) => self.modifiers = modifiers.state(),
            WindowEvent::KeyboardInput {
                event, is_synthetic, ..
            } => self.key(event_loop, &event, is_synthetic),
            WindowEvent::MouseInput { state, button, .. } => {
                self.gatherer.button(button, state, self.modifiers.shift_key());
            }
            WindowEvent::CursorMoved { position, .. } => {
                self.gatherer.moved([position.x as f32, position.y as f32]);
            }
            WindowEvent::MouseWheel { delta, .. } => self.gatherer.wheel(delta),
            WindowEvent::RedrawRequested if self.pace.next(Instant::now()) == Next::Frame => self.frame(event_loop),
            _ => {}
        }
    }

    fn about_to_wait(&mut self, event_loop: &ActiveEventLoop) {
        if self.pace.minimized {
            self.look_whether_minimized();
        }
        let next = self.pace.next(Instant::now());
        if let (Next::Frame, Some(open)) = (next, &self.open) {
            open.window.request_redraw();
        }
        event_loop.set_control_flow(match next {
            Next::At(time) => ControlFlow::WaitUntil(time),
            // A requested redraw ends the wait by itself.
            Next::Frame | Next::Event => ControlFlow::Wait,
        });
    }

    fn exiting(&mut self, event_loop: &ActiveEventLoop) {
        self.with(event_loop, |open| open.session.closing());
        // Here and not after the loop: the connection to the display server is still open.
        self.open = None;
    }
}

fn attributes(options: &WindowOptions) -> WindowAttributes {
    let attributes = Window::default_attributes()
        .with_title(&options.title)
        .with_inner_size(PhysicalSize::new(options.extent.width, options.extent.height))
        .with_fullscreen(options.fullscreen.then_some(Fullscreen::Borderless(None)));
    named(attributes)
}

/// Gives the window the name that desktops group windows by.
#[cfg(target_os = "linux")]
fn named(attributes: WindowAttributes) -> WindowAttributes {
    // One name for both window systems: the two traits set the same attribute.
    winit::platform::x11::WindowAttributesExtX11::with_name(attributes, "handover", "handover")
}

#[cfg(not(target_os = "linux"))]
fn named(attributes: WindowAttributes) -> WindowAttributes {
    attributes
}
