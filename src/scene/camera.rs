//! Where a frame is seen from: a pose around a target, and its matrices.

use std::f32::consts::FRAC_PI_2;

use glam::{Mat4, Vec3};

/// A camera that looks at a target from a distance. World space is right-handed, Y up, in metres.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Camera {
    /// What it looks at.
    pub target: Vec3,
    /// Radians around the Y axis; 0 looks from +Z, a quarter turn from +X.
    pub yaw: f32,
    /// Radians above the horizon.
    pub pitch: f32,
    /// Metres from the target.
    pub distance: f32,
    /// Radians from the lower edge of the picture to the upper.
    pub vertical_fov: f32,
}

impl Camera {
    /// Metres to the near plane.
    pub const NEAR: f32 = 0.05;
    /// Metres to the far plane: the depth of a texel where nothing is.
    pub const FAR: f32 = 120.0;
    /// The lowest pitch keeps the camera above the floor, the highest keeps its up direction defined.
    pub const PITCH_LIMITS: [f32; 2] = [0.02, FRAC_PI_2 - 0.05];
    /// From close to one object to all of the floor.
    pub const DISTANCE_LIMITS: [f32; 2] = [0.8, 20.0];
    /// Corners of the box that the target stays in.
    pub const TARGET_LIMITS: [Vec3; 2] = [Vec3::new(-6.0, 0.1, -6.0), Vec3::new(6.0, 4.0, 6.0)];

    /// The pose at `time` seconds while nobody touches the camera: it swings gently around the arrangement. A pure
    /// function, so that runs with a fixed time step see the same pictures.
    pub fn orbit(time: f32) -> Self {
        let pose = Self::default();
        Self {
            yaw: pose.yaw + 0.6 * (0.21 * time).sin(),
            pitch: pose.pitch + 0.05 * (0.33 * time).sin(),
            distance: pose.distance - 0.35 * (0.17 * time).sin(),
            ..pose
        }
    }

    /// The same pose with every value brought within its limits.
    #[must_use]
    pub fn limited(self) -> Self {
        let [low, high] = Self::TARGET_LIMITS;
        let clamp = |value: f32, [low, high]: [f32; 2]| value.clamp(low, high);
        Self {
            target: self.target.clamp(low, high),
            pitch: clamp(self.pitch, Self::PITCH_LIMITS),
            distance: clamp(self.distance, Self::DISTANCE_LIMITS),
            ..self
        }
    }

    /// Where it is.
    pub fn position(&self) -> Vec3 {
        self.target - self.distance * self.forward()
    }

    /// The unit view direction.
    pub fn forward(&self) -> Vec3 {
        let (sin_yaw, cos_yaw) = self.yaw.sin_cos();
        let (sin_pitch, cos_pitch) = self.pitch.sin_cos();
        -Vec3::new(cos_pitch * sin_yaw, sin_pitch, cos_pitch * cos_yaw)
    }

    /// The unit direction of the picture's right edge.
    pub fn right(&self) -> Vec3 {
        let (sin_yaw, cos_yaw) = self.yaw.sin_cos();
        Vec3::new(cos_yaw, 0.0, -sin_yaw)
    }

    /// The unit direction of the picture's upper edge.
    pub fn up(&self) -> Vec3 {
        self.right().cross(self.forward())
    }

    /// World space to view space (right-handed, looking along -Z).
    pub fn view(&self) -> Mat4 {
        let (right, up, back) = (self.right(), self.up(), -self.forward());
        Mat4::from_cols(
            right.extend(0.0),
            up.extend(0.0),
            back.extend(0.0),
            self.position().extend(1.0),
        )
        .inverse()
    }

    /// View space to Vulkan's clip space: Y down, and reverse-Z: depth 1 at the near plane, 0 at the far plane, where a
    /// float depth buffer has precision to spare.
    pub fn projection(&self, aspect: f32) -> Mat4 {
        let (near, far) = (Self::NEAR, Self::FAR);
        let scale = 1.0 / (0.5 * self.vertical_fov).tan();
        let depth_scale = near / (far - near);
        Mat4::from_cols_array_2d(&[
            [scale / aspect, 0.0, 0.0, 0.0],
            [0.0, -scale, 0.0, 0.0],
            [0.0, 0.0, depth_scale, -1.0],
            [0.0, 0.0, far * depth_scale, 0.0],
        ])
    }
}

impl Default for Camera {
    /// The pose that shows the studio best.
    fn default() -> Self {
        Self {
            target: Vec3::new(0.0, 1.18, 0.0),
            yaw: 0.3,
            pitch: 0.19,
            distance: 8.0,
            vertical_fov: 0.66,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_target_is_in_the_middle_and_right_is_right() {
        let camera = Camera {
            yaw: 0.7,
            pitch: 0.4,
            ..Camera::default()
        };
        let clip = camera.projection(1.6) * camera.view();
        let middle = clip.project_point3(camera.target);
        assert!(middle.truncate().length() < 1e-5, "{middle}");
        let right = clip.project_point3(camera.target + camera.right());
        let above = clip.project_point3(camera.target + Vec3::Y);
        assert!(right.x > 0.01 && right.y.abs() < 1e-5, "{right}");
        assert!(above.y < -0.01, "Vulkan's Y points down: {above}");
    }

    #[test]
    fn depth_is_one_at_the_near_plane_and_zero_at_the_far() {
        let camera = Camera::default();
        let clip = camera.projection(1.0) * camera.view();
        let at = |metres: f32| clip.project_point3(camera.position() + metres * camera.forward()).z;
        assert!((at(Camera::NEAR) - 1.0).abs() < 1e-3, "{}", at(Camera::NEAR));
        assert!(at(Camera::FAR).abs() < 1e-6, "{}", at(Camera::FAR));
        assert!(at(1.0) > at(2.0));
    }

    #[test]
    fn the_edge_of_the_picture_is_half_the_field_of_view_away() {
        let camera = Camera::default();
        let up = camera.forward() * (0.5 * camera.vertical_fov).cos() + camera.up() * (0.5 * camera.vertical_fov).sin();
        let clip = (camera.projection(1.0) * camera.view()).project_point3(camera.position() + up);
        assert!((clip.y + 1.0).abs() < 1e-5, "{clip}");
    }

    #[test]
    fn the_automatic_orbit_is_continuous_and_within_the_limits() {
        for step in 0..2000 {
            let time = step as f32 * 0.1;
            let camera = Camera::orbit(time);
            assert_eq!(camera, camera.limited());
            assert!((camera.position() - Camera::orbit(time + 0.01).position()).length() < 0.02);
        }
    }
}
