/*---
title = "Depth view"
summary = "Shows the depth guide instead of the picture: one over the depth as colour, red for near, over green, to dark blue for far."
source = "disparity in Turbo: Mikhailov, Turbo, an improved rainbow colormap for visualization, Google 2019, by the polynomial of Du (Google LLC, Apache-2.0); IEC 61966-2-1 from its encoding to light"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "the picture's are not shown; a depth that is NaN, 0 or negative is near, infinity is far"
guides = ["depth"]

[tolerance]
ulps = 2
absolute = 2e-5
why = "a power differs by some ulps of float; the polynomial's terms of up to 150 cancel, by less than 2e-5"

[[parameters]]
name = "near"
unit = "m"
minimum = 0.05
maximum = 9.0
default = 2.0
step = 0.1
logarithmic = true
type = "f32"

[[parameters]]
name = "far"
unit = "m"
minimum = 10.0
maximum = 10000.0
default = 100.0
step = 1.0
logarithmic = true
type = "f32"

[[passes]]
entry = "depth_view"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"
#include "handover_srgb.cuh"

struct DepthViewParameters {
    float near;
    float far;
};

HANDOVER_INLINE Light depth_shown(float4 color, Depth depth, int2 at, const Pass& pass,
                                   const DepthViewParameters& parameters) {
    float disparity = approximate_reciprocal(fmaxf(depth.metres, 1e-6f));
    // (disparity - 1 / far) / (1 / near - 1 / far)
    float scale = parameters.near * approximate_reciprocal(parameters.far - parameters.near);
    float x = saturate(fmaf(disparity, parameters.far, -1.0f) * scale);
    // Turbo, encoded as sRGB.
    float red = fmaf(fmaf(fmaf(fmaf(fmaf(59.28637943f, x, -152.94239396f), x, 132.13108234f), x, -42.66032258f), x,
                          4.61539260f), x, 0.13572138f);
    float green = fmaf(fmaf(fmaf(fmaf(fmaf(2.82956604f, x, 4.27729857f), x, -14.18503333f), x, 4.84296658f), x,
                            2.19418839f), x, 0.09140261f);
    float blue = fmaf(fmaf(fmaf(fmaf(fmaf(27.34824973f, x, -89.90310912f), x, 110.36276771f), x, -60.58204836f), x,
                           12.64194608f), x, 0.10667330f);
    return {srgb_decoded(saturate(red)), srgb_decoded(saturate(green)), srgb_decoded(saturate(blue)), color.w};
}

HANDOVER_POINTWISE(depth_view, depth_shown, DepthViewParameters)
