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
why = "what is handed from size to size is rounded to half, nine times; `light - threshold` cancels just above the threshold, so dim bloom is compared absolutely"

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
texels = [1, 6]
block = [32, 4]

[[passes]]
entry = "bloom_down"
source = "half"
destination = "quarter"
divisor = 4
texels = [1, 2]
block = [32, 2]

[[passes]]
entry = "bloom_down"
source = "quarter"
destination = "eighth"
divisor = 8
texels = [1, 2]
block = [32, 2]

[[passes]]
entry = "bloom_small"
source = "eighth"
destination = "eighth_lit"
divisor = 8
block = [32, 32]

[[passes]]
entry = "bloom_up"
source = "eighth_lit"
second = "quarter"
destination = "quarter_lit"
divisor = 4
texels = [4, 2]
block = [32, 2]

[[passes]]
entry = "bloom_up"
source = "quarter_lit"
second = "half"
destination = "half_lit"
divisor = 2
texels = [4, 2]
block = [32, 2]

[[passes]]
entry = "bloom_composite"
source = "half_lit"
second = "input"
destination = "output"
texels = [4, 2]
block = [32, 4]
---*/
#include "handover.cuh"
#include "handover_lanes.cuh"
#include "handover_squares.cuh"

struct BloomParameters {
    float threshold;
    float knee;
    float intensity;
    float scatter;
    float limit;
};

// Colours of two texels that stand side by side, the first of them in an even column. Alpha is no light.
struct Pair {
    float3 even, odd;
};

// The value of the lane before, and of the lane behind. All lanes of a warp call them together.
HANDOVER_INLINE float3 of_left(float3 value) {
    return make_float3(__shfl_up_sync(~0u, value.x, 1), __shfl_up_sync(~0u, value.y, 1),
                       __shfl_up_sync(~0u, value.z, 1));
}

HANDOVER_INLINE float3 of_right(float3 value) {
    return make_float3(__shfl_down_sync(~0u, value.x, 1), __shfl_down_sync(~0u, value.y, 1),
                       __shfl_down_sync(~0u, value.z, 1));
}

HANDOVER_INLINE float3 of_other(float3 value) {
    return make_float3(__shfl_xor_sync(~0u, value.x, 1), __shfl_xor_sync(~0u, value.y, 1), __shfl_xor_sync(~0u, value.z, 1));
}

HANDOVER_INLINE Pair to_pair(uint4 bits) { return {to_color(bits.x, bits.y), to_color(bits.z, bits.w)}; }

HANDOVER_INLINE float3 share_of_limit(float3 color, float per_limit) {
    return make_float3(saturate(color.x * per_limit), saturate(color.y * per_limit), saturate(color.z * per_limit));
}

// A pair of the picture as shares of the limit, or of what bloom itself stored as it is, where there is no limit.
HANDOVER_INLINE Pair shares(uint4 bits, float per_limit) {
    Pair colors = to_pair(bits);
    if (per_limit == 0.0f) return colors;
    return {share_of_limit(colors.even, per_limit), share_of_limit(colors.odd, per_limit)};
}

