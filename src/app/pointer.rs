//! Pointer and held keys, gathered between two frames into one neutral [`Input`].

use winit::event::{ElementState, MouseButton, MouseScrollDelta};
use winit::keyboard::PhysicalKey;

/// Pixels of a touchpad's scrolling that count as one notch of a wheel.
const PIXELS_A_NOTCH: f64 = 50.0;

/// Where a held key moves the camera.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Motion {
    Forward,
    Back,
    Left,
    Right,
    Up,
    Down,
}

/// The movement keys that are down.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct HeldKeys {
    /// Forward.
    pub forward: bool,
    /// Back.
    pub back: bool,
    /// Left.
    pub left: bool,
    /// Right.
    pub right: bool,
    /// Up.
    pub up: bool,
    /// Down.
    pub down: bool,
    /// Shift: faster.
    pub fast: bool,
}

impl HeldKeys {
    /// The direction to move in: right, up, forward, each -1, 0 or 1. Opposite keys cancel.
    pub fn direction(&self) -> [f32; 3] {
        let axis = |plus: bool, minus: bool| f32::from(i8::from(plus) - i8::from(minus));
        [
            axis(self.right, self.left),
            axis(self.up, self.down),
            axis(self.forward, self.back),
        ]
    }
}

/// What the user did since the last frame.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Input {
    /// Left drag, pixels to the right and down.
    pub drag_orbit: [f32; 2],
    /// Middle drag or Shift+left drag, pixels to the right and down.
    pub pan: [f32; 2],
    /// Notches of the wheel; positive: nearer.
    pub dolly: f32,
    /// The movement keys that are down now.
    pub held: HeldKeys,
    /// Where the pointer was last, pixels from the window's upper left corner.
    pub pointer: [f32; 2],
}

/// What a drag does, decided when the button goes down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Drag {
    Orbit,
    Pan,
}

/// Gathers events.
#[derive(Debug, Default)]
pub(super) struct Gatherer {
    input: Input,
    /// The drag and its button.
    drag: Option<(Drag, MouseButton)>,
    /// Keys that are down; two of them may mean the same motion.
    held: Vec<(PhysicalKey, Motion)>,
}

impl Gatherer {
    /// What was gathered since the last call.
    pub fn take(&mut self, shift: bool) -> Input {
        let down = |motion| self.held.iter().any(|(_, held)| *held == motion);
        self.input.held = HeldKeys {
            forward: down(Motion::Forward),
            back: down(Motion::Back),
            left: down(Motion::Left),
            right: down(Motion::Right),
            up: down(Motion::Up),
            down: down(Motion::Down),
            fast: shift,
        };
        let next = Input {
            pointer: self.input.pointer,
            ..Input::default()
        };
        std::mem::replace(&mut self.input, next)
    }

    /// A movement key went down.
    pub fn hold(&mut self, key: PhysicalKey, motion: Motion) {
        if !self.held.contains(&(key, motion)) {
            self.held.push((key, motion));
        }
    }

    /// A key went up.
    pub fn release(&mut self, key: PhysicalKey) {
        self.held.retain(|(held, _)| *held != key);
    }

    /// The window lost the focus: it will not be told what goes up from here.
    pub fn release_all(&mut self) {
        self.held.clear();
        self.drag = None;
    }

    /// A button went down or up.
    pub fn button(&mut self, button: MouseButton, state: ElementState, shift: bool) {
        match (state, self.drag) {
            (ElementState::Pressed, None) => {
                self.drag = match button {
                    MouseButton::Left if !shift => Some((Drag::Orbit, button)),
                    MouseButton::Left | MouseButton::Middle => Some((Drag::Pan, button)),
                    _ => None,
                };
            }
            (ElementState::Released, Some((_, dragging))) if dragging == button => self.drag = None,
            _ => {}
        }
    }

    /// The pointer moved.
    pub fn moved(&mut self, to: [f32; 2]) {
        let from = std::mem::replace(&mut self.input.pointer, to);
        let sum = match self.drag {
            Some((Drag::Orbit, _)) => &mut self.input.drag_orbit,
            Some((Drag::Pan, _)) => &mut self.input.pan,
            None => return,
        };
        sum[0] += to[0] - from[0];
        sum[1] += to[1] - from[1];
    }

    /// The wheel turned.
    pub fn wheel(&mut self, delta: MouseScrollDelta) {
        self.input.dolly += match delta {
            MouseScrollDelta::LineDelta(_, lines) => lines,
            MouseScrollDelta::PixelDelta(pixels) => (pixels.y / PIXELS_A_NOTCH) as f32,
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use winit::keyboard::KeyCode;

    #[test]
    fn drags_add_up_until_they_are_taken() {
        let mut gatherer = Gatherer::default();
        gatherer.moved([10.0, 10.0]);
        gatherer.button(MouseButton::Left, ElementState::Pressed, false);
        gatherer.moved([15.0, 8.0]);
        gatherer.moved([16.0, 7.0]);
        let input = gatherer.take(false);
        assert_eq!((input.drag_orbit, input.pan), ([6.0, -3.0], [0.0, 0.0]));
        assert_eq!(input.pointer, [16.0, 7.0]);
        assert_eq!(gatherer.take(false).drag_orbit, [0.0, 0.0]);
    }

    #[test]
    fn shift_or_the_middle_button_pans_for_the_whole_drag() {
        for (button, shift) in [(MouseButton::Left, true), (MouseButton::Middle, false)] {
            let mut gatherer = Gatherer::default();
            gatherer.button(button, ElementState::Pressed, shift);
            gatherer.button(MouseButton::Right, ElementState::Released, false);
            gatherer.moved([1.0, 2.0]);
            gatherer.button(button, ElementState::Released, false);
            gatherer.moved([9.0, 9.0]);
            let input = gatherer.take(false);
            assert_eq!((input.drag_orbit, input.pan), ([0.0, 0.0], [1.0, 2.0]));
        }
    }

    #[test]
    fn either_of_two_keys_holds_a_motion() {
        let (w, up) = (PhysicalKey::Code(KeyCode::KeyW), PhysicalKey::Code(KeyCode::ArrowUp));
        let mut gatherer = Gatherer::default();
        gatherer.hold(w, Motion::Forward);
        gatherer.hold(up, Motion::Forward);
        gatherer.release(w);
        assert_eq!(gatherer.take(true).held.direction(), [0.0, 0.0, 1.0]);
        gatherer.hold(w, Motion::Back);
        assert_eq!(gatherer.take(false).held.direction(), [0.0, 0.0, 0.0]);
        gatherer.release_all();
        assert_eq!(gatherer.take(false).held, HeldKeys::default());
    }
}
