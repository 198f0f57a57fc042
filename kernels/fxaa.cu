/*---
title = "FXAA"
summary = "Fast approximate anti-aliasing: finds the ends of edges in the picture and blends across them."
source = "Lottes, FXAA 3.11, Fxaa3_11.h (NVIDIA 2011): FxaaPixelShader, quality preset 39. Luma is the square root of the luminance, of light up to 1: what a display of gamma 2 shows. Colours are blended in linear light, so that an edge has the light of its coverage"
stage = "anti_aliasing"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504, whose luma is 1"

[tolerance]
ulps = 1
why = "luma and all that is decided by it are the same operations in float on every processor, of which square roots are exact in the last bit; the offset is off by some ulps of float, so that only the last rounding differs"

[[parameters]]
name = "subpix"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.75
step = 0.05
type = "f32"

[[parameters]]
name = "edge_threshold"
unit = "of the local maximum of luma"
minimum = 0.063
maximum = 0.333
default = 0.166
step = 0.01
type = "f32"

[[parameters]]
name = "edge_threshold_min"
unit = "luma"
minimum = 0.0312
maximum = 0.0833
default = 0.0833
step = 0.005
type = "f32"

# Luma takes 14 and a root, extremes and thresholds 12; texels at edges, 60 % of the noise that `bench kernels` runs over, counted by the
# reference's thresholds, 75 and two quotients, with 3.5 taps: their mean, where searches that cannot count end.
[[passes]]
entry = "fxaa"
source = "input"
destination = "output"
operations = 71
special = 2.2
texels = [2, 4]
block = [32, 8]
---*/
#include "handover.cuh"

struct FxaaParameters {
    float subpix;
    float edge_threshold;
    float edge_threshold_min;
};

// A block makes 64x32 texels. Their luma, and that of the texels around them where most edges end, is computed once. Texels at edges,
// which take long, are listed, and made after the others by all threads. What differs most among them is how far their edges go on: those
// whose ends are not found near are listed once more, so that threads of a warp search about as long.
constexpr int block_width = 64, block_height = 32, threads = 256;
constexpr int stages = 3;  // ends at 1 and 2 texels, at 3 to 5, and beyond
constexpr int rows = 4;    // pairs of texels that a thread has, one below the other
// Texels around the block's, to each side: even, since texels are read in pairs, and more than the five single steps along an edge.
constexpr int around = 6;
constexpr int tile_width = block_width + 2 * around, tile_height = block_height + 2 * around;
constexpr int tile_pairs = tile_width / 2, side_pairs = around;
// Pairs around the block's: whole rows above and below it, and a few at the sides.
constexpr int pairs_above_and_below = 2 * around * tile_pairs;
constexpr int pairs_around = pairs_above_and_below + block_height * side_pairs;
constexpr int rounds_around = (pairs_around + threads - 1) / threads;

// Of light up to 1, as exact as `sqrtf`, by its steps, which need no care where the value is neither tiny nor large: a difference, a
// rounded root of it (Markstein, Computation of elementary functions on the IBM RISC System/6000 processor, 1990).
HANDOVER_INLINE float root(float value) {
    float inverse = approximate_inverse_root(fmaxf(value, 1e-20f)), rough = value * inverse;
    return fmaf(fmaf(-rough, rough, value), 0.5f * inverse, rough);
}

// What is not light is so limited, unless it `is_light`; infinity has the luma of 65504.
template <bool is_light>
HANDOVER_INLINE float luma(unsigned red_green, unsigned blue_alpha) {
    float2 low = to_float(red_green);
    float blue = to_float(blue_alpha).x;
    if (!is_light) low.x = fmaxf(low.x, 0.0f), low.y = fmaxf(low.y, 0.0f), blue = fmaxf(blue, 0.0f);
    return root(saturate(0.2126f * low.x + 0.7152f * low.y + 0.0722f * blue));
}

// Two texels side by side, of which the first is in an even column, as they are stored; of those outside the nearest inside. `is_inside`:
// no column is outside.
template <bool is_inside>
HANDOVER_INLINE uint4 load_pair(const Image& image, int x, int y) {
    int last = int(image.extent.x) - 1;
    y = min(max(y, 0), int(image.extent.y) - 1);
    if (is_inside || (x >= 0 && x < last)) return surf2Dread<uint4>(image.surface, x * int(texel_size), y);
    uint2 first = surf2Dread<uint2>(image.surface, min(max(x, 0), last) * int(texel_size), y);
    uint2 second = surf2Dread<uint2>(image.surface, min(max(x + 1, 0), last) * int(texel_size), y);
    return make_uint4(first.x, first.y, second.x, second.y);
}

