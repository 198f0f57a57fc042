/*---
title = "Bilateral filter"
summary = "Smooths what differs little and keeps edges: neighbours weigh by their distance and by their difference in colour."
source = "Tomasi and Manduchi, Bilateral Filtering for Gray and Color Images, ICCV 1998: Gaussians of the distance and of the Euclidean distance of colours, over (2 radius + 1)^2 texels; the edge texel continues outwards"
stage = "denoise"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504, too far from others to weigh; it stays as it is"

[tolerance]
ulps = 1
why = "sums of up to 625 non-negative products, and exponents whose last bit shows the more the smaller the weight is, differ by a share of about 1e-5, which can move a half across a rounding boundary"

[[parameters]]
name = "radius"
unit = "px"
minimum = 1
maximum = 12
default = 4
step = 1
type = "u32"

[[parameters]]
name = "sigma_space"
unit = "px"
minimum = 0.5
maximum = 8.0
default = 2.0
step = 0.25
logarithmic = true
type = "f32"

[[parameters]]
name = "sigma_range"
unit = "light"
minimum = 0.01
maximum = 4.0
default = 0.1
step = 0.01
logarithmic = true
type = "f32"

[[passes]]
entry = "bilateral"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct BilateralParameters {
    unsigned radius;
    float sigma_space;
    float sigma_range;
};

extern "C" __global__ void bilateral(const __grid_constant__ Pass pass,
                                     const __grid_constant__ BilateralParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    int radius = int(parameters.radius);
    // exp(-d^2 / (2 sigma^2)) = 2^(d^2 * exponent), so that one power serves both Gaussians.
    float space_exponent = -0.72134752f / (parameters.sigma_space * parameters.sigma_space);
    float range_exponent = -0.72134752f / (parameters.sigma_range * parameters.sigma_range);
    float4 center = load(pass.source, at.x, at.y);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float total = 0.0f;
    for (int j = -radius; j <= radius; ++j) {
        for (int i = -radius; i <= radius; ++i) {
            float4 color = load(pass.source, at.x + i, at.y + j);
            float red = color.x - center.x, green = color.y - center.y, blue = color.z - center.z;
            float difference = red * red + green * green + blue * blue;
            float weight = exp2f(float(i * i + j * j) * space_exponent + difference * range_exponent);
            sum = accumulate(sum, color, weight);
            total += weight;
        }
    }
    sum = sum * (1.0f / total);
    store(pass.destination, at, make_float4(sum.x, sum.y, sum.z, center.w));
}
