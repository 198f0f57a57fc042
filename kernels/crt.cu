/*---
title = "CRT"
summary = "A picture tube: fewer and softer lines, a mask of red, green and blue stripes, bent glass with a black border."
source = "Lottes, CRT styled scanline shader, public domain, 2014: Gaussian pixels and scanlines over three lines, aperture grille, warp"
stage = "look"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "exp2f differs by some ulps of float; coordinates are sums, products and quotients, which are the same everywhere"

[[parameters]]
name = "size"
unit = "px from line to line"
minimum = 1
maximum = 16
default = 4
step = 1
type = "u32"

[[parameters]]
name = "scanlines"
unit = "sharpness"
minimum = 0.0
maximum = 16.0
default = 6.0
step = 1.0
type = "f32"

[[parameters]]
name = "mask"
unit = "share"
minimum = 0.0
maximum = 1.0
default = 0.3
step = 0.05
type = "f32"

[[parameters]]
name = "curvature"
unit = "of a 32nd along x, a 24th along y"
minimum = 0.0
maximum = 4.0
default = 1.0
step = 0.25
type = "f32"

[[passes]]
entry = "crt"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct CrtParameters {
    unsigned size;
    float scanlines;
    float mask;
    float curvature;
};

// How sharp a pixel of the tube is along its line: hardPix of Lottes, the exponent of 2 a pixel away.
constexpr float pixel_sharpness = 3.0f;

// Pixel (i, j) of the tube: the texel in its middle; outside there is no light.
HANDOVER_INLINE float4 tube_pixel(const Image& image, int i, int j, int size) {
    int x = i * size + size / 2, y = j * size + size / 2;
    if (i < 0 || j < 0 || x >= int(image.extent.x) || y >= int(image.extent.y))
        return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return load(image, x, y);
}

// Pixel (i, j) and `reach` more to both sides, weighted by a Gaussian around a point that is `off` pixels
// right of the middle of (i, j).
HANDOVER_INLINE float4 along_line(const Image& image, int i, int j, int size, float off, int reach) {
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float total = 0.0f;
    for (int tap = -reach; tap <= reach; ++tap) {
        float distance = float(tap) - off;
        float weight = exp2f(-pixel_sharpness * (distance * distance));
        sum = accumulate(sum, tube_pixel(image, i + tap, j, size), weight);
        total += weight;
    }
    return sum * (1.0f / total);
}

extern "C" __global__ void crt(const __grid_constant__ Pass pass, const __grid_constant__ CrtParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float width = float(pass.source.extent.x), height = float(pass.source.extent.y);
    // From -1 to 1, bent outwards by the square of the other coordinate.
    float flat_x = (float(at.x) + 0.5f) / width * 2.0f - 1.0f, flat_y = (float(at.y) + 0.5f) / height * 2.0f - 1.0f;
    float bent_x = flat_x * (1.0f + flat_y * flat_y * (parameters.curvature / 32.0f));
    float bent_y = flat_y * (1.0f + flat_x * flat_x * (parameters.curvature / 24.0f));
    // In pixels of the tube.
    int size = int(parameters.size);
    float x = (bent_x * 0.5f + 0.5f) * width / float(size), y = (bent_y * 0.5f + 0.5f) * height / float(size);
    int i = int(floorf(x)), j = int(floorf(y));
    float off_x = x - floorf(x) - 0.5f, off_y = y - floorf(y) - 0.5f;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int line = -1; line <= 1; ++line) {
        float distance = float(line) - off_y;
        float weight = exp2f(-parameters.scanlines * (distance * distance));
        // The lines above and below are dark, and so need fewer pixels.
        sum = accumulate(sum, along_line(pass.source, i, j + line, size, off_x, line == 0 ? 2 : 1), weight);
    }
    float dark = 1.0f - parameters.mask, lit = 1.0f + parameters.mask;
    int stripe = at.x % 3;
    float alpha = load(pass.source, at.x, at.y).w;
    store(pass.destination, at,
          make_float4(sum.x * (stripe == 0 ? lit : dark), sum.y * (stripe == 1 ? lit : dark),
                      sum.z * (stripe == 2 ? lit : dark), alpha));
}
