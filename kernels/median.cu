/*---
title = "Median"
summary = "Each channel becomes the median of 3x3 texels: single wrong pixels go, edges stay."
source = "Tukey, Exploratory Data Analysis, 1977: the median of a window; the edge texel continues outwards"
stage = "denoise"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; a single broken pixel is gone"

[tolerance]
why = "a median is one of its values: nothing is rounded"

[[passes]]
entry = "median"
source = "input"
destination = "output"
block = [32, 4]
texels = [2, 6]
---*/
#include "handover.cuh"

constexpr int rows = 6;  // pairs of texels that a thread filters, one below the other

// Light as halves has the order of its bits. So a channel is the upper part of a word, whatever stands in the lower
// one.
struct Row {
    unsigned channel[3][4];
};

HANDOVER_INLINE Row channels(const Fetched& fetched) {
    uint2 texels[4];
    spread(fetched, texels);
    Row row;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        row.channel[0][k] = texels[k].x << 16;
        row.channel[1][k] = texels[k].x;
        row.channel[2][k] = texels[k].y << 16;
    }
    return row;
}

// Some devices have these in one instruction.
HANDOVER_INLINE unsigned smallest(unsigned a, unsigned b, unsigned c) { return min(min(a, b), c); }

HANDOVER_INLINE unsigned largest(unsigned a, unsigned b, unsigned c) { return max(max(a, b), c); }

HANDOVER_INLINE unsigned middle(unsigned a, unsigned b, unsigned c) { return max(min(a, b), min(max(a, b), c)); }

// Both texels of the middle row, one channel. The median of nine: with each column sorted, the middle one of the
// largest minimum, the middle median and the smallest maximum (Paeth, Median finding on a 3x3 grid, Graphics Gems,
// 1990).
HANDOVER_INLINE uint2 medians(const unsigned (&above)[4], const unsigned (&here)[4], const unsigned (&below)[4]) {
    unsigned low[4], center[4], high[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        low[k] = smallest(above[k], here[k], below[k]);
        high[k] = largest(above[k], here[k], below[k]);
        // What is left of the three.
        center[k] = above[k] ^ here[k] ^ below[k] ^ low[k] ^ high[k];
    }
    unsigned less = min(center[1], center[2]), more = max(center[1], center[2]);
    return make_uint2(middle(largest(low[0], low[1], low[2]), max(less, min(more, center[0])),
                             smallest(high[0], high[1], high[2])),
                      middle(largest(low[1], low[2], low[3]), max(less, min(more, center[3])),
                             smallest(high[1], high[2], high[3])));
}

// The upper halves of two words.
HANDOVER_INLINE unsigned upper_of(unsigned low, unsigned high) { return __byte_perm(low, high, 0x7632u); }

HANDOVER_INLINE void put(const Pass& pass, int2 at, uint4 texels) {
    if (!covers(pass.destination, at)) return;
    store_two(pass.destination, at, texels);
}

extern "C" __global__ void median(const __grid_constant__ Pass pass, const __grid_constant__ NoParameters parameters) {
    int2 thread = thread_texel(), at = make_int2(2 * thread.x, rows * thread.y);
    Fetched fetched = fetch_row(pass.source, at.x, at.y - 1), own = fetch_row(pass.source, at.x, at.y);
    Fetched next = fetch_row(pass.source, at.x, at.y + 1);
    make_light(fetched);
    Row above = channels(fetched);
    make_light(own);
    Row here = channels(own);
    // After three rows each stands again in the registers that it came from.
#pragma unroll 3
    for (int k = 0; k < rows; ++k, ++at.y) {
        fetched = next;
        // On its way while this row is computed.
        if (k + 1 < rows) next = fetch_row(pass.source, at.x, at.y + 2);
        make_light(fetched);
        Row below = channels(fetched);
        uint2 red = medians(above.channel[0], here.channel[0], below.channel[0]);
        uint2 green = medians(above.channel[1], here.channel[1], below.channel[1]);
        uint2 blue = medians(above.channel[2], here.channel[2], below.channel[2]);
        put(pass, at, make_uint4(upper_of(red.x, green.x), upper_of(blue.x, own.own.y), upper_of(red.y, green.y),
                                 upper_of(blue.y, own.own.w)));
        above = here;
        here = below;
        own = fetched;
    }
}
