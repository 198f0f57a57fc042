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

# Up to a radius of 8, as by default, the second launch does all.
[[passes]]
entry = "box_rows"
source = "input"
destination = "rows"
bytes_per_texel = 0
block = [16, 8]
texels = [4, 2]

[[passes]]
entry = "box_columns"
source = "rows"
second = "input"
destination = "output"
bytes_per_texel = 16
block = [32, 8]
texels = [1, 6]
---*/
#include "handover.cuh"
#include "handover_band.cuh"

struct BoxParameters {
    unsigned radius;
};

// All weights are 1.
struct Box {
    int radius;
    static constexpr bool has_low = false;

    HANDOVER_INLINE Weights weights(int first, int second) const {
        unsigned short a = abs(first) <= radius ? 0x3c00 : 0, b = abs(second) <= radius ? 0x3c00 : 0;
        return {word_of(a, b), 0};
    }

    HANDOVER_INLINE float share() const { return 1.0f / float(2 * radius + 1); }
};

extern "C" __global__ void box_rows(const __grid_constant__ Pass pass,
                                    const __grid_constant__ BoxParameters parameters) {
    blur_rows(pass, Box{int(parameters.radius)});
}

extern "C" __global__ void box_columns(const __grid_constant__ Pass pass,
                                       const __grid_constant__ BoxParameters parameters) {
    __shared__ Joint joint;
    blur_columns(pass, Box{int(parameters.radius)}, joint);
}
