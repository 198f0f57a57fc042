/*---
title = "Pixelate"
summary = "Square blocks of one colour each: the mean of what is in them."
source = "definition of the mean; blocks count from the upper left, the last ones are cut off by the edge"
stage = "look"
alpha = "the mean too"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "two passes round to half each; a sum near the middle of two halves may go either way"

[[parameters]]
name = "size"
unit = "px"
minimum = 1
maximum = 64
default = 8
step = 1
type = "u32"

[[passes]]
entry = "pixelate_rows"
source = "input"
destination = "rows"
block = [32, 8]

[[passes]]
entry = "pixelate_columns"
source = "rows"
destination = "blocks"
block = [32, 8]

[[passes]]
entry = "pixelate_show"
source = "blocks"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct PixelateParameters {
    unsigned size;
};

// The mean of the block's texels from `at * axis * size` on along one axis; the other coordinate is that of the texel.
// Means stand close together at the image's origin; the texels beyond them are 0 and read by nobody.
HANDOVER_INLINE void mean(const Pass& pass, int2 at, int2 axis, int size) {
    int first = (axis.x ? at.x : at.y) * size;
    int length = int(axis.x ? pass.source.extent.x : pass.source.extent.y);
    int end = min(first + size, length);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int i = first; i < end; ++i) sum = sum + load(pass.source, axis.x ? i : at.x, axis.y ? i : at.y);
    float count = float(max(end - first, 1));
    store(pass.destination, at, make_float4(sum.x / count, sum.y / count, sum.z / count, sum.w / count));
}

extern "C" __global__ void pixelate_rows(const __grid_constant__ Pass pass,
                                         const __grid_constant__ PixelateParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    mean(pass, at, make_int2(1, 0), int(parameters.size));
}

extern "C" __global__ void pixelate_columns(const __grid_constant__ Pass pass,
                                            const __grid_constant__ PixelateParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    mean(pass, at, make_int2(0, 1), int(parameters.size));
}

extern "C" __global__ void pixelate_show(const __grid_constant__ Pass pass,
                                         const __grid_constant__ PixelateParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    int size = int(parameters.size);
    store(pass.destination, at, load(pass.source, at.x / size, at.y / size));
}
