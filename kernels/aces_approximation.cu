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
pointwise = true
---*/
#include "handover.cuh"

HANDOVER_INLINE float curve(float x) {
    return fminf((x * (2.51f * x + 0.03f)) / (x * (2.43f * x + 0.59f) + 0.14f), 1.0f);
}

HANDOVER_INLINE float4 mapped(float4 color, int2 at, const Pass& pass, const NoParameters& parameters) {
    return make_float4(curve(color.x), curve(color.y), curve(color.z), color.w);
}

HANDOVER_POINTWISE(aces_approximation, mapped, NoParameters)
