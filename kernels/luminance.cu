/*---
title = "Luminance"
summary = "The picture in grey: the light that an eye sees."
source = "relative luminance of ITU-R BT.709-6, section 3.2"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "a sum of three products of values that are not negative; only the last rounding can differ"

[[passes]]
entry = "luminance"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

extern "C" __global__ void luminance(const __grid_constant__ Pass pass,
                                     const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    float grey = ::luminance(color);
    store(pass.destination, at, make_float4(grey, grey, grey, color.w));
}
