/*---
title = "Dual filter blur"
summary = "A wide blur at a small price: four halved images with 5 taps each, and back with 8 taps each."
source = "Bjorge, Bandwidth-efficient rendering, SIGGRAPH 2015 (ARM): dual filtering; half a pixel is that of the smaller image"
stage = "blur"
alpha = "blurred like the colours"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504: one broken pixel stays within the blur, about 60 pixels"

[tolerance]
ulps = 2
why = "eight passes round to half each; before that, sums of up to 16 non-negative products differ by a share of about 1e-6, which can move a half across a rounding boundary"

[[passes]]
entry = "dual_filter_down"
source = "input"
destination = "half"
divisor = 2
block = [32, 8]

[[passes]]
entry = "dual_filter_down"
source = "half"
destination = "quarter"
divisor = 4
block = [16, 16]

[[passes]]
entry = "dual_filter_down"
source = "quarter"
destination = "eighth"
divisor = 8
block = [16, 16]

[[passes]]
entry = "dual_filter_down"
source = "eighth"
destination = "sixteenth"
divisor = 16
block = [16, 16]

[[passes]]
entry = "dual_filter_up"
source = "sixteenth"
destination = "eighth_blurred"
divisor = 8
block = [16, 16]

[[passes]]
entry = "dual_filter_up"
source = "eighth_blurred"
destination = "quarter_blurred"
divisor = 4
block = [16, 16]

[[passes]]
entry = "dual_filter_up"
source = "quarter_blurred"
destination = "half_blurred"
divisor = 2
block = [16, 16]

[[passes]]
entry = "dual_filter_up"
source = "half_blurred"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

// Five bilinear taps, the middle one four times: it lies on the corner of the four texels that a texel of the
// destination covers, the others one texel away on the diagonals, so on corners too. Each tap is the mean of four
// texels; together they weigh the inner four of 4x4 with 4/32 + 1/32 and the outer twelve with 1/32.
extern "C" __global__ void dual_filter_down(const __grid_constant__ Pass pass,
                                            const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int j = 0; j < 4; ++j) {
        for (int i = 0; i < 4; ++i) {
            float weight = (i == 1 || i == 2) && (j == 1 || j == 2) ? 5.0f / 32.0f : 1.0f / 32.0f;
            sum = accumulate(sum, load(pass.source, 2 * at.x - 1 + i, 2 * at.y - 1 + j), weight);
        }
    }
    store(pass.destination, at, sum);
}

// Eight bilinear taps: one texel of the source away along the axes, with weight 1/12, and half a texel away along both
// axes, with weight 1/6. An even position of the destination lies a quarter of a texel before a texel of the source, so
// that the taps' shares of four texels along an axis are, in quarters,
//     at -1: 1 3 0 0    -1/2: 0 3 1 0    0: 0 1 3 0    1/2: 0 0 3 1    1: 0 0 1 3
// and mirrored for an odd position.
extern "C" __global__ void dual_filter_up(const __grid_constant__ Pass pass,
                                          const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    const float ends[4] = {1.0f, 3.0f, 1.0f, 3.0f};    // -1 and 1 together
    const float halves[4] = {0.0f, 3.0f, 4.0f, 1.0f};  // -1/2 and 1/2 together
    const float middle[4] = {0.0f, 1.0f, 3.0f, 0.0f};
    int odd_x = at.x & 1, odd_y = at.y & 1;
    int left = (at.x >> 1) - 2 + odd_x, top = (at.y >> 1) - 2 + odd_y;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int j = 0; j < 4; ++j) {
        int y = odd_y ? 3 - j : j;
        for (int i = 0; i < 4; ++i) {
            int x = odd_x ? 3 - i : i;
            float weight = ends[i] * middle[j] + middle[i] * ends[j] + 2.0f * halves[i] * halves[j];
            sum = accumulate(sum, load(pass.source, left + x, top + y), weight * (1.0f / 192.0f));
        }
    }
    store(pass.destination, at, sum);
}
