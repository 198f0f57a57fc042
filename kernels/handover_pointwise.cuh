// How kernels of pointwise passes are made. It is a part of handover.cuh, which includes it.

// A pass is pointwise where a texel of the destination is made of the texel of the source at the same place, and of what
// is no picture: parameters, buffers, guides. Such a pass is a function of the texel,
//     float4 NAME(float4 color, int2 at, const Pass& pass, const PARAMETERS& parameters)
// and HANDOVER_POINTWISE(ENTRY, NAME, PARAMETERS) makes its kernel; `pointwise = true` in the front matter says that it
// did. `color` is light, as `load` reads it, and what is given back is stored as `store` does. Neighbouring pointwise
// effects are run as one kernel, which reads and writes the picture once: so of `pass.source` and `pass.destination` only
// the extents mean anything. A function of ushort4 instead of float4 is given the texel's bits, and gives bits back.
// After the texel a function may take a companion, see `Depth`, and it may give back `Light`, or `Doubtful`. `at` is inside of the
// image.

// A thread makes so many pairs of texels along a row, in so many rows, of a block of so many threads. A pair is one access
// of 16 bytes. The program reads these numbers here: a line each.
constexpr int pointwise_pairs = 1;
constexpr int pointwise_rows = 2;
constexpr int pointwise_block_width = 16;
constexpr int pointwise_block_height = 8;

// What a function gives back that limits its texel itself: nothing below 0, above 65504 or not a number.
struct Light {
    float x, y, z, w;
};

template <typename Made>
constexpr bool makes_light = false;
template <>
constexpr bool makes_light<Light> = true;

// What a function gives back whose fast way cannot be sure of every texel. Its last argument is `bool exactly`: pairs that are in
// doubt are made once more, exactly, when a thread has made all of them; so the fast way has no branches.
struct Doubtful {
    Light light;
    bool is_sure;
};

// Two texels of a row as they are stored, and whether they are known to be light.
template <bool is_light>
struct TexelPair {
    uint4 words;
    bool is_sure;
};

// What a function takes besides of its texel is read for the pair, in one access, before the first texel is written: its
// type has what is read as `Two`, `read`, whose `at` is the pair's first place, and `of`, which makes one of it.
struct NoCompanion {
    struct Two {};
    static HANDOVER_INLINE Two read(const Pass& pass, int2 at) { return {}; }
};

template <typename Companion>
constexpr bool has_companion = true;
template <>
constexpr bool has_companion<NoCompanion> = false;

// Two texels of a row by one access, of 8 bytes each or of 4. `at` is inside, and its x even; where there is no second,
// it is 0.
HANDOVER_INLINE uint4 read_pair(const Image& image, int2 at) {
    if (at.x + 1 < int(image.extent.x)) return surf2Dread<uint4>(image.surface, at.x * int(texel_size), at.y);
    uint2 last = surf2Dread<uint2>(image.surface, at.x * int(texel_size), at.y);
    return make_uint4(last.x, last.y, 0u, 0u);
}

HANDOVER_INLINE uint2 read_word_pair(const Image& image, int2 at) {
    if (at.x + 1 < int(image.extent.x)) return surf2Dread<uint2>(image.surface, at.x * 4, at.y);
    return make_uint2(surf2Dread<unsigned>(image.surface, at.x * 4, at.y), 0u);
}

// The guides, as `load_depth` and its like read them.
struct Depth {
    float metres;

    using Two = uint2;
    static HANDOVER_INLINE Two read(const Pass& pass, int2 at) { return read_word_pair(pass.depth, at); }
    static HANDOVER_INLINE Depth of(Two two, bool second) { return {__uint_as_float(second ? two.y : two.x)}; }
};

struct Normal {
    float x, y, z;

    using Two = uint4;
    static HANDOVER_INLINE Two read(const Pass& pass, int2 at) { return read_pair(pass.normal, at); }
    static HANDOVER_INLINE Normal of(Two two, bool second) {
        float2 xy = to_float(second ? two.z : two.x);
        return {xy.x, xy.y, half_to_float(halves_of(second ? two.w : two.y).x)};
    }
};

