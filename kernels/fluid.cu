/*---
title = "Fluid"
summary = "Dye in a fluid over the picture: the pointer stirs it, and a brush of its own wanders."
source = "Stam, Stable Fluids, SIGGRAPH 1999: forces, semi-Lagrangian advection, projection; Harlow and Welch, Physics of Fluids 8, 1965: the staggered grid; Fedkiw, Stam and Jensen, Visual Simulation of Smoke, SIGGRAPH 2001: vorticity confinement"
stage = "look"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; the fluid does not read the picture"

[tolerance]
ulps = 1
why = "additions, products, quotients and roots alone, in the same order: only the last rounding may differ"

[[parameters]]
name = "force"
unit = "of the pointer's way, a second"
minimum = 0.0
maximum = 40.0
default = 8.0
step = 0.5
type = "f32"

[[parameters]]
name = "brush"
unit = "texels around the pointer's way"
minimum = 4.0
maximum = 256.0
default = 40.0
step = 4.0
type = "f32"

[[parameters]]
name = "dye"
unit = "light"
minimum = 0.0
maximum = 4.0
default = 0.6
step = 0.1
type = "f32"

[[parameters]]
name = "fade"
unit = "1/s"
minimum = 0.0
maximum = 10.0
default = 0.5
step = 0.1
type = "f32"

[[parameters]]
name = "drag"
unit = "1/s"
minimum = 0.0
maximum = 10.0
default = 0.2
step = 0.1
type = "f32"

[[parameters]]
name = "swirl"
unit = "1/s"
minimum = 0.0
maximum = 20.0
default = 4.0
step = 0.5
type = "f32"

[[parameters]]
name = "wander"
unit = "of the pointer's brush"
minimum = 0.0
maximum = 1.0
default = 0.5
step = 0.05
type = "f32"

[[parameters]]
name = "opacity"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.9
step = 0.05
type = "f32"

[[passes]]
entry = "fluid_curl"
source = "flow.previous"
destination = "curl"
divisor = 4
format = "rgba32f"

[[passes]]
entry = "fluid_force"
source = "flow.previous"
second = "curl"
destination = "forced"
divisor = 4
format = "rgba32f"

[[passes]]
entry = "fluid_advect"
source = "forced"
destination = "moved"
divisor = 4
format = "rgba32f"

[[passes]]
entry = "fluid_divergence"
source = "moved"
destination = "unsolved"
divisor = 4
format = "rgba32f"

[[passes]]
entry = "fluid_pressure"
source = "unsolved"
destination = "pressure"
divisor = 4
format = "rgba32f"
repeat = 24

[[passes]]
entry = "fluid_project"
source = "pressure"
second = "moved"
destination = "flow"
divisor = 4
format = "rgba32f"
keeps = true

[[passes]]
entry = "fluid_dye"
source = "dye.previous"
second = "flow"
destination = "dye"
divisor = 4
format = "rgba32f"
keeps = true

[[passes]]
entry = "fluid_composite"
source = "dye"
second = "input"
destination = "output"
---*/
#include "handover.cuh"

struct FluidParameters {
    float force, brush, dye, fade;
    float drag, swirl, wander, opacity;
};

// Texels of the picture across one of the fluid's.
constexpr float scale = 4.0f;
// Texels of the fluid a second: faster than any picture is wide.
constexpr float speed_limit = 4096.0f;
// A longer frame moves as one of this many seconds.
constexpr float longest_step = 0.05f;
constexpr float dye_limit = 16.0f;  // light
// What the pressure keeps from frame to frame: the mean that rounding adds does not grow.
constexpr float pressure_kept = 0.98f;

// The fluid's images hold in x the velocity through a texel's left face, in y that through its upper face, in texels a second,
// and in z the pressure in its middle. Nothing flows through the edge.
HANDOVER_INLINE float through_left(const Image& flow, int x, int y) {
    return x <= 0 || x >= int(flow.extent.x) ? 0.0f : load_float(flow, x, y).x;
}

HANDOVER_INLINE float through_top(const Image& flow, int x, int y) {
    return y <= 0 || y >= int(flow.extent.y) ? 0.0f : load_float(flow, x, y).y;
}

HANDOVER_INLINE float step_of(const Pass& pass) { return clamp(pass.time_delta, 0.0f, longest_step); }