// The 13 bilinear taps of the paper, each of which falls on the corner of four texels, taken together: five overlapping
// 4x4 boxes, the centre with weight 1/2, the corners with 1/8 each. These are two separable sums: 4x4 texels with 1/32
// and 6x6 with 1 1 2 2 1 1 along each axis over 128. Texel (2x, 2y) of the source is the upper left of the
// destination's four, whatever the extents, so that odd sizes need no fractions. A lane adds up its pair's columns; what
// its neighbours need of them is one sum each. Gives `make` the destination's rows from `top` on, in 128ths.
template <bool inside, int rows, typename Make>
HANDOVER_INLINE void down_from(const Image& source, int pair, int top, float per_limit, const Make& make) {
    // So many pairs of rows are on their way while others are added up.
    constexpr int ahead = 2;
    uint4 bits[rows + 2][2];
#pragma unroll
    for (int k = 0; k < ahead; ++k) {
        bits[k][0] = load_pair_bits<inside>(source, pair, 2 * (top - 1 + k));
        bits[k][1] = load_pair_bits<inside>(source, pair, 2 * (top - 1 + k) + 1);
    }
    // What the rows so far give a texel whose neighbours are before their columns, `for_right`, and behind.
    float3 for_right, for_left, next_for_right, next_for_left;
#pragma unroll
    for (int k = 0; k < rows + 2; ++k) {
        if (k + ahead < rows + 2) {
            bits[k + ahead][0] = load_pair_bits<inside>(source, pair, 2 * (top - 1 + k + ahead));
            bits[k + ahead][1] = load_pair_bits<inside>(source, pair, 2 * (top - 1 + k + ahead) + 1);
        }
        Pair upper = shares(bits[k][0], per_limit), lower = shares(bits[k][1], per_limit);
        float3 even = upper.even + lower.even, odd = upper.odd + lower.odd, outer = even + odd;
        if (k >= 2) {
            float3 right = accumulate(for_right + outer, upper.odd, 4.0f);
            float3 left = accumulate(for_left + outer, upper.even, 4.0f);
            make(k - 2, of_left(right) + (right + left) + of_right(left));
        }
        if (k >= 1 && k <= rows) {
            for_right = accumulate(accumulate(next_for_right, outer, 2.0f), odd, 4.0f);
            for_left = accumulate(accumulate(next_for_left, outer, 2.0f), even, 4.0f);
        }
        if (k < rows) {
            next_for_right = accumulate(outer, lower.odd, 4.0f);
            next_for_left = accumulate(outer, lower.even, 4.0f);
        }
    }
}

// Gives `make` all that a warp makes: where, and the sum.
template <int rows, typename Make>
HANDOVER_INLINE void down(const Pass& pass, float per_limit, const Make& make) {
    const Image &source = pass.source, &destination = pass.destination;
    Tiles tiles(int(destination.extent.x), int(destination.extent.y), rows);
    for (int index = tiles.first(); index < tiles.across * tiles.down; index += tiles.step()) {
        Tile tile = tiles[index];
        int pair = tile.pair + lane(), top = tile.top + int(threadIdx.y) * rows;
        auto make_at = [&](int row, float3 sum) { make(make_int2(pair, top + row), sum); };
        // The same for the whole block.
        if (all_inside(source, tile.pair, tile.pair + 31, 2 * tile.top - 2, 2 * (tile.top + tiles.height) + 1))
            down_from<true, rows>(source, pair, top, per_limit, make_at);
        else
            down_from<false, rows>(source, pair, top, per_limit, make_at);
    }
}

// How much of a colour is above the threshold, in [0, 1]: nothing below threshold - knee, quadratic up to
// threshold + knee, then everything above the threshold.
HANDOVER_INLINE float bright_share(float3 color, const BloomParameters& parameters) {
    float brightest = fmaxf(color.x, fmaxf(color.y, color.z));
    float knee = parameters.threshold * parameters.knee;
    float soft = clamp(brightest - (parameters.threshold - knee), 0.0f, 2.0f * knee);
    float quadratic = knee > 0.0f ? soft * soft * approximate_reciprocal(4.0f * knee) : 0.0f;
    float above = fmaxf(quadratic, brightest - parameters.threshold);
    return brightest > 0.0f ? above * approximate_reciprocal(brightest) : 0.0f;
}

// Stores what is light already.
HANDOVER_INLINE void put(const Image& image, int2 at, float3 color) {
    if (!is_middle() || !covers(image, at)) return;
    uint2 words = make_uint2(to_halves(color.x, color.y), to_halves(color.z, 0.0f));
    surf2Dwrite(words, image.surface, at.x * int(texel_size), at.y);
}

constexpr int bright_rows = 6, down_rows = 2;

extern "C" __global__ void __launch_bounds__(128, 7) bloom_bright(const __grid_constant__ Pass pass,
                                        const __grid_constant__ BloomParameters parameters) {
    float weight = parameters.limit * (1.0f / 128.0f);
    down<bright_rows>(pass, 1.0f / parameters.limit, [&](int2 at, float3 sum) {
        float3 color = sum * weight;
        put(pass.destination, at, color * bright_share(color, parameters));
    });
}

extern "C" __global__ void bloom_down(const __grid_constant__ Pass pass,
                                      const __grid_constant__ BloomParameters parameters) {
    down<down_rows>(pass, 0.0f, [&](int2 at, float3 sum) { put(pass.destination, at, sum * (1.0f / 128.0f)); });
}

