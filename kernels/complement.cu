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
block = [32, 8]
---*/
#include "handover.cuh"

extern "C" __global__ void complement(const __grid_constant__ Pass pass,
                                      const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 value = to_float(load_bits(pass.source, at));
    store_bits(pass.destination, at,
               to_half(make_float4(1.0f - value.x, 1.0f - value.y, 1.0f - value.z, 1.0f - value.w)));
}
