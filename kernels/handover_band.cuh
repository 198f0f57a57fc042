// Separable blurs by the tensor cores: what gaussian.cu and box.cu share. For kernels that include handover.cuh before.

// A blur is a product with a matrix of weights that is nothing but a band about its diagonal, so the tensor cores do it: they
// take halves, which is what texels are, and add in float. A warp makes a tile of 16x16 texels. The warps of a block stand
// behind one another in the direction of the blur, so that what one reads beside its tile is in the cache for the next.
constexpr int tile = 16;
constexpr int warps = 4;
// Of columns a block makes so many tiles side by side, with two warps for each row of tiles.
constexpr int across = 2;
// Up to this radius the launch for columns does rows as well: their blurred texels stay in its shared memory. The launch for rows
// then does nothing. A block makes as many tiles of rows as it has warps, and of these fewer tiles, one below the other; so its pass
// has block = [32, 8] and texels = [1, 6], which are more blocks than columns alone need.
constexpr int joint_radius = 8;
constexpr int joint_rows = warps * tile, joint_tiles = (joint_rows - 2 * joint_radius) / tile;

// Texels of rows that were blurred, by pairs; one more a row keeps four rows in different banks.
using Joint = uint4[joint_rows][across * tile / 2 + 1];
// A product takes so many of the texels that are blurred at a time.
constexpr int stride = 8;

// Two weights, of two texels, as a fragment of a matrix holds them: in halves, with what those have lost in others where the weights
// have more bits (`has_low`). A `Band` says them by the distance from the texel that is made, 0 beyond its `radius`; its `share` makes a
// mean of a sum.
struct Weights {
    unsigned high, low;
};

// Texels beside a tile that its rows take.
HANDOVER_INLINE int margin_of(int radius) { return (radius + stride - 1) / stride * stride; }

// Two texels, the first at an even x, as they are stored; positions outside are clamped to the edge.
template <bool inside_all>
HANDOVER_INLINE uint4 load_pair(const Image& image, int x, int y) {
    if (inside_all || (x >= 0 && x + 1 < int(image.extent.x))) {
        int row = inside_all ? y : inside(image, 0, y).y;
        return surf2Dread<uint4>(image.surface, x * int(texel_size), row);
    }
    ushort4 first = load_bits(image, inside(image, x, y)), second = load_bits(image, inside(image, x + 1, y));
    return make_uint4(word_of(first.x, first.y), word_of(first.z, first.w), word_of(second.x, second.y),
                      word_of(second.z, second.w));
}

// Stores what of two texels is inside. A mean of light is light.
template <bool inside_all>
HANDOVER_INLINE void store_pair(const Image& image, int x, int y, float4 first, float4 second) {
    ushort4 a = to_half(first), b = to_half(second);
    if (inside_all || (x + 1 < int(image.extent.x) && y < int(image.extent.y))) {
        uint4 pair = make_uint4(word_of(a.x, a.y), word_of(a.z, a.w), word_of(b.x, b.y), word_of(b.z, b.w));
        surf2Dwrite(pair, image.surface, x * int(texel_size), y);
    } else if (covers(image, make_int2(x, y))) {
        store_bits(image, make_int2(x, y), a);
    }
}

// Where a thread stands: its warp in the block, and of its lane 4 g + t both parts, as fragments of matrices have them.
struct Place {
    int warp, g, t;
};

HANDOVER_INLINE Place place() {
    int thread = int(threadIdx.y * blockDim.x + threadIdx.x);
    return {thread >> 5, thread >> 2 & 7, thread & 3};
}

// The halves of two words, side by side: the lower ones, the upper ones.
HANDOVER_INLINE unsigned lower(unsigned first, unsigned second) { return __byte_perm(first, second, 0x5410); }
HANDOVER_INLINE unsigned upper(unsigned first, unsigned second) { return __byte_perm(first, second, 0x7632); }

// Rows: texels of 16 rows by weights, for each channel. Two products make the tile, of 8 columns each. `put` is given the place of
// two texels side by side.
template <bool inside_all, class Band, class Put>
HANDOVER_INLINE void blur_rows(const Image& source, const Band& of, int left, int top, Place at, const Put& put) {
    int margin = margin_of(of.radius);
    float sum[2][4][4] = {};
    Weights band[2] = {};
    int last = 2 * margin / stride;
    int x = left - margin + 2 * at.t;
    uint4 above = load_pair<inside_all>(source, x, top + at.g);
    uint4 below = load_pair<inside_all>(source, x, top + at.g + 8);
    for (int step = 0; step <= last + 1; ++step) {
        uint4 a = light_of(above), b = light_of(below);
        if (step <= last) {
            x += stride;
            above = load_pair<inside_all>(source, x, top + at.g);
            below = load_pair<inside_all>(source, x, top + at.g + 8);
        }
        // The second product's weights are those that the first had a step before.
        band[1] = band[0];
        int distance = step * stride + 2 * at.t - margin - at.g;
        if (step <= last) band[0] = of.weights(distance, distance + 1);
        unsigned of_above[4] = {lower(a.x, a.z), upper(a.x, a.z), lower(a.y, a.w), upper(a.y, a.w)};
        unsigned of_below[4] = {lower(b.x, b.z), upper(b.x, b.z), lower(b.y, b.w), upper(b.y, b.w)};
#pragma unroll
        for (int half = 0; half < 2; ++half) {
            if (step < half || step > last + half) continue;
#pragma unroll
            for (int channel = 0; channel < 4; ++channel)
                multiply(sum[half][channel], of_above[channel], of_below[channel], band[half].high);
            if (Band::has_low) {
#pragma unroll
                for (int channel = 0; channel < 4; ++channel)
                    multiply(sum[half][channel], of_above[channel], of_below[channel], band[half].low);
            }
        }
    }
    collect();
    float scale = of.share();
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float4 mean[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
            mean[i] = make_float4(sum[half][0][i], sum[half][1][i], sum[half][2][i], sum[half][3][i]) * scale;
        int column = left + 8 * half + 2 * at.t;
        put(column, top + at.g, mean[0], mean[1]);
        put(column, top + at.g + 8, mean[2], mean[3]);
    }
}

