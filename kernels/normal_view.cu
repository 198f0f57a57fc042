/*---
title = "Normal view"
summary = "Shows the normal guide instead of the picture, as normal maps are stored: red, green and blue are x, y and z from -1 to 1. Black where nothing is."
source = "half the unit normal plus a half: Peercy, Airey and Cabral, Efficient Bump Mapping Hardware, SIGGRAPH 1997; shown as values of the display (IEC 61966-2-1)"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "the picture's are not shown; components that are NaN are -1"
guides = ["normal"]

[tolerance]
ulps = 1
why = "a power differs by some ulps of float, which can move a half across a rounding boundary"

[[passes]]
entry = "normal_view"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"
#include "handover_srgb.cuh"

// A component as a value of the display, as light.
HANDOVER_INLINE float shown(float component) { return srgb_decoded(saturate(fmaf(0.5f, component, 0.5f))); }

HANDOVER_INLINE Light normal_shown(float4 color, Normal normal, int2 at, const Pass& pass,
                                    const NoParameters& parameters) {
    float there = normal.x == 0.0f && normal.y == 0.0f && normal.z == 0.0f ? 0.0f : 1.0f;
    return {there * shown(normal.x), there * shown(normal.y), there * shown(normal.z), color.w};
}

HANDOVER_POINTWISE(normal_view, normal_shown, NoParameters)
