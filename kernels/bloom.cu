/*---
title = "Bloom"
summary = "Light above a threshold spreads over five halved images and is added to the picture."
source = "Jimenez, Next Generation Post Processing in Call of Duty: Advanced Warfare, SIGGRAPH 2014: 13 taps down, a 3x3 tent up"
stage = "bloom"
key = "3"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; `limit` bounds what one pixel can add"

[tolerance]
ulps = 2
absolute = 1e-5
why = "ten passes round to half each; `light - threshold` cancels just above the threshold, so dim bloom is compared absolutely"

[[parameters]]
name = "threshold"
unit = "light"
minimum = 0.0
maximum = 16.0
default = 1.0
step = 0.1
type = "f32"

[[parameters]]
name = "knee"
unit = "of the threshold"
minimum = 0.0
maximum = 1.0
default = 0.5
step = 0.05
type = "f32"

[[parameters]]
name = "intensity"
unit = ""
minimum = 0.0
maximum = 4.0
default = 0.5
step = 0.05
type = "f32"

[[parameters]]
name = "scatter"
unit = "of the light handed to the wider image"
minimum = 0.0
maximum = 1.0
default = 0.7
step = 0.05
type = "f32"

[[parameters]]
name = "limit"
unit = "light"
minimum = 1.0
maximum = 65504.0
default = 64.0
step = 1.0
logarithmic = true
type = "f32"

[[passes]]
entry = "bloom_bright"
source = "input"
destination = "half"
divisor = 2
block = [16, 16]

[[passes]]
entry = "bloom_down"
source = "half"
destination = "quarter"
divisor = 4
block = [16, 16]

[[passes]]
entry = "bloom_down"
source = "quarter"
destination = "eighth"
divisor = 8
block = [16, 16]

[[passes]]
entry = "bloom_down"
source = "eighth"
destination = "sixteenth"
divisor = 16
block = [16, 16]

[[passes]]
entry = "bloom_down"
source = "sixteenth"
destination = "thirty_second"
divisor = 32
block = [16, 16]

[[passes]]
entry = "bloom_up"
source = "thirty_second"
second = "sixteenth"
destination = "sixteenth_lit"
divisor = 16
block = [16, 16]

[[passes]]
entry = "bloom_up"
source = "sixteenth_lit"
second = "eighth"
destination = "eighth_lit"
divisor = 8
block = [16, 16]

[[passes]]
entry = "bloom_up"
source = "eighth_lit"
second = "quarter"
destination = "quarter_lit"
divisor = 4
block = [16, 16]

[[passes]]
entry = "bloom_up"
source = "quarter_lit"
second = "half"
destination = "half_lit"
divisor = 2
block = [16, 16]

[[passes]]
entry = "bloom_composite"
source = "half_lit"
second = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct BloomParameters {
    float threshold;
    float knee;
    float intensity;
    float scatter;
    float limit;
};

// The 13 bilinear taps of the paper, each of which falls on the corner of four texels, taken together: five overlapping
// 4x4 boxes, the centre with weight 1/2, the corners with 1/8 each. Texel (2x, 2y) of the source is the upper left of
// the destination's four, whatever the extents, so that odd sizes need no fractions.
HANDOVER_INLINE float4 down(const Image& source, int2 at, float limit) {
    const float outer[6] = {1.0f, 1.0f, 2.0f, 2.0f, 1.0f, 1.0f};
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int j = 0; j < 6; ++j) {
        for (int i = 0; i < 6; ++i) {
            float inner = (i > 0 && i < 5 && j > 0 && j < 5) ? 1.0f / 32.0f : 0.0f;
            float4 texel = load(source, 2 * at.x - 2 + i, 2 * at.y - 2 + j);
            texel = make_float4(fminf(texel.x, limit), fminf(texel.y, limit), fminf(texel.z, limit), texel.w);
            sum = accumulate(sum, texel, inner + outer[i] * outer[j] * (1.0f / 128.0f));
        }
    }
    return sum;
}

// The 3x3 tent over the bilinearly enlarged source: along each axis four texels with weights 1, 5, 7, 3 sixteenths, or
// mirrored for odd positions.
HANDOVER_INLINE float4 up(const Image& source, int2 at) {
    const float even[4] = {1.0f / 16.0f, 5.0f / 16.0f, 7.0f / 16.0f, 3.0f / 16.0f};
    int odd_x = at.x & 1, odd_y = at.y & 1;
    int left = (at.x >> 1) - 2 + odd_x, top = (at.y >> 1) - 2 + odd_y;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int j = 0; j < 4; ++j) {
        float weight_y = odd_y ? even[3 - j] : even[j];
        for (int i = 0; i < 4; ++i) {
            float weight_x = odd_x ? even[3 - i] : even[i];
            sum = accumulate(sum, load(source, left + i, top + j), weight_x * weight_y);
        }
    }
    return sum;
}

// How much of a colour is above the threshold, in [0, 1]: nothing below threshold - knee, quadratic up to
// threshold + knee, then everything above the threshold.
HANDOVER_INLINE float bright_share(float4 color, const BloomParameters& parameters) {
    float brightest = fmaxf(color.x, fmaxf(color.y, color.z));
    float knee = parameters.threshold * parameters.knee;
    float soft = clamp(brightest - (parameters.threshold - knee), 0.0f, 2.0f * knee);
    float quadratic = knee > 0.0f ? soft * soft / (4.0f * knee) : 0.0f;
    float above = fmaxf(quadratic, brightest - parameters.threshold);
    return brightest > 0.0f ? above / brightest : 0.0f;
}

extern "C" __global__ void bloom_bright(const __grid_constant__ Pass pass,
                                        const __grid_constant__ BloomParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = down(pass.source, at, parameters.limit);
    store(pass.destination, at, color * bright_share(color, parameters));
}

extern "C" __global__ void bloom_down(const __grid_constant__ Pass pass,
                                      const __grid_constant__ BloomParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    store(pass.destination, at, down(pass.source, at, half_limit));
}

extern "C" __global__ void bloom_up(const __grid_constant__ Pass pass,
                                    const __grid_constant__ BloomParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 narrow = load(pass.second, at.x, at.y) * (1.0f - parameters.scatter);
    store(pass.destination, at, accumulate(narrow, up(pass.source, at), parameters.scatter));
}

extern "C" __global__ void bloom_composite(const __grid_constant__ Pass pass,
                                           const __grid_constant__ BloomParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.second, at.x, at.y);
    float4 lit = accumulate(color, up(pass.source, at), parameters.intensity);
    store(pass.destination, at, make_float4(lit.x, lit.y, lit.z, color.w));
}
