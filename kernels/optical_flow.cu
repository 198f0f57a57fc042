/*---
title = "Optical flow"
summary = "How the picture moved since the previous frame, found in the pictures alone: hue is direction, saturation speed."
source = "Bouguet, Pyramidal Implementation of the Lucas Kanade Feature Tracker, Intel 2000; colours: Baker et al., A Database and Evaluation Methodology for Optical Flow, IJCV 2011"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 2
absolute = 1e-5
why = "the flow is the same to the bit; atan2f and powf are off by some ulps of float, and colours near black are steep"

[[parameters]]
name = "range"
unit = "texels, in full colour"
minimum = 0.5
maximum = 64.0
default = 8.0
step = 0.5
logarithmic = true
type = "f32"

[[parameters]]
name = "strength"
unit = ""
minimum = 0.0
maximum = 1.0
default = 1.0
step = 0.05
type = "f32"

[[passes]]
entry = "optical_flow_brightness"
source = "input"
destination = "whole_brightness"
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "optical_flow_reduce"
source = "whole_brightness"
destination = "half_brightness"
divisor = 2
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "optical_flow_reduce"
source = "half_brightness"
destination = "quarter_brightness"
divisor = 4
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "optical_flow_reduce"
source = "quarter_brightness"
destination = "eighth_brightness"
divisor = 8
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "optical_flow_gradient"
source = "whole_brightness"
destination = "whole"
format = "rgba32f"
keeps = true
block = [16, 16]

[[passes]]
entry = "optical_flow_gradient"
source = "half_brightness"
destination = "half"
divisor = 2
format = "rgba32f"
keeps = true
block = [16, 16]

[[passes]]
entry = "optical_flow_gradient"
source = "quarter_brightness"
destination = "quarter"
divisor = 4
format = "rgba32f"
keeps = true
block = [16, 16]

[[passes]]
entry = "optical_flow_gradient"
source = "eighth_brightness"
destination = "eighth"
divisor = 8
format = "rgba32f"
keeps = true
block = [16, 16]

[[passes]]
entry = "optical_flow_coarsest"
source = "eighth"
second = "eighth.previous"
destination = "eighth_flow"
divisor = 8
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "optical_flow_finer"
source = "quarter"
second = "quarter.previous"
third = "eighth_flow"
destination = "quarter_flow"
divisor = 4
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "optical_flow_finer"
source = "half"
second = "half.previous"
third = "quarter_flow"
destination = "half_flow"
divisor = 2
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "optical_flow_finer"
source = "whole"
second = "whole.previous"
third = "half_flow"
destination = "whole_flow"
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "optical_flow_show"
source = "whole_flow"
second = "input"
destination = "output"
block = [16, 16]
---*/
#include "handover.cuh"

struct OpticalFlowParameters {
    float range;
    float strength;
};

// Texels from the middle of the window to its side, and steps of Newton and Raphson a level.
constexpr int radius = 3;
constexpr int steps = 5;
// A window's lesser eigenvalue, for each of its texels, below which it says nothing.
constexpr float least_eigenvalue = 1e-4f;
// No flow is longer, whatever a window of noise says.
constexpr float longest = 1024.0f;

// The square root of the luminance: about as bright as it looks, from 0 to 1.
extern "C" __global__ void optical_flow_brightness(const __grid_constant__ Pass pass,
                                                   const __grid_constant__ OpticalFlowParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float brightness = sqrtf(fminf(luminance(load(pass.source, at.x, at.y)), 1.0f));
    store_float(pass.destination, at, make_float4(brightness, 0.0f, 0.0f, 0.0f));
}

// Half the extent: 1, 2, 1 along each axis about every second texel (equation 2).
extern "C" __global__ void optical_flow_reduce(const __grid_constant__ Pass pass,
                                               const __grid_constant__ OpticalFlowParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    const float weights[3] = {0.25f, 0.5f, 0.25f};
    float sum = 0.0f;
    for (int k = 0; k < 9; ++k) {
        float value = load_float(pass.source, 2 * at.x + k % 3 - 1, 2 * at.y + k / 3 - 1).x;
        sum += value * (weights[k % 3] * weights[k / 3]);
    }
    store_float(pass.destination, at, make_float4(sum, 0.0f, 0.0f, 0.0f));
}

