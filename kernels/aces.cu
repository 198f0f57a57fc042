/*---
title = "ACES"
summary = "The Academy's reference rendering and sRGB output transforms, fitted. Output is in [0, 1], linear."
source = "Stephen Hill's fit of the ACES RRT and sRGB ODT, in Pettineo and Neubelt, Baking Lab, ACES.hlsl"
stage = "tone_map"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
absolute = 1e-6
why = "the output matrix subtracts, by less than 1e-6 near black; elsewhere only the last rounding differs"

[[passes]]
entry = "aces"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

// The fitted curve of the reference rendering transform and the output device transform.
HANDOVER_INLINE float curve(float v) {
    return quotient(fmaf(v, v + 0.0245786f, -0.000090537f), fmaf(v, fmaf(0.983729f, v, 0.4329510f), 0.238081f));
}

HANDOVER_INLINE Light mapped(float4 color, int2 at, const Pass& pass, const NoParameters& parameters) {
    // sRGB to XYZ, D65 to D60, to AP1, and the desaturation of the rendering transform.
    float r = curve(fmaf(0.04823f, color.z, fmaf(0.35458f, color.y, 0.59719f * color.x)));
    float g = curve(fmaf(0.01566f, color.z, fmaf(0.90834f, color.y, 0.07600f * color.x)));
    float b = curve(fmaf(0.83777f, color.z, fmaf(0.13383f, color.y, 0.02840f * color.x)));
    // The desaturation of the output transform, to XYZ, D60 to D65, to sRGB.
    return {saturate(fmaf(-0.07367f, b, fmaf(-0.53108f, g, 1.60475f * r))),
                       saturate(fmaf(-0.00605f, b, fmaf(1.10813f, g, -0.10208f * r))),
                       saturate(fmaf(1.07602f, b, fmaf(-0.07276f, g, -0.00327f * r))), color.w};
}

HANDOVER_POINTWISE(aces, mapped, NoParameters)
