//! What the shader is told of a frame and of each object, in `shaders/studio`'s layout.

use bytemuck::{Pod, Zeroable};
use glam::{Mat4, Vec2, Vec3, Vec4};

use super::arrangement::{self, Lamp, Object};
use crate::scene::{Camera, SceneFrame};

/// Texels across and down of the shadow map: about 4 mm each.
pub const SHADOW_SIZE: u32 = 2048;

/// `Light` in the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Light {
    a: Vec3,
    tube_radius: f32,
    b: Vec3,
    ring_radius: f32,
    color: Vec3,
    padding: f32,
}

impl From<Lamp> for Light {
    fn from(lamp: Lamp) -> Self {
        let (a, b, tube_radius, ring_radius, color) = match lamp {
            Lamp::Segment {
                ends: [a, b],
                tube_radius,
                color,
            } => (a, b, tube_radius, 0.0, color),
            Lamp::Ring {
                center,
                axis,
                ring_radius,
                tube_radius,
                color,
            } => (center, axis, tube_radius, ring_radius, color),
        };
        Self {
            a,
            tube_radius,
            b,
            ring_radius,
            color,
            padding: 0.0,
        }
    }
}

/// `Frame` in the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct FrameUniforms {
    view_projection: Mat4,
    previous_view_projection: Mat4,
    key_view_projection: Mat4,
    eye: Vec3,
    far: f32,
    forward: Vec3,
    shadow_texel: f32,
    right: Vec3,
    width: f32,
    up: Vec3,
    height: f32,
    key_direction: Vec3,
    padding: f32,
    jitter: Vec2,
    padding_2: [f32; 2],
    lights: [Light; 6],
    occluders: [Vec4; 6],
}

impl FrameUniforms {
    /// For the picture itself: `size` in texels, `previous` as the last frame's view and projection, without its jitter.
    pub fn new(frame: &SceneFrame, size: [f32; 2], previous: Mat4) -> Self {
        let ([width, height], camera) = (size, &frame.camera);
        let half_height = (0.5 * camera.vertical_fov).tan();
        Self {
            view_projection: moved(frame.jitter, size) * view_projection(camera, size),
            previous_view_projection: previous,
            key_view_projection: key_view_projection(),
            eye: camera.position(),
            far: Camera::FAR,
            forward: camera.forward(),
            shadow_texel: 1.0 / SHADOW_SIZE as f32,
            right: half_height * width / height * camera.right(),
            width,
            up: half_height * camera.up(),
            height,
            key_direction: key_direction(),
            padding: 0.0,
            jitter: frame.jitter.into(),
            padding_2: [0.0; 2],
            lights: arrangement::lamps(frame.time).map(Light::from),
            occluders: arrangement::occluders(),
        }
    }

    /// For the mirror image in the floor: what an eye below it sees through it.
    pub fn mirrored(self) -> Self {
        let flip = Mat4::from_scale(Vec3::new(1.0, -1.0, 1.0));
        Self {
            view_projection: self.view_projection * flip,
            eye: flip.transform_point3(self.eye),
            ..self
        }
    }
}

/// World space to clip space.
pub fn view_projection(camera: &Camera, [width, height]: [f32; 2]) -> Mat4 {
    camera.projection(width / height) * camera.view()
}

/// Clip space to clip space: the picture moved by texels, right and down.
fn moved(texels: [f32; 2], size: [f32; 2]) -> Mat4 {
    Mat4::from_translation(Vec3::new(2.0 * texels[0] / size[0], 2.0 * texels[1] / size[1], 0.0))
}

/// Unit vector towards the key light.
pub fn key_direction() -> Vec3 {
    Vec3::new(-0.62, 0.80, 0.22).normalize()
}

/// World space to the shadow map: parallel rays, depth 0 at the light.
fn key_view_projection() -> Mat4 {
    // A box around everything that casts a shadow, seen from the light.
    let (center, half_side, half_depth) = (Vec3::new(0.0, 1.2, 0.0), 4.3, 6.5);
    let toward = key_direction();
    let right = Vec3::Y.cross(toward).normalize();
    let up = toward.cross(right);
    let rotation = Mat4::from_cols(right.extend(0.0), up.extend(0.0), toward.extend(0.0), Vec4::W).transpose();
    let scale = Mat4::from_scale(Vec3::new(1.0 / half_side, -1.0 / half_side, -0.5 / half_depth));
    Mat4::from_translation(Vec3::new(0.0, 0.0, 0.5)) * scale * rotation * Mat4::from_translation(-center)
}

/// `Instance` in the shader.
#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
pub struct Instance {
    model: Mat4,
    previous_model: Mat4,
    base_color: Vec3,
    metallic: f32,
    emission: Vec3,
    roughness: f32,
    pattern: u32,
    pattern_scale: f32,
    padding: [f32; 2],
}

impl Instance {
    /// An object, and where it was in the last frame.
    pub fn new(object: &Object, previous_model: Mat4) -> Self {
        let material = object.material;
        Self {
            model: object.model,
            previous_model,
            base_color: material.base_color,
            metallic: material.metallic,
            emission: material.emission,
            roughness: material.roughness,
            pattern: material.pattern as u32,
            pattern_scale: material.pattern_scale,
            padding: [0.0; 2],
        }
    }
}
