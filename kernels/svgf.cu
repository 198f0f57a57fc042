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

# Of a level 24 taps of 17 (depth 3, light 3, normal 3, weight 2, sums 6) with a logarithm and an exponential each; once the expected
# changes of depth with 9 reciprocals, 9 variances, luminance and the quotient. 48 taps of 11, with 2 special functions each, estimate
# the variance of the texels with a short history, of the bench's about 7 in 10. A texel's place has 16 bytes, its moments 12, its
# light 12 and its variance 4; where it is found again those of one texel are read.
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
operations = 390
special = 70

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["first", "history", "surfaces"]
index = 0
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 48
operations = 440
special = 60

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["history", "second", "surfaces"]
index = 1
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 48
operations = 440
special = 60

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["second", "first", "surfaces"]
index = 2
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 48
operations = 440
special = 60

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["first", "second", "surfaces"]
index = 3
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 48
operations = 440
special = 60

[[passes]]
entry = "svgf_finish"
source = "input"
destination = "output"
buffers = ["second", "surfaces"]
index = 4
texels = [1, 4]
block = [96, 2]
bytes_per_texel = 52
operations = 440
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

// Means of more frames than this are still means of so many.
constexpr float longest_history = 256.0f;
// Fewer frames than this do not show their variance (section 4.2).
constexpr float short_history = 4.0f;

extern "C" __global__ void svgf_accumulate(const __grid_constant__ Pass pass,
                                           const __grid_constant__ SvgfParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    float3 albedo = reflectance(pass, at);
    color = make_float4(quotient(color.x, albedo.x), quotient(color.y, albedo.y), quotient(color.z, albedo.z), 0.0f);
    float depth = load_depth(pass, at.x, at.y);
    float2 slopes = slope(pass, at, depth);
    uint4 bits = packed(depth, load_bits(pass.normal, at), slopes);
    History history = reprojected(pass, at, unpacked(bits), slopes);
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

// Where the history is short, the variance is that of the neighbourhood (section 4.2).
extern "C" __global__ void __launch_bounds__(128, 4) svgf_estimate(const __grid_constant__ Pass pass,
                                         const __grid_constant__ SvgfParameters parameters) {
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), top = column * int(blockIdx.y * blockDim.y + threadIdx.y);
    int width = int(pass.source.extent.x), height = int(pass.source.extent.y);
    if (x >= width || top >= height) return;
    Surfaces remembered = surfaces(pass, pass.buffers[1]);
    Rows<column + 6> taps = rows<column + 6>(pass, top - 3, 1);
    float frames[column];
    bool any = false;
#pragma unroll
    for (int k = 0; k < column; ++k) {
        frames[k] = top + k < height ? remembered.frames[taps.begin[k + 3] + x] : short_history;
        any = any || frames[k] < short_history;
    }
    if (!any) return;
    Center here[column];
    float mean[column], square[column], total[column];
#pragma unroll
    for (int k = 0; k < column; ++k) {
        unsigned at = taps.begin[k + 3] + x;
        here[k] = center(remembered.places[at], parameters.sigma_depth);
        float2 means = remembered.means[at];
        mean[k] = means.x;
        square[k] = means.y;
        total[k] = 1.0f;
    }
#pragma unroll 1
    for (int i = -3; i <= 3; ++i) {
        if (x + i < 0 || x + i >= width) continue;
        float per_depth[column][4];
#pragma unroll
        for (int k = 0; k < column; ++k) {
            float base = change(here[k], float(abs(i)));
#pragma unroll
            for (int j = 0; j < 4; ++j) {
                per_depth[k][j] = approximate_reciprocal(fmaf(here[k].along, float(j), base));
            }
        }
#pragma unroll
        for (int row = 0; row < column + 6; ++row) {
            unsigned at = taps.begin[row] + x + i;
            Place tap = unpacked(remembered.places[at]);
            float2 means = remembered.means[at];
            if (taps.outside >> row & 1u) tap.depth = __uint_as_float(0x7fffffffu);
#pragma unroll
            for (int k = 0; k < column; ++k) {
                int j = row - 3 - k;
                if (j < -3 || j > 3) continue;
                // The texel itself is there already.
                float spline = i == 0 && j == 0 ? 0.0f : 1.0f;
                float weight = weight_of(here[k], tap, spline, per_depth[k][abs(j)], 0.0f);
                mean[k] = fmaf(means.x, weight, mean[k]);
                square[k] = fmaf(means.y, weight, square[k]);
                total[k] += weight;
            }
        }
    }
    Picture out = picture(pass, pass.buffers[0]);
#pragma unroll
    for (int k = 0; k < column; ++k) {
        if (!(frames[k] < short_history)) continue;
        float middle = mean[k] / total[k];
        // More of it, the fewer frames there are.
        float variance = fmaxf(square[k] / total[k] - middle * middle, 0.0f) * (short_history / frames[k]);
        unsigned at = taps.begin[k + 3] + x;
        out.colors[at].w = variance;
        out.variances[at] = variance;
    }
}

// The sums of one level for a texel.
struct Filtered {
    float4 color;  // in w its variance
    float total;
    float light;
    float per_light;  // 1 / (128 ln 2) over what luminance may differ by
};

