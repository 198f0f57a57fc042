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
block = [32, 8]
---*/
#include "handover.cuh"

struct RcasParameters {
    float sharpness;
    unsigned denoise;
};

// The most negative weight of the ring
//       b
//     d e f
//       h
// that surely keeps one channel within [0, 1]: with it, the largest of the ring cannot take away more than there is, nor
// the smallest add more than there is room for.
HANDOVER_INLINE float channel_lobe(float b, float d, float center, float f, float h) {
    float smallest = fminf(fminf(fminf(b, d), f), h), largest = fmaxf(fmaxf(fmaxf(b, d), f), h);
    float brightest = fmaxf(largest, center);
    // Defined for [0, 1] alone.
    if (brightest > 1.0f) return 0.0f;
    // A black ring takes nothing away, and a white one adds nothing: 0/0 in the original, which its maximum passes over.
    float down = largest > 0.0f ? -fminf(smallest, center) / (4.0f * largest) : -1.0f;
    float up = smallest < 1.0f ? (1.0f - brightest) / (4.0f * smallest - 4.0f) : -1.0f;
    return fmaxf(down, up);
}

// Twice the luma, as the original weighs it.
HANDOVER_INLINE float luma(float4 color) { return color.z * 0.5f + (color.x * 0.5f + color.y); }

extern "C" __global__ void rcas(const __grid_constant__ Pass pass, const __grid_constant__ RcasParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 b = load(pass.source, at.x, at.y - 1), d = load(pass.source, at.x - 1, at.y);
    float4 e = load(pass.source, at.x, at.y), f = load(pass.source, at.x + 1, at.y);
    float4 h = load(pass.source, at.x, at.y + 1);
    float lobe = fmaxf(fmaxf(channel_lobe(b.x, d.x, e.x, f.x, h.x), channel_lobe(b.y, d.y, e.y, f.y, h.y)),
                       channel_lobe(b.z, d.z, e.z, f.z, h.z));
    // FSR_RCAS_LIMIT is 1/4 - 1/16.
    lobe = fmaxf(-0.1875f, fminf(lobe, 0.0f)) * exp2f(-parameters.sharpness);
    if (parameters.denoise != 0) {
        float above = luma(b), left = luma(d), middle = luma(e), right = luma(f), below = luma(h);
        float brightest = fmaxf(fmaxf(fmaxf(above, left), fmaxf(right, below)), middle);
        float darkest = fminf(fminf(fminf(above, left), fminf(right, below)), middle);
        float range = brightest - darkest;
        float stands_out = fabsf(0.25f * (above + left + right + below) - middle);
        // A texel that stands out by all of the range is likely noise, and is sharpened half as much.
        float noise = range > 0.0f ? fminf(stands_out / range, 1.0f) : 0.0f;
        lobe = lobe * (1.0f - 0.5f * noise);
    }
    float scale = 4.0f * lobe + 1.0f;
    store(pass.destination, at,
          make_float4((lobe * (b.x + d.x + h.x + f.x) + e.x) / scale, (lobe * (b.y + d.y + h.y + f.y) + e.y) / scale,
                      (lobe * (b.z + d.z + h.z + f.z) + e.z) / scale, e.w));
}
