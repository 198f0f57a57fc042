// What every kernel is launched with, and how it reads and writes texels.
//
// A kernel is one translation unit that includes this file and nothing else. One that makes each texel of one texel is a
// function, and HANDOVER_POINTWISE makes the kernel of it. Images are RGBA16F in linear light;
// arithmetic is in float. Products and sums are contracted only where `fmaf` says so (the kernels are compiled with
// --fmad=false), so that the CPU references compute the same coordinates and differences.
#pragma once

// One image as a kernel sees it.
struct Image {
    cudaSurfaceObject_t surface;  // reads and writes of exact texels; x is counted in bytes
    cudaTextureObject_t texture;  // linear filter, clamp to edge, normalized coordinates, element read mode
    uint2 extent;                 // texels
};

// Memory as a kernel sees it.
struct Buffer {
    unsigned long long bytes;  // where it begins, aligned to 256; see `elements`
    unsigned long long size;   // bytes
};

// The first argument of every kernel. Images and buffers that a pass has not are zero.
struct Pass {
    Image source;
    Image second;
    Image third;
    Image destination;
    Image depth;     // R32F, metres
    Image normal;    // RGBA16F, world space
    Image albedo;    // RGBA8, linear
    Image motion;    // RG16F, texels from this frame to the previous one
    Buffer buffers[4];
    float2 pointer;           // texels of what is shown
    float2 previous_pointer;  // in the frame before
    float2 jitter;            // how far the scene's projection was moved, texels of the scene
    unsigned long long frame;
    float time;            // s
    float time_delta;      // s
    unsigned kept_frames;  // 0: what is named .previous holds nothing yet
    unsigned index;        // the pass's own
};

// The second argument of an effect without parameters.
struct NoParameters {
    unsigned unused;
};

#define HANDOVER_INLINE __device__ __forceinline__

constexpr unsigned texel_size = 8;      // bytes of an RGBA16F texel
constexpr float half_limit = 65504.0f;  // the largest finite half

#ifdef __CUDACC__
HANDOVER_INLINE float half_to_float(unsigned short bits) {
    float value;
    asm("cvt.f32.f16 %0, %1;" : "=f"(value) : "h"(bits));
    return value;
}

// Rounds to nearest, ties to even.
HANDOVER_INLINE unsigned short float_to_half(float value) {
    unsigned short bits;
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(bits) : "f"(value));
    return bits;
}

// The two halves of a word, the first in its lower bits.
HANDOVER_INLINE ushort2 halves_of(unsigned word) {
    ushort2 halves;
    asm("mov.b32 {%0, %1}, %2;" : "=h"(halves.x), "=h"(halves.y) : "r"(word));
    return halves;
}

HANDOVER_INLINE unsigned word_of(unsigned short first, unsigned short second) {
    unsigned word;
    asm("mov.b32 %0, {%1, %2};" : "=r"(word) : "h"(first), "h"(second));
    return word;
}

// Within two ulps of float, and what is below the smallest normal float is 0: one instruction each. Not for what decides.
HANDOVER_INLINE float approximate_exp2(float value) {
    asm("ex2.approx.ftz.f32 %0, %0;" : "+f"(value));
    return value;
}

HANDOVER_INLINE float approximate_log2(float value) {
    asm("lg2.approx.ftz.f32 %0, %0;" : "+f"(value));
    return value;
}

HANDOVER_INLINE float approximate_reciprocal(float value) {
    asm("rcp.approx.ftz.f32 %0, %0;" : "+f"(value));
    return value;
}

HANDOVER_INLINE float approximate_root(float value) {
    asm("sqrt.approx.ftz.f32 %0, %0;" : "+f"(value));
    return value;
}

HANDOVER_INLINE float approximate_inverse_root(float value) {
    asm("rsqrt.approx.ftz.f32 %0, %0;" : "+f"(value));
    return value;
}

// Limited to [0, 1]; NaN is 0.
HANDOVER_INLINE float saturate(float value) { return __saturatef(value); }

// The sum, rounded down.
HANDOVER_INLINE float add_down(float a, float b) { return __fadd_rd(a, b); }
#endif

// 2^23 and its bits. From there to 2^24 floats are whole, and their lowest 23 bits count from 2^23: sums with it make floats
// of whole numbers, and whole numbers of floats, in one instruction, where a conversion takes several times as long.
constexpr float whole_floats = 8388608.0f;
constexpr unsigned whole_bits = 0x4b000000u;

HANDOVER_INLINE float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
HANDOVER_INLINE float4 operator*(float4 a, float s) { return make_float4(a.x * s, a.y * s, a.z * s, a.w * s); }

// sum + value * weight, rounded once.
HANDOVER_INLINE float4 accumulate(float4 sum, float4 value, float weight) {
    return make_float4(fmaf(value.x, weight, sum.x), fmaf(value.y, weight, sum.y), fmaf(value.z, weight, sum.z),
                       fmaf(value.w, weight, sum.w));
}

