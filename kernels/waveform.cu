/*---
title = "Waveform"
summary = "Draws the luma of each column of the picture in the lower right corner: the picture's columns from left to right, luma of the display from bottom to top, the brighter the more texels have it."
source = "waveform monitor of luma by ITU-R BT.709-6 item 3.2, of values encoded as IEC 61966-2-1 (sRGB)"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; what is above 1 counts as 1"

[tolerance]
ulps = 1
why = "counts are integers and equal, and the rest is sums, products and quotients"

[[parameters]]
name = "size"
unit = "of the picture"
minimum = 0.1
maximum = 1.0
default = 0.3
step = 0.05
type = "f32"

[[parameters]]
name = "opacity"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.85
step = 0.05
type = "f32"

# 512 columns of 256 levels.
[[buffers]]
name = "cells"
bytes = 524288
zeroed = true

[[passes]]
entry = "waveform_count"
source = "input"
buffers = ["cells"]
block = [32, 8]

[[passes]]
entry = "waveform_draw"
source = "input"
destination = "output"
buffers = ["cells"]
block = [32, 8]
---*/
#include "handover.cuh"

struct WaveformParameters {
    float size;
    float opacity;
};

constexpr int most_columns = 512, levels = 256;
// The share of a column's texels at one level that is drawn half as bright as all of them would be.
constexpr float half_bright = 0.01f;

// The sRGB encoding of light. The power 1 / 2.4 = 1/4 + 1/6 is made of roots, the cube root by Halley's method from a line:
// only operations that round alike everywhere, so that no level flips between a GPU and a CPU. Three steps leave 3e-7 of
// the value.
HANDOVER_INLINE float encoded(float light) {
    light = fminf(light, 1.0f);
    if (light <= 0.0031308f) return 12.92f * light;
    float root = sqrtf(light);
    float cube_root = 0.45f + 0.55f * root;
    for (int step = 0; step < 3; ++step) {
        float cube = cube_root * cube_root * cube_root;
        cube_root = cube_root * (cube + 2.0f * root) / (2.0f * cube + root);
    }
    return 1.055f * (sqrtf(root) * cube_root) - 0.055f;
}

extern "C" __global__ void waveform_count(const __grid_constant__ Pass pass,
                                          const __grid_constant__ WaveformParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    float luma = luminance(make_float4(encoded(color.x), encoded(color.y), encoded(color.z), 0.0f));
    int level = min(int(luma * 255.0f + 0.5f), levels - 1);
    int width = int(pass.source.extent.x), columns = min(width, most_columns);
    int column = at.x * columns / width;
    atomicAdd(&elements<unsigned>(pass.buffers[0])[column * levels + level], 1u);
}

// How bright a texel of the panel is, from 0 to 1: a saturating function of the share of its columns' texels that have its
// levels.
HANDOVER_INLINE float trace(const Pass& pass, int2 panel, int right, int up) {
    int width = int(pass.source.extent.x), height = int(pass.source.extent.y), columns = min(width, most_columns);
    int first_column = right * columns / panel.x, end_column = max(first_column + 1, (right + 1) * columns / panel.x);
    int first_level = up * levels / panel.y, end_level = max(first_level + 1, (up + 1) * levels / panel.y);
    const unsigned* cells = elements<unsigned>(pass.buffers[0]);
    unsigned count = 0u;
    for (int column = first_column; column < end_column; ++column)
        for (int level = first_level; level < end_level; ++level) count += cells[column * levels + level];
    // The picture's columns that these stand for.
    int first = (first_column * width + columns - 1) / columns, end = (end_column * width + columns - 1) / columns;
    float share = float(count) / (float(end - first) * float(height));
    return share / (share + half_bright);
}

extern "C" __global__ void waveform_draw(const __grid_constant__ Pass pass,
                                         const __grid_constant__ WaveformParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    int width = int(pass.source.extent.x), height = int(pass.source.extent.y);
    int margin = min(width, height) / 40;
    int2 panel = make_int2(max(int(parameters.size * float(width - 2 * margin)), 1),
                           max(int(parameters.size * float(height - 2 * margin)), 1));
    int right = at.x - (width - margin - panel.x), up = height - margin - 1 - at.y;
    if (right >= 0 && right < panel.x && up >= 0 && up < panel.y) {
        // Lines at quarters of the levels, and a frame.
        bool is_line = up * 4 / panel.y != (up - 1) * 4 / panel.y || up == 0 || up == panel.y - 1 || right == 0 ||
                       right == panel.x - 1;
        float ground = is_line ? 0.08f : 0.01f, through = 1.0f - parameters.opacity;
        // The green of an oscilloscope's phosphor.
        float bright = trace(pass, panel, right, up);
        color = make_float4(fminf(color.x, 1.0f) * through + (ground + 0.35f * bright) * parameters.opacity,
                            fminf(color.y, 1.0f) * through + (ground + 0.9f * bright) * parameters.opacity,
                            fminf(color.z, 1.0f) * through + (ground + 0.45f * bright) * parameters.opacity, color.w);
    }
    store(pass.destination, at, color);
}
