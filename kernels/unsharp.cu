/*---
title = "Unsharp mask"
summary = "Adds what a Gaussian blur takes away: amount times the difference from the blurred picture. Light above 1 is left alone."
source = "the darkroom's unsharp mask: v + amount (v - blurred), blurred by w(i) = exp(-i^2 / (2 sigma^2)) for |i| <= radius over their sum; the edge texel continues outwards; differences are shrunk towards 0 by the threshold, so that it is no step"
stage = "sharpen"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504, of which the blur sees 1"

[tolerance]
ulps = 2
absolute = 1e-3
why = "the rows' blur is rounded to half, where the last bit of a sum can move it by a step, 4.9e-4 for light below 1; `amount` of at most 2 doubles it, and the difference can cancel"

[[parameters]]
name = "sigma"
unit = "px"
minimum = 0.1
maximum = 16.0
default = 1.5
step = 0.25
logarithmic = true
type = "f32"

[[parameters]]
name = "radius"
unit = "px"
minimum = 0
maximum = 48
default = 5
step = 1
type = "u32"

[[parameters]]
name = "amount"
unit = ""
minimum = 0.0
maximum = 2.0
default = 0.6
step = 0.1
type = "f32"

[[parameters]]
name = "threshold"
unit = "light"
minimum = 0.0
maximum = 0.25
default = 0.0
step = 0.005
type = "f32"

[[passes]]
entry = "unsharp_rows"
source = "input"
destination = "rows"
block = [32, 8]

[[passes]]
entry = "unsharp_combine"
source = "rows"
second = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct UnsharpParameters {
    float sigma;
    unsigned radius;
    float amount;
    float threshold;
};

// Light as far as the display shows it: a lamp of 1000 would otherwise cast a dark ring.
HANDOVER_INLINE float4 shown(float4 color) {
    return make_float4(fminf(color.x, 1.0f), fminf(color.y, 1.0f), fminf(color.z, 1.0f), color.w);
}

// The blur along one axis; `step` is one texel of it.
HANDOVER_INLINE float4 blurred(const Image& source, int2 at, const UnsharpParameters& parameters, int2 step) {
    // exp(-i^2 / (2 sigma^2)) = 2^(i^2 * exponent)
    float exponent = -0.72134752f / (parameters.sigma * parameters.sigma);
    float4 sum = shown(load(source, at.x, at.y));
    float total = 1.0f;
    for (int i = 1; i <= int(parameters.radius); ++i) {
        float weight = exp2f(float(i * i) * exponent);
        float4 before = shown(load(source, at.x - i * step.x, at.y - i * step.y));
        float4 after = shown(load(source, at.x + i * step.x, at.y + i * step.y));
        sum = accumulate(sum, before + after, weight);
        total += 2.0f * weight;
    }
    return sum * (1.0f / total);
}

// One channel with its difference from the blur added; cut to [0, 1], or to the channel itself where it is above.
HANDOVER_INLINE float sharpened(float value, float blur, const UnsharpParameters& parameters) {
    float difference = fminf(value, 1.0f) - blur;
    float excess = fmaxf(fabsf(difference) - parameters.threshold, 0.0f);
    float added = parameters.amount * (difference < 0.0f ? -excess : excess);
    return clamp(value + added, 0.0f, fmaxf(1.0f, value));
}

extern "C" __global__ void unsharp_rows(const __grid_constant__ Pass pass,
                                        const __grid_constant__ UnsharpParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    store(pass.destination, at, blurred(pass.source, at, parameters, make_int2(1, 0)));
}

extern "C" __global__ void unsharp_combine(const __grid_constant__ Pass pass,
                                           const __grid_constant__ UnsharpParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 blur = blurred(pass.source, at, parameters, make_int2(0, 1));
    float4 color = load(pass.second, at.x, at.y);
    store(pass.destination, at,
          make_float4(sharpened(color.x, blur.x, parameters), sharpened(color.y, blur.y, parameters),
                      sharpened(color.z, blur.z, parameters), color.w));
}
