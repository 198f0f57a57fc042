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
texels = [1, 4]
block = [32, 4]

[[passes]]
entry = "bloom_down"
source = "half"
destination = "quarter"
divisor = 4
texels = [1, 2]
block = [32, 4]

[[passes]]
entry = "bloom_down"
source = "quarter"
destination = "eighth"
divisor = 8
texels = [1, 2]
block = [32, 4]

[[passes]]
entry = "bloom_down"
source = "eighth"
destination = "sixteenth"
divisor = 16
texels = [1, 2]
block = [32, 4]

[[passes]]
entry = "bloom_down"
source = "sixteenth"
destination = "thirty_second"
divisor = 32
texels = [1, 2]
block = [32, 4]

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
texels = [4, 4]
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

// sum + value * weight, rounded once.
HANDOVER_INLINE float3 accumulate(float3 sum, float3 value, float weight) {
    return make_float3(fmaf(value.x, weight, sum.x), fmaf(value.y, weight, sum.y), fmaf(value.z, weight, sum.z));
}

HANDOVER_INLINE unsigned short lower(unsigned word) { return (unsigned short)word; }
HANDOVER_INLINE unsigned short upper(unsigned word) { return (unsigned short)(word >> 16); }
HANDOVER_INLINE unsigned joined(unsigned short low, unsigned short high) { return low | unsigned(high) << 16; }

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
    if (pair >= 0 && 2 * pair < last) return surf2Dread<uint4>(image.surface, pair * 16, y);
    uint2 even = surf2Dread<uint2>(image.surface, min(max(2 * pair, 0), last) * int(texel_size), y);
    uint2 odd = surf2Dread<uint2>(image.surface, min(max(2 * pair + 1, 0), last) * int(texel_size), y);
    return make_uint4(even.x, even.y, odd.x, odd.y);
}

HANDOVER_INLINE Pair to_pair(uint4 bits) {
    return {make_float3(half_to_float(lower(bits.x)), half_to_float(upper(bits.x)), half_to_float(lower(bits.y))),
            make_float3(half_to_float(lower(bits.z)), half_to_float(upper(bits.z)), half_to_float(lower(bits.w)))};
}

HANDOVER_INLINE float3 share_of_limit(float3 color, float per_limit) {
    return make_float3(saturate(color.x * per_limit), saturate(color.y * per_limit), saturate(color.z * per_limit));
}

// A pair of the picture as shares of the limit, or of what bloom itself stored as it is, where there is no limit.
template <bool inside>
HANDOVER_INLINE Pair load_pair(const Image& image, int pair, int y, float per_limit) {
    Pair colors = to_pair(load_pair_bits<inside>(image, pair, y));
    if (per_limit == 0.0f) return colors;
    return {share_of_limit(colors.even, per_limit), share_of_limit(colors.odd, per_limit)};
}

// The sums of one row: of the two tents that make the taps along an axis, 1 1 1 1 over the inner texels and 1 1 2 2 1 1
// over all.
struct RowSums {
    float3 inner, outer;
};

template <bool inside>
HANDOVER_INLINE RowSums row_sums(const Image& source, int x, int y, float per_limit) {
    Pair left = load_pair<inside>(source, x - 1, y, per_limit), here = load_pair<inside>(source, x, y, per_limit),
         right = load_pair<inside>(source, x + 1, y, per_limit);
    float3 middle = here.even + here.odd;
    float3 ends = (left.even + left.odd) + (right.even + right.odd);
    return {left.odd + middle + right.even, accumulate(ends, middle, 2.0f)};
}

