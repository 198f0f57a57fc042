/*---
title = "FXAA"
summary = "Fast approximate anti-aliasing: finds the ends of edges in the picture and blends across them."
source = "Lottes, FXAA 3.11, Fxaa3_11.h (NVIDIA 2011): FxaaPixelShader, quality preset 39. Luma is the square root of the luminance, of light up to 1: what a display of gamma 2 shows. Colours are blended in linear light, so that an edge has the light of its coverage"
stage = "anti_aliasing"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504, whose luma is 1"

[tolerance]
ulps = 1
why = "luma and all that is decided by it are the same operations in float on every processor, of which square roots and divisions are exact in the last bit; only the last rounding differs"

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

[[passes]]
entry = "fxaa"
source = "input"
destination = "output"
texels = [2, 4]
block = [32, 8]
---*/
#include "handover.cuh"

struct FxaaParameters {
    float subpix;
    float edge_threshold;
    float edge_threshold_min;
};

// A block makes 64x32 texels. Their luma, and that of the texels around them where most edges end, is computed once.
// Texels at edges, which take long, are listed and made after the others, by all threads.
constexpr int block_width = 64, block_height = 32, threads = 256;
// Texels around the block's, to each side: even, since texels are read in pairs, and more than the five single steps
// along an edge.
constexpr int around = 6;
constexpr int tile_width = block_width + 2 * around, tile_height = block_height + 2 * around;
constexpr int tile_pairs = tile_width / 2;

HANDOVER_INLINE float luma(float4 color) { return sqrtf(fminf(luminance(color), 1.0f)); }

// Two texels side by side, of which the first is in an even column, as they are stored; of those outside the nearest
// inside.
HANDOVER_INLINE uint4 load_pair(const Image& image, int x, int y) {
    int last = int(image.extent.x) - 1;
    y = min(max(y, 0), int(image.extent.y) - 1);
    if (x >= 0 && x < last) return surf2Dread<uint4>(image.surface, x * int(texel_size), y);
    uint2 first = surf2Dread<uint2>(image.surface, min(max(x, 0), last) * int(texel_size), y);
    uint2 second = surf2Dread<uint2>(image.surface, min(max(x + 1, 0), last) * int(texel_size), y);
    return make_uint4(first.x, first.y, second.x, second.y);
}

HANDOVER_INLINE float luma(unsigned red_green, unsigned blue) {
    return luma(make_float4(half_to_float((unsigned short)red_green), half_to_float((unsigned short)(red_green >> 16)),
                            half_to_float((unsigned short)blue), 0.0f));
}

// The luma that a block knows, and where in it and in the picture a texel is.
struct Place {
    const float* lumas;
    const Image& image;
    int2 at;    // in the picture
    int2 tile;  // in the tile
};

// Luma between a texel and the one beside it, across the edge: a bilinear tap half way. `distance` texels along the
// edge.
HANDOVER_INLINE float luma_across(const Place& place, int2 step, int2 side, int distance) {
    int x = place.tile.x + distance * step.x, y = place.tile.y + distance * step.y;
    if (unsigned(x) < unsigned(tile_width) && unsigned(y) < unsigned(tile_height)) {
        const float* here = place.lumas + y * tile_width + x;
        return 0.5f * (here[0] + here[side.y * tile_width + side.x]);
    }
    x = place.at.x + distance * step.x, y = place.at.y + distance * step.y;
    return 0.5f * (luma(load(place.image, x, y)) + luma(load(place.image, x + side.x, y + side.y)));
}

// Where an edge ends in one direction.
struct SpanEnd {
    float distance;    // texels
    float difference;  // of luma there from that of the edge
    bool is_found;

    HANDOVER_INLINE void visit(float at, float luma, float edge_luma, float enough) {
        difference = luma - edge_luma;
        is_found = fabsf(difference) >= enough;
        if (is_found) distance = at;
    }
};

// Walks in both directions along the edge between the texel and the one at `side`, until luma differs from the edge's
// by `enough`. Preset 39 goes on by 1, 1, 1, 1, 1, 1.5, 2, 2, 2, 2, 4 and 8 texels; nothing is read at the last.
HANDOVER_INLINE void find_ends(SpanEnd (&ends)[2], const Place& place, int2 side, int2 step, float edge_luma,
                               float enough) {
    const int2 steps[2] = {make_int2(-step.x, -step.y), step};
    ends[0] = ends[1] = {26.5f, 0.0f, false};
#pragma unroll 1
    for (int whole = 1; whole <= 5 && !(ends[0].is_found && ends[1].is_found); ++whole) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            if (ends[k].is_found) continue;
            ends[k].visit(float(whole), luma_across(place, steps[k], side, whole), edge_luma, enough);
        }
    }
    // A tap at half a texel is the mean of two.
