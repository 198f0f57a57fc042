/*---
title = "SVGF denoiser"
summary = "Frames are averaged along the motion; what noise is left says how far a wavelet averages over neighbours."
source = "Schied et al., Spatiotemporal Variance-Guided Filtering: Real-Time Reconstruction for Path-Traced Global Illumination, HPG 2017, section 4"
stage = "denoise"
guides = ["depth", "normal", "albedo", "motion"]
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 2
absolute = 1e-5
why = "weights are made of one exponential and one logarithm, off by some ulps of float, which five levels enlarge where the variance is small"

[[parameters]]
name = "alpha"
unit = "of a new frame"
minimum = 0.02
maximum = 1.0
default = 0.2
step = 0.01
type = "f32"

[[parameters]]
name = "moments_alpha"
unit = "of a new frame"
minimum = 0.02
maximum = 1.0
default = 0.2
step = 0.01
type = "f32"

[[parameters]]
name = "sigma_luminance"
unit = "standard deviations"
minimum = 0.5
maximum = 16.0
default = 4.0
step = 0.5
type = "f32"

[[parameters]]
name = "sigma_depth"
unit = "slopes"
minimum = 0.25
maximum = 8.0
default = 1.0
step = 0.25
type = "f32"

[[buffers]]
name = "first"
bytes_per_texel = 20

[[buffers]]
name = "second"
bytes_per_texel = 20

[[buffers]]
name = "history"
bytes_per_texel = 20
keeps = true

[[buffers]]
name = "surfaces"
bytes_per_texel = 28
keeps = true

# Of a level 24 taps of 16 (depth 3, light 3, normal 3, exponent 1, sums 6) with a logarithm and an exponential each;
# once the expected changes of depth with 9 reciprocals, 9 variances, luminance and the quotient. 48 taps of 10, with 2
# special functions each, estimate the variance of the texels with a short history, of the bench's about 7 in 10. A
# texel's place has 16 bytes, its moments 12, its light 12 and its variance 4; where it is found again those of one
# texel are read.
[[passes]]
entry = "svgf_accumulate"
source = "input"
buffers = ["first", "surfaces", "history.previous", "surfaces.previous"]
block = [32, 8]
bytes_per_texel = 112

[[passes]]
entry = "svgf_estimate"
source = "input"
buffers = ["first", "surfaces"]
texels = [1, 4]
block = [32, 4]
bytes_per_texel = 30
operations = 360
special = 70

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["first", "history", "surfaces"]
index = 0
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 48
operations = 420
special = 60

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["history", "second", "surfaces"]
index = 1
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 48
operations = 420
special = 60

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["second", "first", "surfaces"]
index = 2
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 48
operations = 420
special = 60

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["first", "second", "surfaces"]
index = 3
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 48
operations = 420
special = 60

[[passes]]
entry = "svgf_finish"
source = "input"
destination = "output"
buffers = ["second", "surfaces"]
index = 4
texels = [1, 4]
block = [128, 2]
bytes_per_texel = 52
operations = 420
special = 60
---*/
#include "handover.cuh"
#include "handover_wavelet.cuh"
#include "handover_surfaces.cuh"

struct SvgfParameters {
    float alpha;
    float moments_alpha;
    float sigma_luminance;
    float sigma_depth;
};

extern "C" __global__ void svgf_accumulate(const __grid_constant__ Pass pass,
                                           const __grid_constant__ SvgfParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    float3 albedo = reflectance(pass, at);
    color = make_float4(quotient(color.x, albedo.x), quotient(color.y, albedo.y), quotient(color.z, albedo.z), 0.0f);
    float depth = load_depth(pass, at.x, at.y);
    float2 slopes = slope(pass, at, depth), motion = load_motion(pass, at.x, at.y);
    ushort4 normal = load_bits(pass.normal, at);
    float4 axis = to_float(normal);
    if (!(fabsf(depth) < farthest && axis.x * axis.x + axis.y * axis.y + axis.z * axis.z < farthest)) {
        depth = nowhere;
        normal = make_ushort4(0, 0, 0, 0);
    }
    uint4 bits = packed(depth, normal, slopes);
    History history = reprojected(pass, at, unpacked(bits), slopes, motion);
    float mean = luminance(color), square = mean * mean, frames = 1.0f;
    if (history.weight > 0.0f) {
        float share = 1.0f / history.weight;
        frames = fminf(history.frames * share + 1.0f, longest_history);
        // A mean of all frames, until the share of a new one would be too small.
        float fresh = fmaxf(parameters.alpha, 1.0f / frames);
        float fresh_moments = fmaxf(parameters.moments_alpha, 1.0f / frames);
        color = history.color * (share * (1.0f - fresh)) + color * fresh;
        float kept = share * (1.0f - fresh_moments);
        mean = history.mean * kept + mean * fresh_moments;
        square = history.square * kept + square * fresh_moments;
    }
    size_t here = place(pass.source, at.x, at.y);
    Surfaces remembered = surfaces(pass, pass.buffers[1]);
    remembered.places[here] = bits;
    remembered.means[here] = make_float2(mean, square);
    remembered.frames[here] = frames;
    float variance = fmaxf(square - mean * mean, 0.0f);
    Picture out = picture(pass, pass.buffers[0]);
    out.colors[here] = make_float4(color.x, color.y, color.z, variance);
    out.variances[here] = variance;
}