#ifdef __CUDACC__
// sum += a b by a whole warp, with a of 16x8 halves, b of 8x8 halves and sums of 16x8 floats. Lane 4 g + t holds, of a, in a0
// row g and in a1 row g + 8, columns 2 t and 2 t + 1 (the lower half first); of b rows 2 t and 2 t + 1 of column g; of the
// sums columns 2 t and 2 t + 1, first of row g, then of row g + 8 (PTX ISA, fragments of mma.m16n8k8). Products are exact, and
// added in any order. All lanes call it as often, and none reads or changes a sum that it began before all called `collect`:
// where the kernels run on a CPU, products are computed there.
HANDOVER_INLINE void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned b) {
    asm("mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
        : "+f"(sum[0]), "+f"(sum[1]), "+f"(sum[2]), "+f"(sum[3])
        : "r"(a0), "r"(a1), "r"(b));
}
HANDOVER_INLINE void collect() {}
#endif

// Within four ulps of float; a divisor below the smallest normal float, or above 2^126, must not come.
HANDOVER_INLINE float quotient(float dividend, float divisor) { return dividend * approximate_reciprocal(divisor); }

// Two halves of a word as floats, and back; the first is the lower one.
HANDOVER_INLINE float2 to_float(unsigned word) {
    ushort2 halves = halves_of(word);
    return make_float2(half_to_float(halves.x), half_to_float(halves.y));
}

HANDOVER_INLINE unsigned to_halves(float low, float high) { return word_of(float_to_half(low), float_to_half(high)); }

// A word with another lower half.
HANDOVER_INLINE unsigned with_low(unsigned word, float low) { return __byte_perm(to_halves(low, low), word, 0x7610u); }

// Not 0 where one of a word's halves is not light: negative, NaN or infinite.
HANDOVER_INLINE unsigned broken(unsigned word) { return (word | (word + 0x04000400u)) & 0x80008000u; }

// What `light` makes of halves.
HANDOVER_INLINE unsigned light_of(unsigned word) {
    unsigned low = word & 0xffffu, high = word >> 16;
    low = low < 0x7c00u ? low : low == 0x7c00u ? 0x7bffu : 0u;
    return (high < 0x7c00u ? high : high == 0x7c00u ? 0x7bffu : 0u) << 16 | low;
}

// Most pictures are light already.
HANDOVER_INLINE uint4 light_of(uint4 words) {
    if (!(broken(words.x) | broken(words.y) | broken(words.z) | broken(words.w))) return words;
    return make_uint4(light_of(words.x), light_of(words.y), light_of(words.z), light_of(words.w));
}

// The texels at x and x + 1 as they are stored, by one access; x is even and not negative. Positions outside are clamped to
// the edge.
HANDOVER_INLINE uint4 read_two(const Image& image, int x, int y) {
    int last = int(image.extent.x) - 1;
    y = min(max(y, 0), int(image.extent.y) - 1);
    if (x < last) return surf2Dread<uint4>(image.surface, x * int(texel_size), y);
    uint2 edge = surf2Dread<uint2>(image.surface, last * int(texel_size), y);
    return make_uint4(edge.x, edge.y, edge.x, edge.y);
}

// Two texels of a row as they are stored; for the first and the last lane of a warp, also the texel beside.
struct Fetched {
    uint4 own;
    uint2 beside;
};

// All lanes of a warp call it together, each two texels further on than the one before.
HANDOVER_INLINE Fetched fetch_row(const Image& image, int x, int y) {
    Fetched row = {read_two(image, x, y), make_uint2(0u, 0u)};
    int lane = threadIdx.x % 32;
    if (lane == 0 || lane == 31) {
        int beside = min(max(lane == 0 ? x - 1 : x + 2, 0), int(image.extent.x) - 1);
        y = min(max(y, 0), int(image.extent.y) - 1);
        row.beside = surf2Dread<uint2>(image.surface, beside * int(texel_size), y);
    }
    return row;
}

HANDOVER_INLINE void make_light(Fetched& row) {
    row.own = light_of(row.own);
    if (broken(row.beside.x) | broken(row.beside.y))
        row.beside = make_uint2(light_of(row.beside.x), light_of(row.beside.y));
}

// The texels from x - 1 to x + 2: what lies beside is read by the lanes beside. All lanes of a warp call it together.
HANDOVER_INLINE void spread(const Fetched& row, uint2 (&texels)[4]) {
    int lane = threadIdx.x % 32;
    uint2 left = make_uint2(__shfl_up_sync(~0u, row.own.z, 1), __shfl_up_sync(~0u, row.own.w, 1));
    uint2 right = make_uint2(__shfl_down_sync(~0u, row.own.x, 1), __shfl_down_sync(~0u, row.own.y, 1));
    texels[0] = lane == 0 ? row.beside : left;
    texels[1] = make_uint2(row.own.x, row.own.y);
    texels[2] = make_uint2(row.own.z, row.own.w);
    texels[3] = lane == 31 ? row.beside : right;
}

// Stores two texels of halves; `at.x` is even and inside, the second texel may be outside.
HANDOVER_INLINE void store_two(const Image& image, int2 at, uint4 words) {
    if (at.x + 1 < int(image.extent.x))
        surf2Dwrite(words, image.surface, at.x * int(texel_size), at.y);
    else
        surf2Dwrite(make_uint2(words.x, words.y), image.surface, at.x * int(texel_size), at.y);
}