#pragma unroll 1
    for (int whole = 6; whole <= 18 && !(ends[0].is_found && ends[1].is_found); whole += whole == 14 ? 4 : 2) {
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            if (ends[k].is_found) continue;
            float found = luma_across(place, steps[k], side, whole);
            found = 0.5f * (found + luma_across(place, steps[k], side, whole + 1));
            ends[k].visit(float(whole) + 0.5f, found, edge_luma, enough);
        }
    }
}

// Least and greatest luma of a texel and the four beside it.
struct Extremes {
    float darkest, brightest;
};

HANDOVER_INLINE Extremes extremes(float north, float south, float west, float east, float middle) {
    return {fminf(fminf(fminf(north, south), fminf(west, east)), middle),
            fmaxf(fmaxf(fmaxf(north, south), fmaxf(west, east)), middle)};
}

HANDOVER_INLINE bool is_at_edge(Extremes lumas, const FxaaParameters& parameters) {
    float range = lumas.brightest - lumas.darkest;
    return !(range < fmaxf(parameters.edge_threshold_min, lumas.brightest * parameters.edge_threshold));
}

// A texel at an edge.
HANDOVER_INLINE float4 filtered(const Place& place, const FxaaParameters& parameters) {
    const float* here = place.lumas + place.tile.y * tile_width + place.tile.x;
    float middle = here[0], north = here[-tile_width], south = here[tile_width], west = here[-1], east = here[1];
    float north_west = here[-tile_width - 1], north_east = here[-tile_width + 1];
    float south_west = here[tile_width - 1], south_east = here[tile_width + 1];
    Extremes lumas = extremes(north, south, west, east, middle);
    float range = lumas.brightest - lumas.darkest;

    // Second differences along columns say how horizontal the edge is, along rows how vertical. Around a peak or a
    // saddle both are the same sum, so that the order of the operations decides: it is the published one.
    float horizontal = fabsf(-2.0f * west + (north_west + south_west)) +
                       (fabsf(-2.0f * middle + (north + south)) * 2.0f +
                        fabsf(-2.0f * east + (north_east + south_east)));
    float vertical = fabsf(-2.0f * south + (south_west + south_east)) +
                     (fabsf(-2.0f * middle + (west + east)) * 2.0f +
                      fabsf(-2.0f * north + (north_west + north_east)));
    bool is_horizontal = horizontal >= vertical;

    // The steeper of the two sides is where the edge is.
    float before = is_horizontal ? north : west, after = is_horizontal ? south : east;
    float gradient_before = fabsf(before - middle), gradient_after = fabsf(after - middle);
    bool is_before = gradient_before >= gradient_after;
    float edge_luma = 0.5f * ((is_before ? before : after) + middle);
    float enough = 0.25f * fmaxf(gradient_before, gradient_after);
    int sign = is_before ? -1 : 1;
    int2 side = is_horizontal ? make_int2(0, sign) : make_int2(sign, 0);
    int2 step = is_horizontal ? make_int2(1, 0) : make_int2(0, 1);

    // On their way while the edge is followed.
    int2 beside = inside(place.image, place.at.x + side.x, place.at.y + side.y);
    ushort4 own_bits = load_bits(place.image, place.at), beside_bits = load_bits(place.image, beside);
    SpanEnd ends[2];
    find_ends(ends, place, side, step, edge_luma, enough);
    SpanEnd negative = ends[0], positive = ends[1];
    SpanEnd nearest = negative.distance < positive.distance ? negative : positive;
    // At its near end the edge must turn to this texel's other side, else it is the neighbour that is to be blended.
    bool is_good = (nearest.difference < 0.0f) != (middle - edge_luma < 0.0f);
    float edge_offset = is_good ? 0.5f - nearest.distance / (negative.distance + positive.distance) : 0.0f;

    // How much the texel stands out of its neighbourhood, for what is smaller than a texel. In the published order of
    // operations: beside a texel of 65504 the last bit of the offset shows.
    float cross = north + south + (west + east), corners = north_west + south_west + (north_east + south_east);
    float mean = (2.0f * cross + corners) * (1.0f / 12.0f);
    float contrast = fminf(fabsf(mean - middle) / range, 1.0f);
    float smooth = (contrast * contrast) * (3.0f - 2.0f * contrast);
    float offset = fmaxf(edge_offset, smooth * smooth * parameters.subpix);

    float4 color = light(to_float(own_bits));
    float4 blended = color * (1.0f - offset) + light(to_float(beside_bits)) * offset;
    return make_float4(blended.x, blended.y, blended.z, color.w);
}

