/*---
title = "Reinhard"
summary = "Luminance rolls off towards 1 and reaches it at the white point; hues stay. Output is in [0, 1], linear."
source = "Reinhard, Stark, Shirley and Ferwerda, Photographic Tone Reproduction for Digital Images, SIGGRAPH 2002, equation 4"
stage = "tone_map"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "sums, products and quotients alone; only the last rounding can differ"

[[parameters]]
name = "white"
unit = "light that becomes 1"
minimum = 0.5
maximum = 64.0
default = 4.0
step = 0.5
logarithmic = true
type = "f32"

[[passes]]
entry = "reinhard"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct ReinhardParameters {
    float white;
};

HANDOVER_INLINE float4 mapped(float4 color, int2 at, const Pass& pass, const ReinhardParameters& parameters) {
    float level = luminance(color);
    // Equation 4 divided by the luminance, so that black needs no exception.
    float scale = (1.0f + level / (parameters.white * parameters.white)) / (1.0f + level);
    return make_float4(fminf(color.x * scale, 1.0f), fminf(color.y * scale, 1.0f), fminf(color.z * scale, 1.0f),
                       color.w);
}

HANDOVER_POINTWISE(reinhard, mapped, ReinhardParameters)
