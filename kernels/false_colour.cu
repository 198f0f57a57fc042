/*---
title = "False colour"
summary = "Exposure as colour: stops of luminance from middle grey, blue for the darkest, over green, to red for the brightest."
source = "stops from 0.18; Turbo, Mikhailov 2019, by the polynomial of Du (Google LLC, Apache-2.0); IEC 61966-2-1 from its encoding to light"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 2
absolute = 2e-5
why = "log2f and powers differ by some ulps of float; the polynomial's terms of up to 150 cancel, by less than 2e-5"

[[parameters]]
name = "lowest"
unit = "stops from middle grey"
minimum = -16.0
maximum = -1.0
default = -8.0
step = 0.5
type = "f32"

[[parameters]]
name = "highest"
unit = "stops from middle grey"
minimum = 1.0
maximum = 16.0
default = 4.0
step = 0.5
type = "f32"

[[passes]]
entry = "false_colour"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"
#include "handover_srgb.cuh"

struct FalseColourParameters {
    float lowest;
    float highest;
};

HANDOVER_INLINE Light coloured(float4 color, int2 at, const Pass& pass, const FalseColourParameters& parameters) {
    // 0.18 is the reflectance of the photographer's grey card. Black is minus infinity stops.
    float stops = approximate_log2(luminance(color) * (1.0f / 0.18f));
    float x = saturate((stops - parameters.lowest) * approximate_reciprocal(parameters.highest - parameters.lowest));
    // Turbo, encoded as sRGB.
    float red = fmaf(fmaf(fmaf(fmaf(fmaf(59.28637943f, x, -152.94239396f), x, 132.13108234f), x, -42.66032258f), x,
                          4.61539260f), x, 0.13572138f);
    float green = fmaf(fmaf(fmaf(fmaf(fmaf(2.82956604f, x, 4.27729857f), x, -14.18503333f), x, 4.84296658f), x,
                            2.19418839f), x, 0.09140261f);
    float blue = fmaf(fmaf(fmaf(fmaf(fmaf(27.34824973f, x, -89.90310912f), x, 110.36276771f), x, -60.58204836f), x,
                           12.64194608f), x, 0.10667330f);
    return {srgb_decoded(saturate(red)), srgb_decoded(saturate(green)), srgb_decoded(saturate(blue)), color.w};
}

HANDOVER_POINTWISE(false_colour, coloured, FalseColourParameters)