// Four texels of a row that stand side by side, from a multiple of four on.
struct Four {
    float3 of[4];
};

HANDOVER_INLINE Pair even_tent(const Pair& a, const Pair& b, const Pair& c, const Pair& d) {
    return {even_tent(a.even, b.even, c.even, d.even), even_tent(a.odd, b.odd, c.odd, d.odd)};
}

HANDOVER_INLINE Pair odd_tent(const Pair& a, const Pair& b, const Pair& c, const Pair& d) {
    return {odd_tent(a.even, b.even, c.even, d.even), odd_tent(a.odd, b.odd, c.odd, d.odd)};
}

// What a lane's pair becomes along a row, in 16ths.
HANDOVER_INLINE Four enlarged(const Pair& here) {
    Pair left = {of_left(here.even), of_left(here.odd)}, right = {of_right(here.even), of_right(here.odd)};
    return {even_tent(left.even, left.odd, here.even, here.odd), odd_tent(left.odd, here.even, here.odd, right.even),
            even_tent(left.odd, here.even, here.odd, right.even),
            odd_tent(here.even, here.odd, right.even, right.odd)};
}

// What a lane made of its own four texels, dealt as lanes write them: see handover_lanes.cuh.
HANDOVER_INLINE Four dealt(const Four& own) {
    bool odd = odd_lane();
    float3 first = odd ? own.of[0] : own.of[2], second = odd ? own.of[1] : own.of[3];
    first = of_other(first), second = of_other(second);
    if (odd) return {first, second, own.of[2], own.of[3]};
    return {own.of[0], own.of[1], first, second};
}

// The two rows that row `top` of the source becomes: first along columns, then along rows. `make` is given four texels in 256ths and
// what `into` holds in their place, and gives what is stored there. More rows a thread would share more of the source, but leave
// the device fewer warps.
template <bool inside, typename Make>
HANDOVER_INLINE void up_from(const Pass& pass, int pair, int top, const Make& make) {
    const Image& into = pass.second;
    Pair row[5];
    uint4 bits[5];
#pragma unroll
    for (int k = 0; k < 5; ++k) bits[k] = load_pair_bits<inside>(pass.source, pair, top - 2 + k);
    Bits upper = load_four<inside>(into, pair, 2 * top), lower = load_four<inside>(into, pair, 2 * top + 1);
#pragma unroll
    for (int k = 0; k < 5; ++k) row[k] = to_pair(bits[k]);
    int2 at = make_int2(4 * pair, 2 * top);
    store_four(pass.destination, at, make(dealt(enlarged(even_tent(row[0], row[1], row[2], row[3]))), upper));
    ++at.y;
    store_four(pass.destination, at, make(dealt(enlarged(odd_tent(row[1], row[2], row[3], row[4]))), lower));
}

template <typename Make>
HANDOVER_INLINE void up(const Pass& pass, const Make& make) {
    const Image &source = pass.source, &into = pass.second;
    // Of an odd extent the last pair has one texel, of which two are made, or one.
    Tiles tiles((int(pass.destination.extent.x) + 3) / 4, (int(pass.destination.extent.y) + 1) / 2, 1);
    for (int index = tiles.first(); index < tiles.across * tiles.down; index += tiles.step()) {
        Tile tile = tiles[index];
        int pair = tile.pair + lane(), top = tile.top + int(threadIdx.y), bottom = tile.top + tiles.height;
        // The same for the whole block.
        if (all_inside(source, tile.pair, tile.pair + 31, tile.top - 2, bottom + 1) &&
            all_inside(into, 2 * tile.pair, 2 * tile.pair + 63, 2 * tile.top, 2 * bottom - 1))
            up_from<true>(pass, pair, top, make);
        else
            up_from<false>(pass, pair, top, make);
    }
}

extern "C" __global__ void bloom_up(const __grid_constant__ Pass pass,
                                    const __grid_constant__ BloomParameters parameters) {
    up(pass, [&](const Four& wide, const Bits& there) {
        Bits made;
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            Pair narrow = to_pair(there.of[x]);
            float3 even = mixed(narrow.even, wide.of[2 * x], parameters.scatter, 1.0f / 256.0f);
            float3 odd = mixed(narrow.odd, wide.of[2 * x + 1], parameters.scatter, 1.0f / 256.0f);
            made.of[x] = make_uint4(to_halves(even.x, even.y), to_halves(even.z, 0.0f), to_halves(odd.x, odd.y),
                                    to_halves(odd.z, 0.0f));
        }
        return made;
    });
}