// A stroke from one position to another, in texels of the fluid.
struct Stroke {
    float2 from;
    float2 way;
    float strength;
};

HANDOVER_INLINE Stroke pointer_stroke(const Pass& pass) {
    float2 from = make_float2(pass.previous_pointer.x / scale, pass.previous_pointer.y / scale);
    return {from, make_float2(pass.pointer.x / scale - from.x, pass.pointer.y / scale - from.y), 1.0f};
}

// To and fro between -1 and 1, smoothly, once a unit.
HANDOVER_INLINE float wave(float phase) {
    float t = fabsf(2.0f * (phase - floorf(phase)) - 1.0f);
    return 2.0f * (t * t * (3.0f - 2.0f * t)) - 1.0f;
}

HANDOVER_INLINE float2 wandered(const Image& image, float time) {
    return make_float2(float(image.extent.x) * (0.5f + 0.35f * wave(0.13f * time)),
                       float(image.extent.y) * (0.5f + 0.35f * wave(0.19f * time + 0.3f)));
}

HANDOVER_INLINE Stroke wandering_stroke(const Pass& pass, float strength) {
    float2 from = wandered(pass.destination, pass.time - step_of(pass)), to = wandered(pass.destination, pass.time);
    return {from, make_float2(to.x - from.x, to.y - from.y), strength};
}

// How much of a brush is on a position: 1 on the stroke, 0 at the radius around it; nothing where it rests.
HANDOVER_INLINE float brush_on(const Stroke& stroke, float x, float y, float radius) {
    float squared = stroke.way.x * stroke.way.x + stroke.way.y * stroke.way.y;
    if (!(squared > 0.0f)) return 0.0f;
    float from_x = x - stroke.from.x, from_y = y - stroke.from.y;
    float share = clamp((from_x * stroke.way.x + from_y * stroke.way.y) / squared, 0.0f, 1.0f);
    float off_x = from_x - stroke.way.x * share, off_y = from_y - stroke.way.y * share;
    float inside = fmaxf(1.0f - (off_x * off_x + off_y * off_y) / (radius * radius), 0.0f);
    return stroke.strength * (inside * inside);
}

// At a texel's upper left corner: in x the vorticity, in y its magnitude.
extern "C" __global__ void fluid_curl(const __grid_constant__ Pass pass,
                                      const __grid_constant__ FluidParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float curl = 0.0f;
    if (pass.kept_frames > 0) {
        float right = load_float(pass.source, at.x, at.y).y, left = load_float(pass.source, at.x - 1, at.y).y;
        float below = load_float(pass.source, at.x, at.y).x, above = load_float(pass.source, at.x, at.y - 1).x;
        curl = (right - left) - (below - above);
    }
    store_float(pass.destination, at, make_float4(curl, fabsf(curl), 0.0f, 0.0f));
}

// The vorticity times one component of the unit vector towards more of it.
HANDOVER_INLINE float confined(float curl, float along, float across) {
    return curl * (along / (sqrtf(along * along + across * across) + 1e-4f));
}

extern "C" __global__ void fluid_force(const __grid_constant__ Pass pass,
                                       const __grid_constant__ FluidParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 flow = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (pass.kept_frames > 0) flow = load_float(pass.source, at.x, at.y);
    const Image& curl = pass.second;
    float4 corner = load_float(curl, at.x, at.y);
    float4 below = load_float(curl, at.x, at.y + 1), right = load_float(curl, at.x + 1, at.y);
    float4 opposite = load_float(curl, at.x + 1, at.y + 1);
    float4 left = load_float(curl, at.x - 1, at.y), left_below = load_float(curl, at.x - 1, at.y + 1);
    float4 above = load_float(curl, at.x, at.y - 1), right_above = load_float(curl, at.x + 1, at.y - 1);
    float swirl = parameters.swirl * step_of(pass);
    float u_across = 0.25f * ((right.y + opposite.y) - (left.y + left_below.y));
    float v_across = 0.25f * ((below.y + opposite.y) - (above.y + right_above.y));
    flow.x += swirl * confined(0.5f * (corner.x + below.x), below.y - corner.y, u_across);
    flow.y -= swirl * confined(0.5f * (corner.x + right.x), right.y - corner.y, v_across);

    float radius = parameters.brush / scale;
    Stroke strokes[2] = {pointer_stroke(pass), wandering_stroke(pass, parameters.wander)};
    for (int i = 0; i < 2; ++i) {
        Stroke stroke = strokes[i];
        float x = float(at.x), y = float(at.y);
        flow.x += parameters.force * stroke.way.x * brush_on(stroke, x, y + 0.5f, radius);
        flow.y += parameters.force * stroke.way.y * brush_on(stroke, x + 0.5f, y, radius);
    }
    flow.x = at.x == 0 ? 0.0f : clamp(flow.x, -speed_limit, speed_limit);
    flow.y = at.y == 0 ? 0.0f : clamp(flow.y, -speed_limit, speed_limit);
    store_float(pass.destination, at, flow);
}

