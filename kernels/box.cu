/*---
title = "Box blur"
summary = "The mean of a square of texels, separable: rows, then columns."
source = "the mean over the (2 radius + 1)^2 texels around each; the edge texel continues outwards"
stage = "blur"
alpha = "blurred like the colours"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504: one broken pixel stays within the radius"

[tolerance]
ulps = 2
why = "each of the two passes rounds to half; before that, sums of up to 129 non-negative values differ by a share of about 1e-6, which can move a half across a rounding boundary"

[[parameters]]
name = "radius"
unit = "px"
minimum = 0
maximum = 64
default = 4
step = 1
type = "u32"

[[passes]]
entry = "box_rows"
source = "input"
destination = "rows"
block = [32, 8]

[[passes]]
entry = "box_columns"
source = "rows"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct BoxParameters {
    unsigned radius;
};

// The mean along one axis; `step` is one texel of it.
HANDOVER_INLINE void mean(const Pass& pass, const BoxParameters& parameters, int2 step) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    int radius = int(parameters.radius);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int i = -radius; i <= radius; ++i) sum = sum + load(pass.source, at.x + i * step.x, at.y + i * step.y);
    store(pass.destination, at, sum * (1.0f / float(2 * radius + 1)));
}

extern "C" __global__ void box_rows(const __grid_constant__ Pass pass,
                                    const __grid_constant__ BoxParameters parameters) {
    mean(pass, parameters, make_int2(1, 0));
}

extern "C" __global__ void box_columns(const __grid_constant__ Pass pass,
                                       const __grid_constant__ BoxParameters parameters) {
    mean(pass, parameters, make_int2(0, 1));
}
