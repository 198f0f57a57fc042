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
texels = [2, 3]
---*/
#include "handover.cuh"
#include "handover_stencil.cuh"

struct SharpenParameters {
    float sharpness;
};

// A channel of a texel `e` and its cross
//       b
//     d e f
//       h
// with the soft minimum and maximum: those of the cross and those of all nine, added. CAS is defined for values in [0,
// 1]. Where the two maxima add to 2 or more the amplitude is 0, so `e` is returned as it is; a channel above 1 is
// therefore neither sharpened nor cut. The root of a quotient is its dividend over the root of the product. Where that is
// 0 / 0, in black, or of a negative product, as where the maxima add to more than 2, it is no number, and its limit 0.
HANDOVER_INLINE float sharpened(float b, float d, float e, float f, float h, float minimum, float maximum, float peak) {
    float least = fminf(minimum, 2.0f - maximum);
    float weight = saturate(least * approximate_inverse_root(least * maximum)) * peak;
    float result = saturate(quotient(fmaf((b + h) + (d + f), weight, e), fmaf(4.0f, weight, 1.0f)));
    return e > 1.0f ? e : result;
}

// Both texels of the middle row, one channel; and the largest of all twelve.
struct Sharpened {
    float first, second;
    unsigned largest;
};

HANDOVER_INLINE Sharpened sharpened(const float (&above)[4], const float (&here)[4], const float (&below)[4],
                                    float peak) {
    float low[4], high[4], result[2], most[2];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        low[k] = least(above[k], here[k], below[k]);
        high[k] = largest(above[k], here[k], below[k]);
    }
#pragma unroll
    for (int k = 1; k < 3; ++k) {
        most[k - 1] = largest(high[k - 1], high[k], high[k + 1]);
        float minimum = least(low[k], here[k - 1], here[k + 1]) + least(low[k - 1], low[k], low[k + 1]);
        float maximum = largest(high[k], here[k - 1], here[k + 1]) + most[k - 1];
        result[k - 1] = sharpened(above[k], here[k - 1], here[k], here[k + 1], below[k], minimum, maximum, peak);
    }
    return {result[0], result[1], max(__float_as_uint(most[0]), __float_as_uint(most[1]))};
}

extern "C" __global__ void __launch_bounds__(128, 6) sharpen(const __grid_constant__ Pass pass,
                                                             const __grid_constant__ SharpenParameters parameters) {
    float peak = -1.0f / (8.0f - 3.0f * parameters.sharpness);
    make_rows(pass, [peak](const Row& above, const Row& here, const Row& below, uint2 alphas) {
        Sharpened red = sharpened(above.channel[0], here.channel[0], below.channel[0], peak);
        Sharpened green = sharpened(above.channel[1], here.channel[1], below.channel[1], peak);
        Sharpened blue = sharpened(above.channel[2], here.channel[2], below.channel[2], peak);
        unsigned blues = to_halves(blue.first, blue.second);
        uint4 texels = make_uint4(to_halves(red.first, green.first), __byte_perm(blues, alphas.x, 0x7610u),
                                  to_halves(red.second, green.second), __byte_perm(blues, alphas.y, 0x7632u));
        return Made{texels, max(largest(red.largest, green.largest, blue.largest), max(alphas.x, alphas.y))};
    });
}