// What flows through left faces at a position in texels, bilinear; left faces' middles are at (x, y + 1/2).
HANDOVER_INLINE float left_at(const Image& flow, float x, float y) {
    float from_x = clamp(x, 0.0f, float(flow.extent.x)), from_y = clamp(y - 0.5f, 0.0f, float(flow.extent.y) - 1.0f);
    float left = floorf(from_x), top = floorf(from_y);
    int i = int(left), j = int(top);
    float share_x = from_x - left, share_y = from_y - top;
    float upper = through_left(flow, i, j) * (1.0f - share_x) + through_left(flow, i + 1, j) * share_x;
    float lower = through_left(flow, i, j + 1) * (1.0f - share_x) + through_left(flow, i + 1, j + 1) * share_x;
    return upper * (1.0f - share_y) + lower * share_y;
}

// The same of upper faces, whose middles are at (x + 1/2, y).
HANDOVER_INLINE float top_at(const Image& flow, float x, float y) {
    float from_x = clamp(x - 0.5f, 0.0f, float(flow.extent.x) - 1.0f), from_y = clamp(y, 0.0f, float(flow.extent.y));
    float left = floorf(from_x), top = floorf(from_y);
    int i = int(left), j = int(top);
    float share_x = from_x - left, share_y = from_y - top;
    float upper = through_top(flow, i, j) * (1.0f - share_x) + through_top(flow, i + 1, j) * share_x;
    float lower = through_top(flow, i, j + 1) * (1.0f - share_x) + through_top(flow, i + 1, j + 1) * share_x;
    return upper * (1.0f - share_y) + lower * share_y;
}

// What is at a face now was where the velocity there comes from.
extern "C" __global__ void fluid_advect(const __grid_constant__ Pass pass,
                                        const __grid_constant__ FluidParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    const Image& flow = pass.source;
    float step = step_of(pass), kept = 1.0f / (1.0f + step * parameters.drag);
    float4 here = load_float(flow, at.x, at.y);
    float x = float(at.x), y = float(at.y), u = 0.0f, v = 0.0f;
    if (at.x > 0) {
        float along = 0.25f * ((through_top(flow, at.x - 1, at.y) + through_top(flow, at.x, at.y)) +
                               (through_top(flow, at.x - 1, at.y + 1) + through_top(flow, at.x, at.y + 1)));
        u = kept * left_at(flow, x - step * here.x, (y + 0.5f) - step * along);
    }
    if (at.y > 0) {
        float along = 0.25f * ((through_left(flow, at.x, at.y - 1) + through_left(flow, at.x + 1, at.y - 1)) +
                               (through_left(flow, at.x, at.y) + through_left(flow, at.x + 1, at.y)));
        v = kept * top_at(flow, (x + 0.5f) - step * along, y - step * here.y);
    }
    store_float(pass.destination, at, make_float4(u, v, here.z, 0.0f));
}

// In x the pressure to begin with, in y what flows out of a texel.
extern "C" __global__ void fluid_divergence(const __grid_constant__ Pass pass,
                                            const __grid_constant__ FluidParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 here = load_float(pass.source, at.x, at.y);
    float out = (through_left(pass.source, at.x + 1, at.y) - here.x) + (through_top(pass.source, at.x, at.y + 1) - here.y);
    store_float(pass.destination, at, make_float4(pressure_kept * here.z, out, 0.0f, 0.0f));
}

