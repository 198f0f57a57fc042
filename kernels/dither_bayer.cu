/*---
title = "Dither, Bayer"
summary = "Few levels of the display's encoding, mixed in an ordered 8x8 pattern so that areas keep their mean."
source = "Bayer, An optimum method for two-level rendition of continuous-tone pictures, 1973; levels of IEC 61966-2-1 (sRGB)"
stage = "dither"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; light above 1 is 1"

[tolerance]
ulps = 1
why = "the level is decided on sums, products, quotients and roots, which are the same everywhere; a power differs by some ulps of float when the level is turned into light"

[[parameters]]
name = "levels"
unit = "a channel"
minimum = 2
maximum = 256
default = 256
step = 1
type = "u32"

[[passes]]
entry = "dither_bayer"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct DitherBayerParameters {
    unsigned levels;
};

// The rank, 0 to 63, of a texel among 8x8: the bits of x ^ y and y in turn, the lowest bits weighing most.
HANDOVER_INLINE unsigned rank(int2 at) {
    unsigned a = unsigned(at.x ^ at.y), b = unsigned(at.y), value = 0;
    for (int bit = 0; bit < 3; ++bit) value = value << 2 | (a >> bit & 1u) << 1 | (b >> bit & 1u);
    return value;
}

// The sRGB encoding of light in [0, 1]. The power 1 / 2.4 = 1/4 + 1/6 is made of roots, the cube root by Halley's method
// from a line: only operations that round alike everywhere, so that no level flips between a GPU and a CPU. Three steps
// leave 3e-7 of the value.
HANDOVER_INLINE float encoded(float light) {
    if (light <= 0.0031308f) return 12.92f * light;
    float root = sqrtf(light);
    float cube_root = 0.45f + 0.55f * root;
    for (int step = 0; step < 3; ++step) {
        float cube = cube_root * cube_root * cube_root;
        cube_root = cube_root * (cube + 2.0f * root) / (2.0f * cube + root);
    }
    return 1.055f * (sqrtf(root) * cube_root) - 0.055f;
}

// Light of the level below or above, of levels 0 to `highest`: the share of thresholds that lead to the one above is how
// far the value is from the one below.
HANDOVER_INLINE float dithered(float value, float threshold, float highest) {
    float level = fminf(floorf(encoded(fminf(value, 1.0f)) * highest + threshold), highest) / highest;
    return level <= 0.04045f ? level / 12.92f : power((level + 0.055f) / 1.055f, 2.4f);
}

HANDOVER_INLINE float4 dithered_color(float4 color, int2 at, const Pass& pass,
                                      const DitherBayerParameters& parameters) {
    float threshold = (float(rank(at)) + 0.5f) * (1.0f / 64.0f);
    float highest = float(parameters.levels - 1u);
    return make_float4(dithered(color.x, threshold, highest), dithered(color.y, threshold, highest),
                       dithered(color.z, threshold, highest), color.w);
}

HANDOVER_POINTWISE(dither_bayer, dithered_color, DitherBayerParameters)
