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

# By level: 24 taps of 17 (depth 3, light 3, normal 3, weight 2, sums 6) with a logarithm and an exponential each; once the expected
# changes of depth with 9 reciprocals, 9 variances, luminance and the quotient.
[arithmetic]
operations = 2200
special = 300

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

[[passes]]
entry = "svgf_accumulate"
source = "input"
buffers = ["first", "surfaces", "history.previous", "surfaces.previous"]
block = [32, 8]

[[passes]]
entry = "svgf_estimate"
source = "input"
buffers = ["first", "surfaces"]
texels = [1, 4]
block = [32, 4]

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["first", "history", "surfaces"]
index = 0
texels = [1, 4]
block = [96, 2]

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["history", "second", "surfaces"]
index = 1
texels = [1, 4]
block = [96, 2]

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["second", "first", "surfaces"]
index = 2
texels = [1, 4]
block = [96, 2]

[[passes]]
entry = "svgf_filter"
source = "input"
buffers = ["first", "second", "surfaces"]
index = 3
texels = [1, 4]
block = [96, 2]

[[passes]]
entry = "svgf_finish"
source = "input"
destination = "output"
buffers = ["second", "surfaces"]
index = 4
texels = [1, 4]
block = [96, 2]
---*/
#include "handover.cuh"

struct SvgfParameters {
    float alpha;
    float moments_alpha;
    float sigma_luminance;
    float sigma_depth;
};

// A picture between passes: colour, and in w its variance, which stands in a plane of its own as well.
struct Picture {
    float4* colors;
    float* variances;
};

// What is remembered of each texel: its surface, and the mean of its luminance, of its square, and of how many frames.
struct Surfaces {
    uint4* places;  // depth in m; the normal as three halves; depth's slope along x and y, of each the upper 24 bits
    float2* means;
    float* frames;
};

// Where a texel is, as the filters see it.
struct Place {
    float depth;
    float3 normal;
};

// Black surfaces count as dark ones.
constexpr float darkest_albedo = 0.01f;
// A surface is found again if its depth is off by no more than this share and two slopes, its normal by no more than 26
// degrees: the square of the chord.
constexpr float depth_share = 0.05f;
constexpr float normal_chord2 = 0.2f;
// Bilinear taps with less weight than this are not enough.
constexpr float least_weight = 0.01f;
// Means of more frames than this are still means of so many.
constexpr float longest_history = 256.0f;
// Fewer frames than this do not show their variance (section 4.2).
constexpr float short_history = 4.0f;
// Texels of a column that a thread filters: their taps are the same but for the ends.
constexpr int column = 4;

HANDOVER_INLINE size_t texels_of(const Pass& pass) { return size_t(pass.source.extent.x) * pass.source.extent.y; }

HANDOVER_INLINE Picture picture(const Pass& pass, const Buffer& buffer) {
    float4* colors = elements<float4>(buffer);
    return {colors, reinterpret_cast<float*>(colors + texels_of(pass))};
}

HANDOVER_INLINE Surfaces surfaces(const Pass& pass, const Buffer& buffer) {
    uint4* places = elements<uint4>(buffer);
    float2* means = reinterpret_cast<float2*>(places + texels_of(pass));
    return {places, means, reinterpret_cast<float*>(means + texels_of(pass))};
}

HANDOVER_INLINE uint4 packed(float depth, ushort4 normal, float2 slopes) {
    unsigned across = __float_as_uint(slopes.x) >> 8, along = __float_as_uint(slopes.y) >> 8;
    return make_uint4(__float_as_uint(depth), normal.x | unsigned(normal.y) << 16, normal.z | across << 16,
                      across >> 16 | along << 8);
}

HANDOVER_INLINE Place unpacked(uint4 bits) {
    float3 normal = make_float3(half_to_float((unsigned short)bits.y), half_to_float((unsigned short)(bits.y >> 16)),
                                half_to_float((unsigned short)bits.z));
    return {__uint_as_float(bits.x), normal};
}

HANDOVER_INLINE float2 unpacked_slopes(uint4 bits) {
    return make_float2(__uint_as_float(bits.w << 24 | bits.z >> 16 << 8), __uint_as_float(bits.w & 0xffffff00u));
}

HANDOVER_INLINE float4 reflectance(const Pass& pass, int2 at) {
    float4 albedo = load_albedo(pass, at.x, at.y);
    return make_float4(fmaxf(albedo.x, darkest_albedo), fmaxf(albedo.y, darkest_albedo),
                       fmaxf(albedo.z, darkest_albedo), 1.0f);
}

