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
why = "each of the two passes rounds to half; before that, sums of up to 129 non-negative products with weights of 22 bits differ by a share of about 1e-6, which can move a half across a rounding boundary"

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

# Up to a radius of 8, as by default, the second launch does all.
[[passes]]
entry = "gaussian_rows"
source = "input"
destination = "rows"
bytes_per_texel = 0
block = [16, 8]
texels = [4, 2]

[[passes]]
entry = "gaussian_columns"
source = "rows"
second = "input"
destination = "output"
bytes_per_texel = 16
block = [32, 8]
texels = [1, 6]
---*/
#include "handover.cuh"
#include "handover_band.cuh"

struct GaussianParameters {
    float sigma;
    unsigned radius;
};

// exp(-d^2 / (2 sigma^2)) times 2^14, in halves of which the second has what the first has lost: a small weight keeps its bits.
struct Gaussian {
    // exp(-d^2 / (2 sigma^2)) = 2^(d^2 * exponent)
    float exponent;
    int radius;
    static constexpr bool has_low = true;

    HANDOVER_INLINE explicit Gaussian(const GaussianParameters& parameters)
        : exponent(-0.72134752f / (parameters.sigma * parameters.sigma)), radius(int(parameters.radius)) {}

    HANDOVER_INLINE Weights weights(int first, int second) const {
        float a = float(first), b = float(second), reach = float(radius);
        a = fabsf(a) <= reach ? approximate_exp2(fmaf(a * a, exponent, 14.0f)) : 0.0f;
        b = fabsf(b) <= reach ? approximate_exp2(fmaf(b * b, exponent, 14.0f)) : 0.0f;
        unsigned short high_a = float_to_half(a), high_b = float_to_half(b);
        return {word_of(high_a, high_b),
                word_of(float_to_half(a - half_to_float(high_a)), float_to_half(b - half_to_float(high_b)))};
    }

    HANDOVER_INLINE float share() const {
        float total = 1.0f;
        for (int i = 1; i <= radius; ++i) total += 2.0f * approximate_exp2(float(i * i) * exponent);
        return 1.0f / (16384.0f * total);
    }
};

extern "C" __global__ void gaussian_rows(const __grid_constant__ Pass pass,
                                         const __grid_constant__ GaussianParameters parameters) {
    blur_rows(pass, Gaussian(parameters));
}

extern "C" __global__ void gaussian_columns(const __grid_constant__ Pass pass,
                                            const __grid_constant__ GaussianParameters parameters) {
    __shared__ Joint joint;
    blur_columns(pass, Gaussian(parameters), joint);
}