// A column whose texels' variance is that of the neighbourhood where their history is short (section 4.2).
template <bool all_inside>
HANDOVER_INLINE void estimate(const Pass& pass, const SvgfParameters& parameters, int x, int top) {
    int width = int(pass.source.extent.x), height = int(pass.source.extent.y);
    Surfaces remembered = surfaces(pass, pass.buffers[1]);
    Taps<all_inside> taps = {pass, top - 3, 1};
    bool any = false;
#pragma unroll
    for (int k = 0; k < column; ++k)
        any = any || (top + k < height && taps.at(remembered.frames + x, k + 3) < short_history);
    if (!any) return;
    Center here[column];
    float mean[column], square[column], total[column];
#pragma unroll
    for (int k = 0; k < column; ++k) {
        here[k] = center(taps.at(remembered.places + x, k + 3), parameters.sigma_depth);
        float2 means = taps.at(remembered.means + x, k + 3);
        mean[k] = means.x;
        square[k] = means.y;
        total[k] = 1.0f;
    }
#pragma unroll 1
    for (int i = 0; i <= 3; ++i) {
        float per_depth[column][4];
#pragma unroll
        for (int k = 0; k < column; ++k) {
            float base = change(here[k], float(i));
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                per_depth[k][j] = approximate_reciprocal(fmaf(here[k].along, float(j), base));
            }
        }
#pragma unroll 1
        for (int side = i == 0 ? 1 : -1; side <= 1; side += 2) {
            int across = x + side * i;
            if (unsigned(across) >= unsigned(width)) continue;
            // The texel itself is there already.
            float self = i == 0 ? -farthest : sharpness;
#pragma unroll
            for (int row = 0; row < column + 6; ++row) {
                Place tap = unpacked(taps.at(remembered.places + across, row));
                float2 means = taps.at(remembered.means + across, row);
                if (taps.is_outside(row)) tap.depth = nowhere;
#pragma unroll
                for (int k = 0; k < column; ++k) {
                    int j = row - 3 - k;
                    if (j < -3 || j > 3) continue;
                    float weight = weight_of(here[k], tap, per_depth[k][abs(j)], j == 0 ? self : sharpness);
                    mean[k] = fmaf(means.x, weight, mean[k]);
                    square[k] = fmaf(means.y, weight, square[k]);
                    total[k] += weight;
                }
            }
        }
    }
    Picture out = picture(pass, pass.buffers[0]);
#pragma unroll
    for (int k = 0; k < column; ++k) {
        float frames = taps.at(remembered.frames + x, k + 3);
        if (top + k >= height || !(frames < short_history)) continue;
        float share = approximate_reciprocal(total[k]), middle = mean[k] * share;
        // More of it, the fewer frames there are.
        float variance = fmaxf(square[k] * share - middle * middle, 0.0f) * (short_history / frames);
        taps.at(out.colors + x, k + 3).w = variance;
        taps.at(out.variances + x, k + 3) = variance;
    }
}

extern "C" __global__ void __launch_bounds__(128, 4)
    svgf_estimate(const __grid_constant__ Pass pass, const __grid_constant__ SvgfParameters parameters) {
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), top = column * int(blockIdx.y * blockDim.y + threadIdx.y);
    if (x >= int(pass.source.extent.x) || top >= int(pass.source.extent.y)) return;
    if (all_inside(pass, top, 3, 1))
        estimate<true>(pass, parameters, x, top);
    else
        estimate<false>(pass, parameters, x, top);
}

