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
block = [32, 8]
---*/
#include "handover.cuh"

extern "C" __global__ void albedo_view(const __grid_constant__ Pass pass, const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 albedo = load_albedo(pass, at.x, at.y);
    float alpha = load(pass.source, at.x, at.y).w;
    store(pass.destination, at, make_float4(albedo.x, albedo.y, albedo.z, alpha));
}
