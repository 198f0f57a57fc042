/*---
title = "Colour table"
summary = "Colours are looked up in a table from a .cube file, between whose entries it interpolates in tetrahedra."
source = "Adobe, Cube LUT Specification 1.0 (2013); Kasson, Nin, Plouffe and Hafner, Performing color space conversions with three-dimensional linear interpolation, Journal of Electronic Imaging 4(3), 1995: tetrahedral interpolation; IEC 61966-2-1: sRGB's transfer function"
stage = "grade"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; what is outside the table's domain is its edge"

[tolerance]
ulps = 1
absolute = 1e-5
why = "the power of the encoding and of its inverse is off by some ulps of float, which the table's slope and the steep end of the inverse enlarge"

[[parameters]]
name = "intensity"
unit = ""
minimum = 0.0
maximum = 1.0
default = 1.0
step = 0.05
type = "f32"

[[parameters]]
name = "encoding"
unit = "of the table: 0 linear light, 1 sRGB"
minimum = 0
maximum = 1
default = 1
step = 1
type = "u32"

[[buffers]]
name = "file"
table = "cube"

[[passes]]
entry = "lut"
source = "input"
destination = "output"
buffers = ["file"]
pointwise = true
---*/
#include "handover.cuh"

struct LutParameters {
    float intensity;
    unsigned encoding;
};

// sRGB's transfer function, beyond 1 as well.
HANDOVER_INLINE float encode(float value) {
    return value <= 0.0031308f ? 12.92f * value : 1.055f * power(value, 1.0f / 2.4f) - 0.055f;
}

HANDOVER_INLINE float decode(float value) {
    return value <= 0.04045f ? value / 12.92f : power((value + 0.055f) / 1.055f, 2.4f);
}

// Where a value stands in the table: the entry below it, and how far it is to the next one, in [0, 1].
struct Place {
    int entry;
    float fraction;
};

HANDOVER_INLINE Place place(float value, float low, float high, float size) {
    float position = clamp((value - low) / (high - low), 0.0f, 1.0f) * (size - 1.0f);
    float entry = fminf(floorf(position), size - 2.0f);
    return {int(entry), position - entry};
}

// From one corner of a tetrahedron to the next: each adds its difference, weighed by the fraction of the axis it lies along.
HANDOVER_INLINE float4 walk(float4 sum, float4 from, float4 to, float fraction) {
    return make_float4(sum.x + (to.x - from.x) * fraction, sum.y + (to.y - from.y) * fraction,
                       sum.z + (to.z - from.z) * fraction, 0.0f);
}

HANDOVER_INLINE void order(Place& large, Place& small) {
    if (small.fraction > large.fraction) {
        Place other = large;
        large = small;
        small = other;
    }
}

// The six tetrahedra of a cell share its diagonal: one walks from the lower corner to the upper along the axes, that of the
// largest fraction first. `entry` of the axes becomes the step along them.
HANDOVER_INLINE float4 tetrahedral(const float4* entries, Place red, Place green, Place blue, int size) {
    int at = (blue.entry * size + green.entry) * size + red.entry;
    red.entry = 1;
    green.entry = size;
    blue.entry = size * size;
    order(red, green);
    order(green, blue);
    order(red, green);
    float4 lower = entries[at];
    float4 second = entries[at + red.entry];
    float4 third = entries[at + red.entry + green.entry];
    float4 upper = entries[at + 1 + size + size * size];
    float4 sum = walk(lower, lower, second, red.fraction);
    sum = walk(sum, second, third, green.fraction);
    return walk(sum, third, upper, blue.fraction);
}

HANDOVER_INLINE float4 looked_up(float4 color, int2 at, const Pass& pass, const LutParameters& parameters) {
    const float4* table = elements<const float4>(pass.buffers[0]);
    float4 head = table[0], low = table[1], high = table[2];
    const float4* entries = table + 3;
    float4 value = color;
    if (parameters.encoding == 1) value = make_float4(encode(value.x), encode(value.y), encode(value.z), 0.0f);
    Place red = place(value.x, low.x, high.x, head.x);
    Place green = place(value.y, low.y, high.y, head.x);
    Place blue = place(value.z, low.z, high.z, head.x);
    if (head.y == 3.0f) {
        value = tetrahedral(entries, red, green, blue, int(head.x));
    } else {
        float4 r = entries[red.entry], g = entries[green.entry], b = entries[blue.entry];
        value.x = r.x + (entries[red.entry + 1].x - r.x) * red.fraction;
        value.y = g.y + (entries[green.entry + 1].y - g.y) * green.fraction;
        value.z = b.z + (entries[blue.entry + 1].z - b.z) * blue.fraction;
    }
    if (parameters.encoding == 1) value = make_float4(decode(value.x), decode(value.y), decode(value.z), 0.0f);
    float before = 1.0f - parameters.intensity;
    return make_float4(color.x * before + light(value.x) * parameters.intensity,
                       color.y * before + light(value.y) * parameters.intensity,
                       color.z * before + light(value.z) * parameters.intensity, color.w);
}

HANDOVER_POINTWISE(lut, looked_up, LutParameters)
