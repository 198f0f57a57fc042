/*---
title = "Enlarge"
summary = "The bilinear filter: what upscales where nothing else is on that does."
source = "none"
stage = "upscale"
hidden = true
upscales = true
alpha = "filtered like the colours"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "three blends in float, the last rounding may fall to either side"

[[passes]]
entry = "enlarge"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

HANDOVER_INLINE float4 blend(float4 a, float4 b, float t) { return a * (1.0f - t) + b * t; }

extern "C" __global__ void enlarge(const __grid_constant__ Pass pass, const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    uint2 small = pass.source.extent, large = pass.destination.extent;
    // The texel's middle, on the grid of the source's middles.
    float x = (at.x + 0.5f) * (float(small.x) / float(large.x)) - 0.5f;
    float y = (at.y + 0.5f) * (float(small.y) / float(large.y)) - 0.5f;
    float left = floorf(x), top = floorf(y);
    int ix = int(left), iy = int(top);
    float4 upper = blend(load(pass.source, ix, iy), load(pass.source, ix + 1, iy), x - left);
    float4 lower = blend(load(pass.source, ix, iy + 1), load(pass.source, ix + 1, iy + 1), x - left);
    store(pass.destination, at, blend(upper, lower, y - top));
}
