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

// Levels 0 to `highest`, at most 255, of three channels up to 1: the level below or above, so that the share of thresholds that
// lead to the one above is how far the value is from the one below. Decided by an approximation, but for values so near to a
// whole number that it could be wrong. It and the definition are within 4.5e-7 and 3e-7 of the exact encoding, times
// `highest`; one rounding of a sum below 256 and two of the definition's add 2.3e-5.
struct Levels {
    float red, green, blue;
};

HANDOVER_INLINE float whole_below(float value) { return add_down(value, whole_floats) - whole_floats; }

HANDOVER_INLINE bool in_doubt(float value, float whole, float highest) {
    float sure = 0.5f - fmaf(8e-7f, highest, 4e-5f);
    return fabsf(value - whole - 0.5f) > sure;
}

HANDOVER_INLINE float decided(float light, float threshold, float highest) {
    return floorf(encoded(light) * highest + threshold);
}

HANDOVER_INLINE Levels levels_of(float4 color, float threshold, float highest) {
    float r = saturate(color.x), g = saturate(color.y), b = saturate(color.z);
    float red = fmaf(srgb_encoded(r), highest, threshold);
    float green = fmaf(srgb_encoded(g), highest, threshold);
    float blue = fmaf(srgb_encoded(b), highest, threshold);
    Levels levels = {whole_below(red), whole_below(green), whole_below(blue)};
    bool doubts[3] = {in_doubt(red, levels.red, highest), in_doubt(green, levels.green, highest),
                      in_doubt(blue, levels.blue, highest)};
    if (doubts[0] || doubts[1] || doubts[2]) {
        if (doubts[0]) levels.red = decided(r, threshold, highest);
        if (doubts[1]) levels.green = decided(g, threshold, highest);
        if (doubts[2]) levels.blue = decided(b, threshold, highest);
    }
    return levels;
}

// Light of the levels.
HANDOVER_INLINE float4 dithered(float4 color, float threshold, unsigned count) {
    float highest = float(count - 1u), step = approximate_reciprocal(highest);
    Levels levels = levels_of(color, threshold, highest);
    return make_float4(srgb_decoded(fminf(levels.red, highest) * step), srgb_decoded(fminf(levels.green, highest) * step),
                       srgb_decoded(fminf(levels.blue, highest) * step), color.w);
}
