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
why = "the exponential differs by some ulps of float, which the narrow weights of five levels enlarge where colours are almost alike"

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

[[buffers]]
name = "first"
bytes_per_texel = 16

[[buffers]]
name = "second"
bytes_per_texel = 16

[[buffers]]
name = "places"
bytes_per_texel = 16

# Of a level 24 taps of 20 (colour 6, normal 6, depth 3, weight 1, sums 4) with an exponential each; once what divides depth, and
# the quotient. Light has 12 bytes, a place 10, what is shown 8 besides 8 of the input and 4 of the albedo.
[[passes]]
entry = "atrous_demodulate"
source = "input"
buffers = ["first", "places"]
block = [32, 8]
bytes_per_texel = 46
operations = 12
special = 3

[[passes]]
entry = "atrous_filter"
source = "input"
buffers = ["first", "second", "places"]
index = 0
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 34
operations = 490
special = 26

[[passes]]
entry = "atrous_filter"
source = "input"
buffers = ["second", "first", "places"]
index = 1
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 34
operations = 490
special = 26

[[passes]]
entry = "atrous_filter"
source = "input"
buffers = ["first", "second", "places"]
index = 2
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 34
operations = 490
special = 26

[[passes]]
entry = "atrous_filter"
source = "input"
buffers = ["second", "first", "places"]
index = 3
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 34
operations = 490
special = 26

[[passes]]
entry = "atrous_finish"
source = "input"
destination = "output"
buffers = ["first", "places"]
index = 4
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 42
operations = 490
special = 26
---*/
#include "handover.cuh"
#include "handover_wavelet.cuh"

struct AtrousParameters {
    float sigma_color;
    float sigma_normal;
    float sigma_depth;
};

// The light that arrives: the pattern of a surface is no noise.
extern "C" __global__ void atrous_demodulate(const __grid_constant__ Pass pass,
                                             const __grid_constant__ AtrousParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    float4 color = load(pass.source, at.x, at.y), albedo = load_albedo(pass, at.x, at.y);
    albedo = make_float4(fmaxf(albedo.x, darkest_albedo), fmaxf(albedo.y, darkest_albedo),
                         fmaxf(albedo.z, darkest_albedo), 1.0f);
    size_t here = size_t(at.y) * pass.source.extent.x + at.x;
    elements<float4>(pass.buffers[0])[here] =
        make_float4(color.x / albedo.x, color.y / albedo.y, color.z / albedo.z, 0.0f);
    ushort4 normal = load_bits(pass.normal, at);
    elements<uint4>(pass.buffers[1])[here] = make_uint4(__float_as_uint(load_depth(pass, at.x, at.y)),
                                                        normal.x | unsigned(normal.y) << 16, normal.z, 0u);
}

// A weight is e^-unlike times the spline, 2^(128 (1 + spline / 128 - unlike / (128 ln 2)) - 128): the sum in brackets
// is limited to [0, 1], where NaN is 0, so that what is like no number has the weight 2^-128, which is 0.
constexpr float scale = 128.0f;
constexpr float natural = 88.7228391f;  // 128 ln 2

HANDOVER_INLINE float distance2(float3 a, float3 b) {
    float x = a.x - b.x, y = a.y - b.y, z = a.z - b.z;
    return fmaf(z, z, fmaf(y, y, x * x));
}

// The texel that taps are compared with, and the sums of its colour and weights.
struct Filtered {
    float3 sum;
    float total;
    float3 color;
    Place place;
    float per_depth;
};

