// Filters of which each warp reads a strip of its source, each texel once: what bloom.cu and dual_filter.cu share. For kernels that
// include handover.cuh before.

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

// 1 in lanes of odd number.
HANDOVER_INLINE int odd_lane() { return lane() % 2; }

// Where a lane makes four texels, two lanes have eight, whose pairs the even lane and the odd one read and write in turn: so that each
// access of both is 32 bytes side by side, which is what memory moves at a time. These are a lane's two of the four pairs.
struct Bits {
    uint4 of[2];
};

// A lane's own four texels, exchanged with the lane beside.
HANDOVER_INLINE Bits dealt(const Bits& own) {
    bool odd = odd_lane();
    uint4 other = odd ? own.of[0] : own.of[1];
    other.x = __shfl_xor_sync(~0u, other.x, 1);
    other.y = __shfl_xor_sync(~0u, other.y, 1);
    other.z = __shfl_xor_sync(~0u, other.z, 1);
    other.w = __shfl_xor_sync(~0u, other.w, 1);
    return odd ? Bits{other, own.of[1]} : Bits{own.of[0], other};
}

template <bool inside>
HANDOVER_INLINE Bits load_four(const Image& image, int pair, int y) {
    pair = 2 * pair - odd_lane();
    return {load_pair_bits<inside>(image, pair, y), load_pair_bits<inside>(image, pair + 2, y)};
}

// Stores those of four texels that are inside.
HANDOVER_INLINE void store_four(const Image& image, int2 at, const Bits& bits) {
    at.x -= 2 * odd_lane();
    if (at.y < 0) return;
    if (lane() > 1 && covers(image, at)) store_two(image, at, bits.of[0]);
    at.x += 4;
    if (lane() < made_lanes && covers(image, at)) store_two(image, at, bits.of[1]);
}
