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
#include "handover_dither.cuh"

struct DitherBayerParameters {
    unsigned levels;
};

// The lowest three bits, the lowest as bit 4, the next as bit 2: byte by byte for 0 to 7.
HANDOVER_INLINE unsigned spread(unsigned value) { return __byte_perm(0x14041000u, 0x15051101u, value & 7u); }

// The rank, 0 to 63, of a texel among 8x8: the bits of x ^ y and y in turn, the lowest bits weighing most.
HANDOVER_INLINE unsigned rank(int2 at) { return spread(unsigned(at.x ^ at.y)) << 1 | spread(unsigned(at.y)); }

HANDOVER_INLINE float4 dithered_color(float4 color, int2 at, const Pass& pass,
                                      const DitherBayerParameters& parameters) {
    // (rank + 1/2) / 64: the rank's 6 bits are the first after the point of 1.
    float threshold = __uint_as_float(0x3f800000u | rank(at) << 17) - (1.0f - 0.5f / 64.0f);
    return dithered(color, threshold, parameters.levels);
}

HANDOVER_POINTWISE(dither_bayer, dithered_color, DitherBayerParameters)