HANDOVER_INLINE bool is_inside(const Image& image, int x, int y) {
    return x >= 0 && y >= 0 && x < int(image.extent.x) && y < int(image.extent.y);
}

HANDOVER_INLINE size_t place(const Image& image, int x, int y) { return size_t(y) * image.extent.x + x; }

// How much depth changes from texel to texel: the lesser of both sides, so that an outline has the slope
// of its surface.
HANDOVER_INLINE float2 slope(const Pass& pass, int2 at, float depth) {
    float left = fabsf(load_depth(pass, at.x - 1, at.y) - depth);
    float right = fabsf(load_depth(pass, at.x + 1, at.y) - depth);
    float above = fabsf(load_depth(pass, at.x, at.y - 1) - depth);
    float below = fabsf(load_depth(pass, at.x, at.y + 1) - depth);
    // Beyond the edge there is no other texel.
    if (at.x == 0) left = right;
    if (at.x + 1 == int(pass.depth.extent.x)) right = left;
    if (at.y == 0) above = below;
    if (at.y + 1 == int(pass.depth.extent.y)) below = above;
    return make_float2(fminf(left, right), fminf(above, below));
}

// A weighted sum over texels of the previous frame.
struct History {
    float4 color;
    float mean, square, frames;
    float weight;
};

// Adds a texel of the previous frame if it shows the same surface.
HANDOVER_INLINE void add(History& history, const Pass& pass, int x, int y, float weight, const Place& here,
                         float reach) {
    int2 at = inside(pass.source, x, y);
    size_t there = place(pass.source, at.x, at.y);
    Surfaces previous = surfaces(pass, pass.buffers[3]);
    Place surface = unpacked(previous.places[there]);
    float dx = surface.normal.x - here.normal.x, dy = surface.normal.y - here.normal.y,
          dz = surface.normal.z - here.normal.z;
    bool same = fabsf(surface.depth - here.depth) <= reach && dx * dx + dy * dy + dz * dz <= normal_chord2;
    if (!same || !is_inside(pass.source, x, y)) return;
    float2 means = previous.means[there];
    history.color = history.color + picture(pass, pass.buffers[2]).colors[there] * weight;
    history.mean += means.x * weight;
    history.square += means.y * weight;
    history.frames += previous.frames[there] * weight;
    history.weight += weight;
}

// The history of a texel (section 4.1); its weight is 0 where there is none.
HANDOVER_INLINE History reprojected(const Pass& pass, int2 at, const Place& here, float2 slopes) {
    const History none = {make_float4(0.0f, 0.0f, 0.0f, 0.0f), 0.0f, 0.0f, 0.0f, 0.0f};
    if (pass.kept_frames == 0) return none;
    float2 motion = load_motion(pass, at.x, at.y);
    float x = float(at.x) + motion.x, y = float(at.y) + motion.y;
    // NaN is nowhere.
    float width = float(pass.source.extent.x), height = float(pass.source.extent.y);
    if (!(x >= -1.0f && x <= width && y >= -1.0f && y <= height)) return none;
    float reach = depth_share * here.depth + 2.0f * (slopes.x + slopes.y);
    int left = int(floorf(x)), top = int(floorf(y));
    float across = x - floorf(x), down = y - floorf(y);
    History history = none;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float weight = (k % 2 ? across : 1.0f - across) * (k / 2 ? down : 1.0f - down);
        add(history, pass, left + k % 2, top + k / 2, weight, here, reach);
    }
    if (history.weight >= least_weight) return history;
    // Thin things are found around the place, if anywhere.
    history = none;
    left = int(floorf(x + 0.5f)) - 1;
    top = int(floorf(y + 0.5f)) - 1;
#pragma unroll
    for (int k = 0; k < 9; ++k) add(history, pass, left + k % 3, top + k / 3, 1.0f, here, reach);
    return history;
}

