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
// with the soft minimum and maximum: those of the cross and those of all nine, added. CAS is defined for values in [0, 1].
// Where the two maxima add to 2 or more the amplitude is 0, so `e` is returned as it is; a channel above 1 is therefore
// neither sharpened nor cut. Where all is black nothing is divided by.
HANDOVER_INLINE float sharpened(float b, float d, float e, float f, float h, float minimum, float maximum, float peak) {
    float least = fminf(minimum, 2.0f - maximum);
    float weight = square_root(clamp(__fdividef(least, fmaxf(maximum, 1e-9f)), 0.0f, 1.0f)) * peak;
    float result = __fdividef(fmaf((b + h) + (d + f), weight, e), fmaf(4.0f, weight, 1.0f));
    return clamp(result, 0.0f, fmaxf(1.0f, e));
}

// Both texels of the middle row, one channel.
HANDOVER_INLINE float2 sharpened(const float (&above)[4], const float (&here)[4], const float (&below)[4], float peak) {
    float low[4], high[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        low[k] = fminf(fminf(above[k], below[k]), here[k]);
        high[k] = fmaxf(fmaxf(above[k], below[k]), here[k]);
    }
    float middle_low = fminf(low[1], low[2]), middle_high = fmaxf(high[1], high[2]);
    float minimum = fminf(low[1], fminf(here[0], here[2])) + fminf(low[0], middle_low);
    float maximum = fmaxf(high[1], fmaxf(here[0], here[2])) + fmaxf(high[0], middle_high);
    float first = sharpened(above[1], here[0], here[1], here[2], below[1], minimum, maximum, peak);
    minimum = fminf(low[2], fminf(here[1], here[3])) + fminf(middle_low, low[3]);
    maximum = fmaxf(high[2], fmaxf(here[1], here[3])) + fmaxf(middle_high, high[3]);
    return make_float2(first, sharpened(above[2], here[1], here[2], here[3], below[2], minimum, maximum, peak));
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
#pragma unroll
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
