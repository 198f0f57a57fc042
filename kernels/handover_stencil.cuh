// 3x3 stencils whose threads make two texels a row, several rows one below the other: what sharpen.cu and rcas.cu share. For kernels
// that include handover.cuh before.

// A pass of such a kernel has block = [32, 4] and texels = [2, 3].
constexpr int rows = 3;  // so many stand in registers: more a thread are slower, for threads are fewer then
constexpr int block_width = 2 * 32, block_height = rows * 4;

// Where a thread is: its two texels in the first row, and where, in bytes, the texel stands that the first and the last lane of a warp read
// beside theirs; -1 in others.
struct Place {
    int2 at;
    int beside;
};

HANDOVER_INLINE Place place() {
    int2 thread = thread_texel();
    int lane = threadIdx.x % 32;
    Place place = {make_int2(2 * thread.x, rows * thread.y), -1};
    if (lane == 0) place.beside = (place.at.x - 1) * int(texel_size);
    if (lane == 31) place.beside = (place.at.x + 2) * int(texel_size);
    return place;
}

// Whether the picture has all that the block reads.
HANDOVER_INLINE bool block_is_inside(const Image& image) {
    int left = int(blockIdx.x) * block_width, top = int(blockIdx.y) * block_height;
    return left > 0 && left + block_width < int(image.extent.x) && top > 0 && top + block_height < int(image.extent.y);
}

// A row of it, counted from the thread's first, as it is stored.
template <bool is_inside>
HANDOVER_INLINE Fetched fetch(const Image& image, const Place& place, int row) {
    int y = place.at.y + row;
    if (!is_inside) return fetch_row(image, place.at.x, y);
    Fetched fetched = {surf2Dread<uint4>(image.surface, place.at.x * int(texel_size), y), make_uint2(0u, 0u)};
    if (place.beside >= 0) fetched.beside = surf2Dread<uint2>(image.surface, place.beside, y);
    return fetched;
}

template <bool is_inside>
HANDOVER_INLINE void put(const Pass& pass, const Place& place, int row, uint4 texels) {
    int2 at = make_int2(place.at.x, place.at.y + row);
    if (is_inside) {
        surf2Dwrite(texels, pass.destination.surface, at.x * int(texel_size), at.y);
        return;
    }
    if (!covers(pass.destination, at)) return;
    store_two(pass.destination, at, texels);
}

// Red, green and blue of four texels, from the one left of a thread's two to the one right of them.
struct Row {
    float channel[3][4];
};

HANDOVER_INLINE Row channels(const Fetched& fetched) {
    uint2 texels[4];
    spread(fetched, texels);
    Row row;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float2 red_green = to_float(texels[k].x);
        row.channel[0][k] = red_green.x;
        row.channel[1][k] = red_green.y;
        row.channel[2][k] = to_float(texels[k].y).x;
    }
    return row;
}

// Light has the order of its bits, and of integers some devices have the least and the largest of three in one instruction. What is not
// light, negative, infinite or not a number, has the largest bits of all; those of a word of two halves, too, of which the upper is not.
constexpr unsigned no_light = 0x7c000000u;

HANDOVER_INLINE unsigned largest(unsigned a, unsigned b, unsigned c) { return max(max(a, b), c); }

HANDOVER_INLINE float least(float a, float b, float c) {
    return __uint_as_float(min(min(__float_as_uint(a), __float_as_uint(b)), __float_as_uint(c)));
}

HANDOVER_INLINE float largest(float a, float b, float c) {
    return __uint_as_float(largest(__float_as_uint(a), __float_as_uint(b), __float_as_uint(c)));
}

HANDOVER_INLINE void make_light(Row& row) {
#pragma unroll
    for (int channel = 0; channel < 3; ++channel)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            unsigned bits = __float_as_uint(row.channel[channel][k]);
            if (bits >= no_light) row.channel[channel][k] = bits == 0x7f800000u ? half_limit : 0.0f;
        }
}

// Two texels as they are stored, and the largest bits of what they were made of.
struct Made {
    uint4 texels;
    unsigned largest;
};

// Makes a thread's texels. `stencil` makes the two in the middle row of three; it is given the words that have their alpha.
template <bool is_inside, class Stencil>
HANDOVER_INLINE void make_rows(const Pass& pass, const Place& place, const Stencil& stencil) {
    // All are on their way before the first is waited for.
    Fetched fetched[rows + 2];
#pragma unroll
    for (int k = 0; k < rows + 2; ++k) fetched[k] = fetch<is_inside>(pass.source, place, k - 1);
    Row above = channels(fetched[0]), here = channels(fetched[1]);
#pragma unroll
    for (int k = 0; k < rows; ++k) {
        Row below = channels(fetched[k + 2]);
        uint2 alphas = make_uint2(fetched[k + 1].own.y, fetched[k + 1].own.w);
        Made made;
        for (;;) {
            made = stencil(above, here, below, alphas);
            if (made.largest < no_light) break;
            // Rare. What is not light is known when the texels are made, and they are made once more.
            make_light(above);
            make_light(here);
            make_light(below);
            alphas = make_uint2(light_of(alphas.x), light_of(alphas.y));
        }
        put<is_inside>(pass, place, k, made.texels);
        above = here;
        here = below;
    }
}

template <class Stencil>
HANDOVER_INLINE void make_rows(const Pass& pass, const Stencil& stencil) {
    if (block_is_inside(pass.source))
        make_rows<true>(pass, place(), stencil);
    else
        make_rows<false>(pass, place(), stencil);
}