// The 13 bilinear taps of the paper, each of which falls on the corner of four texels, taken together: five overlapping
// 4x4 boxes, the centre with weight 1/2, the corners with 1/8 each. These are two separable sums: 4x4 texels with 1/32
// and 6x6 with 1 1 2 2 1 1 along each axis over 128. Texel (2x, 2y) of the source is the upper left of the
// destination's four, whatever the extents, so that odd sizes need no fractions. A thread makes `rows` texels of a
// column, whose sums share rows.
template <bool inside, int rows>
HANDOVER_INLINE void down_from(float3 (&out)[rows], const Image& source, int2 at, float per_limit) {
#pragma unroll
    for (int row = 0; row < rows; ++row) out[row] = make_float3(0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int pair = 0; pair < rows + 2; ++pair) {
        int y = 2 * (at.y - 1 + pair);
        RowSums even = row_sums<inside>(source, at.x, y, per_limit);
        RowSums odd = row_sums<inside>(source, at.x, y + 1, per_limit);
        float3 outer = even.outer + odd.outer;
        if (pair >= 2) out[pair - 2] = accumulate(out[pair - 2] + outer, even.inner, 4.0f);
        if (pair >= 1 && pair <= rows) {
            float3 sum = accumulate(out[pair - 1], outer, 2.0f);
            out[pair - 1] = accumulate(sum, even.inner + odd.inner, 4.0f);
        }
        if (pair < rows) out[pair] = accumulate(outer, odd.inner, 4.0f);
    }
}

template <int rows>
HANDOVER_INLINE void down(float3 (&out)[rows], const Image& source, int2 at, float per_limit) {
    if (all_inside(source, at.x - 1, at.x + 1, 2 * at.y - 2, 2 * at.y + 2 * rows + 1))
        down_from<true>(out, source, at, per_limit);
    else
        down_from<false>(out, source, at, per_limit);
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
HANDOVER_INLINE void put(const Pass& pass, int2 at, float3 color, float weight) {
    if (!covers(pass.destination, at)) return;
    store_bits(pass.destination, at, to_half(make_float4(color.x * weight, color.y * weight, color.z * weight, 0.0f)));
}

constexpr int bright_rows = 4, down_rows = 2;

extern "C" __global__ void bloom_bright(const __grid_constant__ Pass pass,
                                        const __grid_constant__ BloomParameters parameters) {
    int2 at = thread_texel();
    at.y *= bright_rows;
    float3 colors[bright_rows];
    down(colors, pass.source, at, 1.0f / parameters.limit);
    float weight = parameters.limit * (1.0f / 128.0f);
#pragma unroll
    for (int row = 0; row < bright_rows; ++row) {
        float3 color = colors[row];
        color = make_float3(color.x * weight, color.y * weight, color.z * weight);
        put(pass, make_int2(at.x, at.y + row), color, bright_share(color, parameters));
    }
}

extern "C" __global__ void bloom_down(const __grid_constant__ Pass pass,
                                      const __grid_constant__ BloomParameters parameters) {
    int2 at = thread_texel();
    at.y *= down_rows;
    float3 colors[down_rows];
    down(colors, pass.source, at, 0.0f);
#pragma unroll
    for (int row = 0; row < down_rows; ++row) put(pass, make_int2(at.x, at.y + row), colors[row], 1.0f / 128.0f);
}

// The 3x3 tent over the bilinearly enlarged source: along each axis four texels with weights 1, 5, 7, 3 sixteenths, or
// mirrored for odd positions. This is the weight, in sixteenths, of source texel `tap` for place `place`, both from the
// first that four places beside each other read.
HANDOVER_INLINE float tent(int place, int tap) {
    const float even[4] = {1.0f, 5.0f, 7.0f, 3.0f};
    int odd = place & 1, k = tap - place / 2 - odd;
    return k < 0 || k > 3 ? 0.0f : even[odd ? 3 - k : k];
}

// Makes 4x4 texels of the enlarged source, from column and row 4 `at`; in 256ths. And reads the texels where they go,
// which are on their way meanwhile.
template <bool inside>
HANDOVER_INLINE void up_from(float3 (&out)[4][4], uint4 (&places)[4][2], const Image& source, const Image& into,
                             int2 at) {
#pragma unroll
    for (int y = 0; y < 4; ++y) {
#pragma unroll
        for (int x = 0; x < 2; ++x) places[y][x] = load_pair_bits<inside>(into, 2 * at.x + x, 4 * at.y + y);
    }
#pragma unroll
    for (int tap = 0; tap < 6; ++tap) {
        float3 texels[6];
#pragma unroll
        for (int pair = 0; pair < 3; ++pair) {
            Pair colors = load_pair<inside>(source, at.x - 1 + pair, 2 * at.y - 2 + tap, 0.0f);
            texels[2 * pair] = colors.even;
            texels[2 * pair + 1] = colors.odd;
        }
#pragma unroll
        for (int x = 0; x < 4; ++x) {
            float3 sum = make_float3(0.0f, 0.0f, 0.0f);
#pragma unroll
            for (int i = 0; i < 6; ++i) {
                if (tent(x, i) > 0.0f) sum = accumulate(sum, texels[i], tent(x, i));
            }
#pragma unroll
            for (int y = 0; y < 4; ++y) {
                if (tap == 0) out[y][x] = make_float3(0.0f, 0.0f, 0.0f);
                if (tent(y, tap) > 0.0f) out[y][x] = accumulate(out[y][x], sum, tent(y, tap));
            }
        }
    }
}

HANDOVER_INLINE void up(float3 (&out)[4][4], uint4 (&places)[4][2], const Image& source, const Image& into, int2 at) {
    if (all_inside(source, at.x - 1, at.x + 1, 2 * at.y - 2, 2 * at.y + 3) &&
        all_inside(into, 2 * at.x, 2 * at.x + 1, 4 * at.y, 4 * at.y + 3))
        up_from<true>(out, places, source, into, at);
    else
        up_from<false>(out, places, source, into, at);
}

extern "C" __global__ void bloom_up(const __grid_constant__ Pass pass,
                                    const __grid_constant__ BloomParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, make_int2(4 * at.x, 4 * at.y))) return;
    float3 wide[4][4];
    uint4 bits[4][2];
    up(wide, bits, pass.source, pass.second, at);
    float narrow_weight = 1.0f - parameters.scatter, wide_weight = parameters.scatter * (1.0f / 256.0f);
