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
pointwise = true
---*/
#include "handover.cuh"

HANDOVER_INLINE ushort4 copied(ushort4 bits, int2 at, const Pass& pass, const NoParameters& parameters) {
    return bits;
}

HANDOVER_POINTWISE(copy, copied, NoParameters)