// One level, `index` from 0: the B3 spline over 5x5 texels that stand 2^index apart, of the texels of a column that do
// so too.
HANDOVER_INLINE void filter(Filtered (&out)[column], const Pass& pass, const AtrousParameters& parameters, int x,
                            int top, const Buffer& places_buffer) {
    int step = 1 << pass.index;
    const float4* colors = elements<float4>(pass.buffers[0]);
    const uint4* places = elements<uint4>(places_buffer);
    float sigma_color = parameters.sigma_color / float(step);
    float per_color = 1.0f / (natural * sigma_color * sigma_color);
    float per_normal = 1.0f / (natural * parameters.sigma_normal * parameters.sigma_normal);
    Rows<column + 4> taps = rows<column + 4>(pass, top - 2 * step, step);
#pragma unroll
    for (int k = 0; k < column; ++k) {
        float4 color = colors[taps.begin[k + 2] + x];
        out[k].place = unpacked(places[taps.begin[k + 2] + x]);
        out[k].color = make_float3(color.x, color.y, color.z);
        out[k].sum = make_float3(color.x * middle_spline, color.y * middle_spline, color.z * middle_spline);
        out[k].total = middle_spline;
        float sigma_depth = parameters.sigma_depth * out[k].place.depth * float(step);
        out[k].per_depth = approximate_reciprocal(natural * (sigma_depth * sigma_depth + 1e-12f));
    }
#pragma unroll 1
    for (int i = 0; i <= 2; ++i) {
        // A slope's depth grows with the distance.
        float per_texels2[3];
#pragma unroll
        for (int j = 0; j < 3; ++j) per_texels2[j] = approximate_reciprocal(float(i * i + j * j));
#pragma unroll 1
        for (int side = i == 0 ? 1 : -1; side <= 1; side += 2) {
            int across = x + side * i * step;
            if (unsigned(across) >= pass.source.extent.x) continue;
            float spline = 1.0f + log_spline(i) / scale;
#pragma unroll
            for (int row = 0; row < column + 4; ++row) {
                float4 bits = colors[taps.begin[row] + across];
                float3 color = make_float3(bits.x, bits.y, bits.z);
                Place tap = unpacked(places[taps.begin[row] + across]);
                if (taps.outside >> row & 1u) tap.depth = __uint_as_float(0x7fffffffu);
#pragma unroll
                for (int k = 0; k < column; ++k) {
                    int j = row - 2 - k;
                    if (j < -2 || j > 2) continue;
                    const Filtered& here = out[k];
                    float away = tap.depth - here.place.depth;
                    float unlike = distance2(color, here.color) * per_color;
                    unlike = fmaf(distance2(tap.normal, here.place.normal), per_normal, unlike);
                    unlike = fmaf(away * away * here.per_depth, per_texels2[abs(j)], unlike);
                    // The texel itself is there already.
                    float like = i == 0 && j == 0 ? 0.0f : spline + log_spline(abs(j)) / scale;
                    float weight = approximate_exp2(fmaf(saturate(like - unlike), scale, -scale));
                    out[k].sum.x = fmaf(color.x, weight, out[k].sum.x);
                    out[k].sum.y = fmaf(color.y, weight, out[k].sum.y);
                    out[k].sum.z = fmaf(color.z, weight, out[k].sum.z);
                    out[k].total += weight;
                }
            }
        }
    }
#pragma unroll
    for (int k = 0; k < column; ++k) {
        float share = approximate_reciprocal(out[k].total);
        out[k].sum = make_float3(out[k].sum.x * share, out[k].sum.y * share, out[k].sum.z * share);
    }
}

extern "C" __global__ void __launch_bounds__(192, 2)
    atrous_filter(const __grid_constant__ Pass pass, const __grid_constant__ AtrousParameters parameters) {
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), height = int(pass.source.extent.y);
    if (x >= int(pass.source.extent.x)) return;
    float4* destination = elements<float4>(pass.buffers[1]);
    for (int block = int(blockIdx.y); block < blocks_down(pass, 1 << pass.index); block += blocks_down(pass, 1)) {
        int top = top_of(pass, block);
        if (top >= height) continue;
        Filtered out[column];
        filter(out, pass, parameters, x, top, pass.buffers[2]);
#pragma unroll
        for (int k = 0; k < column; ++k) {
            int y = top + (k << pass.index);
            if (y >= height) break;
            destination[size_t(y) * pass.source.extent.x + x] =
                make_float4(out[k].sum.x, out[k].sum.y, out[k].sum.z, 0.0f);
        }
    }
}

// The last level.
extern "C" __global__ void __launch_bounds__(192, 2)
    atrous_finish(const __grid_constant__ Pass pass, const __grid_constant__ AtrousParameters parameters) {
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), height = int(pass.source.extent.y);
    if (x >= int(pass.source.extent.x)) return;
    for (int block = int(blockIdx.y); block < blocks_down(pass, 1 << pass.index); block += blocks_down(pass, 1)) {
        int top = top_of(pass, block);
        if (top >= height) continue;
        Filtered out[column];
        filter(out, pass, parameters, x, top, pass.buffers[1]);
#pragma unroll
        for (int k = 0; k < column; ++k) show(pass, make_int2(x, top + (k << pass.index)), out[k].sum);
    }
}
