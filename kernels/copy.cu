/*---
title = "Copy"
summary = "Source to destination, bit for bit. It is what a chain with nothing enabled runs."
source = "none: the identity"
stage = "inspect"
alpha = "copied"
broken_pixels = "copied: NaN and infinities keep their bits"
hidden = true

[tolerance]
ulps = 0
why = "no arithmetic is done"

[[passes]]
entry = "copy"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

extern "C" __global__ void copy(const __grid_constant__ Pass pass, const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    store_bits(pass.destination, at, load_bits(pass.source, at));
}
