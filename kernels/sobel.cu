/*---
title = "Edges"
summary = "Draws the edges that a Sobel operator finds over the picture."
source = "Sobel and Feldman's 3x3 operator on the square root of the luminance, so that dark and bright edges count alike"
stage = "look"
key = "6"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; edges are sought in what a screen shows, light up to 1"

[tolerance]
ulps = 2
absolute = 2e-6
why = "differences of square roots cancel, by less than 1e-6; ink over bright light leaves such a remainder"

[[parameters]]
name = "strength"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.85
step = 0.05
type = "f32"

[[parameters]]
name = "threshold"
unit = "of the largest gradient"
minimum = 0.0
maximum = 0.5
default = 0.06
step = 0.01
type = "f32"

[[parameters]]
name = "softness"
unit = "of the largest gradient"
minimum = 0.01
maximum = 1.0
default = 0.2
step = 0.01
type = "f32"

[[parameters]]
name = "ink"
unit = "light"
minimum = 0.0
maximum = 1.0
default = 0.0
step = 0.05
type = "f32"

[[passes]]
entry = "sobel"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct SobelParameters {
    float strength;
    float threshold;
    float softness;
    float ink;
};

// Roughly what an eye sees of a texel on a screen, in [0, 1].
HANDOVER_INLINE float tone(const Image& image, int x, int y) {
    return sqrtf(fminf(luminance(load(image, x, y)), 1.0f));
}

extern "C" __global__ void sobel(const __grid_constant__ Pass pass,
                                 const __grid_constant__ SobelParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float t[3][3];
    for (int j = 0; j < 3; ++j) {
        for (int i = 0; i < 3; ++i) t[j][i] = tone(pass.source, at.x + i - 1, at.y + j - 1);
    }
    float gx = (t[0][2] - t[0][0]) + 2.0f * (t[1][2] - t[1][0]) + (t[2][2] - t[2][0]);
    float gy = (t[2][0] - t[0][0]) + 2.0f * (t[2][1] - t[0][1]) + (t[2][2] - t[0][2]);
    // Either sum is at most 4, for a step from black to white.
    float gradient = 0.25f * sqrtf(gx * gx + gy * gy);
    float s = clamp((gradient - parameters.threshold) / parameters.softness, 0.0f, 1.0f);
    float edge = parameters.strength * (s * s * (3.0f - 2.0f * s));
    float4 color = load(pass.source, at.x, at.y);
    float ink = parameters.ink * edge;
    store(pass.destination, at,
          make_float4(color.x * (1.0f - edge) + ink, color.y * (1.0f - edge) + ink, color.z * (1.0f - edge) + ink,
                      color.w));
}
