/*---
title = "Dither, Bayer"
summary = "Few levels of the display's encoding, mixed in an ordered 8x8 pattern so that areas keep their mean."
source = "Bayer, An optimum method for two-level rendition of continuous-tone pictures, 1973; levels of IEC 61966-2-1 (sRGB)"
stage = "dither"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; light above 1 is 1"

[tolerance]
ulps = 1
why = "where an approximation could err, the level is decided on sums, products, quotients and roots, which are the same everywhere; a power differs by some ulps of float when the level is turned into light"

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
#include "handover_dither.cuh"

struct DitherBayerParameters {
    unsigned levels;
};

// 1 and a 64th of the rank, 0 to 63, of a texel among 8x8: the bits of x ^ y and y in turn, the lowest bits weighing
// most, are the first after the point. Three bits, spread, are one of eight bytes, which goes to bits 16 to 23; that of
// 0 is 0, and fills the others.
HANDOVER_INLINE float one_and_share(int2 at) {
    unsigned high = __byte_perm(0x50104000u, 0x54144404u, (unsigned(at.x ^ at.y) & 7u) << 8);
    unsigned low = __byte_perm(0x28082000u, 0x2a0a2202u, (unsigned(at.y) & 7u) << 8);
    return __uint_as_float(0x3f800000u | high | low);
}

HANDOVER_INLINE Doubtful dithered_color(float4 color, int2 at, const Pass& pass,
                                      const DitherBayerParameters& parameters, bool exactly) {
    return dithered(color, one_and_share(at) - (1.0f - 0.5f / 64.0f), parameters.levels, exactly);
}

HANDOVER_POINTWISE(dither_bayer, dithered_color, DitherBayerParameters)
