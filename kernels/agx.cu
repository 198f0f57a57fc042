/*---
title = "AgX"
summary = "A film-like curve over the logarithm of light: bright colours turn pale instead of clipping. Output is in [0, 1], linear."
source = "Sobotka, AgX; constants of Wrensch, Minimal AgX Implementation, 2023, with its polynomial of degree 7 and its looks"
stage = "tone_map"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
absolute = 1e-6
why = "log2f and powers differ by some ulps of float, and the polynomial's large terms cancel, by less than 1e-4 of its value; near black the look and the output matrix cancel, by less than 1e-6"

[[parameters]]
name = "look"
unit = "0 none, 1 golden, 2 punchy"
minimum = 0
maximum = 2
default = 0
step = 1
type = "u32"

[[passes]]
entry = "agx"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct AgxParameters {
    unsigned look;
};

// Light in stops, as a share of the 16.5 stops between the two ends, through the fitted sigmoid.
HANDOVER_INLINE float contrast(float value) {
    constexpr float lowest = -12.47393f, highest = 4.026069f;  // stops
    constexpr float scale = 1.0f / (highest - lowest);
    float x = saturate(fmaf(approximate_log2(value), scale, -lowest * scale));
    float sum = fmaf(fmaf(fmaf(-17.86f, x, 78.01f), x, -126.7f), x, 92.06f);
    return fmaf(fmaf(fmaf(fmaf(sum, x, -28.72f), x, 4.361f), x, -0.1718f), x, 0.002857f);
}

// A slope, a power and a saturation of the ASC colour decision list.
struct Look {
    float slope_green, slope_blue, power, saturation;
};

HANDOVER_INLINE float raised(float value, float exponent) {
    return approximate_exp2(exponent * approximate_log2(value));
}

// A channel of the look; `luma` is that before slope and power.
HANDOVER_INLINE float looked(float value, float slope, const Look& look, float luma) {
    return fmaf(look.saturation, raised(fmaxf(value * slope, 0.0f), look.power) - luma, luma);
}

// From the display's encoding to linear, by the exponent AgX is defined with.
HANDOVER_INLINE float decoded(float value) { return raised(saturate(value), 2.2f); }

HANDOVER_INLINE float row(float x, float y, float z, float r, float g, float b) {
    return fmaf(z, b, fmaf(y, g, x * r));
}

HANDOVER_INLINE Light mapped(float4 color, int2 at, const Pass& pass, const AgxParameters& parameters) {
    // Linear sRGB into the smaller gamut in which the curve is applied.
    float r = contrast(row(0.842479062253094f, 0.0784335999999992f, 0.0792237451477643f, color.x, color.y, color.z));
    float g = contrast(row(0.0423282422610123f, 0.878468636469772f, 0.0791661274605434f, color.x, color.y, color.z));
    float b = contrast(row(0.0423756549057051f, 0.0784336f, 0.879142973793104f, color.x, color.y, color.z));
    if (parameters.look != 0u) {
        const Look golden = {0.9f, 0.5f, 0.8f, 0.8f}, punchy = {1.0f, 1.0f, 1.35f, 1.4f};
        Look look = parameters.look == 1u ? golden : punchy;
        float luma = luminance(make_float4(r, g, b, 0.0f));
        r = looked(r, 1.0f, look, luma);
        g = looked(g, look.slope_green, look, luma);
        b = looked(b, look.slope_blue, look, luma);
    }
    // Back to the display's gamut.
    return {decoded(row(1.19687900512017f, -0.0980208811401368f, -0.0990297440797205f, r, g, b)),
                       decoded(row(-0.0528968517574562f, 1.15190312990417f, -0.0989611768448433f, r, g, b)),
                       decoded(row(-0.0529716355144438f, -0.0980434501171241f, 1.15107367264116f, r, g, b)), color.w};
}

HANDOVER_POINTWISE(agx, mapped, AgxParameters)
