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
entry = "bloom_down"
source = "eighth"
destination = "sixteenth"
divisor = 16
texels = [1, 2]
block = [32, 2]

[[passes]]
entry = "bloom_down"
source = "sixteenth"
destination = "thirty_second"
divisor = 32
texels = [1, 2]
block = [32, 2]

[[passes]]
entry = "bloom_up"
source = "thirty_second"
second = "sixteenth"
destination = "sixteenth_lit"
divisor = 16
texels = [4, 4]
block = [32, 2]

[[passes]]
entry = "bloom_up"
source = "sixteenth_lit"
second = "eighth"
destination = "eighth_lit"
divisor = 8
texels = [4, 4]
block = [32, 2]

[[passes]]
entry = "bloom_up"
source = "eighth_lit"
second = "quarter"
destination = "quarter_lit"
divisor = 4
texels = [4, 4]
block = [32, 2]

[[passes]]
entry = "bloom_up"
source = "quarter_lit"
second = "half"
destination = "half_lit"
divisor = 2
texels = [4, 4]
block = [32, 2]

[[passes]]
entry = "bloom_composite"
source = "half_lit"
second = "input"
destination = "output"
texels = [4, 8]
block = [32, 4]
---*/
#include "handover.cuh"

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

HANDOVER_INLINE float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
HANDOVER_INLINE float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }

// sum + value * weight, rounded once.
HANDOVER_INLINE float3 accumulate(float3 sum, float3 value, float weight) {
    return make_float3(fmaf(value.x, weight, sum.x), fmaf(value.y, weight, sum.y), fmaf(value.z, weight, sum.z));
}

// The value of the lane before, and of the lane behind. All lanes of a warp call them together.
HANDOVER_INLINE float3 of_left(float3 value) {
    return make_float3(__shfl_up_sync(~0u, value.x, 1), __shfl_up_sync(~0u, value.y, 1),
                       __shfl_up_sync(~0u, value.z, 1));
}

HANDOVER_INLINE float3 of_right(float3 value) {
    return make_float3(__shfl_down_sync(~0u, value.x, 1), __shfl_down_sync(~0u, value.y, 1),
                       __shfl_down_sync(~0u, value.z, 1));
}

// A warp reads 32 pairs of a row of its source, each once, and hands its lanes what their neighbours made of theirs. So its first
// and its last lane make nothing of their own.
constexpr int made_lanes = 30;

// What a block makes: the first lane's pair of the source, and the first row. Each warp has so many rows, the first warp the first.
struct Tile {
    int pair, top;
};

// All tiles of a destination that has so many pairs and rows. A grid with fewer blocks than tiles goes round.
struct Tiles {
    int across, down, height;

    HANDOVER_INLINE Tiles(int pairs, int rows, int rows_each) {
        height = rows_each * int(blockDim.y);
        across = (pairs + made_lanes - 1) / made_lanes;
        down = (rows + height - 1) / height;
    }

    static HANDOVER_INLINE int first() { return int(blockIdx.y * gridDim.x + blockIdx.x); }
    static HANDOVER_INLINE int step() { return int(gridDim.x * gridDim.y); }

    HANDOVER_INLINE Tile operator[](int index) const {
        return {index % across * made_lanes - 1, index / across * height};
    }
};

HANDOVER_INLINE int lane() { return int(threadIdx.x % 32); }

HANDOVER_INLINE bool is_middle() { return lane() > 0 && lane() <= made_lanes; }

// Whether all texels are inside from pair `first` to pair `last`, in rows `top` to `bottom`.
HANDOVER_INLINE bool all_inside(const Image& image, int first, int last, int top, int bottom) {
    return first >= 0 && 2 * last + 1 < int(image.extent.x) && top >= 0 && bottom < int(image.extent.y);
}

