/*---
title = "Depth of field"
summary = "What a lens blurs: each point becomes a disc as large as the thin lens makes it. What is in focus stays sharp, what is before it spreads over it, what is behind does not."
source = "circle of confusion: Potmesil and Chakravarty, A Lens and Aperture Camera Model for Synthetic Image Generation, SIGGRAPH 1981, equations 2 to 5; near and far fields at half resolution, gathered as if scattered: Jimenez, Next Generation Post Processing in Call of Duty: Advanced Warfare, SIGGRAPH 2014"
stage = "depth_of_field"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; depths that are NaN or below a micrometre are a micrometre"
guides = ["depth"]

[tolerance]
ulps = 1
why = "sums, products, quotients and roots alone: only the last rounding could differ"

[[parameters]]
name = "focus"
unit = "m"
minimum = 0.5
maximum = 1000.0
default = 8.0
step = 0.1
logarithmic = true
type = "f32"

[[parameters]]
name = "focal_length"
unit = "mm"
minimum = 10.0
maximum = 200.0
default = 85.0
step = 1.0
logarithmic = true
type = "f32"

[[parameters]]
name = "f_number"
unit = ""
minimum = 0.7
maximum = 32.0
default = 1.4
step = 0.1
logarithmic = true
type = "f32"

[[parameters]]
name = "sensor_height"
unit = "mm"
minimum = 4.0
maximum = 60.0
default = 24.0
step = 1.0
type = "f32"

[[parameters]]
name = "largest"
unit = "texels, the radius of the largest disc"
minimum = 2.0
maximum = 32.0
default = 16.0
step = 1.0
type = "f32"

[[passes]]
entry = "depth_of_field_near"
source = "input"
destination = "near"
divisor = 2
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "depth_of_field_far"
source = "input"
destination = "far"
divisor = 2
format = "rgba32f"
block = [16, 16]

[[passes]]
entry = "depth_of_field_reach"
source = "near"
destination = "reach"
divisor = 32
format = "rgba32f"
block = [8, 8]

[[passes]]
entry = "depth_of_field_spread"
source = "near"
second = "reach"
destination = "near_spread"
divisor = 2
format = "rgba32f"
texels = [4, 1]
block = [16, 8]

[[passes]]
entry = "depth_of_field_gather"
source = "far"
destination = "far_gathered"
divisor = 2
format = "rgba32f"
texels = [4, 1]
block = [16, 8]

[[passes]]
entry = "depth_of_field_composite"
source = "input"
second = "near_spread"
third = "far_gathered"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct DepthOfFieldParameters {
    float focus;
    float focal_length;
    float f_number;
    float sensor_height;
    float largest;
};

// The radius of the circle of confusion, texels of the picture: positive behind the focus, negative before it. The
// diameter on the sensor is (focal_length / f_number) * |d - s| / d * focal_length / (s - focal_length) for the depth d
// and the focus s.
HANDOVER_INLINE float radius(const Pass& pass, int x, int y, const DepthOfFieldParameters& parameters) {
    float depth = fmaxf(load_depth(pass, x, y), 1e-6f);
    float focal_length = 0.001f * parameters.focal_length;  // m
    float aperture = focal_length / parameters.f_number;
    float infinite = aperture * focal_length / (parameters.focus - focal_length);  // diameter for what is infinitely far, m
    float texels = float(pass.depth.extent.y) / (0.001f * parameters.sensor_height);
    float unlimited = 0.5f * infinite * texels * (1.0f - parameters.focus / depth);
    return clamp(unlimited, -parameters.largest, parameters.largest);
}

// How much of a texel is shown blurred: discs of a texel's size are not seen.
HANDOVER_INLINE float blurred_share(float texels) { return clamp(texels - 0.5f, 0.0f, 1.0f); }

// Four texels become one of a field: of the near one (`side` -1) or the far one (1). Each weighs as much as it is
// blurred, so that what is in focus or in the other field gives nothing. w is the radius, texels of the halved picture.
HANDOVER_INLINE float4 halved(const Pass& pass, int2 at, const DepthOfFieldParameters& parameters, float side) {
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float weights = 0.0f, squares = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        int2 from = inside(pass.source, 2 * at.x + k % 2, 2 * at.y + k / 2);
        float weight = fmaxf(side * radius(pass, from.x, from.y, parameters), 0.0f);
        sum = sum + load(pass.source, from.x, from.y) * weight;
        weights += weight;
        squares += weight * weight;
    }
    if (weights <= 0.0f) return make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    return make_float4(sum.x / weights, sum.y / weights, sum.z / weights, 0.5f * squares / weights);
}

extern "C" __global__ void depth_of_field_near(const __grid_constant__ Pass pass,
                                               const __grid_constant__ DepthOfFieldParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    store_float(pass.destination, at, halved(pass, at, parameters, -1.0f));
}

extern "C" __global__ void depth_of_field_far(const __grid_constant__ Pass pass,
                                              const __grid_constant__ DepthOfFieldParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    store_float(pass.destination, at, halved(pass, at, parameters, 1.0f));
}

// The largest radius of the near field in each tile of 16x16 of its texels.
constexpr int tile = 16;

extern "C" __global__ void depth_of_field_reach(const __grid_constant__ Pass pass,
                                                const __grid_constant__ DepthOfFieldParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float most = 0.0f;
    for (int y = at.y * tile; y < (at.y + 1) * tile; ++y)
        for (int x = at.x * tile; x < (at.x + 1) * tile; ++x) most = fmaxf(most, load_float(pass.source, x, y).w);
    store_float(pass.destination, at, make_float4(most, 0.0f, 0.0f, 0.0f));
}

// A texel's disc covers one that is `distance` away by so much; its edge is as soft as a texel.
HANDOVER_INLINE float covered(float disc, float distance) { return saturate(disc + 1.0f - distance); }

// One over the area of such a disc, texels: what a disc spreads, all together, is what its texel had.
HANDOVER_INLINE float density(float disc) {
    float middle = disc + 0.5f;
    return approximate_reciprocal(3.14159265f * fmaf(middle, middle, 1.0f / 12.0f));
}

// Texels of a row that a thread makes of the same taps.
constexpr int across = 4;

// The sums of a texel: what is spread over it, and how much.
struct Gathered {
    float4 sum;
    float weights;
};

HANDOVER_INLINE void add(Gathered& here, float4 from, float weight) {
    here.sum = accumulate(here.sum, from, weight);
    here.weights += weight;
}

// The distances of one tap from a row of texels. Each is that of the texel before from the tap before; where a disc
// just ends they decide, so they are exact.
struct Distances {
    float texels[across];

    HANDOVER_INLINE void advance(int dx, int dy) {
#pragma unroll
        for (int k = across - 1; k > 0; --k) texels[k] = texels[k - 1];
        texels[0] = sqrtf(float(dx * dx + dy * dy));
    }
};

HANDOVER_INLINE Distances distances_before(int dx, int dy) {
    Distances distances = {};
#pragma unroll
    for (int k = across - 1; k > 0; --k) distances.advance(dx - k, dy);
    return distances;
}

// Stores the mean, and in w how much there is.
HANDOVER_INLINE void put(const Pass& pass, int2 at, const Gathered& here, float cover) {
    if (!covers(pass.destination, at)) return;
    float scale = here.weights > 0.0f ? 1.0f / here.weights : 0.0f;
    store_float(pass.destination, at, make_float4(here.sum.x * scale, here.sum.y * scale, here.sum.z * scale, cover));
}

// Light that discs before the focus spread over a texel. w is how much of what is behind they cover: all of it up to
// the edge of what they come from, where half of a disc's light arrives, for what is hidden there is not known.
extern "C" __global__ void depth_of_field_spread(const __grid_constant__ Pass pass,
                                                 const __grid_constant__ DepthOfFieldParameters parameters) {
    int2 at = thread_texel();
    at.x *= across;
    if (!covers(pass.destination, at)) return;
    // No disc is larger than a tile, so those of the nine tiles around are all that can reach here.
    float most = 0.0f;
    for (int j = -1; j <= 1; ++j)
        for (int i = -1; i <= 1; ++i) most = fmaxf(most, load_float(pass.second, at.x / tile + i, at.y / tile + j).x);
    Gathered out[across] = {};
    int reach = most > 0.0f ? int(most) + 1 : -across;
    for (int dy = -reach; dy <= reach; ++dy) {
        Distances distances = distances_before(-reach, dy);
        for (int dx = -reach; dx < reach + across; ++dx) {
            distances.advance(dx, dy);
            float4 from = load_float(pass.source, at.x + dx, at.y + dy);
            if (from.w <= 0.0f) continue;
            float share = density(from.w) * blurred_share(2.0f * from.w);
#pragma unroll
            for (int k = 0; k < across; ++k) add(out[k], from, covered(from.w, distances.texels[k]) * share);
        }
    }
#pragma unroll
    for (int k = 0; k < across; ++k) put(pass, make_int2(at.x + k, at.y), out[k], fminf(2.0f * out[k].weights, 1.0f));
}

// Light that discs behind the focus spread over a texel. None spreads further than the texel's own disc: what is
// further away is hidden by what is nearer. w is how much there is.
extern "C" __global__ void depth_of_field_gather(const __grid_constant__ Pass pass,
                                                 const __grid_constant__ DepthOfFieldParameters parameters) {
    int2 at = thread_texel();
    at.x *= across;
    if (!covers(pass.destination, at)) return;
    Gathered out[across] = {};
    float discs[across], densities[across], most = 0.0f;
#pragma unroll
    for (int k = 0; k < across; ++k) {
        discs[k] = load_float(pass.source, at.x + k, at.y).w;
        densities[k] = density(discs[k]);
        most = fmaxf(most, discs[k]);
    }
    int reach = most > 0.0f ? int(most) + 1 : -across;
    for (int dy = -reach; dy <= reach; ++dy) {
        Distances distances = distances_before(-reach, dy);
        for (int dx = -reach; dx < reach + across; ++dx) {
            distances.advance(dx, dy);
            float4 from = load_float(pass.source, at.x + dx, at.y + dy);
            if (from.w <= 0.0f) continue;
            float own = density(from.w);
#pragma unroll
            for (int k = 0; k < across; ++k) {
                // The smaller disc is the denser one.
                add(out[k], from, covered(fminf(from.w, discs[k]), distances.texels[k]) * fmaxf(own, densities[k]));
            }
        }
    }
#pragma unroll
    for (int k = 0; k < across; ++k) put(pass, make_int2(at.x + k, at.y), out[k], out[k].weights > 0.0f ? 1.0f : 0.0f);
}

// A field at full resolution: the four nearest texels, whose weights are 9, 3, 3 and 1 sixteenths. Those with little in
// them weigh less, so that its edge does not darken; w is how much there is.
HANDOVER_INLINE float4 doubled(const Image& field, int2 at) {
    int2 nearest = make_int2(at.x >> 1, at.y >> 1);
    int2 beside = make_int2(at.x & 1 ? 1 : -1, at.y & 1 ? 1 : -1);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float cover = 0.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float4 from = load_float(field, nearest.x + (k % 2) * beside.x, nearest.y + (k / 2) * beside.y);
        float weight = (k % 2 ? 0.25f : 0.75f) * (k / 2 ? 0.25f : 0.75f) * from.w;
        sum = sum + from * weight;
        cover += weight;
    }
    float scale = cover > 0.0f ? 1.0f / cover : 0.0f;
    return make_float4(sum.x * scale, sum.y * scale, sum.z * scale, cover);
}

extern "C" __global__ void depth_of_field_composite(const __grid_constant__ Pass pass,
                                                    const __grid_constant__ DepthOfFieldParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    float4 far = doubled(pass.third, at), near = doubled(pass.second, at);
    float far_share = far.w > 0.0f ? blurred_share(radius(pass, at.x, at.y, parameters)) : 0.0f;
    float4 behind = color * (1.0f - far_share) + far * far_share;
    float4 lit = behind * (1.0f - near.w) + near * near.w;
    store(pass.destination, at, make_float4(lit.x, lit.y, lit.z, color.w));
}
