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
texels = [2, 6]
---*/
#include "handover.cuh"

struct RcasParameters {
    float sharpness;
    unsigned denoise;
};

constexpr int rows = 6;  // pairs of texels that a thread sharpens, one below the other

HANDOVER_INLINE float4 color_of(uint2 texel) {
    float2 low = to_float(texel.x), high = to_float(texel.y);
    return make_float4(low.x, low.y, high.x, high.y);
}

// The colours of a thread's two texels in a row and of the two beside.
struct Row {
    float4 at[4];
};

HANDOVER_INLINE Row colors(const Fetched& fetched) {
    uint2 texels[4];
    spread(fetched, texels);
    return {{color_of(texels[0]), color_of(texels[1]), color_of(texels[2]), color_of(texels[3])}};
}

// Light has the order of its bits, and of integers some devices have the least and the largest of three in one
// instruction.
HANDOVER_INLINE float least(float a, float b, float c) {
    return __uint_as_float(min(min(__float_as_uint(a), __float_as_uint(b)), __float_as_uint(c)));
}

HANDOVER_INLINE float largest(float a, float b, float c) {
    return __uint_as_float(max(max(__float_as_uint(a), __float_as_uint(b)), __float_as_uint(c)));
}

// Of one channel, four times the most negative weight of the ring
//       b
//     d e f
//       h
// that surely keeps it within [0, 1]: with it, the largest of the ring cannot take away more than there is, nor the
// smallest add more than there is room for. And the brightest: the weight is defined for [0, 1] alone.
struct Lobe {
    float weight, brightest;
};

HANDOVER_INLINE Lobe channel_lobe(float b, float d, float center, float f, float h) {
    float low = least(b, d, f), high = largest(b, d, f);
    float brightest = largest(high, h, center);
    // A black ring takes nothing away, and a white one adds nothing: 0/0, which the maximum passes over.
    float down = quotient(-least(low, h, center), fmaxf(high, h));
    float up = quotient(1.0f - brightest, fminf(low, h) - 1.0f);
    return {fmaxf(down, up), brightest};
}

// Twice the luma, as the original weighs it.
HANDOVER_INLINE float luma(float4 color) { return color.z * 0.5f + (color.x * 0.5f + color.y); }

// The texel `e` with its ring; `strength` is the share of the strongest lobe. Its last word is the texel's own, for
// alpha.
HANDOVER_INLINE uint2 sharpened(float4 b, float4 d, float4 e, float4 f, float4 h, float strength, bool denoise,
                                unsigned blue_alpha) {
    Lobe red = channel_lobe(b.x, d.x, e.x, f.x, h.x), green = channel_lobe(b.y, d.y, e.y, f.y, h.y);
    Lobe blue = channel_lobe(b.z, d.z, e.z, f.z, h.z);
    float lobe = fmaxf(fmaxf(red.weight, green.weight), blue.weight);
    // FSR_RCAS_LIMIT is 1/4 - 1/16.
    lobe = fmaxf(-0.1875f, fminf(0.25f * lobe, 0.0f)) * strength;
    if (largest(red.brightest, green.brightest, blue.brightest) > 1.0f) lobe = 0.0f;
    if (denoise) {
        float above = luma(b), left = luma(d), middle = luma(e), right = luma(f), below = luma(h);
        float brightest = fmaxf(fmaxf(fmaxf(above, left), fmaxf(right, below)), middle);
        float darkest = fminf(fminf(fminf(above, left), fminf(right, below)), middle);
        float range = brightest - darkest;
        float stands_out = fabsf(0.25f * (above + left + right + below) - middle);
        // A texel that stands out by all of the range is likely noise, and is sharpened half as much.
        float noise = range > 0.0f ? fminf(quotient(stands_out, range), 1.0f) : 0.0f;
        lobe = lobe * (1.0f - 0.5f * noise);
    }
    float share = quotient(1.0f, 4.0f * lobe + 1.0f);
    auto channel = [&](float b, float d, float e, float f, float h) {
        return fmaf(lobe, (b + h) + (d + f), e) * share;
    };
    return make_uint2(to_halves(channel(b.x, d.x, e.x, f.x, h.x), channel(b.y, d.y, e.y, f.y, h.y)),
                      with_low(blue_alpha, channel(b.z, d.z, e.z, f.z, h.z)));
}

HANDOVER_INLINE void put(const Pass& pass, int2 at, uint2 first, uint2 second) {
    if (!covers(pass.destination, at)) return;
    store_two(pass.destination, at, light_of(make_uint4(first.x, first.y, second.x, second.y)));
}

extern "C" __global__ void rcas(const __grid_constant__ Pass pass, const __grid_constant__ RcasParameters parameters) {
    int2 thread = thread_texel(), at = make_int2(2 * thread.x, rows * thread.y);
    float strength = exp2f(-parameters.sharpness);
    bool denoise = parameters.denoise != 0;
    Fetched fetched = fetch_row(pass.source, at.x, at.y - 1), own = fetch_row(pass.source, at.x, at.y);
    Fetched next = fetch_row(pass.source, at.x, at.y + 1);
    make_light(fetched);
    Row above = colors(fetched);
    make_light(own);
    Row here = colors(own);
    // After three rows each stands again in the registers that it came from.
#pragma unroll 3
    for (int k = 0; k < rows; ++k, ++at.y) {
        fetched = next;
        // On its way while this row is computed.
        if (k + 1 < rows) next = fetch_row(pass.source, at.x, at.y + 2);
        make_light(fetched);
        Row below = colors(fetched);
        put(pass, at,
            sharpened(above.at[1], here.at[0], here.at[1], here.at[2], below.at[1], strength, denoise, own.own.y),
            sharpened(above.at[2], here.at[1], here.at[2], here.at[3], below.at[2], strength, denoise, own.own.w));
        above = here;
        here = below;
        own = fetched;
    }
}
