/*---
title = "Albedo view"
summary = "Shows the albedo guide instead of the picture: the surfaces' base colours, without light."
source = "linear base colour, as the scene writes it"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "the picture's are not shown"
guides = ["albedo"]

[tolerance]
ulps = 0
why = "a byte over 255 is rounded alike everywhere"

[[passes]]
entry = "albedo_view"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

// A byte of the guide over 255. The product is off by an ulp of float at most, and no byte's is so near to a border between halves.
HANDOVER_INLINE float share(unsigned bytes, unsigned number) {
    float byte = __uint_as_float(__byte_perm(bytes, whole_bits, 0x7440u | number)) - whole_floats;
    return byte * (1.0f / 255.0f);
}

HANDOVER_INLINE Light albedo_shown(float4 color, Albedo albedo, int2 at, const Pass& pass, const NoParameters& parameters) {
    return {share(albedo.bytes, 0u), share(albedo.bytes, 1u), share(albedo.bytes, 2u), color.w};
}

HANDOVER_POINTWISE(albedo_view, albedo_shown, NoParameters)