// Where in the tile a pair around the block is: which pair of which row.
HANDOVER_INLINE int2 pair_around(int i) {
    if (i < pairs_above_and_below) {
        int row = i / tile_pairs;
        return make_int2(i - row * tile_pairs, row < around ? row : row + block_height);
    }
    i -= pairs_above_and_below;
    int row = i / side_pairs, column = i - row * side_pairs;
    return make_int2(column < side_pairs / 2 ? column : column + block_width / 2, row + around);
}

// Fills the tile, whose first texel is `first`, less what is around it. A thread's own pairs, from `own` on in it, are kept.
template <bool is_inside>
HANDOVER_INLINE void read_tile(float2* tile, const Image& image, int2 first, int2 own, int thread, uint4 (&pairs)[rows]) {
    uint4 beside[rounds_around];
    int2 place[rounds_around];
#pragma unroll
    for (int row = 0; row < rows; ++row) pairs[row] = load_pair<is_inside>(image, first.x + 2 * own.x, first.y + own.y + row);
#pragma unroll
    for (int k = 0; k < rounds_around; ++k) {
        place[k] = pair_around(min(thread + k * threads, pairs_around - 1));
        beside[k] = load_pair<is_inside>(image, first.x - around + 2 * place[k].x, first.y - around + place[k].y);
    }
#pragma unroll
    for (int row = 0; row < rows; ++row) {
        pairs[row] = light_of(pairs[row]);
        float2 lumas = make_float2(luma<true>(pairs[row].x, pairs[row].y), luma<true>(pairs[row].z, pairs[row].w));
        tile[(own.y + around + row) * tile_pairs + own.x + around / 2] = lumas;
    }
    // The last one is read, and written, by some threads more than one.
#pragma unroll
    for (int k = 0; k < rounds_around; ++k)
        tile[place[k].y * tile_pairs + place[k].x] =
            make_float2(luma<false>(beside[k].x, beside[k].y), luma<false>(beside[k].z, beside[k].w));
}

// Luma is not negative, so that its bits have its order; of integers some devices have the least and the largest of three in one
// instruction.
HANDOVER_INLINE float least(float a, float b, float c) {
    return __uint_as_float(min(min(__float_as_uint(a), __float_as_uint(b)), __float_as_uint(c)));
}
HANDOVER_INLINE float largest(float a, float b, float c) {
    return __uint_as_float(max(max(__float_as_uint(a), __float_as_uint(b)), __float_as_uint(c)));
}

// The texels at edges that the block has found, and which of them are searched on: their place in the block, and what is known of their
// ends.
struct Lists {
    unsigned short entries[2][block_width * block_height];
    unsigned counts[stages];
};

HANDOVER_INLINE bool is_at_edge(float north, float west, float middle, float east, float south,
                                const FxaaParameters& parameters) {
    float darkest = least(least(north, middle, south), west, east);
    float brightest = largest(largest(north, middle, south), west, east);
    return !(brightest - darkest < fmaxf(parameters.edge_threshold_min, brightest * parameters.edge_threshold));
}

// Where in a list a warp writes so many entries.
HANDOVER_INLINE unsigned place_in_list(unsigned* count, int lane, unsigned number) {
    return __shfl_sync(~0u, lane == 0 ? atomicAdd(count, number) : 0u, 0);
}

// One texel of a pair.
HANDOVER_INLINE void put(const Pass& pass, int2 at, unsigned red_green, unsigned blue_alpha) {
    if (!covers(pass.destination, at)) return;
    surf2Dwrite(make_uint2(red_green, blue_alpha), pass.destination.surface, at.x * int(texel_size), at.y);
}