// A block makes so many texels each way of the eighth with its wider light, and the parts of the smaller images that these need:
// of the 16th lit and of the 32nd by two texels more on each side than the tents reach from within, of the others what the taps do.
constexpr int small = 32;

// Down to the 32nd and up again, in one launch: launches of so few texels are hardly more than their beginning and end.
extern "C" __global__ void __launch_bounds__(1024) bloom_small(const __grid_constant__ Pass pass,
                                      const __grid_constant__ BloomParameters parameters) {
    __shared__ uint4 eighth_words[(2 * small + 4) * (small + 2)];
    __shared__ uint2 sixteenth_words[small * small];
    const Image& source = pass.source;
    int2 at = thread_texel(), first = make_int2(int(blockIdx.x) * small, int(blockIdx.y) * small);
    int2 extent = make_int2(int(source.extent.x), int(source.extent.y));
    int2 sixteenth_extent = make_int2((extent.x + 1) / 2, (extent.y + 1) / 2);
    int2 thirty_second_extent = make_int2((sixteenth_extent.x + 1) / 2, (sixteenth_extent.y + 1) / 2);
    uint2* words = reinterpret_cast<uint2*>(eighth_words);
    Square<2 * small + 4> eighth = {words, make_int2(first.x - 18, first.y - 18)};
    Square<small> sixteenth = {sixteenth_words, make_int2(first.x / 2 - 8, first.y / 2 - 8)};
    for (int i = int(threadIdx.y * blockDim.x + threadIdx.x); i < eighth.size * eighth.size / 2;
         i += int(blockDim.x * blockDim.y)) {
        int pair = i % (eighth.size / 2), y = i / (eighth.size / 2);
        eighth_words[i] = load_pair_bits<false>(source, eighth.first.x / 2 + pair, eighth.first.y + y);
    }
    __syncthreads();
    float3 narrow = eighth.at(at.x, at.y);
    fill(sixteenth, sixteenth_extent, [&](int2 place) { return halved(eighth, place); });
    // The eighth is not needed any more: the smaller ones take its place.
    Square<small / 2 - 2> thirty_second = {words, make_int2(first.x / 4 - 3, first.y / 4 - 3)};
    Square<small / 2 + 4> lit = {words + thirty_second.size * thirty_second.size,
                                 make_int2(first.x / 2 - 2, first.y / 2 - 2)};
    fill(thirty_second, thirty_second_extent, [&](int2 place) { return halved(sixteenth, place); });
    fill(lit, sixteenth_extent, [&](int2 place) {
        float3 wide = doubled(thirty_second, place);
        return mixed(sixteenth.at(place.x, place.y), wide, parameters.scatter, 1.0f / 256.0f);
    });
    if (!covers(pass.destination, at)) return;
    float3 color = mixed(narrow, doubled(lit, at), parameters.scatter, 1.0f / 256.0f);
    surf2Dwrite(words_of(color), pass.destination.surface, at.x * int(texel_size), at.y);
}

// A colour with light added, and its alpha.
HANDOVER_INLINE uint2 lit(unsigned red_green, unsigned blue_alpha, float3 added, float weight) {
    float3 color = accumulate(to_color(red_green, blue_alpha), added, weight);
    float red = fminf(color.x, half_limit), green = fminf(color.y, half_limit), blue = fminf(color.z, half_limit);
    return make_uint2(to_halves(red, green), with_low(blue_alpha, blue));
}

extern "C" __global__ void __launch_bounds__(128, 6) bloom_composite(const __grid_constant__ Pass pass,
                                           const __grid_constant__ BloomParameters parameters) {
    float weight = parameters.intensity * (1.0f / 256.0f);
    up(pass, [&](const Four& wide, const Bits& there) {
        Bits made;
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            uint4 color = light_of(there.of[x]);
            uint2 even = lit(color.x, color.y, wide.of[2 * x], weight);
            uint2 odd = lit(color.z, color.w, wide.of[2 * x + 1], weight);
            made.of[x] = make_uint4(even.x, even.y, odd.x, odd.y);
        }
        return made;
    });
}