// x: brightness; y and z: its central differences (equations 19 and 20).
extern "C" __global__ void optical_flow_gradient(const __grid_constant__ Pass pass,
                                                 const __grid_constant__ OpticalFlowParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float here = load_float(pass.source, at.x, at.y).x;
    float across = (load_float(pass.source, at.x + 1, at.y).x - load_float(pass.source, at.x - 1, at.y).x) * 0.5f;
    float down = (load_float(pass.source, at.x, at.y + 1).x - load_float(pass.source, at.x, at.y - 1).x) * 0.5f;
    store_float(pass.destination, at, make_float4(here, across, down, 0.0f));
}

// Texels of a row from `x` on, of which those outside are the nearest inside: where they are, bytes.
template <int count>
struct Columns {
    int offsets[count];

    HANDOVER_INLINE Columns(const Image& image, int x) {
        int last = int(image.extent.x) - 1;
#pragma unroll
        for (int i = 0; i < count; ++i) offsets[i] = min(max(x + i, 0), last) * int(sizeof(float4));
    }

    HANDOVER_INLINE float4 load(const Image& image, int i, int row) const {
        return surf2Dread<float4>(image.surface, offsets[i], row);
    }
};

HANDOVER_INLINE int row_inside(const Image& image, int y) { return min(max(y, 0), int(image.extent.y) - 1); }

// Texels along the side of a window.
constexpr int side = 2 * radius + 1;

// Where what is at `at` was in the previous frame, from a guess on: what is left of a window's difference,
// over and over.
HANDOVER_INLINE float2 tracked(const Pass& pass, int2 at, float2 guess) {
    float xx = 0.0f, xy = 0.0f, yy = 0.0f;
    Columns<side> window(pass.source, at.x - radius);
    // A row at a time: all of the windows at once would be much code.
#pragma unroll 1
    for (int j = -radius; j <= radius; ++j) {
        int row = row_inside(pass.source, at.y + j);
#pragma unroll
        for (int i = 0; i < side; ++i) {
            float4 tap = window.load(pass.source, i, row);
            xx += tap.y * tap.y;
            xy += tap.y * tap.z;
            yy += tap.z * tap.z;
        }
    }
    // A window without a pattern in both directions says nothing: its matrix has a small eigenvalue.
    const float texels = float(side * side);
    float lesser = (xx + yy - sqrtf((xx - yy) * (xx - yy) + 4.0f * xy * xy)) * 0.5f;
    float determinant = xx * yy - xy * xy;
    if (!(lesser > least_eigenvalue * texels && determinant > 0.0f)) return guess;
#pragma unroll 1
    for (int step = 0; step < steps; ++step) {
        float left = floorf(guess.x), top = floorf(guess.y);
        float across = guess.x - left, down = guess.y - top;
        float bx = 0.0f, by = 0.0f;
        Columns<side + 1> previous(pass.second, at.x - radius + int(left));
        // Between the texels of a row of the previous frame; each row is the lower one of some taps, then the upper one
        // of others.
        float upper[side] = {};
#pragma unroll 1
        for (int j = -radius - 1; j <= radius; ++j) {
            int row = row_inside(pass.second, at.y + j + 1 + int(top)), own_row = row_inside(pass.source, at.y + j);
            float last = previous.load(pass.second, 0, row).x;
#pragma unroll
            for (int i = 0; i < side; ++i) {
                float next = previous.load(pass.second, i + 1, row).x;
                float lower = last * (1.0f - across) + next * across;
                if (j >= -radius) {
                    float4 tap = window.load(pass.source, i, own_row);
                    float difference = tap.x - (upper[i] * (1.0f - down) + lower * down);
                    bx += difference * tap.y;
                    by += difference * tap.z;
                }
                upper[i] = lower;
                last = next;
            }
        }
        guess.x = clamp(guess.x + (yy * bx - xy * by) / determinant, -longest, longest);
        guess.y = clamp(guess.y + (xx * by - xy * bx) / determinant, -longest, longest);
    }
    return guess;
}

