// sRGB's transfer function (IEC 61966-2-1) by approximate powers. For kernels that include handover.cuh before. There is no
// include guard: of the members of a fused kernel each includes it into a namespace of its own.

// The encoded value of light of at least 0, beyond 1 as well. Of light up to 1 it is within 4.5e-7 of the exact one: lg2.approx
// is off by 2^-22, below 1/2 by that share of its value, ex2.approx by 2^-22 of its own (PTX ISA).
HANDOVER_INLINE float srgb_encoded(float light) {
    float curved = fmaf(1.055f, approximate_exp2(1.0f / 2.4f * approximate_log2(light)), -0.055f);
    return light <= 0.0031308f ? 12.92f * light : curved;
}

// Light of an encoded value, beyond 1 as well; of one below 0 it is negative. Within 1e-6 of its value where that is at most 1.
HANDOVER_INLINE float srgb_decoded(float value) {
    float curved = approximate_exp2(2.4f * approximate_log2(fmaf(value, 1.0f / 1.055f, 0.055f / 1.055f)));
    return value <= 0.04045f ? value * (1.0f / 12.92f) : curved;
}
