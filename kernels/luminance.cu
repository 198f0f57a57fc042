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
pointwise = true
---*/
#include "handover.cuh"

HANDOVER_INLINE float4 in_grey(float4 color, int2 at, const Pass& pass, const NoParameters& parameters) {
    float grey = ::luminance(color);
    return make_float4(grey, grey, grey, color.w);
}

HANDOVER_POINTWISE(luminance, in_grey, NoParameters)
