/*---
title = "Chromatic aberration"
summary = "Red is read further from the centre and blue nearer to it, growing with the square of the distance."
source = "lateral chromatic aberration as a radial scale per channel; the displacement is cubic in the distance, as third-order distortion is"
stage = "look"
key = "4"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504: one broken pixel reaches its neighbours only"

[tolerance]
ulps = 1
why = "coordinates are the same operations in float on every processor and the filter has full float weights (the texture unit's have 8 bits), so only the last rounding differs"

[[parameters]]
name = "shift"
unit = "% of the half diagonal, at the corner"
minimum = 0.0
maximum = 5.0
default = 0.5
step = 0.1
type = "f32"

[[passes]]
entry = "chromatic_aberration"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct ChromaticAberrationParameters {
    float shift;
};

// One texel's light between four, `offset` texels from `at`. The offset alone is split into whole and fraction: it is
// small, so its fraction keeps more bits than that of a position.
HANDOVER_INLINE float4 load_between(const Image& image, int2 at, float2 offset) {
    float left = floorf(offset.x), top = floorf(offset.y);
    float tx = offset.x - left, ty = offset.y - top;
    int x = at.x + int(left), y = at.y + int(top);
    float4 upper = load(image, x, y) * (1.0f - tx) + load(image, x + 1, y) * tx;
    float4 lower = load(image, x, y + 1) * (1.0f - tx) + load(image, x + 1, y + 1) * tx;
    return upper * (1.0f - ty) + lower * ty;
}

extern "C" __global__ void chromatic_aberration(const __grid_constant__ Pass pass,
                                                const __grid_constant__ ChromaticAberrationParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float center_x = 0.5f * float(pass.source.extent.x), center_y = 0.5f * float(pass.source.extent.y);
    float dx = float(at.x) + 0.5f - center_x, dy = float(at.y) + 0.5f - center_y;
    // 0 at the centre, 1 at the image's corner.
    float distance_squared = (dx * dx + dy * dy) / (center_x * center_x + center_y * center_y);
    float scale = 0.01f * parameters.shift * distance_squared;
    float4 color = load(pass.source, at.x, at.y);
    float red = load_between(pass.source, at, make_float2(dx * scale, dy * scale)).x;
    float blue = load_between(pass.source, at, make_float2(-dx * scale, -dy * scale)).z;
    store(pass.destination, at, make_float4(red, color.y, blue, color.w));
}
