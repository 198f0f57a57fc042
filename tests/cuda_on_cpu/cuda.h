// As much of CUDA C++ as the kernels use, for a C++17 compiler on a CPU. One thread runs after the other.
#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define __global__
#define __device__
#define __forceinline__ inline
#define __grid_constant__

struct int2 { int x, y; };
struct alignas(8) uint2 { unsigned x, y; };
struct alignas(8) float2 { float x, y; };
struct alignas(16) float4 { float x, y, z, w; };
struct alignas(8) ushort4 { unsigned short x, y, z, w; };
struct uint3 { unsigned x, y, z; };

inline int2 make_int2(int x, int y) { return {x, y}; }
inline float2 make_float2(float x, float y) { return {x, y}; }
inline float4 make_float4(float x, float y, float z, float w) { return {x, y, z, w}; }
inline ushort4 make_ushort4(unsigned short x, unsigned short y, unsigned short z, unsigned short w) {
    return {x, y, z, w};
}

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }

// `exact`, off by some ulps: up or down by the last bit of the argument.
inline float off_by(float exact, float argument, int ulps) {
    unsigned argument_bits, bits;
    std::memcpy(&argument_bits, &argument, sizeof argument_bits);
    std::memcpy(&bits, &exact, sizeof bits);
    bits += argument_bits & 1 ? ulps : -ulps;
    std::memcpy(&exact, &bits, sizeof bits);
    return exact;
}

// CUDA's functions may be off by some ulps (CUDA C++ Programming Guide, mathematical functions); these always are, where
// the result is not exact by definition and not close to 0.
inline float cuda_exp2f(float x) {
    float exact = std::exp2(x);
    return x == 0 || exact < 1e-30f ? exact : off_by(exact, x, 2);
}
inline float cuda_log2f(float x) {
    float exact = std::log2(x);
    return x == 1 || !std::isfinite(exact) ? exact : off_by(exact, x, 1);
}
inline float cuda_powf(float x, float y) {
    float exact = std::pow(x, y);
    return x == 1 || y == 0 || exact < 1e-30f || !std::isfinite(exact) ? exact : off_by(exact, x, 4);
}
#define exp2f cuda_exp2f
#define log2f cuda_log2f
#define powf cuda_powf

inline uint3 blockIdx, blockDim, threadIdx;

// What a surface object stands for here.
struct Surface {
    int width, height;
    ushort4* texels;
};

using cudaSurfaceObject_t = unsigned long long;
using cudaTextureObject_t = unsigned long long;

// A position outside would trap on a GPU too.
inline ushort4& surface_texel(cudaSurfaceObject_t object, int x_bytes, int y) {
    Surface* surface = reinterpret_cast<Surface*>(object);
    int x = x_bytes / 8;
    if (!surface || x_bytes % 8 != 0 || x < 0 || y < 0 || x >= surface->width || y >= surface->height) {
        std::fprintf(stderr, "surface access at byte %d, row %d is outside\n", x_bytes, y);
        std::abort();
    }
    return surface->texels[y * surface->width + x];
}

template <typename T>
T surf2Dread(cudaSurfaceObject_t object, int x_bytes, int y) {
    return surface_texel(object, x_bytes, y);
}

inline void surf2Dwrite(ushort4 value, cudaSurfaceObject_t object, int x_bytes, int y) {
    surface_texel(object, x_bytes, y) = value;
}

inline float half_to_float(unsigned short bits) {
    int exponent = (bits >> 10) & 31, fraction = bits & 1023;
    float magnitude = exponent == 31 ? (fraction ? NAN : INFINITY)
                      : exponent ? std::ldexp(1024 + fraction, exponent - 25)
                                 : std::ldexp(fraction, -24);
    return bits & 0x8000 ? -magnitude : magnitude;
}

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
