/*---
title = "Sharpen"
summary = "Contrast-adaptive sharpening: much where there is little contrast, little where there is much. Light above 1 is left alone."
source = "AMD FidelityFX CAS 1.0, ffx_cas.h, CasFilter without scaling, exact reciprocals and roots, better diagonals, weights per channel"
stage = "sharpen"
key = "7"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
absolute = 1e-6
why = "the negative lobe cancels near black, by less than 1e-6; elsewhere only the last rounding differs"

[[parameters]]
name = "sharpness"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.5
step = 0.05
type = "f32"

[[passes]]
entry = "sharpen"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct SharpenParameters {
    float sharpness;
};

// One channel of the filter over the texels
//     a b c
//     d e f
//     g h i
// CAS is defined for values in [0, 1]. Where the two maxima add to 2 or more the amplitude is 0, so `e` is returned as
// it is; a channel above 1 is therefore neither sharpened nor cut.
HANDOVER_INLINE float sharpened(float a, float b, float c, float d, float e, float f, float g, float h, float i,
                                float peak) {
    float cross_minimum = fminf(fminf(fminf(d, e), fminf(f, b)), h);
    float minimum = cross_minimum + fminf(fminf(fminf(a, c), fminf(g, i)), cross_minimum);
    float cross_maximum = fmaxf(fmaxf(fmaxf(d, e), fmaxf(f, b)), h);
    float maximum = cross_maximum + fmaxf(fmaxf(fmaxf(a, c), fmaxf(g, i)), cross_maximum);
    if (maximum <= 0.0f) return e;
    float amplitude = sqrtf(clamp(fminf(minimum, 2.0f - maximum) / maximum, 0.0f, 1.0f));
    float weight = amplitude * peak;
    float result = (b * weight + d * weight + f * weight + h * weight + e) / (1.0f + 4.0f * weight);
    return clamp(result, 0.0f, fmaxf(1.0f, e));
}

extern "C" __global__ void sharpen(const __grid_constant__ Pass pass,
                                   const __grid_constant__ SharpenParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 t[9];
    for (int k = 0; k < 9; ++k) t[k] = load(pass.source, at.x + k % 3 - 1, at.y + k / 3 - 1);
    float peak = -1.0f / (8.0f - 3.0f * parameters.sharpness);
    store(pass.destination, at,
          make_float4(
              sharpened(t[0].x, t[1].x, t[2].x, t[3].x, t[4].x, t[5].x, t[6].x, t[7].x, t[8].x, peak),
              sharpened(t[0].y, t[1].y, t[2].y, t[3].y, t[4].y, t[5].y, t[6].y, t[7].y, t[8].y, peak),
              sharpened(t[0].z, t[1].z, t[2].z, t[3].z, t[4].z, t[5].z, t[6].z, t[7].z, t[8].z, peak), t[4].w));
}
