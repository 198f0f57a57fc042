/*---
title = "Reaction and diffusion"
summary = "Two substances react and spread over the picture in spots and stripes that refract it; the pointer sows them."
source = "Pearson, Complex Patterns in a Simple System, Science 261 (5118), 1993: Gray and Scott's model, its diffusion, grid and seed"
stage = "look"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; the substances do not read the picture"

[tolerance]
ulps = 1
why = "additions, products and quotients alone, in the same order: only the last rounding may differ"

[[parameters]]
name = "feed"
unit = "of the first substance, a step"
minimum = 0.005
maximum = 0.1
default = 0.037
step = 0.001
type = "f32"

[[parameters]]
name = "kill"
unit = "of the second substance, a step"
minimum = 0.03
maximum = 0.075
default = 0.06
step = 0.001
type = "f32"

[[parameters]]
name = "rate"
unit = "time of a step"
minimum = 0.0
maximum = 1.0
default = 1.0
step = 0.05
type = "f32"

[[parameters]]
name = "brush"
unit = "texels around the pointer's way"
minimum = 1.0
maximum = 128.0
default = 16.0
step = 1.0
type = "f32"

[[parameters]]
name = "refraction"
unit = "texels"
minimum = 0.0
maximum = 64.0
default = 24.0
step = 1.0
type = "f32"

[[parameters]]
name = "opacity"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.85
step = 0.05
type = "f32"

[[passes]]
entry = "reaction_diffusion_sow"
source = "field.previous"
destination = "sown"
divisor = 2
format = "rgba32f"
block = [32, 8]

[[passes]]
entry = "reaction_diffusion_step"
source = "sown"
destination = "field"
divisor = 2
format = "rgba32f"
keeps = true
repeat = 16
block = [32, 8]

[[passes]]
entry = "reaction_diffusion_relief"
source = "field"
destination = "relief"
divisor = 2
format = "rgba32f"
block = [32, 8]

[[passes]]
entry = "reaction_diffusion_composite"
source = "relief"
second = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct ReactionDiffusionParameters {
    float feed;
    float kill;
    float rate;
    float brush;
    float refraction;
    float opacity;
};

// Pearson's 2e-5 and 1e-5 on 256 texels of 2.5: diffusion in texels squared a unit of time. Five points are stable below 1/4.
constexpr float first_diffusion = 0.2097152f;
constexpr float second_diffusion = 0.1048576f;
// What he sows.
constexpr float first_sown = 0.5f;
constexpr float second_sown = 0.25f;

// PCG (Jarzynski and Olano, Hash Functions for GPU Rendering, JCGT 9(3), 2020).
HANDOVER_INLINE unsigned hash(unsigned value) {
    unsigned state = value * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

// In the first frame: a disc in each tile of 32x32 texels.
HANDOVER_INLINE bool is_seed(int2 at) {
    int2 tile = make_int2(at.x / 32, at.y / 32);
    unsigned random = hash(unsigned(tile.x) + hash(unsigned(tile.y)));
    int dx = at.x - 32 * tile.x - 8 - int(random & 15), dy = at.y - 32 * tile.y - 8 - int(random >> 4 & 15);
    return dx * dx + dy * dy < 16 + int(random >> 8 & 31);
}

// How much of the brush is on a texel that lies there, in texels of the picture: 1 on the pointer's way, 0 at the radius.
HANDOVER_INLINE float brush_on(const Pass& pass, float x, float y, float radius) {
    float way_x = pass.pointer.x - pass.previous_pointer.x, way_y = pass.pointer.y - pass.previous_pointer.y;
    float squared = way_x * way_x + way_y * way_y;
    if (!(squared > 0.0f)) return 0.0f;
    float from_x = x - pass.previous_pointer.x, from_y = y - pass.previous_pointer.y;
    float share = clamp((from_x * way_x + from_y * way_y) / squared, 0.0f, 1.0f);
    float off_x = from_x - way_x * share, off_y = from_y - way_y * share;
    return fmaxf(1.0f - (off_x * off_x + off_y * off_y) / (radius * radius), 0.0f);
}

extern "C" __global__ void reaction_diffusion_sow(const __grid_constant__ Pass pass,
                                                  const __grid_constant__ ReactionDiffusionParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float first = 1.0f, second = 0.0f;
    if (pass.kept_frames > 0) {
        float4 field = load_float(pass.source, at.x, at.y);
        first = field.x;
        second = field.y;
    } else if (is_seed(at)) {
        first = first_sown;
        second = second_sown;
    }
    // A texel of the field is two of the picture's across.
    float sown = brush_on(pass, 2.0f * float(at.x) + 1.0f, 2.0f * float(at.y) + 1.0f, parameters.brush);
    first = first + (first_sown - first) * sown;
    second = second + (second_sown - second) * sown;
    store_float(pass.destination, at, make_float4(first, second, 0.0f, 0.0f));
}

// One step of Euler's. The edge lets nothing through.
extern "C" __global__ void reaction_diffusion_step(const __grid_constant__ Pass pass,
                                                   const __grid_constant__ ReactionDiffusionParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 here = load_float(pass.source, at.x, at.y);
    float4 left = load_float(pass.source, at.x - 1, at.y), right = load_float(pass.source, at.x + 1, at.y);
    float4 above = load_float(pass.source, at.x, at.y - 1), below = load_float(pass.source, at.x, at.y + 1);
    float first_spread = (left.x + right.x) + (above.x + below.x) - 4.0f * here.x;
    float second_spread = (left.y + right.y) + (above.y + below.y) - 4.0f * here.y;
    float reaction = here.x * here.y * here.y;
    float first_change = first_diffusion * first_spread - reaction + parameters.feed * (1.0f - here.x);
    float second_change = second_diffusion * second_spread + reaction - (parameters.feed + parameters.kill) * here.y;
    float first = clamp(here.x + parameters.rate * first_change, 0.0f, 1.0f);
    float second = clamp(here.y + parameters.rate * second_change, 0.0f, 1.0f);
    store_float(pass.destination, at, make_float4(first, second, 0.0f, 0.0f));
}

// The second substance and its slope.
extern "C" __global__ void reaction_diffusion_relief(const __grid_constant__ Pass pass,
                                                     const __grid_constant__ ReactionDiffusionParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float height = load_float(pass.source, at.x, at.y).y;
    float slope_x = load_float(pass.source, at.x + 1, at.y).y - load_float(pass.source, at.x - 1, at.y).y;
    float slope_y = load_float(pass.source, at.x, at.y + 1).y - load_float(pass.source, at.x, at.y - 1).y;
    store_float(pass.destination, at, make_float4(height, slope_x, slope_y, 0.0f));
}

HANDOVER_INLINE float4 between(float4 from, float4 to, float share) {
    return make_float4(from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share,
                       from.z + (to.z - from.z) * share, from.w + (to.w - from.w) * share);
}

// The relief at a texel of the picture, whose centre is a quarter of a texel of the relief before or behind a centre there.
HANDOVER_INLINE float4 relief_at(const Image& relief, int2 at) {
    int left = (at.x + 1) / 2 - 1, top = (at.y + 1) / 2 - 1;
    float share_x = at.x & 1 ? 0.25f : 0.75f, share_y = at.y & 1 ? 0.25f : 0.75f;
    float4 upper = between(load_float(relief, left, top), load_float(relief, left + 1, top), share_x);
    float4 lower = between(load_float(relief, left, top + 1), load_float(relief, left + 1, top + 1), share_x);
    return between(upper, lower, share_y);
}

HANDOVER_INLINE float4 picture_at(const Image& picture, float x, float y) {
    float left = floorf(x), top = floorf(y);
    int i = int(left), j = int(top);
    float4 upper = between(load(picture, i, j), load(picture, i + 1, j), x - left);
    float4 lower = between(load(picture, i, j + 1), load(picture, i + 1, j + 1), x - left);
    return between(upper, lower, y - top);
}

extern "C" __global__ void reaction_diffusion_composite(
    const __grid_constant__ Pass pass, const __grid_constant__ ReactionDiffusionParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.second, at.x, at.y);
    float4 relief = relief_at(pass.source, at);
    float x = float(at.x) + parameters.refraction * relief.y, y = float(at.y) + parameters.refraction * relief.z;
    float4 through = picture_at(pass.second, x, y);
    // Where the second substance is, it covers; Pearson's patterns reach about 0.3.
    float amount = clamp(relief.x * 4.0f, 0.0f, 1.0f);
    float cover = amount * amount * (3.0f - 2.0f * amount) * parameters.opacity;
    // Thin it is a clear blue, thick a deep one; light falls from the upper left.
    float shade = clamp(1.0f + 3.0f * (relief.y + relief.z), 0.25f, 2.0f);
    float red = shade * (0.7f - 0.5f * amount), green = shade * (0.9f - 0.35f * amount), blue = shade * (1.1f - 0.1f * amount);
    store(pass.destination, at,
          make_float4(color.x + (through.x * red - color.x) * cover, color.y + (through.y * green - color.y) * cover,
                      color.z + (through.z * blue - color.z) * cover, color.w));
}
