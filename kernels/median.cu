/*---
title = "Median"
summary = "Each channel becomes the median of 3x3 texels: single wrong pixels go, edges stay."
source = "Tukey, Exploratory Data Analysis, 1977: the median of a window; the edge texel continues outwards"
stage = "denoise"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; a single broken pixel is gone"

[tolerance]
why = "a median is one of its values: nothing is rounded"

[[passes]]
entry = "median"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

HANDOVER_INLINE float smallest(float a, float b, float c) { return fminf(fminf(a, b), c); }

HANDOVER_INLINE float middle(float a, float b, float c) { return fmaxf(fminf(a, b), fminf(fmaxf(a, b), c)); }

HANDOVER_INLINE float largest(float a, float b, float c) { return fmaxf(fmaxf(a, b), c); }

// The median of nine: with each row sorted, the middle one of the largest minimum, the middle median and the smallest
// maximum (Paeth, Median finding on a 3x3 grid, Graphics Gems, 1990).
HANDOVER_INLINE float median_of(float a, float b, float c, float d, float e, float f, float g, float h, float i) {
    return middle(largest(smallest(a, b, c), smallest(d, e, f), smallest(g, h, i)),
                  middle(middle(a, b, c), middle(d, e, f), middle(g, h, i)),
                  smallest(largest(a, b, c), largest(d, e, f), largest(g, h, i)));
}

extern "C" __global__ void median(const __grid_constant__ Pass pass, const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 t[9];
    for (int k = 0; k < 9; ++k) t[k] = load(pass.source, at.x + k % 3 - 1, at.y + k / 3 - 1);
    store(pass.destination, at,
          make_float4(median_of(t[0].x, t[1].x, t[2].x, t[3].x, t[4].x, t[5].x, t[6].x, t[7].x, t[8].x),
                      median_of(t[0].y, t[1].y, t[2].y, t[3].y, t[4].y, t[5].y, t[6].y, t[7].y, t[8].y),
                      median_of(t[0].z, t[1].z, t[2].z, t[3].z, t[4].z, t[5].z, t[6].z, t[7].z, t[8].z), t[4].w));
}
