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

// CUDA's exp2f may be off by 2 ulps (CUDA C++ Programming Guide, mathematical functions); this one always is, up or down
// by the last bit of its argument. 2^0 is exact, as ex2.approx is defined.
inline float cuda_exp2f(float x) {
    float exact = std::exp2(x);
    if (x == 0 || exact < 1e-30f) return exact;
    unsigned argument, bits;
    std::memcpy(&argument, &x, sizeof bits);
    std::memcpy(&bits, &exact, sizeof bits);
    bits += argument & 1 ? 2 : -2;
    std::memcpy(&exact, &bits, sizeof bits);
    return exact;
}
#define exp2f cuda_exp2f

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
