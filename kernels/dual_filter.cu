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
texels = [1, 2]
block = [32, 4]

[[passes]]
entry = "dual_filter_down"
source = "half"
destination = "quarter"
divisor = 4
index = 1
texels = [1, 2]
block = [32, 4]

[[passes]]
entry = "dual_filter_down"
source = "quarter"
destination = "eighth"
divisor = 8
index = 1
texels = [1, 2]
block = [32, 4]

[[passes]]
entry = "dual_filter_down"
source = "eighth"
destination = "sixteenth"
divisor = 16
index = 1
texels = [1, 2]
block = [32, 4]

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

// Two texels that stand side by side, the first of them in an even column.
struct Pair {
    float4 even, odd;
};

HANDOVER_INLINE unsigned short lower(unsigned word) { return (unsigned short)word; }
HANDOVER_INLINE unsigned short upper(unsigned word) { return (unsigned short)(word >> 16); }
HANDOVER_INLINE unsigned joined(unsigned short low, unsigned short high) { return low | unsigned(high) << 16; }

HANDOVER_INLINE float4 to_color(unsigned red_green, unsigned blue_alpha) {
    return make_float4(half_to_float(lower(red_green)), half_to_float(upper(red_green)),
                       half_to_float(lower(blue_alpha)), half_to_float(upper(blue_alpha)));
}

HANDOVER_INLINE float4 limited(float4 color) {
    return make_float4(light(color.x), light(color.y), light(color.z), light(color.w));
}

// Texels 2 `pair` and 2 `pair` + 1 of a row; those outside are the nearest inside.
HANDOVER_INLINE Pair load_pair(const Image& image, int pair, int y) {
    int last = int(image.extent.x) - 1;
    y = min(max(y, 0), int(image.extent.y) - 1);
    if (pair >= 0 && 2 * pair < last) {
        uint4 bits = surf2Dread<uint4>(image.surface, pair * 16, y);
        return {to_color(bits.x, bits.y), to_color(bits.z, bits.w)};
    }
    return {to_float(load_bits(image, make_int2(min(max(2 * pair, 0), last), y))),
            to_float(load_bits(image, make_int2(min(max(2 * pair + 1, 0), last), y)))};
}

// The sums of one row under a texel of the destination: of the inner two of its texels, and of all four.
struct RowSums {
    float4 inner, all;
};

HANDOVER_INLINE RowSums row_sums(const Image& source, int x, int y, bool is_light) {
    Pair here = load_pair(source, x, y);
    float4 left = to_float(load_bits(source, inside(source, 2 * x - 1, y)));
    float4 right = to_float(load_bits(source, inside(source, 2 * x + 2, y)));
    if (!is_light) {
        here = {limited(here.even), limited(here.odd)};
        left = limited(left);
        right = limited(right);
    }
    float4 inner = here.even + here.odd;
    return {inner, inner + (left + right)};
}

HANDOVER_INLINE void put(const Pass& pass, int2 at, float4 color) {
    if (!covers(pass.destination, at)) return;
    store_bits(pass.destination, at, to_half(color));
}

// Texels of a column that a thread makes on the way down: their sums share rows.
constexpr int rows = 2;

// Five bilinear taps, the middle one four times: it lies on the corner of the four texels that a texel of the
// destination covers, the others one texel away on the diagonals, so on corners too. Each tap is the mean of four
// texels; together they weigh the inner four of 4x4 with 4/32 + 1/32 and the outer twelve with 1/32. `index` is 0 where
// the source is the picture, whose texels may be no light.
extern "C" __global__ void dual_filter_down(const __grid_constant__ Pass pass,
                                            const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    at.y *= rows;
    float4 sums[rows];
#pragma unroll
    for (int k = 0; k < rows; ++k) sums[k] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int tap = 0; tap < 2 * rows + 2; ++tap) {
        RowSums row = row_sums(pass.source, at.x, 2 * at.y - 1 + tap, pass.index > 0);
#pragma unroll
        for (int k = 0; k < rows; ++k) {
            int j = tap - 2 * k;
            if (j < 0 || j > 3) continue;
            sums[k] = accumulate(sums[k], row.all, 1.0f / 32.0f);
            if (j == 1 || j == 2) sums[k] = accumulate(sums[k], row.inner, 4.0f / 32.0f);
        }
    }
#pragma unroll
    for (int k = 0; k < rows; ++k) put(pass, make_int2(at.x, at.y + k), sums[k]);
}

// Eight bilinear taps: one texel of the source away along the axes, with weight 1/12, and half a texel away along both
// axes, with weight 1/6. An even position of the destination lies a quarter of a texel before a texel of the source, so
// that the taps' shares of four texels along an axis are, in quarters,     at -1: 1 3 0 0    -1/2: 0 3 1 0    0: 0 1 3
// 0    1/2: 0 0 3 1    1: 0 0 1 3 and mirrored for an odd position. This is the weight of texel (i, j) of those that
// four by four places read, for place (x, y).
HANDOVER_INLINE float weight_of(int x, int y, int i, int j) {
    const float ends[4] = {1.0f, 3.0f, 1.0f, 3.0f};    // -1 and 1 together
    const float halves[4] = {0.0f, 3.0f, 4.0f, 1.0f};  // -1/2 and 1/2 together
    const float middle[4] = {0.0f, 1.0f, 3.0f, 0.0f};
    int odd_x = x & 1, odd_y = y & 1;
    i -= x / 2 + odd_x;
    j -= y / 2 + odd_y;
    if (i < 0 || i > 3 || j < 0 || j > 3) return 0.0f;
    if (odd_x) i = 3 - i;
    if (odd_y) j = 3 - j;
    return (ends[i] * middle[j] + middle[i] * ends[j] + 2.0f * halves[i] * halves[j]) * (1.0f / 192.0f);
}

// A thread makes 4x4 texels.
extern "C" __global__ void dual_filter_up(const __grid_constant__ Pass pass,
                                          const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, make_int2(4 * at.x, 4 * at.y))) return;
    float4 sums[4][4];
#pragma unroll
    for (int k = 0; k < 16; ++k) sums[k / 4][k % 4] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < 6; ++j) {
#pragma unroll
        for (int pair = 0; pair < 3; ++pair) {
            Pair texels = load_pair(pass.source, at.x - 1 + pair, 2 * at.y - 2 + j);
#pragma unroll
            for (int k = 0; k < 16; ++k) {
                int x = k % 4, y = k / 4;
                float even = weight_of(x, y, 2 * pair, j), odd = weight_of(x, y, 2 * pair + 1, j);
                if (even > 0.0f) sums[y][x] = accumulate(sums[y][x], texels.even, even);
                if (odd > 0.0f) sums[y][x] = accumulate(sums[y][x], texels.odd, odd);
            }
        }
    }
#pragma unroll
    for (int k = 0; k < 16; k += 2) {
        int2 place = make_int2(4 * at.x + k % 4, 4 * at.y + k / 4);
        if (!covers(pass.destination, place)) continue;
        ushort4 even = to_half(sums[k / 4][k % 4]), odd = to_half(sums[k / 4][k % 4 + 1]);
        if (place.x + 1 < int(pass.destination.extent.x)) {
            uint4 bits = make_uint4(joined(even.x, even.y), joined(even.z, even.w), joined(odd.x, odd.y),
                                    joined(odd.z, odd.w));
            surf2Dwrite(bits, pass.destination.surface, place.x * int(texel_size), place.y);
        } else {
            store_bits(pass.destination, place, even);
        }
    }
}
