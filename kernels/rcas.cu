/*---
title = "RCAS"
summary = "Robust contrast-adaptive sharpening: as strong as the neighbours allow without clipping. Where light is above 1 it is left alone."
source = "AMD FidelityFX Super Resolution 1.0, ffx_fsr1.h v1.20210629: FsrRcasF with exact reciprocals; `denoise` is FSR_RCAS_DENOISE"
stage = "sharpen"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504, beside which nothing is sharpened"

[tolerance]
ulps = 1
absolute = 1e-6
why = "the negative lobe cancels near black, by less than 1e-6; 2 to the power of minus the sharpness may be off by 2 ulps of float, the rest differs by the last rounding"

[[parameters]]
name = "sharpness"
unit = "stops below the strongest"
minimum = 0.0
maximum = 2.0
default = 0.2
step = 0.1
type = "f32"

[[parameters]]
name = "denoise"
unit = ""
minimum = 0
maximum = 1
default = 0
step = 1
type = "u32"

[[passes]]
entry = "rcas"
source = "input"
destination = "output"
block = [32, 4]
texels = [2, 3]
---*/
#include "handover.cuh"
#include "handover_stencil.cuh"

struct RcasParameters {
    float sharpness;
    unsigned denoise;
};

// One channel of a texel, `center`, and its ring
//       b
//     d   f
//       h
struct Cross {
    float b, d, center, f, h;
};

HANDOVER_INLINE Cross cross_of(const Row& above, const Row& here, const Row& below, int channel, int k) {
    const float(&middle)[4] = here.channel[channel];
    return {above.channel[channel][k], middle[k - 1], middle[k], middle[k + 1], below.channel[channel][k]};
}

// What four times the weight of the ring may take away at most, in light of [0, 1] that has to stay there: with it the largest of the
// ring cannot take more than there is, nor the smallest add more than there is room for. And the brightest, for the weight is defined for
// [0, 1] alone.
struct Lobe {
    float down, up, brightest;
};

HANDOVER_INLINE Lobe lobe_of(const Cross& cross) {
    float low = least(cross.b, cross.d, cross.f), high = largest(cross.b, cross.d, cross.f);
    float brightest = largest(high, cross.h, cross.center);
    // A black ring takes nothing away, and a white one adds nothing: 0/0, whose bits are larger than those of any limit.
    return {quotient(least(low, cross.h, cross.center), fmaxf(high, cross.h)),
            quotient(1.0f - brightest, 1.0f - fminf(low, cross.h)), brightest};
}

// Twice the luma, as the original weighs it.
HANDOVER_INLINE float luma(float red, float green, float blue) { return blue * 0.5f + (red * 0.5f + green); }

// How much of the sharpening a texel deserves: one that stands out by all of the range is likely noise, and is sharpened half as much.
HANDOVER_INLINE float calm(const Cross& red, const Cross& green, const Cross& blue) {
    float above = luma(red.b, green.b, blue.b), left = luma(red.d, green.d, blue.d);
    float middle = luma(red.center, green.center, blue.center);
    float right = luma(red.f, green.f, blue.f), below = luma(red.h, green.h, blue.h);
    float brightest = fmaxf(fmaxf(fmaxf(above, left), fmaxf(right, below)), middle);
    float darkest = fminf(fminf(fminf(above, left), fminf(right, below)), middle);
    float range = brightest - darkest;
    float stands_out = fabsf(0.25f * (above + left + right + below) - middle);
    float noise = range > 0.0f ? fminf(quotient(stands_out, range), 1.0f) : 0.0f;
    return 1.0f - 0.5f * noise;
}

struct Sharpened {
    float red, green, blue, brightest;
};

// `strength` is the share of the strongest lobe.
HANDOVER_INLINE Sharpened sharpened(const Cross& red, const Cross& green, const Cross& blue, float strength, bool denoise) {
    Lobe of_red = lobe_of(red), of_green = lobe_of(green), of_blue = lobe_of(blue);
    // Four times FSR_RCAS_LIMIT, which is 1/4 - 1/16.
    float limit = least(least(least(of_red.down, of_red.up, 0.75f), of_green.down, of_green.up), of_blue.down, of_blue.up);
    float brightest = largest(of_red.brightest, of_green.brightest, of_blue.brightest);
    float lobe = brightest > 1.0f ? 0.0f : limit * (-0.25f * strength);
    if (denoise) lobe = lobe * calm(red, green, blue);
    float share = approximate_reciprocal(fmaf(4.0f, lobe, 1.0f));
    auto channel = [lobe, share](const Cross& cross) {
        return fmaxf(fmaf(lobe, (cross.b + cross.h) + (cross.d + cross.f), cross.center) * share, 0.0f);
    };
    return {channel(red), channel(green), channel(blue), brightest};
}

extern "C" __global__ void __launch_bounds__(128, 6) rcas(const __grid_constant__ Pass pass,
                                                          const __grid_constant__ RcasParameters parameters) {
    float strength = exp2f(-parameters.sharpness);
    bool denoise = parameters.denoise != 0;
    make_rows(pass, [strength, denoise](const Row& above, const Row& here, const Row& below, uint2 alphas) {
        auto texel = [&](int k) {
            return sharpened(cross_of(above, here, below, 0, k), cross_of(above, here, below, 1, k),
                             cross_of(above, here, below, 2, k), strength, denoise);
        };
        Sharpened first = texel(1), second = texel(2);
        unsigned blues = to_halves(first.blue, second.blue);
        uint4 texels = make_uint4(to_halves(first.red, first.green), __byte_perm(blues, alphas.x, 0x7610u),
                                  to_halves(second.red, second.green), __byte_perm(blues, alphas.y, 0x7632u));
        return Made{texels, max(largest(__float_as_uint(first.brightest), __float_as_uint(second.brightest), alphas.x), alphas.y)};
    });
}
