// As much of CUDA C++ as the kernels use, for a C++17 compiler on a CPU. One thread runs after the other; those that wait for
// others go on when these have come as far (block.h), and one block begins when the one before has ended.
#pragma once

#include "block.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define __global__
#define __device__
#define __forceinline__ inline
#define __grid_constant__
// Kernels of several units may have one name: not as "C" functions.
#define HANDOVER_KERNEL
#define __launch_bounds__(...)
// One block at a time has it.
#define __shared__ static

struct int2 { int x, y; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(4) uchar4 { unsigned char x, y, z, w; };
struct alignas(4) ushort2 { unsigned short x, y; };
struct alignas(8) ushort4 { unsigned short x, y, z, w; };
struct uint3 { unsigned x, y, z; };
struct alignas(16) uint4 { unsigned x, y, z, w; };
struct alignas(16) int4 { int x, y, z, w; };
struct float3 { float x, y, z; };

inline int2 make_int2(int x, int y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float3 make_float3(float x, float y, float z) { return {x, y, z}; }
inline uint2 make_uint2(unsigned x, unsigned y) { return {x, y}; }
inline uint4 make_uint4(unsigned x, unsigned y, unsigned z, unsigned w) { return {x, y, z, w}; }
inline int4 make_int4(int x, int y, int z, int w) { return {x, y, z, w}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w) {
    return {x, y, z, w};
}

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }

// No thread waits inside, so nothing can come between.
template <typename T, typename F>
T atomically(T* at, F change) {
    T before = *at;
    *at = change(before);
    return before;
}
template <typename T, typename U> T atomicAdd(T* at, U value) { return atomically(at, [=](T old) { return T(old + value); }); }
template <typename T, typename U> T atomicMin(T* at, U value) { return atomically(at, [=](T old) { return T(value) < old ? T(value) : old; }); }
template <typename T, typename U> T atomicMax(T* at, U value) { return atomically(at, [=](T old) { return old < T(value) ? T(value) : old; }); }
template <typename T, typename U> T atomicOr(T* at, U value) { return atomically(at, [=](T old) { return T(old | value); }); }
template <typename T, typename U> T atomicAnd(T* at, U value) { return atomically(at, [=](T old) { return T(old & value); }); }
template <typename T, typename U> T atomicExch(T* at, U value) { return atomically(at, [=](T) { return T(value); }); }
template <typename T, typename U, typename V> T atomicCAS(T* at, U expected, V value) {
    return atomically(at, [=](T old) { return old == T(expected) ? T(value) : old; });
}
inline void __threadfence() {}

inline unsigned __float_as_uint(float value) {
    unsigned bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}
inline float __uint_as_float(unsigned bits) {
    float value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

// CUDA's functions may be off by some ulps (CUDA C++ Programming Guide, mathematical functions); these always are, up or down
// by the last bit of their argument. Where the exact result is 0 or 1 they have it, as 2^0 is exact in ex2.approx.
inline float off_by(int ulps, float exact, float argument) {
    if (exact == 0 || exact == 1 || !std::isfinite(exact) || std::fabs(exact) < 1e-30f) return exact;
    unsigned argument_bits, bits;
    std::memcpy(&argument_bits, &argument, sizeof bits);
    std::memcpy(&bits, &exact, sizeof bits);
    bits += argument_bits & 1 ? ulps : -ulps;
    std::memcpy(&exact, &bits, sizeof bits);
    return exact;
}
inline float cuda_exp2f(float x) { return off_by(2, std::exp2(x), x); }
inline float cuda_expf(float x) { return off_by(1, std::exp(x), x); }
inline float cuda_logf(float x) { return off_by(1, std::log(x), x); }
inline float cuda_log2f(float x) { return off_by(1, std::log2(x), x); }
inline float cuda_powf(float x, float y) { return off_by(4, std::pow(x, y), x); }
inline float cuda_sinf(float x) { return off_by(2, std::sin(x), x); }
inline float cuda_cosf(float x) { return off_by(2, std::cos(x), x); }
inline float cuda_cbrtf(float x) { return off_by(1, std::cbrt(x), x); }
inline float cuda_rsqrtf(float x) { return off_by(2, 1.0f / std::sqrt(x), x); }
inline float cuda_atan2f(float y, float x) { return off_by(3, std::atan2(y, x), x); }
// A divisor above 2^126 makes 0 of it.
inline float __fdividef(float x, float y) { return std::fabs(y) > 0x1p126f ? 0 * x : off_by(2, x / y, x); }
#define exp2f cuda_exp2f
#define expf cuda_expf
#define logf cuda_logf
#define log2f cuda_log2f
#define powf cuda_powf
#define sinf cuda_sinf
#define cosf cuda_cosf
#define cbrtf cuda_cbrtf
#define rsqrtf cuda_rsqrtf
#define atan2f cuda_atan2f

// The approximations of handover.cuh, off by what the PTX ISA allows: of a logarithm near 1 by 2^-22.
inline float flushed(float value) { return std::fabs(value) < 0x1p-126f ? 0 * value : value; }
inline float approximate_exp2(float x) { return flushed(off_by(2, std::exp2(x), x)); }
inline float approximate_log2(float x) {
    float exact = std::log2(x);
    return std::fabs(exact) < 1 && exact != 0 ? exact + (exact < 0.5f ? 0x1p-22f : -0x1p-22f) : off_by(2, exact, x);
}
inline float approximate_reciprocal(float x) { return flushed(off_by(1, 1 / x, x)); }
inline float approximate_root(float x) { return off_by(1, std::sqrt(flushed(x)), x); }
inline float approximate_inverse_root(float x) { return flushed(off_by(2, 1 / std::sqrt(flushed(x)), x)); }
// Of sums of a float below 2^23 and one of 2^23: exact in double, but for what is rounded off below 2^-29.
inline float add_down(float a, float b) {
    double exact = double(a) + b;
    float sum = float(exact);
    return sum > exact ? std::nextafter(sum, -INFINITY) : sum;
}
inline int __popc(unsigned bits) { return __builtin_popcount(bits); }
inline unsigned __umulhi(unsigned a, unsigned b) { return unsigned((unsigned long long)a * b >> 32); }
inline float saturate(float x) { return x >= 0 ? x < 1 ? x : 1 : 0; }

inline uint3 gridDim, blockIdx, blockDim, threadIdx;

// What a surface object stands for here.
struct Surface {
    int width, height, texel_bytes;
    char* texels;
};

using cudaSurfaceObject_t = unsigned long long;
using cudaTextureObject_t = unsigned long long;

// Where an access of so many bytes begins: of whole texels, at a multiple of its size. Outside it would trap on a GPU too.
inline char* surface_texels(cudaSurfaceObject_t object, int size, int x_bytes, int y) {
    Surface* surface = reinterpret_cast<Surface*>(object);
    if (!surface || size % surface->texel_bytes != 0 || x_bytes % size != 0 || x_bytes < 0 || y < 0 ||
        x_bytes + size > surface->width * surface->texel_bytes || y >= surface->height) {
        std::fprintf(stderr, "surface access of %d bytes at byte %d, row %d is outside\n", size, x_bytes, y);
        std::abort();
    }
    return surface->texels + size_t(y) * surface->width * surface->texel_bytes + x_bytes;
}

template <typename T>
T surf2Dread(cudaSurfaceObject_t object, int x_bytes, int y) {
    T value;
    std::memcpy(&value, surface_texels(object, sizeof value, x_bytes, y), sizeof value);
    return value;
}

template <typename T>
void surf2Dwrite(T value, cudaSurfaceObject_t object, int x_bytes, int y) {
    std::memcpy(surface_texels(object, sizeof value, x_bytes, y), &value, sizeof value);
}

template <typename T>
T __ldg(const T* at) {
    return *at;
}

inline ushort2 halves_of(unsigned word) { return {(unsigned short)word, (unsigned short)(word >> 16)}; }
inline unsigned word_of(unsigned short first, unsigned short second) { return unsigned(second) << 16 | first; }

// Every half's value, computed once: a kernel with many taps converts millions.
struct HalfValues {
    float of[65536];

    HalfValues() {
        for (int bits = 0; bits < 65536; ++bits) {
            int exponent = (bits >> 10) & 31, fraction = bits & 1023;
            float magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                              : exponent ? std::ldexp(1024 + fraction, exponent - 25)
                                         : std::ldexp(fraction, -24);
            of[bits] = bits & 0x8000 ? -magnitude : magnitude;
        }
    }
};
inline const HalfValues half_values;

inline float half_to_float(unsigned short bits) { return half_values.of[bits]; }

// To nearest, ties to even: nearbyint does that in the default rounding mode.
inline unsigned short float_to_half(float value) {
    unsigned short sign = std::signbit(value) ? 0x8000 : 0;
    if (std::isnan(value)) return 0x7fff;
    double magnitude = std::fabs(double(value));
    if (magnitude >= 65520) return sign | 0x7c00;
    if (magnitude == 0) return sign;
    int exponent = std::max(std::ilogb(magnitude), -14);
    // The fraction's carry into the exponent is the right one.
    int steps = int(std::nearbyint(std::ldexp(magnitude, 10 - exponent)));
    return sign | (unsigned short)(steps + ((exponent + 14) << 10));
}

#include "warp.h"