// The bits of texels 2 `pair` and 2 `pair` + 1 of a row; those outside are the nearest inside, if any may be outside.
template <bool inside>
HANDOVER_INLINE uint4 load_pair_bits(const Image& image, int pair, int y) {
    if (inside) return surf2Dread<uint4>(image.surface, pair * 16, y);
    int last = int(image.extent.x) - 1;
    y = min(max(y, 0), int(image.extent.y) - 1);
    uint2 even = surf2Dread<uint2>(image.surface, min(max(2 * pair, 0), last) * int(texel_size), y);
    uint2 odd = surf2Dread<uint2>(image.surface, min(max(2 * pair + 1, 0), last) * int(texel_size), y);
    return make_uint4(even.x, even.y, odd.x, odd.y);
}

HANDOVER_INLINE float3 to_color(unsigned red_green, unsigned blue_alpha) {
    float2 xy = to_float(red_green);
    return make_float3(xy.x, xy.y, half_to_float(halves_of(blue_alpha).x));
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

// The 3x3 tent over the bilinearly enlarged source: along each axis four texels with weights 1, 5, 7, 3 sixteenths, from the one
// two before its own on, or for an odd position 3, 7, 5, 1, from the one before its own on. So the same four make an odd one
// and the even one behind it.
HANDOVER_INLINE float3 even_tent(float3 a, float3 b, float3 c, float3 d) {
    return accumulate(accumulate(accumulate(a, b, 5.0f), c, 7.0f), d, 3.0f);
}

HANDOVER_INLINE float3 odd_tent(float3 a, float3 b, float3 c, float3 d) {
    return accumulate(accumulate(accumulate(d, c, 5.0f), b, 7.0f), a, 3.0f);
}

// Four texels of a row that stand side by side, from a multiple of four on.
struct Four {
    float3 of[4];
};

// What a lane's pair becomes along a row, in 16ths.
HANDOVER_INLINE Four enlarged(uint4 bits) {
    Pair here = to_pair(bits);
    Pair left = {of_left(here.even), of_left(here.odd)}, right = {of_right(here.even), of_right(here.odd)};
    return {even_tent(left.even, left.odd, here.even, here.odd), odd_tent(left.odd, here.even, here.odd, right.even),
            even_tent(left.odd, here.even, here.odd, right.even),
            odd_tent(here.even, here.odd, right.even, right.odd)};
}

// Two pairs of a row.
struct Bits {
    uint4 of[2];
};

template <bool inside>
HANDOVER_INLINE Bits load_four(const Image& image, int pair, int y) {
    return {load_pair_bits<inside>(image, 2 * pair, y), load_pair_bits<inside>(image, 2 * pair + 1, y)};
}

// Stores those of four texels that are inside.
HANDOVER_INLINE void store_four(const Image& image, int2 at, const Bits& bits) {
    if (!is_middle() || at.y < 0 || !covers(image, at)) return;
    store_two(image, at, bits.of[0]);
    at.x += 2;
    if (covers(image, at)) store_two(image, at, bits.of[1]);
}

// Rows of the enlarged source, `rows` of the source, from `top` on. `make` is given four texels in 256ths and what `into` holds in
// their place, and gives what is stored there.
template <bool inside, int rows, typename Make>
HANDOVER_INLINE void up_from(const Pass& pass, int pair, int top, const Make& make) {
    const Image &source = pass.source, &into = pass.second;
    uint4 bits[rows + 4];
    Bits there[2 * rows];
#pragma unroll
    for (int k = 0; k < 5; ++k) bits[k] = load_pair_bits<inside>(source, pair, top - 2 + k);
    there[0] = load_four<inside>(into, pair, 2 * top);
    Four row[rows + 4];
#pragma unroll
    for (int k = 0; k < 3; ++k) row[k] = enlarged(bits[k]);
#pragma unroll
    for (int k = 0; k <= rows; ++k) {
        // What the next step needs is on its way meanwhile.
        if (k + 5 < rows + 4) bits[k + 5] = load_pair_bits<inside>(source, pair, top - 2 + k + 5);
        row[k + 3] = enlarged(bits[k + 3]);
        const Four &a = row[k], &b = row[k + 1], &c = row[k + 2], &d = row[k + 3];
        int2 at = make_int2(4 * pair, 2 * (top + k));
        if (k > 0) {
            Four odd;
#pragma unroll
            for (int x = 0; x < 4; ++x) odd.of[x] = odd_tent(a.of[x], b.of[x], c.of[x], d.of[x]);
            store_four(pass.destination, make_int2(at.x, at.y - 1), make(odd, there[2 * k - 1]));
        }
        if (2 * k + 1 < 2 * rows) there[2 * k + 1] = load_four<inside>(into, pair, 2 * (top + k) + 1);
        if (k < rows) {
            Four even;
#pragma unroll
            for (int x = 0; x < 4; ++x) even.of[x] = even_tent(a.of[x], b.of[x], c.of[x], d.of[x]);
            store_four(pass.destination, at, make(even, there[2 * k]));
        }
        if (2 * k + 2 < 2 * rows) there[2 * k + 2] = load_four<inside>(into, pair, 2 * (top + k) + 2);
    }
}

template <int rows, typename Make>
HANDOVER_INLINE void up(const Pass& pass, const Make& make) {
    const Image &source = pass.source, &into = pass.second;
    // Of an odd extent the last pair has one texel, of which two are made, or one.
    Tiles tiles((int(pass.destination.extent.x) + 3) / 4, (int(pass.destination.extent.y) + 1) / 2, rows);
    for (int index = tiles.first(); index < tiles.across * tiles.down; index += tiles.step()) {
        Tile tile = tiles[index];
        int pair = tile.pair + lane(), top = tile.top + int(threadIdx.y) * rows, bottom = tile.top + tiles.height;
        // The same for the whole block.
        if (all_inside(source, tile.pair, tile.pair + 31, tile.top - 2, bottom + 1) &&
            all_inside(into, 2 * tile.pair, 2 * tile.pair + 63, 2 * tile.top, 2 * bottom - 1))
            up_from<true, rows>(pass, pair, top, make);
        else
            up_from<false, rows>(pass, pair, top, make);
    }
}

constexpr int up_rows = 2, composite_rows = 4;

extern "C" __global__ void bloom_up(const __grid_constant__ Pass pass,
                                    const __grid_constant__ BloomParameters parameters) {
    float narrow_weight = 1.0f - parameters.scatter, wide_weight = parameters.scatter * (1.0f / 256.0f);
    up<up_rows>(pass, [&](const Four& wide, const Bits& there) {
        Bits made;
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            Pair narrow = to_pair(there.of[x]);
            float3 even = accumulate(narrow.even * narrow_weight, wide.of[2 * x], wide_weight);
            float3 odd = accumulate(narrow.odd * narrow_weight, wide.of[2 * x + 1], wide_weight);
            made.of[x] = make_uint4(to_halves(even.x, even.y), to_halves(even.z, 0.0f), to_halves(odd.x, odd.y),
                                    to_halves(odd.z, 0.0f));
        }
        return made;
    });
}

// A colour with light added, and its alpha.
HANDOVER_INLINE uint2 lit(unsigned red_green, unsigned blue_alpha, float3 added, float weight) {
    float3 color = accumulate(to_color(red_green, blue_alpha), added, weight);
    float red = fminf(color.x, half_limit), green = fminf(color.y, half_limit), blue = fminf(color.z, half_limit);
    return make_uint2(to_halves(red, green), with_low(blue_alpha, blue));
}

extern "C" __global__ void __launch_bounds__(128, 4) bloom_composite(const __grid_constant__ Pass pass,
                                           const __grid_constant__ BloomParameters parameters) {
    float weight = parameters.intensity * (1.0f / 256.0f);
    up<composite_rows>(pass, [&](const Four& wide, const Bits& there) {
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
