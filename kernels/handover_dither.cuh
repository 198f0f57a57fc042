// What dithers share. For kernels that include handover.cuh before, once each: see handover_srgb.cuh.
#include "handover_srgb.cuh"

// The sRGB encoding of light in [0, 1] as it is defined for levels, which decides. The power 1 / 2.4 = 1/4 + 1/6 is made of
// roots, the cube root by Halley's method from a line: only operations that round alike everywhere, so that no level flips
// between a GPU and a CPU. Three steps leave 3e-7 of the value.
HANDOVER_INLINE float encoded(float light) {
    if (light <= 0.0031308f) return 12.92f * light;
    float root = sqrtf(light);
    float cube_root = 0.45f + 0.55f * root;
    for (int step = 0; step < 3; ++step) {
        float cube = cube_root * cube_root * cube_root;
        cube_root = cube_root * (cube + 2.0f * root) / (2.0f * cube + root);
    }
    return 1.055f * (sqrtf(root) * cube_root) - 0.055f;
}

HANDOVER_INLINE float decided(float light, float threshold, float highest) {
    return fminf(floorf(encoded(light) * highest + threshold), highest);
}

// A float of up to 2^22 in size to the nearest whole one.
HANDOVER_INLINE float nearest_whole(float value) { return (value + 1.5f * whole_floats) - 1.5f * whole_floats; }

// Light of the level below or above, of levels 0 to `highest`, at most 255: the share of thresholds that lead to the one above
// is how far the value is from the one below. `light` is in [0, 1].
struct Level {
    float light, value, whole;

    HANDOVER_INLINE Level(float color, float threshold, float highest)
        : light(saturate(color)),
          value(fmaf(srgb_encoded(light), highest, threshold - 0.5f)),
          whole(nearest_whole(value)) {}

    // How far from where the value is decided; 1/2 is there.
    HANDOVER_INLINE float distance() const { return fabsf(value - whole); }

    HANDOVER_INLINE void decide(float threshold, float highest) {
        if (distance() > 0.49f) whole = decided(light, threshold, highest);
    }
};

// `step` is 1 / `highest`; see srgb_decoded.
HANDOVER_INLINE float light_of_level(float whole, float highest, float step) {
    float curved = approximate_exp2(2.4f * approximate_log2(fmaf(whole, step * (1.0f / 1.055f), 0.055f / 1.055f)));
    return whole <= 0.04045f * highest ? whole * (step * (1.0f / 12.92f)) : curved;
}

HANDOVER_INLINE Light dithered(float4 color, float threshold, unsigned count) {
    float highest = float(count - 1u), step = approximate_reciprocal(highest);
    Level red(color.x, threshold, highest), green(color.y, threshold, highest), blue(color.z, threshold, highest);
    // An approximation decides, but for values so near to where the level changes that it could be wrong. It and the definition
    // are within 4.5e-7 and 3e-7 of the exact encoding, times `highest`; two roundings of sums below 256 on either side add 3.1e-5.
    float sure = 0.5f - fmaf(8e-7f, highest, 4e-5f);
    if (red.distance() > sure || green.distance() > sure || blue.distance() > sure) {
        red.decide(threshold, highest);
        green.decide(threshold, highest);
        blue.decide(threshold, highest);
    }
    return {light_of_level(red.whole, highest, step), light_of_level(green.whole, highest, step),
            light_of_level(blue.whole, highest, step), color.w};
}
