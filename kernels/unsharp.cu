/*---
title = "Unsharp mask"
summary = "Adds what a Gaussian blur takes away: amount times the difference from the blurred picture. Light above 1 is left alone."
source = "the darkroom's unsharp mask: v + amount (v - blurred), blurred by w(i) = exp(-i^2 / (2 sigma^2)) for |i| <= radius over their sum; the edge texel continues outwards; differences are shrunk towards 0 by the threshold, so that it is no step"
stage = "sharpen"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504, of which the blur sees 1"

[tolerance]
ulps = 2
absolute = 1e-3
why = "the rows' blur is rounded to half, where the last bit of a sum can move it by a step, 4.9e-4 for light below 1; `amount` of at most 2 doubles it, and the difference can cancel"

[[parameters]]
name = "sigma"
unit = "px"
minimum = 0.1
maximum = 16.0
default = 1.5
step = 0.25
logarithmic = true
type = "f32"

[[parameters]]
name = "radius"
unit = "px"
minimum = 0
maximum = 48
default = 5
step = 1
type = "u32"

[[parameters]]
name = "amount"
unit = ""
minimum = 0.0
maximum = 2.0
default = 0.6
step = 0.1
type = "f32"

[[parameters]]
name = "threshold"
unit = "light"
minimum = 0.0
maximum = 0.25
default = 0.0
step = 0.005
type = "f32"

[[passes]]
entry = "unsharp_rows"
source = "input"
destination = "rows"
block = [32, 8]
texels = [4, 1]

[[passes]]
entry = "unsharp_combine"
source = "rows"
second = "input"
destination = "output"
block = [32, 8]
texels = [2, 4]
---*/
#include "handover.cuh"

struct UnsharpParameters {
    float sigma;
    unsigned radius;
    float amount;
    float threshold;
};

constexpr int largest_radius = 48;
constexpr int block_width = 32, block_height = 8;
constexpr int run = 4;  // texels next to each other along the blur that a thread sums
constexpr int most_taps = 2 * largest_radius + run;

// By place along the blur, from `radius` before a thread's first texel: the weights that a tap has for each of its
// texels.
struct Weights {
    float4 of[most_taps];
    int count;  // taps, in whole runs
    float share;
};

// All threads of the block call it. exp(-i^2 / (2 sigma^2)) = 2^(i^2 * exponent)
HANDOVER_INLINE void weigh(Weights& weights, const UnsharpParameters& parameters) {
    int radius = int(parameters.radius), count = (2 * radius + 2 * run - 1) / run * run;
    float exponent = -0.72134752f / (parameters.sigma * parameters.sigma);
    int tap = threadIdx.y * block_width + threadIdx.x;
    if (tap < count) {
        auto weight = [&](int i) { return abs(i) <= radius ? exp2f(float(i * i) * exponent) : 0.0f; };
        int i = tap - radius;
        weights.of[tap] = make_float4(weight(i), weight(i - 1), weight(i - 2), weight(i - 3));
    }
    __syncthreads();
    if (tap == 0) {
        float total = 1.0f;
        for (int i = 1; i <= radius; ++i) total += 2.0f * weights.of[radius + i].x;
        weights.count = count;
        weights.share = 1.0f / total;
    }
    __syncthreads();
}

// Sums of one channel for each texel of a run.
struct Sums {
    float at[run];
};

HANDOVER_INLINE void add(Sums& sums, float value, float4 weights) {
    sums.at[0] = fmaf(value, weights.x, sums.at[0]);
    sums.at[1] = fmaf(value, weights.y, sums.at[1]);
    sums.at[2] = fmaf(value, weights.z, sums.at[2]);
    sums.at[3] = fmaf(value, weights.w, sums.at[3]);
}

HANDOVER_INLINE void put(const Pass& pass, int2 at, uint4 texels) {
    if (!covers(pass.destination, at)) return;
    store_two(pass.destination, at, texels);
}

// One channel with its difference from the blur added; cut to [0, 1], or to the channel itself where it is above.
HANDOVER_INLINE float sharpened(float value, float blur, const UnsharpParameters& parameters) {
    float difference = fminf(value, 1.0f) - blur;
    float excess = fmaxf(fabsf(difference) - parameters.threshold, 0.0f);
    float added = parameters.amount * (difference < 0.0f ? -excess : excess);
    return clamp(value + added, 0.0f, fmaxf(1.0f, value));
}