HANDOVER_INLINE void store_flow(const Pass& pass, int2 at, float2 guess) {
    float2 flow = pass.kept_frames == 0 ? make_float2(0.0f, 0.0f) : tracked(pass, at, guess);
    store_float(pass.destination, at, make_float4(flow.x, flow.y, 0.0f, 0.0f));
}

extern "C" __global__ void optical_flow_coarsest(const __grid_constant__ Pass pass,
                                                 const __grid_constant__ OpticalFlowParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    store_flow(pass, at, make_float2(0.0f, 0.0f));
}

// Twice what the coarser level found is the guess (equation 27).
extern "C" __global__ void optical_flow_finer(const __grid_constant__ Pass pass,
                                              const __grid_constant__ OpticalFlowParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 coarser = load_float(pass.third, at.x / 2, at.y / 2);
    store_flow(pass, at, make_float2(2.0f * coarser.x, 2.0f * coarser.y));
}

// The wheel's 55 colours: six ramps of unequal length, about as long as their differences look.
HANDOVER_INLINE float4 wheel(int k) {
    int begin = k < 15 ? 0 : k < 21 ? 15 : k < 25 ? 21 : k < 36 ? 25 : k < 49 ? 36 : 49;
    float steps = k < 15 ? 15.0f : k < 21 ? 6.0f : k < 25 ? 4.0f : k < 36 ? 11.0f : k < 49 ? 13.0f : 6.0f;
    // In whole steps of 8 bits, as published.
    float up = floorf(255.0f * float(k - begin) / steps) / 255.0f, down = 1.0f - up;
    float red = k < 15 ? 1.0f : k < 21 ? down : k < 36 ? 0.0f : k < 49 ? up : 1.0f;
    float green = k < 15 ? up : k < 25 ? 1.0f : k < 36 ? down : 0.0f;
    float blue = k < 21 ? 0.0f : k < 25 ? up : k < 49 ? 1.0f : down;
    return make_float4(red, green, blue, 0.0f);
}

// From a value of sRGB to light (IEC 61966-2-1).
HANDOVER_INLINE float decoded(float value) {
    return value <= 0.04045f ? value / 12.92f : powf((value + 0.055f) / 1.055f, 2.4f);
}

// White stands still; what is beyond the range is darker.
HANDOVER_INLINE float faded(float hue, float speed) {
    return decoded(speed <= 1.0f ? 1.0f - speed * (1.0f - hue) : hue * 0.75f);
}

extern "C" __global__ void optical_flow_show(const __grid_constant__ Pass pass,
                                             const __grid_constant__ OpticalFlowParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.second, at.x, at.y), back = load_float(pass.source, at.x, at.y);
    // What was tracked leads to where things were; they moved the other way.
    float u = 0.0f - back.x, v = 0.0f - back.y;
    float speed = sqrtf(u * u + v * v) / parameters.range;
    // From 0 to 54 around the wheel.
    float place = (atan2f(0.0f - v, 0.0f - u) / 3.14159265f + 1.0f) * 0.5f * 54.0f;
    int first = min(max(int(place), 0), 54);
    float share = place - float(first);
    float4 one = wheel(first), next = wheel((first + 1) % 55);
    float4 hue = one * (1.0f - share) + next * share;
    float rest = 1.0f - parameters.strength;
    store(pass.destination, at,
          make_float4(color.x * rest + faded(hue.x, speed) * parameters.strength,
                      color.y * rest + faded(hue.y, speed) * parameters.strength,
                      color.z * rest + faded(hue.z, speed) * parameters.strength, color.w));
}
