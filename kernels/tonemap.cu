/*---
title = "Tone map"
summary = "Khronos PBR Neutral: colours stay as they are up to the compression, highlights roll off to white. Output is in [0, 1], linear."
source = "Khronos PBR Neutral Tone Mapper, specification of 2024 (github.com/KhronosGroup/ToneMapping, PBR_Neutral)"
stage = "tone_map"
key = "5"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "`x - 6.25 x^2` cancels in the toe, by less than 1e-8, which is below the smallest half; elsewhere only the last rounding differs"

[[parameters]]
name = "start_compression"
unit = "light"
minimum = 0.0
maximum = 0.95
default = 0.76
step = 0.01
type = "f32"

[[parameters]]
name = "desaturation"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.15
step = 0.01
type = "f32"

[[passes]]
entry = "tonemap"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct TonemapParameters {
    float start_compression;
    float desaturation;
};

HANDOVER_INLINE float4 mapped(float4 color, int2 at, const Pass& pass, const TonemapParameters& parameters) {
    float darkest = fminf(color.x, fminf(color.y, color.z));
    float offset = darkest < 0.08f ? darkest - 6.25f * darkest * darkest : 0.04f;
    float red = color.x - offset, green = color.y - offset, blue = color.z - offset;
    float peak = fmaxf(red, fmaxf(green, blue));
    if (peak >= parameters.start_compression && peak > 0.0f) {
        float d = 1.0f - parameters.start_compression;
        float new_peak = 1.0f - d * d / (peak + d - parameters.start_compression);
        float scale = new_peak / peak;
        float white = 1.0f - 1.0f / (parameters.desaturation * (peak - new_peak) + 1.0f);
        red = red * scale * (1.0f - white) + new_peak * white;
        green = green * scale * (1.0f - white) + new_peak * white;
        blue = blue * scale * (1.0f - white) + new_peak * white;
    }
    return make_float4(red, green, blue, color.w);
}

HANDOVER_POINTWISE(tonemap, mapped, TonemapParameters)
