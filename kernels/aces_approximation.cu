/*---
title = "ACES, approximated"
summary = "One curve a channel that is near the Academy's transforms: more contrast and colour than the fit. Output is in [0, 1], linear."
source = "Narkowicz, ACES Filmic Tone Mapping Curve, 2015"
stage = "tone_map"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "sums, products and quotients of values that are not negative; only the last rounding can differ"

[[passes]]
entry = "aces_approximation"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

HANDOVER_INLINE float curve(float x) {
    return fminf((x * (2.51f * x + 0.03f)) / (x * (2.43f * x + 0.59f) + 0.14f), 1.0f);
}

extern "C" __global__ void aces_approximation(const __grid_constant__ Pass pass,
                                              const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    store(pass.destination, at, make_float4(curve(color.x), curve(color.y), curve(color.z), color.w));
}
