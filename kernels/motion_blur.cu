/*---
title = "Motion blur"
summary = "What moves is smeared along its way while the shutter is open, over what stands behind it and not before it."
source = "McGuire, Hennessy, Bukowski and Osman, A Reconstruction Filter for Plausible Motion Blur, I3D 2012; gradient noise: Jimenez, SIGGRAPH 2014"
stage = "motion_blur"
guides = ["depth", "motion"]
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "sums, products, quotients and roots of float, off by some of its ulps: only the last rounding could differ"

[[parameters]]
name = "shutter"
unit = "of the frame's time"
minimum = 0.0
maximum = 5.0
default = 0.5
step = 0.05
type = "f32"

[[parameters]]
name = "taps"
unit = "to each side"
minimum = 2
maximum = 32
default = 8
step = 1
type = "u32"

[[parameters]]
name = "soft_depth"
unit = "m"
minimum = 0.001
maximum = 1.0
default = 0.05
step = 0.001
logarithmic = true
type = "f32"

[[passes]]
entry = "motion_blur_part"
source = "input"
destination = "parts"
divisor = 4
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "motion_blur_tile"
source = "parts"
destination = "tiles"
divisor = 20
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "motion_blur_neighborhood"
source = "tiles"
destination = "neighborhoods"
divisor = 20
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "motion_blur_reconstruct"
source = "input"
second = "neighborhoods"
destination = "output"
block = [16, 16]
---*/
#include "handover.cuh"

struct MotionBlurParameters {
    float shutter;
    unsigned taps;
    float soft_depth;
};

// The longest half of a way, and the side of a tile, texels: a way reaches no further than the neighbouring tile.
constexpr int reach = 20;
constexpr int part = 4;
// A texel is as wide as this to either side, however slow it is.
constexpr float half_texel = 0.5f;

// Half of a texel's way while the shutter is open: at least half a texel long unless it stands still, at most `reach`.
HANDOVER_INLINE float2 half_way(const Pass& pass, int x, int y, float shutter) {
    float2 motion = load_motion(pass, x, y);
    float across = 0.5f * shutter * motion.x, down = 0.5f * shutter * motion.y;
    float length = sqrtf(across * across + down * down);
    // What is no number stands still, and so does what is too fast to be true.
    if (!(length > 0.0f && length < 65504.0f)) return make_float2(0.0f, 0.0f);
    float scale = clamp(length, half_texel, float(reach)) / length;
    return make_float2(across * scale, down * scale);
}

HANDOVER_INLINE float length2(float2 v) { return v.x * v.x + v.y * v.y; }

// The longest way of 4x4 texels.
extern "C" __global__ void motion_blur_part(const __grid_constant__ Pass pass,
                                            const __grid_constant__ MotionBlurParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float2 longest = make_float2(0.0f, 0.0f);
    for (int k = 0; k < part * part; ++k) {
        float2 way = half_way(pass, part * at.x + k % part, part * at.y + k / part, parameters.shutter);
        if (length2(way) > length2(longest)) longest = way;
    }
    store_float(pass.destination, at, make_float4(longest.x, longest.y, 0.0f, 0.0f));
}

// The longest of a square of ways, whose first is given.
HANDOVER_INLINE float4 longest_of(const Image& ways, int left, int top, int side) {
    float4 longest = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int k = 0; k < side * side; ++k) {
        float4 way = load_float(ways, left + k % side, top + k / side);
        if (way.x * way.x + way.y * way.y > longest.x * longest.x + longest.y * longest.y) longest = way;
    }
    return longest;
}

extern "C" __global__ void motion_blur_tile(const __grid_constant__ Pass pass,
                                            const __grid_constant__ MotionBlurParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    const int side = reach / part;
    store_float(pass.destination, at, longest_of(pass.source, side * at.x, side * at.y, side));
}