struct Albedo {
    unsigned bytes;  // red in the lowest

    using Two = uint2;
    static HANDOVER_INLINE Two read(const Pass& pass, int2 at) { return read_word_pair(pass.albedo, at); }
    static HANDOVER_INLINE Albedo of(Two two, bool second) { return {second ? two.y : two.x}; }
};

struct Motion {
    float x, y;

    using Two = uint2;
    static HANDOVER_INLINE Two read(const Pass& pass, int2 at) { return read_word_pair(pass.motion, at); }
    static HANDOVER_INLINE Motion of(Two two, bool second) {
        float2 motion = to_float(second ? two.y : two.x);
        return {motion.x, motion.y};
    }
};

// What a pointwise function takes: `fits` where it is one.
template <typename Function, typename Parameters>
struct PointwiseSignature {
    static constexpr bool fits = false, can_doubt = false;
    using Companion = NoCompanion;
};

template <typename Made, typename Texel>
constexpr bool makes = false;
template <>
constexpr bool makes<float4, float4> = true;
template <>
constexpr bool makes<Light, float4> = true;
template <>
constexpr bool makes<ushort4, ushort4> = true;

template <typename M, typename T, typename Parameters>
struct PointwiseSignature<M (*)(T, int2, const Pass&, const Parameters&), Parameters> {
    static constexpr bool fits = makes<M, T>, can_doubt = false;
    using Made = M;
    using Texel = T;
    using Companion = NoCompanion;
};

template <typename M, typename T, typename C, typename Parameters>
struct PointwiseSignature<M (*)(T, C, int2, const Pass&, const Parameters&), Parameters> {
    static constexpr bool fits = makes<M, T>, can_doubt = false;
    using Made = M;
    using Texel = T;
    using Companion = C;
};

template <typename Parameters>
struct PointwiseSignature<Doubtful (*)(float4, int2, const Pass&, const Parameters&, bool), Parameters> {
    static constexpr bool fits = true, can_doubt = true;
    using Made = Light;
    using Texel = float4;
    using Companion = NoCompanion;
};

template <typename C, typename Parameters>
struct PointwiseSignature<Doubtful (*)(float4, C, int2, const Pass&, const Parameters&, bool), Parameters> {
    static constexpr bool fits = true, can_doubt = true;
    using Made = Light;
    using Texel = float4;
    using Companion = C;
};

HANDOVER_INLINE uint2 words_of(ushort4 bits) { return make_uint2(word_of(bits.x, bits.y), word_of(bits.z, bits.w)); }

// The texels that a pointwise function makes of others.
template <auto function, typename P>
struct Pointwise {
    using Parameters = P;
    using Signature = PointwiseSignature<decltype(function), P>;
    using Companion = typename Signature::Companion;
    using Read = typename Companion::Two;

    static HANDOVER_INLINE Read read(const Pass& pass, int2 at) { return Companion::read(pass, at); }

    // `way` is nothing, or whether the texel is to be made exactly.
    template <typename Texel, typename... Way>
    static HANDOVER_INLINE auto made(Texel texel, const Read& read, bool second, int2 at, const Pass& pass,
                                     const Parameters& parameters, Way... way) {
        if constexpr (has_companion<Companion>)
            return function(texel, Companion::of(read, second), at, pass, parameters, way...);
        else
            return function(texel, at, pass, parameters, way...);
    }

    template <typename Texel>
    static HANDOVER_INLINE auto called(Texel texel, const Read& read, bool second, int2 at, const Pass& pass,
                                       const Parameters& parameters, bool exactly, bool& is_sure) {
        if constexpr (Signature::can_doubt) {
            Doubtful result = made(texel, read, second, at, pass, parameters, exactly);
            is_sure = is_sure && result.is_sure;
            return result.light;
        } else {
            return made(texel, read, second, at, pass, parameters);
        }
    }