template <class Band>
HANDOVER_INLINE void blur_rows(const Pass& pass, const Band& of) {
    Place at = place();
    int left = int(blockIdx.x * warps + at.warp) * tile, top = int(blockIdx.y) * tile;
    int width = int(pass.destination.extent.x), height = int(pass.destination.extent.y);
    if (left >= width || of.radius <= joint_radius) return;
    int margin = margin_of(of.radius);
    if (left >= margin && left + tile + margin <= width && top + tile <= height) {
        blur_rows<true>(pass.source, of, left, top, at, [&](int x, int y, float4 first, float4 second) {
            store_pair<true>(pass.destination, x, y, first, second);
        });
    } else {
        blur_rows<false>(pass.source, of, left, top, at, [&](int x, int y, float4 first, float4 second) {
            store_pair<false>(pass.destination, x, y, first, second);
        });
    }
}

// Columns: weights by texels, of which each of eight products has a half of every pair. What rows made is light. `read` gives the
// pair at a place, from `reach` above the tile on.
template <bool inside_all, class Band, class Read>
HANDOVER_INLINE void blur_columns(const Pass& pass, const Band& of, int left, int top, int reach, Place at,
                                  const Read& read) {
    float sum[8][4] = {};
    int last = (tile + 2 * reach + stride - 1) / stride - 1;
    // Pairs are dealt so that lanes which store at once stand side by side.
    int x = left + 2 * ((at.g >> 1) + 4 * (at.g & 1)), y = top - reach + at.t;
    uint4 above = read(x, y), below = read(x, y + 4);
    Weights before = {};
    for (int step = 0; step <= last; ++step) {
        unsigned texels[8] = {lower(above.x, below.x), upper(above.x, below.x), lower(above.y, below.y),
                              upper(above.y, below.y), lower(above.z, below.z), upper(above.z, below.z),
                              lower(above.w, below.w), upper(above.w, below.w)};
        if (step < last) {
            y += stride;
            above = read(x, y);
            below = read(x, y + 4);
        }
        int distance = step * stride + at.t - reach - at.g;
        Weights now = of.weights(distance, distance + 4);
        // The lower eight rows of the tile are eight texels behind.
#pragma unroll
        for (int half = 0; half < 8; ++half) multiply(sum[half], now.high, before.high, texels[half]);
        if (Band::has_low) {
#pragma unroll
            for (int half = 0; half < 8; ++half) multiply(sum[half], now.low, before.low, texels[half]);
        }
        before = now;
    }
    collect();
    float scale = of.share();
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float4 first = make_float4(sum[0][i], sum[1][i], sum[2][i], sum[3][i]) * scale;
        float4 second = make_float4(sum[4][i], sum[5][i], sum[6][i], sum[7][i]) * scale;
        store_pair<inside_all>(pass.destination, left + 2 * (at.t + 4 * (i & 1)), top + at.g + 8 * (i >> 1), first, second);
    }
}

// The pass's second image is what the launch for rows reads.
template <bool inside_all, class Band>
HANDOVER_INLINE void blur_both(const Pass& pass, const Band& of, Joint& joint, int left, int top, Place at) {
    int x = left + at.warp % across * tile, y = top + at.warp / across * tile;
    blur_rows<inside_all>(pass.second, of, x, y - joint_radius, at, [&](int x, int y, float4 first, float4 second) {
        joint[y - top + joint_radius][(x - left) / 2] =
            make_uint4(to_halves(first.x, first.y), to_halves(first.z, first.w), to_halves(second.x, second.y),
                       to_halves(second.z, second.w));
    });
    __syncthreads();
    if (at.warp >= across * joint_tiles) return;
    blur_columns<inside_all>(pass, of, x, y, joint_radius, at, [&](int x, int y) {
        return joint[y - top + joint_radius][(x - left) / 2];
    });
}

template <class Band>
HANDOVER_INLINE void blur_columns(const Pass& pass, const Band& of, Joint& joint) {
    Place at = place();
    int left = int(blockIdx.x) * (across * tile);
    int width = int(pass.destination.extent.x), height = int(pass.destination.extent.y), radius = of.radius;
    if (radius <= joint_radius) {
        int top = int(blockIdx.y) * (joint_tiles * tile);
        if (left >= joint_radius && left + across * tile + joint_radius <= width && top >= joint_radius &&
            top - joint_radius + joint_rows <= height)
            blur_both<true>(pass, of, joint, left, top, at);
        else
            blur_both<false>(pass, of, joint, left, top, at);
        return;
    }
    left += at.warp % across * tile;
    int top = (int(blockIdx.y) * warps + at.warp / across) * tile;
    if (left >= width || top >= height) return;
    // The last step may read up to seven rows more than it needs.
    if (left + tile <= width && top >= radius && top + tile + radius + stride <= height)
        blur_columns<true>(pass, of, left, top, radius, at,
                           [&](int x, int y) { return load_pair<true>(pass.source, x, y); });
    else
        blur_columns<false>(pass, of, left, top, radius, at,
                            [&](int x, int y) { return load_pair<false>(pass.source, x, y); });
}
