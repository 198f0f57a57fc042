/*---
title = "Kuwahara"
summary = "Flat patches with sharp borders, as of a brush: each texel takes the mean of the quietest of four squares that touch it."
source = "Kuwahara, Hachimura, Eiho and Kinoshita, Processing of RI-angiocardiographic images, 1976; variances of the luminance"
stage = "look"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "sums run row after row in one order everywhere, so that the same square is chosen; only the last rounding can differ"

[[parameters]]
name = "radius"
unit = "px"
minimum = 1
maximum = 8
default = 3
step = 1
type = "u32"

[[passes]]
entry = "kuwahara"
source = "input"
destination = "output"
block = [16, 16]
---*/
#include "handover.cuh"

struct KuwaharaParameters {
    unsigned radius;
};

extern "C" __global__ void kuwahara(const __grid_constant__ Pass pass,
                                    const __grid_constant__ KuwaharaParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    int radius = int(parameters.radius);
    float count = float((radius + 1) * (radius + 1));
    float4 quietest = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float least = 0.0f;
    // Upper left, upper right, lower left, lower right; each square contains the texel in its corner.
    for (int square = 0; square < 4; ++square) {
        int left = at.x - (square % 2 == 0 ? radius : 0), top = at.y - (square / 2 == 0 ? radius : 0);
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        float levels = 0.0f, squares = 0.0f;
        for (int y = top; y <= top + radius; ++y) {
            for (int x = left; x <= left + radius; ++x) {
                float4 texel = load(pass.source, x, y);
                float level = luminance(texel);
                sum = sum + texel;
                levels += level;
                squares += level * level;
            }
        }
        float mean = levels / count;
        float variance = squares / count - mean * mean;
        if (square == 0 || variance < least) {
            least = variance;
            quietest = sum;
        }
    }
    float alpha = load(pass.source, at.x, at.y).w;
    store(pass.destination, at, make_float4(quietest.x / count, quietest.y / count, quietest.z / count, alpha));
}