extern "C" __global__ void svgf_accumulate(const __grid_constant__ Pass pass,
                                           const __grid_constant__ SvgfParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    float4 color = load(pass.source, at.x, at.y), albedo = reflectance(pass, at);
    color = make_float4(color.x / albedo.x, color.y / albedo.y, color.z / albedo.z, 0.0f);
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

// Weights are powers of two: e^-unlike 2^spline cosine^128 = 2^(128 (1 + spline / 128 - unlike / (128 ln 2) +
// log2(cosine / 2))), so that one exponential and one logarithm make each. The sum before the logarithm is limited to
// [0, 1], where NaN is 0: what is like no number has the weight 2^-128, which is 0.
constexpr float sharpness = 128.0f;
constexpr float natural = 88.7228391f;  // 128 ln 2

// The texel that taps are compared with.
struct Center {
    float depth;
    float3 half_normal;
    float across, along;  // how depth is expected to change with a texel along x and along y, times 128 ln 2
};

HANDOVER_INLINE Center center(uint4 bits, float sigma_depth) {
    Place here = unpacked(bits);
    float2 slopes = unpacked_slopes(bits);
    float3 normal = here.normal;
    float scale = natural * sigma_depth;
    return {here.depth, make_float3(0.5f * normal.x, 0.5f * normal.y, 0.5f * normal.z), scale * slopes.x,
            scale * slopes.y};
}

// How depth is expected to change so many texels along x, times 128 ln 2. A thousandth of it is no edge.
HANDOVER_INLINE float change(const Center& here, float texels) {
    return fmaf(here.depth, 1e-3f * natural, fmaf(here.across, texels, 1e-6f * natural));
}

// The weight of a tap (equations 3 to 5): `per_depth` is one over the expected change, `unlike` is what its light adds.
HANDOVER_INLINE float weight_of(const Center& here, const Place& tap, float spline, float per_depth, float unlike) {
    float away = (tap.depth - here.depth) * per_depth;
    float like = saturate((spline - fabsf(away)) - unlike);
    float cosine = saturate(fmaf(tap.normal.z, here.half_normal.z,
                                 fmaf(tap.normal.y, here.half_normal.y, tap.normal.x * here.half_normal.x)));
    return approximate_exp2(sharpness * (like + approximate_log2(cosine)));
}

// Where taps of a column of texels are: of rows outside, the nearest, whose bit in `outside` is set: their depth is
// NaN.
template <int count>
struct Rows {
    unsigned begin[count];
    unsigned outside;
};

template <int count>
HANDOVER_INLINE Rows<count> rows(const Pass& pass, int top, int step) {
    Rows<count> rows = {};
    int height = int(pass.source.extent.y);
#pragma unroll
    for (int k = 0; k < count; ++k) {
        int y = top + k * step;
        rows.begin[k] = unsigned(min(max(y, 0), height - 1)) * pass.source.extent.x;
        rows.outside |= (y >= 0 && y < height ? 0u : 1u) << k;
    }
    return rows;
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

// The B3 spline at a distance of up to two taps is 1, 4, 6, 4, 1 sixteenths: its logarithm, and that of its middle's
// square.
HANDOVER_INLINE float log_spline(int distance) { return distance == 0 ? -1.41503750f : -2.0f * float(distance); }
constexpr float middle_spline = 9.0f / 64.0f;

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

// A block's rows stand as far apart as its taps, so that few texels beyond them are read. Blocks beyond the grid, which
// has one for each eight rows, are done by the first ones.
constexpr int block_rows = 2 * column;

HANDOVER_INLINE int blocks_down(const Pass& pass, int step) {
    return (int(pass.source.extent.y) + block_rows * step - 1) / (block_rows * step) * step;
}

// The first of a thread's texels in a block.
HANDOVER_INLINE int top_of(const Pass& pass, int block) {
    int step = 1 << pass.index;
    return (block >> pass.index) * (block_rows * step) + (block & (step - 1)) + int(threadIdx.y) * (column * step);
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

// What the light becomes on the surface.
HANDOVER_INLINE void show(const Pass& pass, int2 at, float4 light) {
    if (!covers(pass.destination, at)) return;
    uchar4 albedo = surf2Dread<uchar4>(pass.albedo.surface, at.x * 4, at.y);
    store(pass.destination, at,
          make_float4(light.x * fmaxf(albedo.x * (1.0f / 255.0f), darkest_albedo),
                      light.y * fmaxf(albedo.y * (1.0f / 255.0f), darkest_albedo),
                      light.z * fmaxf(albedo.z * (1.0f / 255.0f), darkest_albedo),
                      load(pass.source, at.x, at.y).w));
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
        for (int k = 0; k < column; ++k) show(pass, make_int2(x, top + (k << pass.index)), out[k].color);
    }
}