// One of Jacobi's iterations of Poisson's equation; at the edge the pressure is level.
extern "C" __global__ void fluid_pressure(const __grid_constant__ Pass pass,
                                          const __grid_constant__ FluidParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float across = load_float(pass.source, at.x - 1, at.y).x + load_float(pass.source, at.x + 1, at.y).x;
    float along = load_float(pass.source, at.x, at.y - 1).x + load_float(pass.source, at.x, at.y + 1).x;
    float out = load_float(pass.source, at.x, at.y).y;
    store_float(pass.destination, at, make_float4(0.25f * ((across + along) - out), out, 0.0f, 0.0f));
}

extern "C" __global__ void fluid_project(const __grid_constant__ Pass pass,
                                         const __grid_constant__ FluidParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 flow = load_float(pass.second, at.x, at.y);
    float pressure = load_float(pass.source, at.x, at.y).x;
    float u = flow.x - (pressure - load_float(pass.source, at.x - 1, at.y).x);
    float v = flow.y - (pressure - load_float(pass.source, at.x, at.y - 1).x);
    u = at.x == 0 ? 0.0f : clamp(u, -speed_limit, speed_limit);
    v = at.y == 0 ? 0.0f : clamp(v, -speed_limit, speed_limit);
    store_float(pass.destination, at, make_float4(u, v, pressure, 0.0f));
}

HANDOVER_INLINE float4 between(float4 from, float4 to, float share) {
    return from * (1.0f - share) + to * share;
}

// Bilinear, at a position in texels whose middles are at (x + 1/2, y + 1/2).
HANDOVER_INLINE float4 dye_at(const Image& dye, float x, float y) {
    float from_x = clamp(x - 0.5f, 0.0f, float(dye.extent.x) - 1.0f);
    float from_y = clamp(y - 0.5f, 0.0f, float(dye.extent.y) - 1.0f);
    float left = floorf(from_x), top = floorf(from_y);
    int i = int(left), j = int(top);
    float4 upper = between(load_float(dye, i, j), load_float(dye, i + 1, j), from_x - left);
    float4 lower = between(load_float(dye, i, j + 1), load_float(dye, i + 1, j + 1), from_x - left);
    return between(upper, lower, from_y - top);
}

// A channel of a hue that goes round once a unit.
HANDOVER_INLINE float hue(float phase) {
    return clamp(fabsf(6.0f * (phase - floorf(phase)) - 3.0f) - 1.0f, 0.0f, 1.0f);
}

extern "C" __global__ void fluid_dye(const __grid_constant__ Pass pass,
                                     const __grid_constant__ FluidParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float step = step_of(pass);
    float x = float(at.x) + 0.5f, y = float(at.y) + 0.5f;
    float4 dye = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (pass.kept_frames > 0) {
        const Image& flow = pass.second;
        float u = 0.5f * (through_left(flow, at.x, at.y) + through_left(flow, at.x + 1, at.y));
        float v = 0.5f * (through_top(flow, at.x, at.y) + through_top(flow, at.x, at.y + 1));
        dye = dye_at(pass.source, x - step * u, y - step * v) * (1.0f / (1.0f + step * parameters.fade));
    }
    float radius = parameters.brush / scale, turn = 0.07f * pass.time;
    Stroke strokes[2] = {pointer_stroke(pass), wandering_stroke(pass, parameters.wander)};
    for (int i = 0; i < 2; ++i) {
        float amount = parameters.dye * brush_on(strokes[i], x, y, radius);
        float phase = turn + 0.5f * float(i);
        dye.x += amount * hue(phase);
        dye.y += amount * hue(phase + 2.0f / 3.0f);
        dye.z += amount * hue(phase + 1.0f / 3.0f);
    }
    store_float(pass.destination, at, make_float4(fminf(dye.x, dye_limit), fminf(dye.y, dye_limit),
                                                  fminf(dye.z, dye_limit), 0.0f));
}

// Dye shines, and covers the more the thicker it is.
extern "C" __global__ void fluid_composite(const __grid_constant__ Pass pass,
                                           const __grid_constant__ FluidParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.second, at.x, at.y);
    float4 dye = dye_at(pass.source, (float(at.x) + 0.5f) / scale, (float(at.y) + 0.5f) / scale);
    float most = fmaxf(dye.x, fmaxf(dye.y, dye.z));
    float seen = 1.0f - parameters.opacity * (most / (1.0f + most));
    store(pass.destination, at,
          make_float4(color.x * seen + dye.x * parameters.opacity, color.y * seen + dye.y * parameters.opacity,
                      color.z * seen + dye.z * parameters.opacity, color.w));
}
