// How kernels of pointwise passes are made. It is a part of handover.cuh, which includes it.

// A pass is pointwise where a texel of the destination is made of the texel of the source at the same place, and of what
// is no picture: parameters, buffers, guides. Such a pass is a function of the texel,
//     float4 NAME(float4 color, int2 at, const Pass& pass, const PARAMETERS& parameters)
// and HANDOVER_POINTWISE(ENTRY, NAME, PARAMETERS) makes its kernel; `pointwise = true` in the front matter says that it
// did. `color` is light, as `load` reads it, and what is given back is stored as `store` does. Neighbouring pointwise
// effects are run as one kernel, which reads and writes the picture once: so of `pass.source` and `pass.destination` only
// the extents mean anything. A function of ushort4 instead of float4 is given the texel's bits, and gives bits back.

// A thread makes so many pairs of texels along a row, in so many rows, of a block of so many threads. A pair is one access
// of 16 bytes. The program reads these numbers here: a line each.
constexpr int pointwise_pairs = 1;
constexpr int pointwise_rows = 2;
constexpr int pointwise_block_width = 16;
constexpr int pointwise_block_height = 8;

// What a pointwise function takes and gives: nothing known, light, bits.
enum class PointwiseKind { none, light, bits };

template <typename Parameters>
__device__ constexpr PointwiseKind pointwise_kind(float4 (*)(float4, int2, const Pass&, const Parameters&)) {
    return PointwiseKind::light;
}

template <typename Parameters>
__device__ constexpr PointwiseKind pointwise_kind(ushort4 (*)(ushort4, int2, const Pass&, const Parameters&)) {
    return PointwiseKind::bits;
}

template <typename Parameters>
__device__ constexpr PointwiseKind pointwise_kind(...) {
    return PointwiseKind::none;
}

// The texel that a pointwise function makes of another, both as they are stored.
template <auto function, typename P>
struct Pointwise {
    using Parameters = P;

    static HANDOVER_INLINE ushort4 apply(ushort4 bits, int2 at, const Pass& pass, const Parameters& parameters) {
        constexpr PointwiseKind kind = pointwise_kind<Parameters>(function);
        if constexpr (kind == PointwiseKind::light) {
            return to_half(light(function(light(to_float(bits)), at, pass, parameters)));
        } else if constexpr (kind == PointwiseKind::bits) {
            return function(bits, at, pass, parameters);
        } else {
            return bits;  // HANDOVER_POINTWISE says what is wrong
        }
    }
};

// Where the pairs of this thread are: `pair` and `row` count them. Threads of a block stand side by side in each.
HANDOVER_INLINE int2 pointwise_texel(int pair, int row) {
    int x = int(blockDim.x * (blockIdx.x * pointwise_pairs + pair) + threadIdx.x);
    return make_int2(2 * x, int(blockDim.y * (blockIdx.y * pointwise_rows + row) + threadIdx.y));
}

// Makes this thread's texels. All are read before the first is written: so many accesses are under way at a time. A row
// of odd length ends with a pair of which the second texel is outside.
template <typename Applied>
HANDOVER_INLINE void pointwise(const Pass& pass, const typename Applied::Parameters& parameters) {
    int width = int(pass.destination.extent.x);
    uint4 pairs[pointwise_rows][pointwise_pairs];
#pragma unroll
    for (int row = 0; row < pointwise_rows; ++row) {
#pragma unroll
        for (int pair = 0; pair < pointwise_pairs; ++pair) {
            int2 at = pointwise_texel(pair, row);
            if (!covers(pass.destination, at)) continue;
            if (at.x + 1 < width) {
                pairs[row][pair] = surf2Dread<uint4>(pass.source.surface, at.x * int(texel_size), at.y);
            } else {
                ushort4 last = load_bits(pass.source, at);
                pairs[row][pair] = make_uint4(word_of(last.x, last.y), word_of(last.z, last.w), 0u, 0u);
            }
        }
    }
#pragma unroll
    for (int row = 0; row < pointwise_rows; ++row) {
#pragma unroll
        for (int pair = 0; pair < pointwise_pairs; ++pair) {
            int2 at = pointwise_texel(pair, row);
            if (!covers(pass.destination, at)) continue;
            uint4 words = pairs[row][pair];
            ushort2 xy = halves_of(words.x), zw = halves_of(words.y);
            ushort4 first = Applied::apply(make_ushort4(xy.x, xy.y, zw.x, zw.y), at, pass, parameters);
            if (at.x + 1 < width) {
                int2 next = make_int2(at.x + 1, at.y);
                xy = halves_of(words.z), zw = halves_of(words.w);
                ushort4 second = Applied::apply(make_ushort4(xy.x, xy.y, zw.x, zw.y), next, pass, parameters);
                words = make_uint4(word_of(first.x, first.y), word_of(first.z, first.w), word_of(second.x, second.y),
                                   word_of(second.z, second.w));
                surf2Dwrite(words, pass.destination.surface, at.x * int(texel_size), at.y);
            } else {
                store_bits(pass.destination, at, first);
            }
        }
    }
}

#ifndef HANDOVER_KERNEL
#define HANDOVER_KERNEL extern "C" __global__
#endif

// The kernel of a pointwise pass. Where several run as one it is empty, and theirs takes its place.
#define HANDOVER_POINTWISE_KERNEL(entry, Parameters)                                                            \
    HANDOVER_KERNEL void entry(const __grid_constant__ Pass pass, const __grid_constant__ Parameters parameters) { \
        pointwise<entry##_pointwise>(pass, parameters);                                                         \
    }

#define HANDOVER_POINTWISE(entry, function, Parameters)                                                        \
    static_assert(pointwise_kind<Parameters>(function) != PointwiseKind::none,                                 \
                  "expected float4 " #function "(float4 color, int2 at, const Pass& pass, const " #Parameters \
                  "& parameters)");                                                                            \
    using entry##_pointwise = Pointwise<function, Parameters>;                                                 \
    HANDOVER_POINTWISE_KERNEL(entry, Parameters)

// What one of several passes that run as one is given: of the buffers `count`, from the one of number `first` on.
template <int first, int count>
HANDOVER_INLINE Pass member_pass(const Pass& pass, unsigned index, bool keeps) {
    Pass member = pass;
#pragma unroll
    for (int i = 0; i < 4; ++i) member.buffers[i] = i < count ? pass.buffers[(first + i) % 4] : Buffer{0, 0};
    member.index = index;
    member.kept_frames = keeps ? pass.kept_frames : 0u;
    return member;
}