#pragma unroll
    for (int y = 0; y < 4; ++y) {
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            int2 place = make_int2(4 * at.x + 2 * x, 4 * at.y + y);
            Pair narrow = to_pair(bits[y][x]);
            float3 none = make_float3(0.0f, 0.0f, 0.0f);
            float3 even = accumulate(accumulate(none, narrow.even, narrow_weight), wide[y][2 * x], wide_weight);
            float3 odd = accumulate(accumulate(none, narrow.odd, narrow_weight), wide[y][2 * x + 1], wide_weight);
            if (covers(pass.destination, place))
                store_two(pass.destination, place,
                          make_uint4(to_halves(even.x, even.y), to_halves(even.z, 0.0f), to_halves(odd.x, odd.y),
                                     to_halves(odd.z, 0.0f)));
        }
    }
}

// A colour with light added, and its alpha.
HANDOVER_INLINE uint2 lit(unsigned red_green, unsigned blue_alpha, float3 added, float weight) {
    float red = fminf(fmaf(added.x, weight, half_to_float(lower(red_green))), half_limit);
    float green = fminf(fmaf(added.y, weight, half_to_float(upper(red_green))), half_limit);
    float blue = fminf(fmaf(added.z, weight, half_to_float(lower(blue_alpha))), half_limit);
    return make_uint2(to_halves(red, green), with_low(blue_alpha, blue));
}

extern "C" __global__ void __launch_bounds__(128, 4) bloom_composite(const __grid_constant__ Pass pass,
                                           const __grid_constant__ BloomParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, make_int2(4 * at.x, 4 * at.y))) return;
    float3 wide[4][4];
    uint4 colors[4][2];
    up(wide, colors, pass.source, pass.second, at);
    float weight = parameters.intensity * (1.0f / 256.0f);
#pragma unroll
    for (int y = 0; y < 4; ++y) {
#pragma unroll
        for (int x = 0; x < 2; ++x) {
            int2 place = make_int2(4 * at.x + 2 * x, 4 * at.y + y);
            uint4 color = light_of(colors[y][x]);
            uint2 even = lit(color.x, color.y, wide[y][2 * x], weight);
            uint2 odd = lit(color.z, color.w, wide[y][2 * x + 1], weight);
            if (covers(pass.destination, place))
                store_two(pass.destination, place, make_uint4(even.x, even.y, odd.x, odd.y));
        }
    }
}
