/*---
title = "Template: saturation"
summary = "Between grey (0), the picture (1) and twice its colour (2). A complete effect to begin another from: docs/writing-kernels.md goes through it."
source = "a line through a colour and its luminance (ITU-R BT.709-6, section 3.2)"
stage = "grade"
hidden = true
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
absolute = 1e-6
why = "the sum of the luminance may differ by the order of its roundings; near black the difference cancels, by less than 1e-6"

[[parameters]]
name = "amount"
unit = ""
minimum = 0.0
maximum = 2.0
default = 1.25
step = 0.05
type = "f32"

[[passes]]
entry = "template_saturation"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct TemplateParameters {
    float amount;
};

HANDOVER_INLINE float4 saturated(float4 color, int2 at, const Pass& pass, const TemplateParameters& parameters) {
    float grey = luminance(color);
    return make_float4(grey + (color.x - grey) * parameters.amount, grey + (color.y - grey) * parameters.amount,
                       grey + (color.z - grey) * parameters.amount, color.w);
}

HANDOVER_POINTWISE(template_saturation, saturated, TemplateParameters)
