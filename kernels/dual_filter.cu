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
texels = [1, 4]
block = [32, 4]

[[passes]]
entry = "dual_filter_down"
source = "half"
destination = "quarter"
divisor = 4
index = 1
texels = [1, 4]
block = [32, 4]

[[passes]]
entry = "dual_filter_down"
source = "quarter"
destination = "eighth"
divisor = 8
index = 1
texels = [1, 4]
block = [32, 2]

[[passes]]
entry = "dual_filter_down"
source = "eighth"
destination = "sixteenth"
divisor = 16
index = 1
texels = [1, 4]
block = [32, 2]

[[passes]]
entry = "dual_filter_up"
source = "sixteenth"
destination = "eighth_blurred"
divisor = 8
texels = [4, 4]
block = [32, 2]

[[passes]]
entry = "dual_filter_up"
source = "eighth_blurred"
destination = "quarter_blurred"
divisor = 4
texels = [4, 4]
block = [32, 2]

[[passes]]
entry = "dual_filter_up"
source = "quarter_blurred"
destination = "half_blurred"
divisor = 2
texels = [4, 4]
block = [32, 2]

[[passes]]
entry = "dual_filter_up"
source = "half_blurred"
destination = "output"
texels = [4, 4]
block = [32, 2]
---*/
#include "handover.cuh"
#include "handover_lanes.cuh"

HANDOVER_INLINE float4 to_color(unsigned red_green, unsigned blue_alpha) {
    float2 xy = to_float(red_green), zw = to_float(blue_alpha);
    return make_float4(xy.x, xy.y, zw.x, zw.y);
}

// Two texels that stand side by side, the first of them in an even column.
struct Pair {
    float4 even, odd;
};

HANDOVER_INLINE Pair to_pair(uint4 bits) { return {to_color(bits.x, bits.y), to_color(bits.z, bits.w)}; }

// The value of the lane before, and of the lane behind. All lanes of a warp call them together.
HANDOVER_INLINE float4 of_left(float4 value) {
    return make_float4(__shfl_up_sync(~0u, value.x, 1), __shfl_up_sync(~0u, value.y, 1),
                       __shfl_up_sync(~0u, value.z, 1), __shfl_up_sync(~0u, value.w, 1));
}

HANDOVER_INLINE float4 of_right(float4 value) {
    return make_float4(__shfl_down_sync(~0u, value.x, 1), __shfl_down_sync(~0u, value.y, 1),
                       __shfl_down_sync(~0u, value.z, 1), __shfl_down_sync(~0u, value.w, 1));
}

HANDOVER_INLINE uint4 of_left(uint4 value) {
    return make_uint4(__shfl_up_sync(~0u, value.x, 1), __shfl_up_sync(~0u, value.y, 1),
                      __shfl_up_sync(~0u, value.z, 1), __shfl_up_sync(~0u, value.w, 1));
}

HANDOVER_INLINE uint4 of_right(uint4 value) {
    return make_uint4(__shfl_down_sync(~0u, value.x, 1), __shfl_down_sync(~0u, value.y, 1),
                      __shfl_down_sync(~0u, value.z, 1), __shfl_down_sync(~0u, value.w, 1));
}

// Texels of a column that a thread makes on the way down, whose sums share rows, and the rows of the source that it reads.
constexpr int down_rows = 4, down_reads = 2 * down_rows + 2;

// Five bilinear taps, the middle one four times: it lies on the corner of the four texels that a texel of the
// destination covers, the others one texel away on the diagonals, so on corners too. Each tap is the mean of four
// texels; together they weigh the inner four of 4x4 with 4/32 + 1/32 and the outer twelve with 1/32. A lane adds up the columns
// of its pair; what its neighbours need of them is one sum each.
template <bool inside>
HANDOVER_INLINE void down(const Pass& pass, int pair, int top, bool is_light) {
    uint4 bits[down_reads];
#pragma unroll
    for (int k = 0; k < down_reads; ++k) bits[k] = load_pair_bits<inside>(pass.source, pair, 2 * top - 1 + k);
    Pair rows[down_reads];
#pragma unroll
    for (int k = 0; k < down_reads; ++k) rows[k] = to_pair(is_light ? bits[k] : light_of(bits[k]));
#pragma unroll
    for (int k = 0; k < down_rows; ++k) {
        const Pair &a = rows[2 * k], &b = rows[2 * k + 1], &c = rows[2 * k + 2], &d = rows[2 * k + 3];
        float4 inner_even = b.even + c.even, inner_odd = b.odd + c.odd;
        float4 even = inner_even + (a.even + d.even), odd = inner_odd + (a.odd + d.odd);
        float4 sum = accumulate(even + odd, inner_even + inner_odd, 4.0f) + (of_left(odd) + of_right(even));
        int2 at = make_int2(pair, top + k);
        if (is_middle() && covers(pass.destination, at)) store_bits(pass.destination, at, to_half(sum * (1.0f / 32.0f)));
    }
}

