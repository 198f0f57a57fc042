/*---
title = "Vignette"
summary = "Darkens towards the corners."
source = "smoothstep over the distance from the centre, as a share of the half diagonal"
stage = "vignette"
key = "8"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "products, sums, quotients and a root alone; only the last rounding can differ"

[[parameters]]
name = "darkening"
unit = "of the light, at the corner"
minimum = 0.0
maximum = 1.0
default = 0.4
step = 0.05
type = "f32"

[[parameters]]
name = "start"
unit = "of the half diagonal"
minimum = 0.0
maximum = 0.95
default = 0.3
step = 0.05
type = "f32"

[[passes]]
entry = "vignette"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct VignetteParameters {
    float darkening;
    float start;
};

HANDOVER_INLINE float4 darkened(float4 color, int2 at, const Pass& pass, const VignetteParameters& parameters) {
    float center_x = 0.5f * float(pass.source.extent.x), center_y = 0.5f * float(pass.source.extent.y);
    float dx = float(at.x) + 0.5f - center_x, dy = float(at.y) + 0.5f - center_y;
    // 0 at the centre, 1 at the image's corner.
    float distance = sqrtf((dx * dx + dy * dy) / (center_x * center_x + center_y * center_y));
    float s = clamp((distance - parameters.start) / (1.0f - parameters.start), 0.0f, 1.0f);
    float factor = 1.0f - parameters.darkening * (s * s * (3.0f - 2.0f * s));
    return make_float4(color.x * factor, color.y * factor, color.z * factor, color.w);
}

HANDOVER_POINTWISE(vignette, darkened, VignetteParameters)
