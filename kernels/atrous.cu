/*---
title = "À-trous denoiser"
summary = "Noise is averaged over ever wider holes of a wavelet, which stop at edges of colour, normal and depth."
source = "Dammertz, Sewtz, Hanika and Lensch, Edge-Avoiding À-Trous Wavelet Transform for fast Global Illumination Filtering, HPG 2010, equations 1 to 6"
stage = "denoise"
guides = ["depth", "normal", "albedo"]
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 2
absolute = 1e-5
why = "expf differs by an ulp of float, which the narrow weights of five levels enlarge where colours are almost alike"

[[parameters]]
name = "sigma_color"
unit = "light, halved a level"
minimum = 0.1
maximum = 64.0
default = 4.0
step = 0.1
logarithmic = true
type = "f32"

[[parameters]]
name = "sigma_normal"
unit = "of a unit normal"
minimum = 0.05
maximum = 2.0
default = 0.35
step = 0.05
type = "f32"

[[parameters]]
name = "sigma_depth"
unit = "of the depth, for each texel of distance"
minimum = 0.001
maximum = 0.5
default = 0.02
step = 0.001
logarithmic = true
type = "f32"

[[passes]]
entry = "atrous_demodulate"
source = "input"
destination = "irradiance"
format = "rgba32f"
block = [32, 8]

[[passes]]
entry = "atrous_filter"
source = "irradiance"
destination = "filtered"
format = "rgba32f"
repeat = 5
block = [16, 16]

[[passes]]
entry = "atrous_remodulate"
source = "filtered"
second = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct AtrousParameters {
    float sigma_color;
    float sigma_normal;
    float sigma_depth;
};

// The light that arrives: the pattern of a surface is no noise. Black surfaces count as dark ones.
constexpr float darkest_albedo = 0.01f;

HANDOVER_INLINE float4 reflectance(const Pass& pass, int2 at) {
    float4 albedo = load_albedo(pass, at.x, at.y);
    return make_float4(fmaxf(albedo.x, darkest_albedo), fmaxf(albedo.y, darkest_albedo),
                       fmaxf(albedo.z, darkest_albedo), 1.0f);
}

extern "C" __global__ void atrous_demodulate(const __grid_constant__ Pass pass,
                                             const __grid_constant__ AtrousParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y), albedo = reflectance(pass, at);
    store_float(pass.destination, at, make_float4(color.x / albedo.x, color.y / albedo.y, color.z / albedo.z, 0.0f));
}

HANDOVER_INLINE float distance2(float4 a, float4 b) {
    float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return x * x + y * y + z * z;
}

// The B3 spline at a distance of up to two taps: 1, 4, 6, 4, 1 sixteenths.
HANDOVER_INLINE float spline(int distance) {
    return distance == 0 ? 3.0f / 8.0f : abs(distance) == 1 ? 1.0f / 4.0f : 1.0f / 16.0f;
}

// One level, `index` from 0: the B3 spline over 5x5 texels that stand 2^index apart.
extern "C" __global__ void atrous_filter(const __grid_constant__ Pass pass,
                                         const __grid_constant__ AtrousParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    int step = 1 << pass.index;
    float4 color = load_float(pass.source, at.x, at.y), normal = load_normal(pass, at.x, at.y);
    float depth = load_depth(pass, at.x, at.y);
    float sigma_color = parameters.sigma_color / float(step);
    float sigma_depth = parameters.sigma_depth * depth * float(step);
    float per_color = 1.0f / (sigma_color * sigma_color);
    float per_normal = 1.0f / (parameters.sigma_normal * parameters.sigma_normal);
    float per_depth = 1.0f / (sigma_depth * sigma_depth + 1e-12f);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float total = 0.0f;
    for (int j = -2; j <= 2; ++j) {
        for (int i = -2; i <= 2; ++i) {
            int x = at.x + i * step, y = at.y + j * step;
            if (x < 0 || y < 0 || x >= int(pass.source.extent.x) || y >= int(pass.source.extent.y)) continue;
            float4 tap = load_float(pass.source, x, y);
            float away = load_depth(pass, x, y) - depth;
            // A slope's depth grows with the distance; the texel itself has none.
            float texels2 = float(max(i * i + j * j, 1));
            float unlike = distance2(tap, color) * per_color + distance2(load_normal(pass, x, y), normal) * per_normal +
                           away * away * per_depth / texels2;
            // A depth that is no number is alike to none but itself.
            float edge = i == 0 && j == 0 ? 1.0f : fmaxf(expf(-unlike), 0.0f);
            float weight = spline(i) * spline(j) * edge;
            sum = sum + tap * weight;
            total += weight;
        }
    }
    store_float(pass.destination, at, sum * (1.0f / total));
}

extern "C" __global__ void atrous_remodulate(const __grid_constant__ Pass pass,
                                             const __grid_constant__ AtrousParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 light = load_float(pass.source, at.x, at.y), albedo = reflectance(pass, at);
    float alpha = load(pass.second, at.x, at.y).w;
    store(pass.destination, at, make_float4(light.x * albedo.x, light.y * albedo.y, light.z * albedo.z, alpha));
}