// `index` is 0 where the source is the picture, whose texels may be no light.
extern "C" __global__ void dual_filter_down(const __grid_constant__ Pass pass,
                                            const __grid_constant__ NoParameters parameters) {
    Tiles tiles(int(pass.destination.extent.x), int(pass.destination.extent.y), down_rows);
    for (int index = tiles.first(); index < tiles.across * tiles.down; index += tiles.step()) {
        Tile tile = tiles[index];
        int pair = tile.pair + lane(), top = tile.top + int(threadIdx.y) * down_rows;
        // The same for the whole block.
        if (all_inside(pass.source, tile.pair, tile.pair + 31, 2 * tile.top - 1, 2 * (tile.top + tiles.height)))
            down<true>(pass, pair, top, pass.index > 0);
        else
            down<false>(pass, pair, top, pass.index > 0);
    }
}

// Eight bilinear taps: one texel of the source away along the axes, with weight 1/12, and half a texel away along both
// axes, with weight 1/6. An even position of the destination lies a quarter of a texel before a texel of the source, so
// that the taps' shares of four texels along an axis are, in quarters,     at -1: 1 3 0 0    -1/2: 0 3 1 0    0: 0 1 3
// 0    1/2: 0 0 3 1    1: 0 0 1 3 and mirrored for an odd position. This is the weight of texel (i, j) of those that
// four places of a row from an even one on, and four rows from an odd one on, read, for place (x, y).
HANDOVER_INLINE float weight_of(int x, int y, int i, int j) {
    const float ends[4] = {1.0f, 3.0f, 1.0f, 3.0f};    // -1 and 1 together
    const float halves[4] = {0.0f, 3.0f, 4.0f, 1.0f};  // -1/2 and 1/2 together
    const float middle[4] = {0.0f, 1.0f, 3.0f, 0.0f};
    int odd_x = x & 1, odd_y = 1 - (y & 1);
    i -= x / 2 + odd_x;
    j -= y / 2;
    if (i < 0 || i > 3 || j < 0 || j > 3) return 0.0f;
    if (odd_x) i = 3 - i;
    if (odd_y) j = 3 - j;
    return (ends[i] * middle[j] + middle[i] * ends[j] + 2.0f * halves[i] * halves[j]) * (1.0f / 192.0f);
}

// A thread makes 4x4 texels, of the pair of the source that it reads: the row above those that the row of the source `y` covers, these
// two, and the row below.
template <bool inside>
HANDOVER_INLINE void up(const Pass& pass, int pair, int y) {
    uint4 bits[5];
#pragma unroll
    for (int j = 0; j < 5; ++j) bits[j] = load_pair_bits<inside>(pass.source, pair, y - 2 + j);
    float4 sums[4][4];
#pragma unroll
    for (int j = 0; j < 5; ++j) {
        uint4 around[3] = {of_left(bits[j]), bits[j], of_right(bits[j])};
#pragma unroll
        for (int k = 0; k < 16; ++k) {
            if (j == 0) sums[k / 4][k % 4] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        }
#pragma unroll
        for (int near = 0; near < 3; ++near) {
            Pair texels = to_pair(around[near]);
#pragma unroll
            for (int k = 0; k < 16; ++k) {
                int x = k % 4, row = k / 4;
                float even = weight_of(x, row, 2 * near, j), odd = weight_of(x, row, 2 * near + 1, j);
                if (even > 0.0f) sums[row][x] = accumulate(sums[row][x], texels.even, even);
                if (odd > 0.0f) sums[row][x] = accumulate(sums[row][x], texels.odd, odd);
            }
        }
    }
#pragma unroll
    for (int row = 0; row < 4; ++row) {
        Bits own;
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            float4 even = sums[row][2 * x], odd = sums[row][2 * x + 1];
            own.of[x] = make_uint4(to_halves(even.x, even.y), to_halves(even.z, even.w), to_halves(odd.x, odd.y),
                                   to_halves(odd.z, odd.w));
        }
        store_four(pass.destination, make_int2(4 * pair, 2 * y - 1 + row), dealt(own));
    }
}

extern "C" __global__ void dual_filter_up(const __grid_constant__ Pass pass,
                                          const __grid_constant__ NoParameters parameters) {
    // Of four rows, one above the first: so one more.
    Tiles tiles((int(pass.destination.extent.x) + 3) / 4, (int(pass.destination.extent.y) + 4) / 4, 1);
    for (int index = tiles.first(); index < tiles.across * tiles.down; index += tiles.step()) {
        Tile tile = tiles[index];
        int pair = tile.pair + lane(), y = 2 * (tile.top + int(threadIdx.y));
        // The same for the whole block.
        if (all_inside(pass.source, tile.pair, tile.pair + 31, 2 * tile.top - 2, 2 * (tile.top + tiles.height)))
            up<true>(pass, pair, y);
        else
            up<false>(pass, pair, y);
    }
}