    // Rounded to half and then limited is the same as limited and then rounded, and most texels need no limit.
    template <bool is_light>
    static HANDOVER_INLINE auto apply(TexelPair<is_light> pair, const Read& read, int2 at, const Pass& pass,
                                      const Parameters& parameters, bool exactly) {
        int2 next = make_int2(min(at.x + 1, int(pass.destination.extent.x) - 1), at.y);
        uint4 words = pair.words;
        bool is_sure = pair.is_sure;
        if constexpr (!Signature::fits) {
            return pair;  // HANDOVER_POINTWISE says what is wrong
        } else if constexpr (makes<typename Signature::Made, float4>) {
            if constexpr (!is_light) words = light_of(words);
            float2 xy = to_float(words.x), zw = to_float(words.y);
            auto first = called(make_float4(xy.x, xy.y, zw.x, zw.y), read, false, at, pass, parameters, exactly,
                                is_sure);
            xy = to_float(words.z), zw = to_float(words.w);
            auto second = called(make_float4(xy.x, xy.y, zw.x, zw.y), read, true, next, pass, parameters, exactly,
                                 is_sure);
            words = make_uint4(to_halves(first.x, first.y), to_halves(first.z, first.w),
                               to_halves(second.x, second.y), to_halves(second.z, second.w));
            return TexelPair<true>{makes_light<typename Signature::Made> ? words : light_of(words), is_sure};
        } else {
            ushort2 xy = halves_of(words.x), zw = halves_of(words.y);
            uint2 first = words_of(made(make_ushort4(xy.x, xy.y, zw.x, zw.y), read, false, at, pass, parameters));
            xy = halves_of(words.z), zw = halves_of(words.w);
            uint2 second = words_of(made(make_ushort4(xy.x, xy.y, zw.x, zw.y), read, true, next, pass, parameters));
            return TexelPair<false>{make_uint4(first.x, first.y, second.x, second.y), is_sure};
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
    // A pair outside is made of the last one, and not stored: so there are no branches between those of a thread.
    int2 last = make_int2((int(pass.destination.extent.x) - 1) & ~1, int(pass.destination.extent.y) - 1);
    TexelPair<false> pairs[pointwise_rows][pointwise_pairs];
    typename Applied::Read read[pointwise_rows][pointwise_pairs];
    unsigned doubts = 0;  // a bit a pair
#pragma unroll
    for (int row = 0; row < pointwise_rows; ++row) {
#pragma unroll
        for (int pair = 0; pair < pointwise_pairs; ++pair) {
            int2 at = pointwise_texel(pair, row);
            at = make_int2(min(at.x, last.x), min(at.y, last.y));
            pairs[row][pair] = {read_pair(pass.source, at), true};
            read[row][pair] = Applied::read(pass, at);
        }
    }
#pragma unroll
    for (int row = 0; row < pointwise_rows; ++row) {
#pragma unroll
        for (int pair = 0; pair < pointwise_pairs; ++pair) {
            int2 at = pointwise_texel(pair, row), held = make_int2(min(at.x, last.x), min(at.y, last.y));
            auto made = Applied::apply(pairs[row][pair], read[row][pair], held, pass, parameters, false);
            doubts |= made.is_sure ? 0u : 1u << (row * pointwise_pairs + pair);
            if (covers(pass.destination, at)) store_two(pass.destination, at, made.words);
        }
    }
    if (!doubts) return;
#pragma unroll 1
    for (int i = 0; i < pointwise_rows * pointwise_pairs; ++i) {
        int2 at = pointwise_texel(i % pointwise_pairs, i / pointwise_pairs);
        if (!(doubts >> i & 1u) || !covers(pass.destination, at)) continue;
        // Seldom come to: what was read then is read again.
        TexelPair<false> two = {read_pair(pass.source, at), true};
        store_two(pass.destination, at, Applied::apply(two, Applied::read(pass, at), at, pass, parameters, true).words);
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
    static_assert(PointwiseSignature<decltype(&function), Parameters>::fits,                                   \
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
