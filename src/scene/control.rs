//! Turns input into camera motion: drags and the wheel at once, held keys smoothly.

use glam::{Vec2, Vec3};

use super::camera::Camera;

/// A direction that a held key moves the camera in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CameraMove {
    /// W or the up arrow: along the view direction, level with the floor.
    Forward,
    /// S or the down arrow.
    Back,
    /// A or the left arrow.
    Left,
    /// D or the right arrow.
    Right,
    /// E.
    Up,
    /// Q.
    Down,
}

impl CameraMove {
    const COUNT: usize = 6;

    /// In the camera's own axes: right, up, forward.
    fn axes(self) -> Vec3 {
        match self {
            Self::Forward => Vec3::Z,
            Self::Back => Vec3::NEG_Z,
            Self::Left => Vec3::NEG_X,
            Self::Right => Vec3::X,
            Self::Up => Vec3::Y,
            Self::Down => Vec3::NEG_Y,
        }
    }
}

/// The camera under the user's hands. Until they touch it, it follows [`Camera::orbit`].
#[derive(Debug, Clone)]
pub struct CameraControl {
    camera: Camera,
    touched: bool,
    held: [Option<CameraMove>; CameraMove::COUNT],
    /// Right, up, forward; metres a second at a distance of one metre.
    velocity: Vec3,
}

impl CameraControl {
    /// Radians a drag over the height of the window turns.
    const ORBIT_RATE: f32 = 3.0;
    /// Each wheel step multiplies the distance by this.
    const WHEEL_STEP: f32 = 0.9;
    /// Held keys move by this part of the distance to the target a second, so that speed suits the scale seen.
    const MOVE_RATE: f32 = 0.6;
    /// Seconds in which the speed covers 63 % of the way to the speed asked for.
    const RESPONSE: f32 = 0.12;

    /// Untouched.
    pub fn new() -> Self {
        Self {
            camera: Camera::default(),
            touched: false,
            held: [None; CameraMove::COUNT],
            velocity: Vec3::ZERO,
        }
    }

    /// A drag that turns the camera around its target; `delta` is in parts of the window's height, Y down.
    pub fn orbit(&mut self, delta: Vec2) {
        self.touched = true;
        self.camera.yaw -= Self::ORBIT_RATE * delta.x;
        self.camera.pitch += Self::ORBIT_RATE * delta.y;
        self.camera = self.camera.limited();
    }

    /// A drag that moves the target with the pointer; `delta` is in parts of the window's height, Y down.
    pub fn pan(&mut self, delta: Vec2) {
        self.touched = true;
        let camera = &mut self.camera;
        let height = 2.0 * camera.distance * (0.5 * camera.vertical_fov).tan();
        camera.target += height * (delta.y * camera.up() - delta.x * camera.right());
        *camera = camera.limited();
    }

    /// The wheel: positive steps go closer.
    pub fn dolly(&mut self, steps: f32) {
        self.touched = true;
        self.camera.distance *= Self::WHEEL_STEP.powf(steps);
        self.camera = self.camera.limited();
    }

    /// A key went down or up. Repeats of a key that is down do nothing.
    pub fn hold(&mut self, direction: CameraMove, pressed: bool) {
        self.touched |= pressed;
        self.held[direction as usize] = pressed.then_some(direction);
    }

    /// All keys are up: for a window that lost the focus.
    pub fn release_all(&mut self) {
        self.held = [None; CameraMove::COUNT];
    }

    /// Back to the automatic orbit.
    pub fn reset(&mut self) {
        *self = Self::new();
    }

    /// Whether the user has moved it since the start or the last reset.
    pub fn is_touched(&self) -> bool {
        self.touched
    }