// Writes one texel of a pair.
HANDOVER_INLINE void put(const Pass& pass, int2 at, unsigned red_green, unsigned blue_alpha) {
    if (!covers(pass.destination, at)) return;
    surf2Dwrite(make_uint2(red_green, blue_alpha), pass.destination.surface, at.x * int(texel_size), at.y);
}

extern "C" __global__ void fxaa(const __grid_constant__ Pass pass, const __grid_constant__ FxaaParameters parameters) {
    __shared__ float lumas[tile_width * tile_height];
    __shared__ unsigned short edges[block_width * block_height];
    __shared__ unsigned edge_count;
    int thread = int(threadIdx.y * blockDim.x + threadIdx.x);
    int2 first = make_int2(int(blockIdx.x) * block_width, int(blockIdx.y) * block_height);
    if (thread == 0) edge_count = 0;
    auto pair_of_tile = [&](int i) {
        return load_pair(pass.source, first.x - around + 2 * (i % tile_pairs), first.y - around + i / tile_pairs);
    };
    uint4 next = pair_of_tile(thread);
    for (int i = thread; i < tile_pairs * tile_height; i += threads) {
        uint4 bits = light_of(next);
        // On its way while this one's luma is computed.
        if (i + threads < tile_pairs * tile_height) next = pair_of_tile(i + threads);
        lumas[2 * i] = luma(bits.x, bits.y);
        lumas[2 * i + 1] = luma(bits.z, bits.w);
    }
    int2 uppermost = make_int2(first.x + 2 * int(threadIdx.x), first.y + int(threadIdx.y));
    uint4 pairs[4];
#pragma unroll
    for (int row = 0; row < 4; ++row) pairs[row] = load_pair(pass.source, uppermost.x, uppermost.y + 8 * row);
    __syncthreads();

    // Pairs that this thread finds edges in: two bits each.
    unsigned found = 0;
#pragma unroll
    for (int row = 0; row < 4; ++row) {
        int x = 2 * int(threadIdx.x), y = int(threadIdx.y) + 8 * row;
        int2 at = make_int2(uppermost.x, uppermost.y + 8 * row);
        if (!covers(pass.destination, at)) break;
        const float* here = lumas + (y + around) * tile_width + x + around;
        Extremes first_lumas = extremes(here[-tile_width], here[tile_width], here[-1], here[1], here[0]);
        Extremes second_lumas = extremes(here[1 - tile_width], here[1 + tile_width], here[0], here[2], here[1]);
        bool left = is_at_edge(first_lumas, parameters), right = is_at_edge(second_lumas, parameters);
        bool is_pair = at.x + 1 < int(pass.destination.extent.x);
        uint4 bits = light_of(pairs[row]);
        if (is_pair && !left && !right) {
            surf2Dwrite(bits, pass.destination.surface, at.x * int(texel_size), at.y);
        } else {
            if (!left) put(pass, at, bits.x, bits.y);
            if (!right) put(pass, make_int2(at.x + 1, at.y), bits.z, bits.w);
        }
        found |= ((left ? 1u : 0u) | (right && is_pair ? 2u : 0u)) << (2 * row);
    }
    // Each warp takes as many places of the list as it found edges, each lane those after the lanes before it.
    unsigned own = 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) own += found >> k & 1u;
    unsigned until = own;
#pragma unroll
    for (int lanes = 1; lanes < 32; lanes *= 2) {
        unsigned before = __shfl_up_sync(~0u, until, lanes);
        if (int(threadIdx.x) >= lanes) until += before;
    }
    unsigned begin = 0;
    if (threadIdx.x == 31) begin = atomicAdd(&edge_count, until);
    unsigned place = __shfl_sync(~0u, begin, 31) + until - own;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
        if (found >> k & 1u) {
            int x = 2 * int(threadIdx.x) + k % 2, y = int(threadIdx.y) + 8 * (k / 2);
            edges[place++] = (unsigned short)(y * block_width + x);
        }
    }
    __syncthreads();

    for (unsigned i = unsigned(thread); i < edge_count; i += threads) {
        int x = edges[i] % block_width, y = edges[i] / block_width;
        int2 at = make_int2(first.x + x, first.y + y);
        Place here = {lumas, pass.source, at, make_int2(x + around, y + around)};
        store(pass.destination, at, filtered(here, parameters));
    }
}
