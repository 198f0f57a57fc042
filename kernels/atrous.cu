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

# Of a level 24 taps of 17 (colour 6, normal 4, depth 3, sums 4) with an exponential each; once what divides depth, at
# nine distances, and the quotient. Light has 12 bytes, a place 10, what is shown 8 besides 8 of the input and 4 of the
# albedo.
[[passes]]
entry = "atrous_demodulate"
source = "input"
buffers = ["first", "places"]
block = [32, 8]
bytes_per_texel = 44
operations = 12
special = 3

[[passes]]
entry = "atrous_filter"
source = "input"
buffers = ["first", "second", "places"]
index = 0
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 34
operations = 430
special = 26

[[passes]]
entry = "atrous_filter"
source = "input"
buffers = ["second", "first", "places"]
index = 1
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 34
operations = 430
special = 26

[[passes]]
entry = "atrous_filter"
source = "input"
buffers = ["first", "second", "places"]
index = 2
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 34
operations = 430
special = 26

[[passes]]
entry = "atrous_filter"
source = "input"
buffers = ["second", "first", "places"]
index = 3
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 34
operations = 430
special = 26

[[passes]]
entry = "atrous_finish"
source = "input"
destination = "output"
buffers = ["first", "places"]
index = 4
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 42
operations = 430
special = 26
---*/
#include "handover.cuh"
#include "handover_wavelet.cuh"

struct AtrousParameters {
    float sigma_color;
    float sigma_normal;
    float sigma_depth;
};

// Exponents are those of 2. The light between passes is multiplied by so much over the level's sigma that the square of
// a difference is one, and what stands with it is depth in m; of a normal, its square by one over the square of its
// sigma stands with it.
constexpr float root_of_log2_e = 1.20112241f, root_of_ln_2 = 0.832554611f, log2_e = 1.44269504f, ln_2 = 0.693147181f;

HANDOVER_INLINE float per_square(float sigma) { return log2_e * approximate_reciprocal(sigma * sigma); }

// The light that arrives: the pattern of a surface is no noise.
extern "C" __global__ void atrous_demodulate(const __grid_constant__ Pass pass,
                                             const __grid_constant__ AtrousParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    float4 color = load(pass.source, at.x, at.y), normal = load_normal(pass, at.x, at.y);
    float3 albedo = reflectance(pass, at);
    float depth = load_depth(pass, at.x, at.y);
    float scale = root_of_log2_e * approximate_reciprocal(parameters.sigma_color);
    normal.w = (normal.x * normal.x + normal.y * normal.y + normal.z * normal.z) * per_square(parameters.sigma_normal);
    if (!(fabsf(depth) < farthest && normal.w < farthest)) {
        depth = nowhere;
        normal = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    }
    size_t here = size_t(at.y) * pass.source.extent.x + at.x;
    elements<float4>(pass.buffers[0])[here] =
        make_float4(quotient(color.x, albedo.x) * scale, quotient(color.y, albedo.y) * scale,
                    quotient(color.z, albedo.z) * scale, depth);
    elements<float4>(pass.buffers[1])[here] = normal;
}

// The texel that taps are compared with, and the sums of its colour and weights.
struct Filtered {
    float3 sum;
    float total;
    float3 color;
    float depth;
    float3 normal;       // times minus twice one over the square of its sigma
    float begin[3];      // what the exponents of taps so many rows away begin with
    // What the square of their depth's difference is multiplied by: a slope's depth grows with the distance.
    float per_depth[3];
};

