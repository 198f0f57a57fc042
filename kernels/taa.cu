/*---
title = "Temporal anti-aliasing"
summary = "Frames whose projections differ by parts of a texel are averaged along the motion; what the neighbourhood does not show is clipped."
source = "Karis, High Quality Temporal Supersampling, SIGGRAPH 2014 (nearest motion, YCoCg, weights by luma); Salvi, An Excursion in Temporal Supersampling, GDC 2016 (variance clipping)"
stage = "temporal_anti_aliasing"
guides = ["depth", "motion"]
jitter = true
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "sums, products, quotients and roots in the same order: only the rounding to half of a frame's history could differ"

[[parameters]]
name = "feedback"
unit = "of the history"
minimum = 0.0
maximum = 0.98
default = 0.9
step = 0.01
type = "f32"

[[parameters]]
name = "gamma"
unit = "standard deviations"
minimum = 0.5
maximum = 4.0
default = 1.25
step = 0.05
type = "f32"

[[parameters]]
name = "anti_flicker"
unit = "weight of luma"
minimum = 0.0
maximum = 4.0
default = 1.0
step = 0.1
type = "f32"

[[buffers]]
name = "history"
bytes_per_texel = 8
keeps = true

[[passes]]
entry = "taa_resolve"
source = "input"
destination = "output"
buffers = ["history", "history.previous"]
block = [32, 8]
---*/
#include "handover.cuh"

struct TaaParameters {
    float feedback;
    float gamma;
    float anti_flicker;
};

// Luma and two differences of chroma (Malvar and Sullivan, YCoCg-R, JVT-I014, 2003): x is Y, y is Co, z is Cg.
HANDOVER_INLINE float4 to_ycocg(float4 c) {
    return make_float4((c.x + 2.0f * c.y + c.z) * 0.25f, (c.x - c.z) * 0.5f, (2.0f * c.y - c.x - c.z) * 0.25f, 0.0f);
}

HANDOVER_INLINE float4 from_ycocg(float4 c) {
    float rest = c.x - c.z;
    return make_float4(rest + c.y, c.x + c.z, rest - c.y, 0.0f);
}

// The weights of Catmull and Rom's cubic for the texels at -1, 0, 1 and 2, `t` from the second to the third.
HANDOVER_INLINE float4 catmull_rom(float t) {
    return make_float4(((-0.5f * t + 1.0f) * t - 0.5f) * t, (1.5f * t - 2.5f) * t * t + 1.0f,
                       ((-1.5f * t + 2.0f) * t + 0.5f) * t, (0.5f * t - 0.5f) * t * t);
}

// The history at a position between texels, counted from their middles: halves in a buffer, which are light.
HANDOVER_INLINE float4 sample(const Pass& pass, float x, float y) {
    const ushort4* history = elements<ushort4>(pass.buffers[1]);
    int width = int(pass.source.extent.x), height = int(pass.source.extent.y);
    float left = floorf(x), top = floorf(y);
    float4 across = catmull_rom(x - left), down = catmull_rom(y - top);
    int columns[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) columns[i] = min(max(int(left) + i - 1, 0), width - 1);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        float weight = j == 0 ? down.x : j == 1 ? down.y : j == 2 ? down.z : down.w;
        const ushort4* row = history + size_t(min(max(int(top) + j - 1, 0), height - 1)) * width;
        float4 line = to_float(row[columns[0]]) * across.x;
        line = line + to_float(row[columns[1]]) * across.y;
        line = line + to_float(row[columns[2]]) * across.z;
        line = line + to_float(row[columns[3]]) * across.w;
        sum = sum + line * weight;
    }
    return sum;
}

// The motion of the nearest surface of the 3x3, so that an outline moves with what is in front.
HANDOVER_INLINE float2 nearest_motion(const Pass& pass, int2 at) {
    int2 nearest = at;
    float depth = load_depth(pass, at.x, at.y);
    for (int k = 0; k < 9; ++k) {
        int2 tap = make_int2(at.x + k % 3 - 1, at.y + k / 3 - 1);
        float other = load_depth(pass, tap.x, tap.y);
        if (other < depth) {
            depth = other;
            nearest = tap;
        }
    }
    return load_motion(pass, nearest.x, nearest.y);
}

// Hands the texel on, and keeps it for the next frame.
HANDOVER_INLINE void put(const Pass& pass, int2 at, float4 color) {
    ushort4 bits = to_half(make_float4(light(color.x), light(color.y), light(color.z), light(color.w)));
    elements<ushort4>(pass.buffers[0])[size_t(at.y) * pass.source.extent.x + at.x] = bits;
    store_bits(pass.destination, at, bits);
}

extern "C" __global__ void taa_resolve(const __grid_constant__ Pass pass,
                                       const __grid_constant__ TaaParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    if (pass.kept_frames == 0) {
        put(pass, at, color);
        return;
    }
    float2 motion = nearest_motion(pass, at);
    float x = float(at.x) + motion.x, y = float(at.y) + motion.y;
    // Where the previous frame's picture has no such place there is no history. NaN is no place.
    bool known = x >= -0.5f && x <= float(pass.destination.extent.x) - 0.5f && y >= -0.5f &&
                 y <= float(pass.destination.extent.y) - 0.5f;
    if (!known) {
        put(pass, at, color);
        return;
    }

    float4 taps[9];
    float4 mean = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k = 0; k < 9; ++k) {
        taps[k] = to_ycocg(load(pass.source, at.x + k % 3 - 1, at.y + k / 3 - 1));
        mean = mean + taps[k];
    }
    mean = mean * (1.0f / 9.0f);
    float4 variance = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k = 0; k < 9; ++k) {
        float4 away = make_float4(taps[k].x - mean.x, taps[k].y - mean.y, taps[k].z - mean.z, 0.0f);
        variance = variance + make_float4(away.x * away.x, away.y * away.y, away.z * away.z, 0.0f);
    }
    float4 reach = make_float4(parameters.gamma * sqrtf(variance.x * (1.0f / 9.0f)),
                               parameters.gamma * sqrtf(variance.y * (1.0f / 9.0f)),
                               parameters.gamma * sqrtf(variance.z * (1.0f / 9.0f)), 0.0f);

    // The history is drawn towards the mean until it is in the box of `gamma` standard deviations.
    // 1e-6 stands for none.
    float4 history = to_ycocg(sample(pass, x, y));
    float4 away = make_float4(history.x - mean.x, history.y - mean.y, history.z - mean.z, 0.0f);
    float out = fmaxf(fmaxf(fabsf(away.x) / fmaxf(reach.x, 1e-6f), fabsf(away.y) / fmaxf(reach.y, 1e-6f)),
                      fabsf(away.z) / fmaxf(reach.z, 1e-6f));
    float4 clipped = mean + away * (1.0f / fmaxf(out, 1.0f));

    // Bright samples count less, so that one alone does not flicker.
    float4 now = to_ycocg(color);
    float old_weight = parameters.feedback / (1.0f + parameters.anti_flicker * fmaxf(clipped.x, 0.0f));
    float new_weight = (1.0f - parameters.feedback) / (1.0f + parameters.anti_flicker * now.x);
    float4 blended = (clipped * old_weight + now * new_weight) * (1.0f / (old_weight + new_weight));
    float4 result = from_ycocg(blended);
    put(pass, at, make_float4(result.x, result.y, result.z, color.w));
}
