/*---
title = "Gaussian blur"
summary = "A separable Gaussian blur: rows, then columns. The weights are normalised over the taps taken."
source = "w(i) = exp(-i^2 / (2 sigma^2)) for |i| <= radius, divided by their sum; the edge texel continues outwards"
stage = "blur"
key = "2"
alpha = "blurred like the colours"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504: one broken pixel stays within the radius"

[tolerance]
ulps = 2
why = "each of the two passes rounds to half; before that, sums of up to 129 non-negative products differ by a share of about 1e-6, which can move a half across a rounding boundary"

[[parameters]]
name = "sigma"
unit = "px"
minimum = 0.1
maximum = 32.0
default = 3.0
step = 0.5
logarithmic = true
type = "f32"

[[parameters]]
name = "radius"
unit = "px"
minimum = 0
maximum = 64
default = 8
step = 1
type = "u32"

[[passes]]
entry = "gaussian_rows"
source = "input"
destination = "rows"
block = [32, 8]

[[passes]]
entry = "gaussian_columns"
source = "rows"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct GaussianParameters {
    float sigma;
    unsigned radius;
};

// The blur along one axis; `step` is one texel of it.
HANDOVER_INLINE void blur(const Pass& pass, const GaussianParameters& parameters, int2 step) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    // exp(-i^2 / (2 sigma^2)) = 2^(i^2 * exponent)
    float exponent = -0.72134752f / (parameters.sigma * parameters.sigma);
    float4 sum = load(pass.source, at.x, at.y);
    float total = 1.0f;
    for (int i = 1; i <= int(parameters.radius); ++i) {
        float weight = exp2f(float(i * i) * exponent);
        float4 before = load(pass.source, at.x - i * step.x, at.y - i * step.y);
        float4 after = load(pass.source, at.x + i * step.x, at.y + i * step.y);
        sum = accumulate(sum, before + after, weight);
        total += 2.0f * weight;
    }
    store(pass.destination, at, sum * (1.0f / total));
}

extern "C" __global__ void gaussian_rows(const __grid_constant__ Pass pass,
                                         const __grid_constant__ GaussianParameters parameters) {
    blur(pass, parameters, make_int2(1, 0));
}

extern "C" __global__ void gaussian_columns(const __grid_constant__ Pass pass,
                                            const __grid_constant__ GaussianParameters parameters) {
    blur(pass, parameters, make_int2(0, 1));
}
