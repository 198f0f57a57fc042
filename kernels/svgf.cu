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
why = "expf differs by an ulp of float, which the weights of five levels enlarge where the variance is small"

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
name = "surfaces"
bytes_per_texel = 32
keeps = true

[[passes]]
entry = "svgf_accumulate"
source = "input"
second = "history.previous"
destination = "accumulated"
format = "rgba32f"
buffers = ["surfaces", "surfaces.previous"]
block = [32, 8]

[[passes]]
entry = "svgf_estimate"
source = "accumulated"
destination = "estimated"
format = "rgba32f"
buffers = ["surfaces"]
block = [16, 16]

[[passes]]
entry = "svgf_filter"
source = "estimated"
destination = "history"
format = "rgba32f"
keeps = true
index = 0
block = [16, 16]

[[passes]]
entry = "svgf_filter"
source = "history"
destination = "filtered"
format = "rgba32f"
index = 1
repeat = 4
block = [16, 16]

[[passes]]
entry = "svgf_remodulate"
source = "filtered"
second = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct SvgfParameters {
    float alpha;
    float moments_alpha;
    float sigma_luminance;
    float sigma_depth;
};

// What is remembered of each texel: its surface, and the mean of its luminance, of its square, and of how many frames.
struct Remembered {
    float4 moments;  // mean, mean of the square, frames, depth in m
    float4 normal;
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
    float4 moments;
    float weight;
};

// Adds a texel of the previous frame if it shows the same surface.
HANDOVER_INLINE void add(History& history, const Pass& pass, int x, int y, float weight, float depth, float4 normal,
                         float reach) {
    if (!is_inside(pass.second, x, y)) return;
    Remembered surface = elements<Remembered>(pass.buffers[1])[place(pass.second, x, y)];
    float dx = surface.normal.x - normal.x, dy = surface.normal.y - normal.y, dz = surface.normal.z - normal.z;
    bool same = fabsf(surface.moments.w - depth) <= reach && dx * dx + dy * dy + dz * dz <= normal_chord2;
    if (!same) return;
    history.color = history.color + load_float(pass.second, x, y) * weight;
    history.moments = history.moments + surface.moments * weight;
    history.weight += weight;
}

// The history of a texel (section 4.1); its weight is 0 where there is none.
HANDOVER_INLINE History reprojected(const Pass& pass, int2 at, float depth, float4 normal) {
    float4 none = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    History history = {none, none, 0.0f};
    if (pass.kept_frames == 0) return history;
    float2 motion = load_motion(pass, at.x, at.y);
    float x = float(at.x) + motion.x, y = float(at.y) + motion.y;
    // NaN is nowhere.
    float width = float(pass.second.extent.x), height = float(pass.second.extent.y);
    if (!(x >= -1.0f && x <= width && y >= -1.0f && y <= height)) return history;
    float2 slopes = slope(pass, at, depth);
    float reach = depth_share * depth + 2.0f * (slopes.x + slopes.y);
    int left = int(floorf(x)), top = int(floorf(y));
    float across = x - floorf(x), down = y - floorf(y);
    for (int k = 0; k < 4; ++k) {
        float weight = (k % 2 ? across : 1.0f - across) * (k / 2 ? down : 1.0f - down);
        add(history, pass, left + k % 2, top + k / 2, weight, depth, normal, reach);
    }
    if (history.weight >= least_weight) return history;
    // Thin things are found around the place, if anywhere.
    history = {none, none, 0.0f};
    left = int(floorf(x + 0.5f)) - 1;
    top = int(floorf(y + 0.5f)) - 1;
    for (int k = 0; k < 9; ++k) add(history, pass, left + k % 3, top + k / 3, 1.0f, depth, normal, reach);
    return history;
}

extern "C" __global__ void svgf_accumulate(const __grid_constant__ Pass pass,
                                           const __grid_constant__ SvgfParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y), albedo = reflectance(pass, at);
    color = make_float4(color.x / albedo.x, color.y / albedo.y, color.z / albedo.z, 0.0f);
    float depth = load_depth(pass, at.x, at.y);
    float4 normal = load_normal(pass, at.x, at.y);
    float light = luminance(color);
    float4 moments = make_float4(light, light * light, 1.0f, depth);
    History history = reprojected(pass, at, depth, normal);
    if (history.weight > 0.0f) {
        float share = 1.0f / history.weight;
        float frames = fminf(history.moments.z * share + 1.0f, longest_history);
        // A mean of all frames, until the share of a new one would be too small.
        float fresh = fmaxf(parameters.alpha, 1.0f / frames);
        float fresh_moments = fmaxf(parameters.moments_alpha, 1.0f / frames);
        color = history.color * (share * (1.0f - fresh)) + color * fresh;
        float4 mixed = history.moments * (share * (1.0f - fresh_moments)) + moments * fresh_moments;
        moments = make_float4(mixed.x, mixed.y, frames, depth);
    }
    elements<Remembered>(pass.buffers[0])[place(pass.destination, at.x, at.y)] = {moments, normal};
    float variance = fmaxf(moments.y - moments.x * moments.x, 0.0f);
    store_float(pass.destination, at, make_float4(color.x, color.y, color.z, variance));
}