// One level of the wavelet, `index` from 0 (section 4.3), with or without the variance, of the texels of a column that
// stand 2^index apart. All lanes of a warp call it together.
template <bool all_inside, bool has_variance>
HANDOVER_INLINE void filter(Filtered (&out)[column], const Pass& pass, const SvgfParameters& parameters, int x, int top,
                            const Buffer& surfaces_buffer) {
    int step = 1 << pass.index, last = int(pass.source.extent.y) - 1;
    unsigned width = pass.source.extent.x;
    int beside = threadIdx.x % 32 == 0 ? max(x - 1, 0) : min(x + 1, int(width) - 1);
    Picture source = picture(pass, pass.buffers[0]);
    const uint4* places = surfaces(pass, surfaces_buffer).places;
    Taps<all_inside> taps = {pass, top - 2 * step, step};
    Center here[column];
#pragma unroll
    for (int k = 0; k < column; ++k) {
        here[k] = center(taps.at(places + x, k + 2), parameters.sigma_depth);
        float4 color = taps.at(source.colors + x, k + 2);
        int y = all_inside ? top + k * step : min(top + k * step, last);
        unsigned above = all_inside ? y - 1 : max(y - 1, 0), below = all_inside ? y + 1 : min(y + 1, last);
        const unsigned rows[3] = {above * width, unsigned(y) * width, below * width};
        float deviations = deviation(source.variances, rows, x, beside);
        deviations = parameters.sigma_luminance * deviations + 1e-6f;
        out[k] = {color, 1.0f, light_of(color), approximate_reciprocal(natural * deviations)};
    }
#pragma unroll 1
    for (int i = 0; i <= 2; ++i) {
        float per_depth[column][3];
#pragma unroll
        for (int k = 0; k < column; ++k) {
            float base = change(here[k], float(i * step));
#pragma unroll
            for (int j = 0; j < 3; ++j) {
                float along = float(j * step);
                // The one or the other, as it leaves a register more.
                float expected = has_variance ? fmaf(here[k].along, along, base) : base + here[k].along * along;
                per_depth[k][j] = approximate_reciprocal(expected);
            }
        }
        float spline = log_spline(i) + sharpness - 2.0f * log_spline(0);
        float self = i == 0 ? -farthest : spline + log_spline(0);
#pragma unroll 1
        for (int side = i == 0 ? 1 : -1; side <= 1; side += 2) {
            int across = x + side * i * step;
            if (unsigned(across) >= width) continue;
#pragma unroll
            for (int row = 0; row < column + 4; ++row) {
                float4 color = taps.at(source.colors + across, row);
                Place tap = unpacked(taps.at(places + across, row));
                if (taps.is_outside(row)) tap.depth = nowhere;
                float light = light_of(color);
#pragma unroll
                for (int k = 0; k < column; ++k) {
                    int j = row - 2 - k;
                    if (j < -2 || j > 2) continue;
                    float unlike = (light - out[k].light) * out[k].per_light;
                    float like = (j == 0 ? self : spline + log_spline(abs(j))) - fabsf(unlike);
                    float weight = weight_of(here[k], tap, per_depth[k][abs(j)], like);
                    float4& sum = out[k].color;
                    sum.x = fmaf(color.x, weight, sum.x);
                    sum.y = fmaf(color.y, weight, sum.y);
                    sum.z = fmaf(color.z, weight, sum.z);
                    // Variances are weighed by the square.
                    if (has_variance) sum.w = fmaf(color.w, weight * weight, sum.w);
                    out[k].total += weight;
                }
            }
        }
    }
#pragma unroll
    for (int k = 0; k < column; ++k) {
        float share = approximate_reciprocal(out[k].total);
        out[k].color = out[k].color * share;
        out[k].color.w *= share;
    }
}

template <bool has_variance>
HANDOVER_INLINE void filter(Filtered (&out)[column], const Pass& pass, const SvgfParameters& parameters, int x, int top,
                            const Buffer& surfaces) {
    if (all_inside(pass, top, 2, 1 << pass.index))
        filter<true, has_variance>(out, pass, parameters, x, top, surfaces);
    else
        filter<false, has_variance>(out, pass, parameters, x, top, surfaces);
}

extern "C" __global__ void __launch_bounds__(256, 2)
    svgf_filter(const __grid_constant__ Pass pass, const __grid_constant__ SvgfParameters parameters) {
    int height = int(pass.source.extent.y), last = int(pass.source.extent.x) - 1;
    Picture destination = picture(pass, pass.buffers[1]);
#pragma unroll 1
    for (int block = int(blockIdx.y); block < blocks_down(pass, pass.index); block += blocks_down(pass, 0)) {
        int top = top_of(pass, block);
        if (top >= height) continue;
        Filtered out[column];
        filter<true>(out, pass, parameters, min(thread_texel().x, last), top, pass.buffers[2]);
#pragma unroll
        for (int k = 0; k < column; ++k) {
            int2 at = make_int2(thread_texel().x, top + (k << pass.index));
            if (!covers(pass.source, at)) break;
            destination.colors[place(pass.source, at.x, at.y)] = out[k].color;
            destination.variances[place(pass.source, at.x, at.y)] = out[k].color.w;
        }
    }
}

// The last level.
extern "C" __global__ void __launch_bounds__(256, 2)
    svgf_finish(const __grid_constant__ Pass pass, const __grid_constant__ SvgfParameters parameters) {
    int height = int(pass.source.extent.y), last = int(pass.source.extent.x) - 1;
#pragma unroll 1
    for (int block = int(blockIdx.y); block < blocks_down(pass, pass.index); block += blocks_down(pass, 0)) {
        int top = top_of(pass, block);
        if (top >= height) continue;
        Filtered out[column];
        filter<false>(out, pass, parameters, min(thread_texel().x, last), top, pass.buffers[1]);
#pragma unroll
        for (int k = 0; k < column; ++k) {
            float4 color = out[k].color;
            show(pass, make_int2(thread_texel().x, top + (k << pass.index)), make_float3(color.x, color.y, color.z));
        }
    }
}
