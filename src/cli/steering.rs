//! From the pointer and held keys to the camera.

use glam::Vec2;

use crate::app::{HeldKeys, Input};
use crate::scene::{CameraControl, CameraMove};

/// Moves the camera by what was done since the last frame. `height` is the picture's, in pixels: drags are parts of it.
pub(crate) fn steer(camera: &mut CameraControl, input: &Input, height: u32) {
    let height = height.max(1) as f32;
    let part = |pixels: [f32; 2]| Vec2::from(pixels) / height;
    if input.drag_orbit != [0.0; 2] {
        camera.orbit(part(input.drag_orbit));
    }
    if input.pan != [0.0; 2] {
        camera.pan(part(input.pan));
    }
    if input.dolly != 0.0 {
        camera.dolly(input.dolly);
    }
    let HeldKeys {
        forward,
        back,
        left,
        right,
        up,
        down,
        ..
    } = input.held;
    let held = [
        (CameraMove::Forward, forward),
        (CameraMove::Back, back),
        (CameraMove::Left, left),
        (CameraMove::Right, right),
        (CameraMove::Up, up),
        (CameraMove::Down, down),
    ];
    for (direction, is_down) in held {
        camera.hold(direction, is_down);
    }
}