// One level, `index` from 0: the B3 spline over 5x5 texels that stand 2^index apart, of the texels of a column that do
// so too. Where all rows are inside, none is looked at.
template <bool all_inside>
HANDOVER_INLINE void filter(Filtered (&out)[column], const Pass& pass, const AtrousParameters& parameters, int x,
                            int top, const Buffer& normals_buffer) {
    int step = 1 << pass.index;
    const float4* colors = elements<float4>(pass.buffers[0]);
    const float4* normals = elements<float4>(normals_buffer);
    float per_normal = -2.0f * per_square(parameters.sigma_normal);
    Taps<all_inside> taps = {pass, top - 2 * step, step};
#pragma unroll
    for (int k = 0; k < column; ++k) {
        float4 color = taps.at(colors + x, k + 2), normal = taps.at(normals + x, k + 2);
        out[k].color = make_float3(color.x, color.y, color.z);
        out[k].depth = color.w;
        out[k].normal = make_float3(normal.x * per_normal, normal.y * per_normal, normal.z * per_normal);
        out[k].sum = make_float3(0.0f, 0.0f, 0.0f);
        out[k].total = 0.0f;
#pragma unroll
        for (int j = 0; j < 3; ++j) out[k].begin[j] = normal.w - log_spline(j);
        float sigma_depth = parameters.sigma_depth * color.w * float(step);
        out[k].per_depth[0] = approximate_reciprocal(ln_2 * (sigma_depth * sigma_depth + 1e-12f));
    }
#pragma unroll 1
    for (int i = 0; i <= 2; ++i) {
        float spline = i == 0 ? -log_spline(0) : i == 1 ? log_spline(0) - log_spline(1) : log_spline(1) - log_spline(2);
#pragma unroll
        for (int j = 2; j >= 0; --j) {
            float per_texels2 = approximate_reciprocal(fmaxf(float(i * i + j * j), 1.0f));
#pragma unroll
            for (int k = 0; k < column; ++k) {
                out[k].begin[j] += spline;
                // That of the column before, or of the texel itself, in the same row is one texel's.
                out[k].per_depth[j] = out[k].per_depth[0] * per_texels2;
            }
        }
#pragma unroll 1
        for (int side = i == 0 ? 1 : -1; side <= 1; side += 2) {
            int across = x + side * i * step;
            if (unsigned(across) >= pass.source.extent.x) continue;
#pragma unroll
            for (int row = 0; row < column + 4; ++row) {
                float4 color = taps.at(colors + across, row), normal = taps.at(normals + across, row);
                if (taps.is_outside(row)) color.w = nowhere;
#pragma unroll
                for (int k = 0; k < column; ++k) {
                    int j = row - 2 - k;
                    if (j < -2 || j > 2) continue;
                    Filtered& here = out[k];
                    float unlike = normal.w + here.begin[abs(j)];
                    unlike = fmaf(normal.x, here.normal.x, unlike);
                    unlike = fmaf(normal.y, here.normal.y, unlike);
                    unlike = fmaf(normal.z, here.normal.z, unlike);
                    float red = color.x - here.color.x, green = color.y - here.color.y, blue = color.z - here.color.z;
                    unlike = fmaf(red, red, unlike);
                    unlike = fmaf(green, green, unlike);
                    unlike = fmaf(blue, blue, unlike);
                    float away = color.w - here.depth;
                    unlike = fmaf(away * away, here.per_depth[abs(j)], unlike);
                    float weight = approximate_exp2(-unlike);
                    here.sum.x = fmaf(color.x, weight, here.sum.x);
                    here.sum.y = fmaf(color.y, weight, here.sum.y);
                    here.sum.z = fmaf(color.z, weight, here.sum.z);
                    here.total += weight;
                }
            }
        }
    }
#pragma unroll
    for (int k = 0; k < column; ++k) {
        float share = approximate_reciprocal(out[k].total);
        if (!(fabsf(out[k].depth) < farthest)) continue;
        out[k].color = make_float3(out[k].sum.x * share, out[k].sum.y * share, out[k].sum.z * share);
    }
}

HANDOVER_INLINE void filter(Filtered (&out)[column], const Pass& pass, const AtrousParameters& parameters, int x,
                            int top, const Buffer& normals) {
    if (all_inside(pass, top, 2, 1 << pass.index))
        filter<true>(out, pass, parameters, x, top, normals);
    else
        filter<false>(out, pass, parameters, x, top, normals);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    atrous_filter(const __grid_constant__ Pass pass, const __grid_constant__ AtrousParameters parameters) {
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), height = int(pass.source.extent.y);
    if (x >= int(pass.source.extent.x)) return;
    float4* destination = elements<float4>(pass.buffers[1]);
    for (int block = int(blockIdx.y); block < blocks_down(pass, pass.index); block += blocks_down(pass, 0)) {
        int top = top_of(pass, block);
        if (top >= height) continue;
        Filtered out[column];
        filter(out, pass, parameters, x, top, pass.buffers[2]);
#pragma unroll
        for (int k = 0; k < column; ++k) {
            int y = top + (k << pass.index);
            if (y >= height) break;
            // For the next level, whose sigma is half of this one's.
            destination[size_t(y) * pass.source.extent.x + x] =
                make_float4(2.0f * out[k].color.x, 2.0f * out[k].color.y, 2.0f * out[k].color.z, out[k].depth);
        }
    }
}

// The last level.
extern "C" __global__ void __launch_bounds__(256, 2)
    atrous_finish(const __grid_constant__ Pass pass, const __grid_constant__ AtrousParameters parameters) {
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), height = int(pass.source.extent.y);
    if (x >= int(pass.source.extent.x)) return;
    float scale = root_of_ln_2 * parameters.sigma_color / float(1 << pass.index);
    for (int block = int(blockIdx.y); block < blocks_down(pass, pass.index); block += blocks_down(pass, 0)) {
        int top = top_of(pass, block);
        if (top >= height) continue;
        Filtered out[column];
        filter(out, pass, parameters, x, top, pass.buffers[1]);
#pragma unroll
        for (int k = 0; k < column; ++k) {
            float3 color = out[k].color;
            show(pass, make_int2(x, top + (k << pass.index)),
                 make_float3(color.x * scale, color.y * scale, color.z * scale));
        }
    }
}