// The standard deviation of a texel's luminance, of the variances around it (equation 5).
HANDOVER_INLINE float deviation(const Pass& pass, const float* variances, int x, int y) {
    const float gauss[3] = {0.25f, 0.5f, 0.25f};
    float variance = 0.0f;
#pragma unroll
    for (int k = 0; k < 9; ++k) {
        int2 at = inside(pass.source, x + k % 3 - 1, y + k / 3 - 1);
        variance = fmaf(variances[place(pass.source, at.x, at.y)], gauss[k % 3] * gauss[k / 3], variance);
    }
    return approximate_root(variance);
}

// One level of the wavelet, `index` from 0 (section 4.3), of the texels of a column that stand 2^index apart.
HANDOVER_INLINE void filter(Filtered (&out)[column], const Pass& pass, const SvgfParameters& parameters, int x, int top,
                            const Buffer& surfaces_buffer) {
    int step = 1 << pass.index, height = int(pass.source.extent.y);
    Picture source = picture(pass, pass.buffers[0]);
    const uint4* places = surfaces(pass, surfaces_buffer).places;
    Rows<column + 4> taps = rows<column + 4>(pass, top - 2 * step, step);
    Center here[column];
#pragma unroll
    for (int k = 0; k < column; ++k) {
        unsigned at = taps.begin[k + 2] + x;
        here[k] = center(places[at], parameters.sigma_depth);
        float4 color = source.colors[at];
        float deviations = deviation(pass, source.variances, x, min(top + k * step, height - 1));
        deviations = parameters.sigma_luminance * deviations + 1e-6f;
        out[k] = {color * middle_spline, middle_spline, luminance(color), approximate_reciprocal(natural * deviations)};
        out[k].color.w *= middle_spline;
    }
#pragma unroll 1
    for (int i = 0; i <= 2; ++i) {
        float per_depth[column][3];
#pragma unroll
        for (int k = 0; k < column; ++k) {
            float base = change(here[k], float(i * step));
#pragma unroll
            for (int j = 0; j < 3; ++j) {
                per_depth[k][j] = approximate_reciprocal(fmaf(here[k].along, float(j * step), base));
            }
        }
#pragma unroll 1
        for (int side = i == 0 ? 1 : -1; side <= 1; side += 2) {
            int across = x + side * i * step;
            if (unsigned(across) >= pass.source.extent.x) continue;
            float spline = 1.0f + log_spline(i) / sharpness;
#pragma unroll
            for (int row = 0; row < column + 4; ++row) {
                unsigned at = taps.begin[row] + across;
                float4 color = source.colors[at];
                Place tap = unpacked(places[at]);
                if (taps.outside >> row & 1u) tap.depth = __uint_as_float(0x7fffffffu);
                float light = luminance(color);
#pragma unroll
                for (int k = 0; k < column; ++k) {
                    int j = row - 2 - k;
                    if (j < -2 || j > 2) continue;
                    float unlike = fabsf((light - out[k].light) * out[k].per_light);
                    // The texel itself is there already.
                    float like = i == 0 && j == 0 ? 0.0f : spline + log_spline(abs(j)) / sharpness;
                    float weight = weight_of(here[k], tap, like, per_depth[k][abs(j)], unlike);
                    float4& sum = out[k].color;
                    sum.x = fmaf(color.x, weight, sum.x);
                    sum.y = fmaf(color.y, weight, sum.y);
                    sum.z = fmaf(color.z, weight, sum.z);
                    // Variances are weighed by the square.
                    sum.w = fmaf(color.w, weight * weight, sum.w);
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

extern "C" __global__ void __launch_bounds__(192, 2) svgf_filter(const __grid_constant__ Pass pass,
                                       const __grid_constant__ SvgfParameters parameters) {
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), height = int(pass.source.extent.y);
    if (x >= int(pass.source.extent.x)) return;
    Picture destination = picture(pass, pass.buffers[1]);
    for (int block = int(blockIdx.y); block < blocks_down(pass, 1 << pass.index); block += blocks_down(pass, 1)) {
        int top = top_of(pass, block);
        if (top >= height) continue;
        Filtered out[column];
        filter(out, pass, parameters, x, top, pass.buffers[2]);
#pragma unroll
        for (int k = 0; k < column; ++k) {
            int y = top + (k << pass.index);
            if (y >= height) break;
            destination.colors[place(pass.source, x, y)] = out[k].color;
            destination.variances[place(pass.source, x, y)] = out[k].color.w;
        }
    }
}

// The last level.
extern "C" __global__ void __launch_bounds__(192, 2) svgf_finish(const __grid_constant__ Pass pass,
                                       const __grid_constant__ SvgfParameters parameters) {
    int x = int(blockIdx.x * blockDim.x + threadIdx.x), height = int(pass.source.extent.y);
    if (x >= int(pass.source.extent.x)) return;
    for (int block = int(blockIdx.y); block < blocks_down(pass, 1 << pass.index); block += blocks_down(pass, 1)) {
        int top = top_of(pass, block);
        if (top >= height) continue;
        Filtered out[column];
        filter(out, pass, parameters, x, top, pass.buffers[1]);
#pragma unroll
        for (int k = 0; k < column; ++k) show(pass, make_int2(x, top + (k << pass.index)), make_float3(out[k].color.x, out[k].color.y, out[k].color.z));
    }
}
