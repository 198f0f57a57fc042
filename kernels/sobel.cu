/*---
title = "Edges"
summary = "Draws the edges that a Sobel operator finds over the picture."
source = "Sobel and Feldman's 3x3 operator on the square root of the luminance, so that dark and bright edges count alike"
stage = "look"
key = "6"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; edges are sought in what a screen shows, light up to 1"

[tolerance]
ulps = 2
absolute = 2e-6
why = "differences of square roots cancel, by less than 1e-6; ink over bright light leaves such a remainder"

[[parameters]]
name = "strength"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.85
step = 0.05
type = "f32"

[[parameters]]
name = "threshold"
unit = "of the largest gradient"
minimum = 0.0
maximum = 0.5
default = 0.06
step = 0.01
type = "f32"

[[parameters]]
name = "softness"
unit = "of the largest gradient"
minimum = 0.01
maximum = 1.0
default = 0.2
step = 0.01
type = "f32"

[[parameters]]
name = "ink"
unit = "light"
minimum = 0.0
maximum = 1.0
default = 0.0
step = 0.05
type = "f32"

[[passes]]
entry = "sobel"
source = "input"
destination = "output"
block = [32, 4]
texels = [2, 6]
---*/
#include "handover.cuh"

struct SobelParameters {
    float strength;
    float threshold;
    float softness;
    float ink;
};

constexpr int rows = 6;  // pairs of texels that a thread writes, one below the other

HANDOVER_INLINE float4 color_of(unsigned red_green, unsigned blue_alpha) {
    float2 low = to_float(red_green), high = to_float(blue_alpha);
    return make_float4(low.x, low.y, high.x, high.y);
}

// Roughly what an eye sees of a texel on a screen, in [0, 1].
HANDOVER_INLINE float tone(unsigned red_green, unsigned blue_alpha) {
    return sqrtf(fminf(luminance(color_of(red_green, blue_alpha)), 1.0f));
}

// The tones of a thread's two texels in a row and of the two beside.
struct Tones {
    float at[4];
};

HANDOVER_INLINE Tones tones(const Fetched& row) {
    int lane = threadIdx.x % 32;
    float first = tone(row.own.x, row.own.y), second = tone(row.own.z, row.own.w);
    float left = __shfl_up_sync(~0u, second, 1), right = __shfl_down_sync(~0u, first, 1);
    if (lane == 0 || lane == 31) {
        float beside = tone(row.beside.x, row.beside.y);
        if (lane == 0)
            left = beside;
        else
            right = beside;
    }
    return {{left, first, second, right}};
}

// A texel between three rows of tones, of which `k` is its place.
HANDOVER_INLINE uint2 drawn(uint2 texel, const Tones& above, const Tones& here, const Tones& below, int k,
                            const SobelParameters& parameters) {
    float gx = (above.at[k + 1] - above.at[k - 1]) + 2.0f * (here.at[k + 1] - here.at[k - 1]) +
               (below.at[k + 1] - below.at[k - 1]);
    float gy = (below.at[k - 1] - above.at[k - 1]) + 2.0f * (below.at[k] - above.at[k]) +
               (below.at[k + 1] - above.at[k + 1]);
    // Either sum is at most 4, for a step from black to white.
    float gradient = 0.25f * sqrtf(gx * gx + gy * gy);
    float s = clamp((gradient - parameters.threshold) / parameters.softness, 0.0f, 1.0f);
    float edge = parameters.strength * (s * s * (3.0f - 2.0f * s));
    float4 color = color_of(texel.x, texel.y);
    float ink = parameters.ink * edge, rest = 1.0f - edge;
    return make_uint2(to_halves(color.x * rest + ink, color.y * rest + ink), with_low(texel.y, color.z * rest + ink));
}

HANDOVER_INLINE void put(const Pass& pass, int2 at, uint2 first, uint2 second) {
    if (!covers(pass.destination, at)) return;
    store_two(pass.destination, at, make_uint4(first.x, first.y, second.x, second.y));
}

extern "C" __global__ void sobel(const __grid_constant__ Pass pass,
                                 const __grid_constant__ SobelParameters parameters) {
    int2 thread = thread_texel(), at = make_int2(2 * thread.x, rows * thread.y);
    Fetched fetched = fetch_row(pass.source, at.x, at.y - 1), own = fetch_row(pass.source, at.x, at.y);
    Fetched next = fetch_row(pass.source, at.x, at.y + 1);
    make_light(fetched);
    Tones above = tones(fetched);
    make_light(own);
    Tones here = tones(own);
    // After three rows each stands again in the registers that it came from.
#pragma unroll 3
    for (int k = 0; k < rows; ++k, ++at.y) {
        fetched = next;
        // On its way while this row is computed.
        if (k + 1 < rows) next = fetch_row(pass.source, at.x, at.y + 2);
        make_light(fetched);
        Tones below = tones(fetched);
        put(pass, at, drawn(make_uint2(own.own.x, own.own.y), above, here, below, 1, parameters),
            drawn(make_uint2(own.own.z, own.own.w), above, here, below, 2, parameters));
        above = here;
        here = below;
        own = fetched;
    }
}