constexpr int tile_width = run * block_width + most_taps - run;

// The blur along rows. Alpha is not blurred, as nothing reads it.
extern "C" __global__ void unsharp_rows(const __grid_constant__ Pass pass,
                                        const __grid_constant__ UnsharpParameters parameters) {
    // Light as far as the display shows it: a lamp of 1000 would otherwise cast a dark ring.
    __shared__ float4 tile[3][block_height][tile_width / run];
    __shared__ Weights weights;
    weigh(weights, parameters);
    int2 at = make_int2(run * thread_texel().x, thread_texel().y);
    int first = blockIdx.x * (run * block_width) - int(parameters.radius);
    auto channel = [&](int index) { return reinterpret_cast<float*>(tile[index][threadIdx.y]); };
    for (int x = threadIdx.x; x < run * (block_width - 1) + weights.count; x += block_width) {
        float4 texel = load(pass.source, first + x, at.y);
        channel(0)[x] = fminf(texel.x, 1.0f);
        channel(1)[x] = fminf(texel.y, 1.0f);
        channel(2)[x] = fminf(texel.z, 1.0f);
    }
    __syncwarp();
    Sums sums[3] = {};
    for (int tap = 0; tap < weights.count; tap += run) {
#pragma unroll
        for (int index = 0; index < 3; ++index) {
            float4 values = tile[index][threadIdx.y][threadIdx.x + tap / run];
            add(sums[index], values.x, weights.of[tap]);
            add(sums[index], values.y, weights.of[tap + 1]);
            add(sums[index], values.z, weights.of[tap + 2]);
            add(sums[index], values.w, weights.of[tap + 3]);
        }
    }
#pragma unroll
    for (int k = 0; k < run; k += 2, at.x += 2) {
        auto texel = [&](int k) {
            float red = sums[0].at[k] * weights.share, green = sums[1].at[k] * weights.share;
            return make_uint2(to_halves(red, green), to_halves(sums[2].at[k] * weights.share, 0.0f));
        };
        uint2 left = texel(k), right = texel(k + 1);
        put(pass, at, make_uint4(left.x, left.y, right.x, right.y));
    }
}

// One texel with its difference from the blur.
HANDOVER_INLINE uint2 combined(uint2 texel, const Sums (&sums)[3], int k, float share,
                               const UnsharpParameters& parameters) {
    float2 red_green = to_float(texel.x);
    float red = sharpened(red_green.x, sums[0].at[k] * share, parameters);
    float green = sharpened(red_green.y, sums[1].at[k] * share, parameters);
    float blue = sharpened(to_float(texel.y).x, sums[2].at[k] * share, parameters);
    return make_uint2(to_halves(red, green), with_low(texel.y, blue));
}

extern "C" __global__ void unsharp_combine(const __grid_constant__ Pass pass,
                                           const __grid_constant__ UnsharpParameters parameters) {
    __shared__ Weights weights;
    weigh(weights, parameters);
    int2 at = make_int2(2 * thread_texel().x, run * thread_texel().y);
    int first = at.y - int(parameters.radius);
    Sums left[3] = {}, right[3] = {};
    for (int tap = 0; tap < weights.count; ++tap) {
        uint4 words = read_two(pass.source, at.x, first + tap);
        float4 weight = weights.of[tap];
        float2 red_green = to_float(words.x);
        add(left[0], red_green.x, weight);
        add(left[1], red_green.y, weight);
        add(left[2], to_float(words.y).x, weight);
        red_green = to_float(words.z);
        add(right[0], red_green.x, weight);
        add(right[1], red_green.y, weight);
        add(right[2], to_float(words.w).x, weight);
    }
#pragma unroll
    for (int k = 0; k < run; ++k, ++at.y) {
        uint4 words = light_of(read_two(pass.second, at.x, at.y));
        uint2 first = combined(make_uint2(words.x, words.y), left, k, weights.share, parameters);
        uint2 second = combined(make_uint2(words.z, words.w), right, k, weights.share, parameters);
        put(pass, at, make_uint4(first.x, first.y, second.x, second.y));
    }
}
