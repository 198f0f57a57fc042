/*---
title = "Film grain"
summary = "Noise as of film, new in each frame: strongest in the middle tones of luminance, absent in black and white."
source = "PCG RXS-M-XS hash (O'Neill 2014; Jarzynski and Olano, JCGT 9(3), 2020); triangular noise; the deviation of a share of opaque grains, sqrt(p (1 - p))"
stage = "grain"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
absolute = 1e-6
why = "grain is subtracted and can cancel the light, by less than 1e-6; elsewhere only the last rounding differs"

[[parameters]]
name = "amount"
unit = "light"
minimum = 0.0
maximum = 0.5
default = 0.03
step = 0.005
type = "f32"

[[parameters]]
name = "size"
unit = "px"
minimum = 1
maximum = 8
default = 1
step = 1
type = "u32"

[[parameters]]
name = "colour"
unit = "share of the noise that each channel has of its own"
minimum = 0.0
maximum = 1.0
default = 0.0
step = 0.1
type = "f32"

[[passes]]
entry = "film_grain"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct FilmGrainParameters {
    float amount;
    unsigned size;
    float colour;
};

// One step of PCG's 32-bit generator and its RXS-M-XS output, used as a hash.
HANDOVER_INLINE unsigned pcg(unsigned value) {
    unsigned state = value * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

// Triangular noise in [-1, 1] from the two halves of one hash.
HANDOVER_INLINE float noise(unsigned hash) {
    float sum = __uint_as_float(whole_bits + (hash & 0xffffu) + (hash >> 16));
    return (sum - (whole_floats + 65535.0f)) * (1.0f / 65535.0f);
}

// The noise of a channel: that of all channels, mixed with its own.
HANDOVER_INLINE float mixed(float common, unsigned hash, float colour) {
    return fmaf(noise(hash), colour, common * (1.0f - colour));
}

HANDOVER_INLINE float4 grained(float4 color, int2 at, const Pass& pass, const FilmGrainParameters& parameters) {
    unsigned x = unsigned(at.x), y = unsigned(at.y);
    if (parameters.size > 1u) {
        // 2^31 over the size, rounded up, is off by less than 8, which for places up to 2^28 changes no whole quotient.
        unsigned inverse = 0x80000000u / parameters.size + 1u;
        x = __umulhi(2u * x, inverse);
        y = __umulhi(2u * y, inverse);
    }
    // Of the frame number the low 32 bits count.
    unsigned hash = pcg(x + pcg(y + pcg(unsigned(pass.frame))));
    float common = noise(hash);
    // The share of grains that are opaque deviates by this root, here 1 in the middle.
    float level = saturate(luminance(color));
    float amount = 2.0f * parameters.amount * approximate_root(level * (1.0f - level));
    float3 grain = make_float3(common, common, common);
    if (parameters.colour > 0.0f) {
        unsigned red = pcg(hash), green = pcg(red), blue = pcg(green);
        grain = make_float3(mixed(common, red, parameters.colour), mixed(common, green, parameters.colour),
                            mixed(common, blue, parameters.colour));
    }
    return make_float4(fmaf(amount, grain.x, color.x), fmaf(amount, grain.y, color.y), fmaf(amount, grain.z, color.z),
                       color.w);
}

HANDOVER_POINTWISE(film_grain, grained, FilmGrainParameters)
