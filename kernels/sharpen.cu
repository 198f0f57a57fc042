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
block = [32, 4]
texels = [2, 6]
---*/
#include "handover.cuh"

struct SharpenParameters {
    float sharpness;
};

constexpr int rows = 6;  // pairs of texels that a thread sharpens, one below the other

// A row of four texels by channels.
struct Row {
    float channel[3][4];
};

HANDOVER_INLINE Row channels(const Fetched& fetched) {
    uint2 texels[4];
    spread(fetched, texels);
    Row row;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float2 red_green = to_float(texels[k].x);
        row.channel[0][k] = red_green.x;
        row.channel[1][k] = red_green.y;
        row.channel[2][k] = to_float(texels[k].y).x;
    }
    return row;
}

// A channel of a texel `e` and its cross
//       b
//     d e f
//       h
// with the soft minimum and maximum: those of the cross and those of all nine, added. CAS is defined for values in [0,
// 1]. Where the two maxima add to 2 or more the amplitude is 0, so `e` is returned as it is; a channel above 1 is
// therefore neither sharpened nor cut. Where all is black the quotient is no number, and its limit 0.
HANDOVER_INLINE float sharpened(float b, float d, float e, float f, float h, float minimum, float maximum, float peak) {
    float least = fminf(minimum, 2.0f - maximum);
    float weight = approximate_root(saturate(quotient(least, maximum))) * peak;
    float result = saturate(quotient(fmaf((b + h) + (d + f), weight, e), fmaf(4.0f, weight, 1.0f)));
    return e > 1.0f ? e : result;
}

// Light has the order of its bits, and of integers some devices have the least and the largest of three in one
// instruction.
HANDOVER_INLINE float least(float a, float b, float c) {
    return __uint_as_float(min(min(__float_as_uint(a), __float_as_uint(b)), __float_as_uint(c)));
}

HANDOVER_INLINE float largest(float a, float b, float c) {
    return __uint_as_float(max(max(__float_as_uint(a), __float_as_uint(b)), __float_as_uint(c)));
}

// Both texels of the middle row, one channel.
HANDOVER_INLINE float2 sharpened(const float (&above)[4], const float (&here)[4], const float (&below)[4], float peak) {
    float low[4], high[4], result[2];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        low[k] = least(above[k], here[k], below[k]);
        high[k] = largest(above[k], here[k], below[k]);
    }
#pragma unroll
    for (int k = 1; k < 3; ++k) {
        float minimum = least(low[k], here[k - 1], here[k + 1]) + least(low[k - 1], low[k], low[k + 1]);
        float maximum = largest(high[k], here[k - 1], here[k + 1]) + largest(high[k - 1], high[k], high[k + 1]);
        result[k - 1] = sharpened(above[k], here[k - 1], here[k], here[k + 1], below[k], minimum, maximum, peak);
    }
    return make_float2(result[0], result[1]);
}

HANDOVER_INLINE void put(const Pass& pass, int2 at, uint4 texels) {
    if (!covers(pass.destination, at)) return;
    store_two(pass.destination, at, texels);
}

extern "C" __global__ void sharpen(const __grid_constant__ Pass pass,
                                   const __grid_constant__ SharpenParameters parameters) {
    int2 thread = thread_texel(), at = make_int2(2 * thread.x, rows * thread.y);
    float peak = -1.0f / (8.0f - 3.0f * parameters.sharpness);
    Fetched fetched = fetch_row(pass.source, at.x, at.y - 1), own = fetch_row(pass.source, at.x, at.y);
    Fetched next = fetch_row(pass.source, at.x, at.y + 1);
    make_light(fetched);
    Row above = channels(fetched);
    make_light(own);
    Row here = channels(own);
    // After three rows each stands again in the registers that it came from.
#pragma unroll 3
    for (int k = 0; k < rows; ++k, ++at.y) {
        fetched = next;
        // On its way while this row is computed.
        if (k + 1 < rows) next = fetch_row(pass.source, at.x, at.y + 2);
        make_light(fetched);
        Row below = channels(fetched);
        float2 red = sharpened(above.channel[0], here.channel[0], below.channel[0], peak);
        float2 green = sharpened(above.channel[1], here.channel[1], below.channel[1], peak);
        float2 blue = sharpened(above.channel[2], here.channel[2], below.channel[2], peak);
        put(pass, at, make_uint4(to_halves(red.x, green.x), with_low(own.own.y, blue.x),
                                 to_halves(red.y, green.y), with_low(own.own.w, blue.y)));
        above = here;
        here = below;
        own = fetched;
    }
}