extern "C" __global__ void motion_blur_neighborhood(const __grid_constant__ Pass pass,
                                                    const __grid_constant__ MotionBlurParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    store_float(pass.destination, at, longest_of(pass.source, at.x - 1, at.y - 1, 3));
}

// A number to divide by, and about one over it. Where a way just reaches a texel a difference decides how much of a
// light of up to 65504 arrives, so quotients are as good as exact: an estimate and what is left of it.
struct Divisor {
    float value, reciprocal;
};

HANDOVER_INLINE Divisor divisor(float value) { return {value, approximate_reciprocal(value)}; }

HANDOVER_INLINE float operator/(float value, Divisor by) {
    float estimate = value * by.reciprocal;
    return fmaf(fmaf(-estimate, by.value, value), by.reciprocal, estimate);
}

// A length of half of a way, and what its soft edge is divided by.
struct Way {
    Divisor length, edge;
};

HANDOVER_INLINE Way way_of(const Pass& pass, int x, int y, float shutter) {
    float length = fmaxf(sqrtf(length2(half_way(pass, x, y, shutter))), half_texel);
    return {divisor(length), divisor(0.1f * length)};
}

// How much of something that far away is covered by a way of that length: a cone, and a cylinder with a soft edge.
HANDOVER_INLINE float cone(float distance, const Way& way) { return saturate(1.0f - distance / way.length); }

HANDOVER_INLINE float cylinder(float distance, const Way& way) {
    float t = saturate((distance - 0.95f * way.length.value) / way.edge);
    return 1.0f - t * t * (3.0f - 2.0f * t);
}

// 1 where `depth` is not behind `other`, less the further it is behind.
HANDOVER_INLINE float in_front(float depth, float other, Divisor soft) {
    return saturate(1.0f - (depth - other) / soft);
}

extern "C" __global__ void motion_blur_reconstruct(const __grid_constant__ Pass pass,
                                                   const __grid_constant__ MotionBlurParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    float4 longest = load_float(pass.second, at.x / reach, at.y / reach);
    // Nothing near moves by more than its own width.
    if (longest.x * longest.x + longest.y * longest.y <= half_texel * half_texel) {
        store(pass.destination, at, color);
        return;
    }
    float depth = load_depth(pass, at.x, at.y);
    Way way = way_of(pass, at.x, at.y, parameters.shutter);
    Divisor soft = divisor(parameters.soft_depth);
    float total = 1.0f / way.length.value;
    float4 sum = color * total;
    // From -1/2 to 1/2, another for each neighbour (interleaved gradient noise).
    float noise = 0.06711056f * float(at.x) + 0.00583715f * float(at.y);
    noise = 52.9829189f * (noise - floorf(noise));
    noise = noise - floorf(noise) - 0.5f;
    int count = 2 * int(parameters.taps) + 1;
#pragma unroll 4
    for (int i = 0; i < count; ++i) {
        // The middle one is the texel itself.
        if (i == count / 2) continue;
        float t = 2.0f * (float(i) + noise + 1.0f) / float(count + 1) - 1.0f;
        float dx = floorf(longest.x * t + 0.5f), dy = floorf(longest.y * t + 0.5f);
        int x = at.x + int(dx), y = at.y + int(dy);
        float distance = sqrtf(dx * dx + dy * dy);
        float tap_depth = load_depth(pass, x, y);
        Way tap_way = way_of(pass, x, y, parameters.shutter);
        // The tap's way leads over the texel, or the texel's way uncovers what is behind it, or both are blurred alike.
        float weight = in_front(tap_depth, depth, soft) * cone(distance, tap_way) +
                       in_front(depth, tap_depth, soft) * cone(distance, way) +
                       cylinder(distance, tap_way) * cylinder(distance, way) * 2.0f;
        sum = accumulate(sum, load(pass.source, x, y), weight);
        total += weight;
    }
    float4 mean = sum * (1.0f / total);
    store(pass.destination, at, make_float4(mean.x, mean.y, mean.z, color.w));
}
