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

HANDOVER_INLINE float4 albedo_shown(float4 color, int2 at, const Pass& pass, const NoParameters& parameters) {
    float4 albedo = load_albedo(pass, at.x, at.y);
    return make_float4(albedo.x, albedo.y, albedo.z, color.w);
}

HANDOVER_POINTWISE(albedo_view, albedo_shown, NoParameters)
