// What dithers share. For kernels that include handover.cuh before, once each: see handover_srgb.cuh.
#include "handover_srgb.cuh"

// The sRGB encoding of light in [0, 1] as it is defined for levels, which decides. The power 1 / 2.4 = 1/4 + 1/6 is
// made of roots, the cube root by Halley's method from a line: only operations that round alike everywhere, so that no
// level flips between a GPU and a CPU. Three steps leave 3e-7 of the value.
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

// The level below or above, of levels 0 to `highest`, at most 255: the share of thresholds that lead to the one above is
// how far the value is from the one below.
struct Level {
    float whole;
    bool is_sure;
};

// An approximation decides, but for values so near to where the level changes that it could be wrong. It and the definition
// are within 3.6e-7 and 3e-7 of the exact encoding, times `highest`; three roundings to floats below 256 add 2.3e-5.
HANDOVER_INLINE Level level(float color, float threshold, float highest, bool exactly) {
    float light = saturate(color), value = fmaf(srgb_encoded(light), highest, threshold - 0.5f);
    float whole = nearest_whole(value);
    bool is_sure = fabsf(value - whole) <= 0.5f - fmaf(6.6e-7f, highest, 2.3e-5f);
    if (exactly && !is_sure) whole = decided(light, threshold, highest);
    return {whole, is_sure};
}

// `step` is 1 / `highest`; see srgb_decoded.
HANDOVER_INLINE float light_of_level(float whole, float highest, float step) {
    float curved = approximate_exp2(2.4f * approximate_log2(fmaf(whole, step * (1.0f / 1.055f), 0.055f / 1.055f)));
    return whole <= 0.04045f * highest ? whole * (step * (1.0f / 12.92f)) : curved;
}

HANDOVER_INLINE Doubtful dithered(float4 color, float threshold, unsigned count, bool exactly) {
    float highest = float(count - 1u), step = approximate_reciprocal(highest);
    Level red = level(color.x, threshold, highest, exactly), green = level(color.y, threshold, highest, exactly);
    Level blue = level(color.z, threshold, highest, exactly);
    Light light = {light_of_level(red.whole, highest, step), light_of_level(green.whole, highest, step),
                   light_of_level(blue.whole, highest, step), color.w};
    return {light, red.is_sure && green.is_sure && blue.is_sure};
}
