// The studio: what the host gives its shaders, and the vertex shaders. (The files of this folder are one module.)

struct Light {
    // A segment from `a` to `b` (an orb where they are equal), or a ring around `a` with the axis `b`.
    a: vec3f,
    tube_radius: f32,
    b: vec3f,
    ring_radius: f32, // 0 for a segment
    color: vec3f,
    padding: f32,
}

struct Frame {
    view_projection: mat4x4f,
    previous_view_projection: mat4x4f,
    key_view_projection: mat4x4f,
    eye: vec3f,
    far: f32,
    forward: vec3f,
    shadow_texel: f32,
    // The picture's half width and half height at a distance of 1.
    right: vec3f,
    width: f32,
    up: vec3f,
    height: f32,
    key_direction: vec3f,
    padding: f32,
    // How far the picture is moved, texels right and down: `view_projection` has it, nothing else.
    jitter: vec2f,
    padding_2: vec2f,
    lights: array<Light, 6>,
    // Centre and radius of balls that stand for the large objects where they shade their surroundings.
    occluders: array<vec4f, 6>,
}

struct Instance {
    model: mat4x4f,
    previous_model: mat4x4f,
    base_color: vec3f,
    metallic: f32,
    emission: vec3f,
    roughness: f32,
    pattern: u32,
    pattern_scale: f32,
}

@group(0) @binding(0) var<uniform> frame: Frame;
@group(0) @binding(1) var<storage, read> instances: array<Instance>;
@group(0) @binding(2) var shadow_map: texture_depth_2d;
@group(0) @binding(3) var shadow_sampler: sampler_comparison;
@group(0) @binding(4) var mirror: texture_2d<f32>;
@group(0) @binding(5) var mirror_sampler: sampler;

const PI = 3.14159265;
const KEY_COLOR = vec3f(2.75, 2.5, 2.15);
const LEFT_LAMP = vec3f(-0.832, 0.277, 0.480);
const RIGHT_LAMP = vec3f(0.870, 0.340, 0.357);
// Bloom of a larger value would only be noise; half floats end at 65504.
const BRIGHTEST = vec3f(200.0);

struct VertexOutput {
    @builtin(position) clip: vec4f,
    @location(0) world: vec3f,
    @location(1) normal: vec3f,
    @location(2) uv: vec2f,
    @location(3) previous_clip: vec4f,
    @location(4) @interpolate(flat) instance: u32,
}

@vertex
fn vertex_surface(
    @location(0) position: vec3f,
    @location(1) normal: vec3f,
    @location(2) uv: vec2f,
    @builtin(instance_index) index: u32,
) -> VertexOutput {
    let model = instances[index].model;
    let world = model * vec4f(position, 1.0);
    // The cofactor matrix: right for scales that differ by axis.
    let turned = normal.x * cross(model[1].xyz, model[2].xyz) + normal.y * cross(model[2].xyz, model[0].xyz)
        + normal.z * cross(model[0].xyz, model[1].xyz);
    let previous = instances[index].previous_model * vec4f(position, 1.0);
    return VertexOutput(
        frame.view_projection * world, world.xyz, turned, uv, frame.previous_view_projection * previous, index);
}

@vertex
fn vertex_shadow(
    @location(0) position: vec3f,
    @builtin(instance_index) index: u32,
) -> @builtin(position) vec4f {
    return frame.key_view_projection * (instances[index].model * vec4f(position, 1.0));
}

@vertex
fn vertex_backdrop(@builtin(vertex_index) index: u32) -> @builtin(position) vec4f {
    let corner = vec2f(f32(index & 1u), f32(index >> 1u)) * 4.0 - 1.0;
    return vec4f(corner, 0.0, 1.0); // the far plane: depth is reversed
}