// Hands on a thread's texels that are at no edge, and lists the others.
HANDOVER_INLINE void sort(const Pass& pass, const FxaaParameters& parameters, const float2* tile, int2 first, int2 own,
                          const uint4 (&pairs)[rows], Lists& lists) {
    int lane = threadIdx.x % 32;
    const float2* here = tile + (own.y + around) * tile_pairs + own.x + around / 2;
    unsigned left[rows], right[rows], number = 0;
    float2 above = here[-tile_pairs], middle = here[0];
#pragma unroll
    for (int row = 0; row < rows; ++row, here += tile_pairs) {
        float2 below = here[tile_pairs];
        float before = here[-1].y, after = here[1].x;
        int2 at = make_int2(first.x + 2 * own.x, first.y + own.y + row);
        bool is_there = covers(pass.destination, at), is_pair = at.x + 1 < int(pass.destination.extent.x);
        bool is_left = is_at_edge(above.x, before, middle.x, middle.y, below.x, parameters);
        bool is_right = is_at_edge(above.y, middle.x, middle.y, after, below.y, parameters);
        if (is_there && is_pair && !is_left && !is_right) {
            surf2Dwrite(pairs[row], pass.destination.surface, at.x * int(texel_size), at.y);
        } else {
            if (!is_left) put(pass, at, pairs[row].x, pairs[row].y);
            if (!is_right) put(pass, make_int2(at.x + 1, at.y), pairs[row].z, pairs[row].w);
        }
        left[row] = __ballot_sync(~0u, is_there && is_left);
        right[row] = __ballot_sync(~0u, is_there && is_pair && is_right);
        number += __popc(left[row]) + __popc(right[row]);
        above = middle;
        middle = below;
    }
    unsigned begin = place_in_list(&lists.counts[0], lane, number), before = (1u << lane) - 1u;
#pragma unroll
    for (int row = 0; row < rows; ++row) {
        unsigned place = begin + __popc(left[row] & before) + __popc(right[row] & before);
        unsigned texel = unsigned((own.y + row) * block_width + 2 * own.x);
        if (left[row] >> lane & 1u) lists.entries[0][place++] = (unsigned short)texel;
        if (right[row] >> lane & 1u) lists.entries[0][place] = (unsigned short)(texel + 1u);
        begin += __popc(left[row]) + __popc(right[row]);
    }
}

// What is known of an edge's two ends: how far the nearer one is, in texels, and the other; 0 where it is not known. A search is over when
// the farther one is known, or does not count: then it is as far as the nearer one.
struct Span {
    float near, far;
    bool is_positive;  // the nearer end

    // An entry of a list: the texel's place in the block; and, once its search goes on, the nearer end, at most 5 texels away.
    HANDOVER_INLINE unsigned short entry(unsigned texel) const {
        return (unsigned short)(texel | unsigned(near) << 11 | (is_positive ? 1u << 14 : 0u));
    }
    static HANDOVER_INLINE Span of(unsigned entry) { return {float(entry >> 11 & 7u), 0.0f, (entry >> 14 & 1u) != 0u}; }
};

// An edge through the tile, and how luma changes along it. Lumas are those of two texels added, as a bilinear tap between them reads them,
// doubled.
struct Edge {
    const float* here;   // the texel's luma
    int along, across;   // steps in the tile: along the edge, and over it to the texel beside
    float luma;          // between both, doubled
    float enough;        // the difference from it, doubled, that ends the edge
    bool is_darker;      // the texel than the edge

    // Luma at so many texels along the edge, less the edge's.
    HANDOVER_INLINE float difference(int distance) const {
        const float* there = here + distance * along;
        return there[0] + there[across] - luma;
    }

    // Looks at both ends at a distance. At its near end the edge must turn to the texel's other side, else it is the neighbour that is to
    // be blended. Where both ends are as far there is nothing to blend.
    HANDOVER_INLINE void visit(Span& span, float distance, float negative, float positive) const {
        bool is_negative = fabsf(negative) >= enough, is_positive = fabsf(positive) >= enough;
        bool is_first = span.near == 0.0f;
        bool is_either = is_negative | is_positive, is_other = span.is_positive ? is_negative : is_positive;
        bool is_hit = (span.far == 0.0f) & (is_first ? is_either : is_other);
        bool is_bad = ((is_positive ? positive : negative) < 0.0f) == is_darker;
        bool is_over = !is_first | is_bad | (is_negative & is_positive);
        span.far = is_hit & is_over ? distance : span.far;
        span.near = is_hit & is_first ? distance : span.near;
        span.is_positive = is_hit & is_first ? is_positive : span.is_positive;
    }
};

// Twice the luma between a texel of the picture and the one beside it, across the edge.
HANDOVER_INLINE float luma_across(const Image& image, int2 at, int2 side) {
    int2 one = inside(image, at.x, at.y), other = inside(image, at.x + side.x, at.y + side.y);
    uint2 first = surf2Dread<uint2>(image.surface, one.x * int(texel_size), one.y);
    uint2 second = surf2Dread<uint2>(image.surface, other.x * int(texel_size), other.y);
    return luma<false>(first.x, first.y) + luma<false>(second.x, second.y);
}