    /// The camera of the frame at `time` seconds, `time_delta` seconds after the one before.
    pub fn advance(&mut self, time: f32, time_delta: f32) -> Camera {
        if !self.touched {
            self.camera = Camera::orbit(time);
            return self.camera;
        }
        let direction: Vec3 = self.held.iter().flatten().map(|held| held.axes()).sum();
        let wanted = Self::MOVE_RATE * direction.normalize_or_zero();
        // The exact solution of v' = (wanted - v) / RESPONSE over the step, and its integral: many short frames and one
        // long frame end at the same place.
        let decay = (-time_delta / Self::RESPONSE).exp();
        let travel = wanted * time_delta + (self.velocity - wanted) * Self::RESPONSE * (1.0 - decay);
        self.velocity = wanted + (self.velocity - wanted) * decay;

        let right = self.camera.right();
        let level_forward = Vec3::Y.cross(right);
        self.camera.target += self.camera.distance * (travel.x * right + travel.y * Vec3::Y + travel.z * level_forward);
        self.camera = self.camera.limited();
        self.camera
    }
}

impl Default for CameraControl {
    fn default() -> Self {
        Self::new()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untouched_it_follows_the_orbit_and_reset_goes_back_to_it() {
        let mut control = CameraControl::new();
        assert_eq!(control.advance(3.0, 0.1), Camera::orbit(3.0));
        control.orbit(Vec2::new(0.1, 0.0));
        assert!(control.is_touched());
        let stopped = control.advance(4.0, 0.1);
        assert_eq!(stopped, control.advance(5.0, 0.1), "nothing held: it stays");
        control.reset();
        assert_eq!(control.advance(6.0, 0.1), Camera::orbit(6.0));
    }

    #[test]
    fn the_first_touch_starts_where_the_orbit_was() {
        let mut control = CameraControl::new();
        let before = control.advance(20.0, 0.1);
        control.orbit(Vec2::new(1e-4, 0.0));
        assert!((control.advance(20.1, 0.1).position() - before.position()).length() < 0.01);
    }

    #[test]
    fn limits_hold_against_any_input() {
        let mut control = CameraControl::new();
        for step in 0..200 {
            control.orbit(Vec2::new(0.3, if step < 100 { 1.0 } else { -1.0 }));
            control.dolly(if step % 40 < 20 { 3.0 } else { -3.0 });
            control.pan(Vec2::new(5.0, -5.0));
            let camera = control.advance(0.0, 0.1);
            assert_eq!(camera, camera.limited());
            assert!(camera.position().y > 0.05, "above the floor");
        }
    }

    #[test]
    fn held_keys_move_as_far_at_any_frame_rate() {
        let walk = |frames: u32| {
            let mut control = CameraControl::new();
            control.dolly(6.0);
            let from = control.camera.target;
            control.hold(CameraMove::Forward, true);
            control.hold(CameraMove::Right, true);
            for _ in 0..frames {
                control.advance(0.0, 0.8 / frames as f32);
            }
            control.hold(CameraMove::Forward, false);
            control.hold(CameraMove::Right, false);
            for _ in 0..frames {
                control.advance(0.0, 2.0 / frames as f32);
            }
            control.camera.target - from
        };
        let (slow, fast) = (walk(4), walk(400));
        assert!((slow - fast).length() < 1e-3, "{slow} {fast}");
        assert!(slow.length() > 0.5, "{slow}");
        assert!(slow.y.abs() < 1e-6, "walking stays level: {slow}");
    }

    #[test]
    fn panning_keeps_the_target_plane_under_the_pointer() {
        let mut control = CameraControl::new();
        control.hold(CameraMove::Up, false);
        let before = control.camera;
        let clip = before.projection(1.0) * before.view();
        control.pan(Vec2::new(0.1, 0.05));
        // The point that was in the middle is now where the pointer went.
        let after = control.camera.projection(1.0) * control.camera.view();
        let moved = after.project_point3(before.target) - clip.project_point3(before.target);
        assert!(
            (moved.truncate() * 0.5 - Vec2::new(0.1, 0.05)).length() < 1e-4,
            "{moved}"
        );
    }
}
