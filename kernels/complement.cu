/*---
title = "Complement"
summary = "1 - x in every channel. The self-test runs it, since no pixel of it looks like the input."
source = "none: 1 - x"
stage = "inspect"
alpha = "complemented like the colours"
broken_pixels = "IEEE 754: NaN stays NaN, an infinity changes its sign; negative values are taken as they are"
hidden = true

[tolerance]
ulps = 0
why = "one subtraction and one rounding, both correctly rounded on every processor"

[[passes]]
entry = "complement"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

HANDOVER_INLINE ushort4 complemented(ushort4 bits, int2 at, const Pass& pass, const NoParameters& parameters) {
    float4 value = to_float(bits);
    return to_half(make_float4(1.0f - value.x, 1.0f - value.y, 1.0f - value.z, 1.0f - value.w));
}

HANDOVER_POINTWISE(complement, complemented, NoParameters)