// Follows an edge beyond single steps: preset 39 goes on by 1, 1, 1, 1, 1, 1.5, 2, 2, 2, 2, 4 and 8 texels; nothing is read at the last. A
// tap at half a texel is the mean of two. `at`: the texel in the picture, `place`: along the edge in the tile, which has so many.
HANDOVER_INLINE void follow_far(const Edge& edge, Span& span, const Image& image, int2 at, int2 side, int place, int length) {
    int2 step = side.x == 0 ? make_int2(1, 0) : make_int2(0, 1);
    auto across = [&](int distance) {
        if (unsigned(place + distance) < unsigned(length)) {
            const float* there = edge.here + distance * edge.along;
            return there[0] + there[edge.across];
        }
        return luma_across(image, make_int2(at.x + distance * step.x, at.y + distance * step.y), side);
    };
    // Of four texels added, so that twice as much is enough.
    auto difference = [&](int distance, int beyond) { return 0.5f * (across(distance) + across(beyond)) - edge.luma; };
#pragma unroll 1
    for (int whole = 6; whole <= 18 && span.far == 0.0f; whole += whole == 14 ? 4 : 2) {
        float negative = 0.0f, positive = 0.0f;
        if (span.near == 0.0f || span.is_positive) negative = difference(-whole, -whole - 1);
        if (span.near == 0.0f || !span.is_positive) positive = difference(whole, whole + 1);
        edge.visit(span, float(whole) + 0.5f, negative, positive);
    }
    if (span.near == 0.0f) span.near = span.far = 26.5f;
    if (span.far == 0.0f) span.far = 26.5f;
}

// The most that a texel is blended because of its edge is 1/2 less the share of the shortest end in the longest span, 1/27.5. One that is
// blended as much because it stands out needs no search.
constexpr float most_for_edge = 0.4637f;

// A texel at an edge, of a list's entry: makes it, or says what is known of its ends where the search for them goes on.
HANDOVER_INLINE Span make(const Pass& pass, const FxaaParameters& parameters, const float2* tile, int2 first, unsigned entry,
                          int stage, bool is_there) {
    int x = int(entry) % block_width, y = int(entry) / block_width % block_height;
    int2 at = make_int2(first.x + x, first.y + y);
    const float* here = &tile[0].x + (y + around) * tile_width + x + around;
    float middle = here[0], north = here[-tile_width], south = here[tile_width], west = here[-1], east = here[1];
    float north_west = here[-tile_width - 1], north_east = here[-tile_width + 1];
    float south_west = here[tile_width - 1], south_east = here[tile_width + 1];

    // Second differences along columns say how horizontal the edge is, along rows how vertical. Around a peak or a saddle both are the same
    // sum, so that the order of the operations decides: it is the published one. To double is exact.
    float wests = north_west + south_west, easts = north_east + south_east;
    float norths = north_west + north_east, souths = south_west + south_east;
    float column = north + south, row = west + east;
    auto bend = [](float of, float beside) { return fabsf(fmaf(-2.0f, of, beside)); };
    float horizontal = bend(west, wests) + fmaf(bend(middle, column), 2.0f, bend(east, easts));
    float vertical = bend(south, souths) + fmaf(bend(middle, row), 2.0f, bend(north, norths));
    bool is_horizontal = horizontal >= vertical;
    // The steeper of the two sides is where the edge is.
    float before = is_horizontal ? north : west, after = is_horizontal ? south : east;
    float gradient_before = fabsf(before - middle), gradient_after = fabsf(after - middle);
    bool is_before = gradient_before >= gradient_after;
    int sign = is_before ? -1 : 1;
    int2 side = is_horizontal ? make_int2(0, sign) : make_int2(sign, 0);
    Edge edge = {here, is_horizontal ? 1 : tile_width, is_horizontal ? sign * tile_width : sign};
    edge.luma = (is_before ? before : after) + middle;
    edge.enough = 0.5f * fmaxf(gradient_before, gradient_after);
    edge.is_darker = fmaf(2.0f, middle, -edge.luma) < 0.0f;
    // On their way while the edge is followed.
    int2 beside = inside(pass.source, at.x + side.x, at.y + side.y);
    uint2 own_words = surf2Dread<uint2>(pass.source.surface, at.x * int(texel_size), at.y);
    uint2 beside_words = surf2Dread<uint2>(pass.source.surface, beside.x * int(texel_size), beside.y);

    // How much the texel stands out of its neighbourhood, for what is smaller than a texel. In the published order of operations: beside a
    // texel of 65504 the last bit of the offset shows.
    float range = largest(largest(north, middle, south), west, east) - least(least(north, middle, south), west, east);
    float mean = fmaf(2.0f, column + row, wests + easts) * (1.0f / 12.0f);
    float contrast = saturate(quotient(fabsf(mean - middle), range));
    float smooth = (contrast * contrast) * fmaf(-2.0f, contrast, 3.0f);
    float offset = smooth * smooth * parameters.subpix;

    Span span = Span::of(entry);
    if (stage == 0) {
        span = {};
        // The first taps are those around the texel.
        float negative = is_horizontal ? west : north, positive = is_horizontal ? east : south;
        float one = is_horizontal ? south_west : north_east, other = is_horizontal ? north_east : south_west;
        negative += is_before ? north_west : one;
        positive += is_before ? other : south_east;
        edge.visit(span, 1.0f, negative - edge.luma, positive - edge.luma);
        edge.visit(span, 2.0f, edge.difference(-2), edge.difference(2));
        if (offset >= most_for_edge) span.near = span.far = 1.0f;
    } else if (stage == 1) {
#pragma unroll
        for (int distance = 3; distance <= 5; ++distance)
            edge.visit(span, float(distance), edge.difference(-distance), edge.difference(distance));
    } else {
        int place = (is_horizontal ? x : y) + around, length = is_horizontal ? tile_width : tile_height;
        follow_far(edge, span, pass.source, at, side, place, length);
    }
    if (span.far == 0.0f || !is_there) return span;
    // 1/2 less the share of the nearer end; nothing, exactly, where both are as far: that counts beside a texel of 65504.
    offset = fmaxf(offset, 0.5f * quotient(span.far - span.near, span.far + span.near));
    if (broken(own_words.x) | broken(own_words.y) | broken(beside_words.x) | broken(beside_words.y)) {
        own_words = make_uint2(light_of(own_words.x), light_of(own_words.y));
        beside_words = make_uint2(light_of(beside_words.x), light_of(beside_words.y));
    }
    float2 own = to_float(own_words.x), other = to_float(beside_words.x);
    auto blend = [offset](float own, float other) { return fmaf(own, 1.0f - offset, other * offset); };
    unsigned red_green = to_halves(blend(own.x, other.x), blend(own.y, other.y));
    float blue = blend(to_float(own_words.y).x, to_float(beside_words.y).x);
    surf2Dwrite(make_uint2(red_green, with_low(own_words.y, blue)), pass.destination.surface, at.x * int(texel_size), at.y);
    return span;
}