// What two texels' depths and normals say of their surfaces: how much of one goes into the other (equations 3 and 4).
HANDOVER_INLINE float away(float depth, float other, float2 slopes, int dx, int dy, float sigma_depth) {
    float expected = slopes.x * float(abs(dx)) + slopes.y * float(abs(dy));
    // A thousandth of the depth is no edge.
    return fabsf(other - depth) / (sigma_depth * expected + 1e-3f * depth + 1e-6f);
}

HANDOVER_INLINE float alike(float4 normal, float4 other) {
    float power = fmaxf(normal.x * other.x + normal.y * other.y + normal.z * other.z, 0.0f);
    // To the power of 128.
    for (int k = 0; k < 7; ++k) power = power * power;
    return power;
}

// Where the history is short, the variance is that of the neighbourhood (section 4.2).
extern "C" __global__ void svgf_estimate(const __grid_constant__ Pass pass,
                                         const __grid_constant__ SvgfParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load_float(pass.source, at.x, at.y);
    const Remembered* surfaces = elements<const Remembered>(pass.buffers[0]);
    Remembered here = surfaces[place(pass.source, at.x, at.y)];
    float frames = here.moments.z, depth = here.moments.w;
    if (frames < short_history) {
        float2 slopes = slope(pass, at, depth);
        float mean = 0.0f, square = 0.0f, total = 0.0f;
        for (int j = -3; j <= 3; ++j) {
            for (int i = -3; i <= 3; ++i) {
                int x = at.x + i, y = at.y + j;
                if (!is_inside(pass.source, x, y)) continue;
                Remembered tap = surfaces[place(pass.source, x, y)];
                float apart = away(depth, tap.moments.w, slopes, i, j, parameters.sigma_depth);
                float weight = fmaxf(expf(-apart), 0.0f) * alike(here.normal, tap.normal);
                if (i == 0 && j == 0) weight = 1.0f;
                mean += tap.moments.x * weight;
                square += tap.moments.y * weight;
                total += weight;
            }
        }
        mean = mean / total;
        // More of it, the fewer frames there are.
        color.w = fmaxf(square / total - mean * mean, 0.0f) * (short_history / frames);
    }
    store_float(pass.destination, at, color);
}

// The B3 spline at a distance of up to two taps: 1, 4, 6, 4, 1 sixteenths.
HANDOVER_INLINE float spline(int distance) {
    return distance == 0 ? 3.0f / 8.0f : abs(distance) == 1 ? 1.0f / 4.0f : 1.0f / 16.0f;
}

// One level of the wavelet, `index` from 0 (section 4.3): colour, and in w its variance.
extern "C" __global__ void svgf_filter(const __grid_constant__ Pass pass,
                                       const __grid_constant__ SvgfParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    const float gauss[3] = {0.25f, 0.5f, 0.25f};
    int step = 1 << pass.index;
    float4 center = load_float(pass.source, at.x, at.y), normal = load_normal(pass, at.x, at.y);
    float depth = load_depth(pass, at.x, at.y);
    float2 slopes = slope(pass, at, depth);
    float light = luminance(center);
    float variance = 0.0f;
    for (int k = 0; k < 9; ++k) {
        variance += load_float(pass.source, at.x + k % 3 - 1, at.y + k / 3 - 1).w * (gauss[k % 3] * gauss[k / 3]);
    }
    float deviations = parameters.sigma_luminance * sqrtf(variance) + 1e-6f;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float total = 0.0f;
    for (int j = -2; j <= 2; ++j) {
        for (int i = -2; i <= 2; ++i) {
            int x = at.x + i * step, y = at.y + j * step;
            if (!is_inside(pass.source, x, y)) continue;
            float4 tap = load_float(pass.source, x, y);
            float unlike = away(depth, load_depth(pass, x, y), slopes, i * step, j * step, parameters.sigma_depth) +
                           fabsf(luminance(tap) - light) / deviations;
            // A depth that is no number is alike to none.
            float edge = fmaxf(expf(-unlike), 0.0f) * alike(normal, load_normal(pass, x, y));
            if (i == 0 && j == 0) edge = 1.0f;
            float weight = spline(i) * spline(j) * edge;
            sum = sum + make_float4(tap.x, tap.y, tap.z, tap.w * weight) * weight;
            total += weight;
        }
    }
    float share = 1.0f / total;
    store_float(pass.destination, at, make_float4(sum.x * share, sum.y * share, sum.z * share, sum.w * share * share));
}

extern "C" __global__ void svgf_remodulate(const __grid_constant__ Pass pass,
                                           const __grid_constant__ SvgfParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 light = load_float(pass.source, at.x, at.y), albedo = reflectance(pass, at);
    float alpha = load(pass.second, at.x, at.y).w;
    store(pass.destination, at, make_float4(light.x * albedo.x, light.y * albedo.y, light.z * albedo.z, alpha));
}
