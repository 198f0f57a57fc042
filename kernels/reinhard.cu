/*---
title = "Reinhard"
summary = "Luminance rolls off towards 1 and reaches it at the white point; hues stay. Output is in [0, 1], linear."
source = "Reinhard, Stark, Shirley and Ferwerda, Photographic Tone Reproduction for Digital Images, SIGGRAPH 2002, equation 4"
stage = "tone_map"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "sums, products and quotients alone; only the last rounding can differ"

[[parameters]]
name = "white"
unit = "light that becomes 1"
minimum = 0.5
maximum = 64.0
default = 4.0
step = 0.5
logarithmic = true
type = "f32"

[[passes]]
entry = "reinhard"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct ReinhardParameters {
    float white;
};

extern "C" __global__ void reinhard(const __grid_constant__ Pass pass,
                                    const __grid_constant__ ReinhardParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    float level = luminance(color);
    // Equation 4 divided by the luminance, so that black needs no exception.
    float scale = (1.0f + level / (parameters.white * parameters.white)) / (1.0f + level);
    store(pass.destination, at,
          make_float4(fminf(color.x * scale, 1.0f), fminf(color.y * scale, 1.0f), fminf(color.z * scale, 1.0f),
                      color.w));
}
