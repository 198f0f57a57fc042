/*---
title = "Halftone"
summary = "Printed dots: four inks on screens at four angles, or black ink alone. Where the dots are fine, the light stays as it was."
source = "diamond spot function of PostScript screens; areas by Murray and Davies, 1936; screen angles 15, 75, 0 and 45 degrees; grey component replaced wholly by black"
stage = "look"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; light above 1 is paper"

[tolerance]
ulps = 1
absolute = 1e-6
why = "coordinates are products, sums and quotients, which are the same everywhere; an edge of a dot near 0 cancels, by less than 1e-6"

[[parameters]]
name = "size"
unit = "px from dot to dot"
minimum = 3.0
maximum = 32.0
default = 6.0
step = 0.5
type = "f32"

[[parameters]]
name = "inks"
unit = "0 black, 1 cyan, magenta, yellow and black"
minimum = 0
maximum = 1
default = 1
step = 1
type = "u32"

[[passes]]
entry = "halftone"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct HalftoneParameters {
    float size;
    unsigned inks;
};

// The share of a texel that is inked, for a screen turned by an angle and an area of ink in [0, 1].
HANDOVER_INLINE float inked(int2 at, float area, float cosine, float sine, float size) {
    float x = float(at.x) + 0.5f, y = float(at.y) + 0.5f;
    float u = (x * cosine + y * sine) / size, v = (y * cosine - x * sine) / size;
    // The distance from the dot's centre along both axes together: 0 there, 1 in the middle of four dots.
    float spot = fabsf(u - floorf(u) - 0.5f) + fabsf(v - floorf(v) - 0.5f);
    // Where spot < reach the area of a cell is 2 reach^2 up to a half, and what its four corners leave above it.
    float reach = area <= 0.5f ? sqrtf(0.5f * area) : 1.0f - sqrtf(0.5f * (1.0f - area));
    // An edge is a texel wide. It lies inside the dot for small ones and outside for large ones, so that no ink and all
    // ink are exact.
    float texels = size * 0.70710678f;
    return clamp(reach * (texels + 1.0f) - spot * texels, 0.0f, 1.0f);
}

extern "C" __global__ void halftone(const __grid_constant__ Pass pass,
                                    const __grid_constant__ HalftoneParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    const float half_root = 0.70710678f;  // cos 45 = sin 45
    const float cos_15 = 0.96592583f, sin_15 = 0.25881905f;
    float size = parameters.size;
    if (parameters.inks == 0u) {
        float paper = 1.0f - inked(at, 1.0f - fminf(luminance(color), 1.0f), half_root, half_root, size);
        store(pass.destination, at, make_float4(paper, paper, paper, color.w));
        return;
    }
    float red = fminf(color.x, 1.0f), green = fminf(color.y, 1.0f), blue = fminf(color.z, 1.0f);
    float brightest = fmaxf(red, fmaxf(green, blue));
    float scale = brightest > 0.0f ? brightest : 1.0f;
    float black = 1.0f - inked(at, 1.0f - brightest, half_root, half_root, size);
    float cyan = 1.0f - inked(at, (brightest - red) / scale, cos_15, sin_15, size);
    float magenta = 1.0f - inked(at, (brightest - green) / scale, sin_15, cos_15, size);
    float yellow = 1.0f - inked(at, (brightest - blue) / scale, 1.0f, 0.0f, size);
    store(pass.destination, at, make_float4(cyan * black, magenta * black, yellow * black, color.w));
}