extern "C" __global__ void __launch_bounds__(256, 4) fxaa(const __grid_constant__ Pass pass,
                                                          const __grid_constant__ FxaaParameters parameters) {
    __shared__ float2 tile[tile_pairs * tile_height];
    __shared__ Lists lists;
    int thread = int(threadIdx.y * blockDim.x + threadIdx.x), lane = thread % 32;
    int2 first = make_int2(int(blockIdx.x) * block_width, int(blockIdx.y) * block_height);
    int2 own = make_int2(int(threadIdx.x), int(threadIdx.y) * rows);
    if (thread < stages) lists.counts[thread] = 0;
    uint4 pairs[rows];
    if (first.x > 0 && first.x + block_width + around <= int(pass.source.extent.x))
        read_tile<true>(tile, pass.source, first, own, thread, pairs);
    else
        read_tile<false>(tile, pass.source, first, own, thread, pairs);
    __syncthreads();
    sort(pass, parameters, tile, first, own, pairs, lists);

#pragma unroll 1
    for (int stage = 0; stage < stages; ++stage) {
        __syncthreads();
        const unsigned short* from = lists.entries[stage % 2];
        unsigned short* to = lists.entries[(stage + 1) % 2];
        unsigned count = lists.counts[stage];
        // All lanes come along as long as one has an entry.
        for (unsigned begin = unsigned(thread - lane); begin < count; begin += threads) {
            unsigned i = begin + unsigned(lane);
            bool is_there = i < count;
            unsigned entry = from[is_there ? i : begin];
            Span span = make(pass, parameters, tile, first, entry, stage, is_there);
            unsigned open = __ballot_sync(~0u, is_there && span.far == 0.0f);
            if (open == 0u) continue;
            unsigned place = place_in_list(&lists.counts[(stage + 1) % stages], lane, __popc(open));
            place += __popc(open & ((1u << lane) - 1u));
            if (open >> lane & 1u) to[place] = span.entry(entry & 2047u);
        }
    }
}
