/*---
title = "Zebra"
summary = "Moving black stripes over what is too bright: where a channel reaches the level."
source = "the zebra pattern of video cameras; stripes of whole texels along x + y"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 0
why = "a texel is kept or black; the stripes are counted in whole texels"

[[parameters]]
name = "level"
unit = "light"
minimum = 0.0
maximum = 16.0
default = 0.95
step = 0.05
type = "f32"

[[parameters]]
name = "width"
unit = "px along a row"
minimum = 2
maximum = 64
default = 8
step = 1
type = "u32"

[[parameters]]
name = "speed"
unit = "px/s"
minimum = 0.0
maximum = 256.0
default = 16.0
step = 8.0
type = "f32"

[[passes]]
entry = "zebra"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct ZebraParameters {
    float level;
    unsigned width;
    float speed;
};

HANDOVER_INLINE float4 marked(float4 color, int2 at, const Pass& pass, const ZebraParameters& parameters) {
    bool bright = fmaxf(color.x, fmaxf(color.y, color.z)) >= parameters.level;
    unsigned along = unsigned(at.x) + unsigned(at.y) + unsigned(pass.time * parameters.speed);
    bool striped = (along / parameters.width) % 2u == 1u;
    return bright && striped ? make_float4(0.0f, 0.0f, 0.0f, color.w) : color;
}

HANDOVER_POINTWISE(zebra, marked, ZebraParameters)