// x to the power of y, of x at least 0, within some ulps of float. CUDA's powf is more exact, slower, and not the same in every version.
HANDOVER_INLINE float power(float x, float y) { return exp2f(y * log2f(x)); }

HANDOVER_INLINE float clamp(float value, float low, float high) { return fminf(fmaxf(value, low), high); }

// The texel this thread writes.
HANDOVER_INLINE int2 thread_texel() {
    return make_int2(blockIdx.x * blockDim.x + threadIdx.x, blockIdx.y * blockDim.y + threadIdx.y);
}

// False for the threads of a block that stand outside the image.
HANDOVER_INLINE bool covers(const Image& image, int2 at) {
    return at.x < int(image.extent.x) && at.y < int(image.extent.y);
}

// A texel as it is stored; `at` must be inside.
HANDOVER_INLINE ushort4 load_bits(const Image& image, int2 at) {
    return surf2Dread<ushort4>(image.surface, at.x * texel_size, at.y);
}

HANDOVER_INLINE void store_bits(const Image& image, int2 at, ushort4 bits) {
    surf2Dwrite(bits, image.surface, at.x * texel_size, at.y);
}

HANDOVER_INLINE float4 to_float(ushort4 bits) {
    return make_float4(half_to_float(bits.x), half_to_float(bits.y), half_to_float(bits.z), half_to_float(bits.w));
}

HANDOVER_INLINE ushort4 to_half(float4 value) {
    return make_ushort4(float_to_half(value.x), float_to_half(value.y), float_to_half(value.z),
                        float_to_half(value.w));
}

// What a kernel computes with: light is finite and at least 0. NaN and negative values are read as 0, +Inf as 65504, so
// that a broken pixel stays small and never spreads.
HANDOVER_INLINE float light(float value) { return clamp(value, 0.0f, half_limit); }

HANDOVER_INLINE float4 light(float4 value) {
    return make_float4(light(value.x), light(value.y), light(value.z), light(value.w));
}

// The nearest position inside.
HANDOVER_INLINE int2 inside(const Image& image, int x, int y) {
    return make_int2(min(max(x, 0), int(image.extent.x) - 1), min(max(y, 0), int(image.extent.y) - 1));
}

// The light of a texel; positions outside are clamped to the edge.
HANDOVER_INLINE float4 load(const Image& image, int x, int y) {
    return light(to_float(load_bits(image, inside(image, x, y))));
}

// Stores light: what is above the largest half becomes the largest half, so that the next effect reads finite values.
HANDOVER_INLINE void store(const Image& image, int2 at, float4 value) {
    store_bits(image, at, to_half(light(value)));
}

// Images of four floats hold any values: they are read and written as they are.
HANDOVER_INLINE float4 load_float(const Image& image, int x, int y) {
    int2 at = inside(image, x, y);
    return surf2Dread<float4>(image.surface, at.x * int(sizeof(float4)), at.y);
}

HANDOVER_INLINE void store_float(const Image& image, int2 at, float4 value) {
    surf2Dwrite(value, image.surface, at.x * int(sizeof(float4)), at.y);
}

// The guides; positions outside are clamped to the edge.
HANDOVER_INLINE float load_depth(const Pass& pass, int x, int y) {
    int2 at = inside(pass.depth, x, y);
    return surf2Dread<float>(pass.depth.surface, at.x * 4, at.y);
}

HANDOVER_INLINE float4 load_normal(const Pass& pass, int x, int y) {
    return to_float(load_bits(pass.normal, inside(pass.normal, x, y)));
}

HANDOVER_INLINE float4 load_albedo(const Pass& pass, int x, int y) {
    int2 at = inside(pass.albedo, x, y);
    uchar4 bytes = surf2Dread<uchar4>(pass.albedo.surface, at.x * 4, at.y);
    return make_float4(bytes.x / 255.0f, bytes.y / 255.0f, bytes.z / 255.0f, bytes.w / 255.0f);
}

HANDOVER_INLINE float2 load_motion(const Pass& pass, int x, int y) {
    int2 at = inside(pass.motion, x, y);
    ushort2 bits = surf2Dread<ushort2>(pass.motion.surface, at.x * 4, at.y);
    return make_float2(half_to_float(bits.x), half_to_float(bits.y));
}

// A buffer's memory as an array, and how many elements it has.
template <typename T>
HANDOVER_INLINE T* elements(const Buffer& buffer) {
    return reinterpret_cast<T*>(buffer.bytes);
}

template <typename T>
HANDOVER_INLINE unsigned long long length(const Buffer& buffer) {
    return buffer.size / sizeof(T);
}

// Relative luminance of linear Rec. 709 primaries (ITU-R BT.709-6, section 3.2).
HANDOVER_INLINE float luminance(float4 color) { return 0.2126f * color.x + 0.7152f * color.y + 0.0722f * color.z; }

#include "handover_pointwise.cuh"
