// What every kernel is launched with, and how it reads and writes texels.
//
// A kernel is one translation unit that includes this file and nothing else. Images are RGBA16F in linear light;
// arithmetic is in float. Products and sums are contracted only where `fmaf` says so (the kernels are compiled with
// --fmad=false), so that the CPU references compute the same coordinates and differences.
#pragma once

// One image as a kernel sees it.
struct Image {
    cudaSurfaceObject_t surface;  // reads and writes of exact texels; x is counted in bytes
    cudaTextureObject_t texture;  // linear filter, clamp to edge, normalized coordinates, element read mode
    uint2 extent;                 // texels
};

// The first argument of every kernel. Images that a pass has not are zero.
struct Pass {
    Image source;
    Image second;
    Image destination;
    Image depth;     // R32F, metres
    Image normal;    // RGBA16F, world space
    Image albedo;    // RGBA8, linear
    Image motion;    // RG16F, pixels from this frame to the previous one
    Image history;   // RGBA16F, what the effect wrote in the previous frame
    float2 pointer;  // pixels
    unsigned long long frame;
    float time;        // s
    float time_delta;  // s
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
#endif

HANDOVER_INLINE float4 operator+(float4 a, float4 b) { return make_float4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w); }
HANDOVER_INLINE float4 operator*(float4 a, float s) { return make_float4(a.x * s, a.y * s, a.z * s, a.w * s); }

// sum + value * weight, rounded once.
HANDOVER_INLINE float4 accumulate(float4 sum, float4 value, float weight) {
    return make_float4(fmaf(value.x, weight, sum.x), fmaf(value.y, weight, sum.y), fmaf(value.z, weight, sum.z),
                       fmaf(value.w, weight, sum.w));
}

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

// The light of a texel; positions outside are clamped to the edge.
HANDOVER_INLINE float4 load(const Image& image, int x, int y) {
    int2 at = make_int2(min(max(x, 0), int(image.extent.x) - 1), min(max(y, 0), int(image.extent.y) - 1));
    float4 value = to_float(load_bits(image, at));
    return make_float4(light(value.x), light(value.y), light(value.z), light(value.w));
}

// Stores light: what is above the largest half becomes the largest half, so that the next effect reads finite values.
HANDOVER_INLINE void store(const Image& image, int2 at, float4 value) {
    store_bits(image, at, to_half(make_float4(light(value.x), light(value.y), light(value.z), light(value.w))));
}

// Relative luminance of linear Rec. 709 primaries (ITU-R BT.709-6, section 3.2).
HANDOVER_INLINE float luminance(float4 color) { return 0.2126f * color.x + 0.7152f * color.y + 0.0722f * color.z; }
