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
#include "handover_srgb.cuh"

struct LutParameters {
    float intensity;
    unsigned encoding;
};

// Where a value stands in the table: the entry below it, and how far it is to the next one, in [0, 1].
struct Place {
    int entry;
    float fraction;
};

HANDOVER_INLINE Place place(float value, float low, float high, float size) {
    float scale = approximate_reciprocal(high - low);
    float position = saturate(fmaf(value, scale, -low * scale)) * (size - 1.0f);
    float entry = fminf(add_down(position, whole_floats), whole_floats + (size - 2.0f));
    return {int(__float_as_uint(entry) - whole_bits), position - (entry - whole_floats)};
}

// The six tetrahedra of a cell share its diagonal: one goes from the lower corner to the upper along the axes, that of the
// largest fraction first. The weight of a corner is what the fraction falls there.
HANDOVER_INLINE float4 tetrahedral(const float4* entries, Place red, Place green, Place blue, int size) {
    float r = red.fraction, g = green.fraction, b = blue.fraction;
    bool red_green = r >= g, green_blue = g >= b, red_blue = r >= b;
    int area = size * size;
    int first = red_green && red_blue ? 1 : green_blue ? size : area;
    int last = green_blue && red_blue ? area : red_green ? size : 1;
    float less = fminf(r, g), more = fmaxf(r, g);
    float largest = fmaxf(more, b), middle = fmaxf(less, fminf(more, b)), smallest = fminf(less, b);
    const float4* lower = entries + ((blue.entry * size + green.entry) * size + red.entry);
    const float4* upper = lower + (1 + size + area);
    float4 corners[4] = {lower[0], lower[first], *(upper - last), upper[0]};
    float weights[4] = {1.0f - largest, largest - middle, middle - smallest, smallest};
    float4 sum = corners[0] * weights[0];
#pragma unroll
    for (int corner = 1; corner < 4; ++corner) {
        sum.x = fmaf(corners[corner].x, weights[corner], sum.x);
        sum.y = fmaf(corners[corner].y, weights[corner], sum.y);
        sum.z = fmaf(corners[corner].z, weights[corner], sum.z);
    }
    return sum;
}

// The head of the table: see `Table`.
struct Head {
    float4 size, low, high;

    using Two = Head;
    static HANDOVER_INLINE Head read(const Pass& pass, int2 at) {
        const float4* table = elements<const float4>(pass.buffers[0]);
        return {__ldg(table), __ldg(table + 1), __ldg(table + 2)};
    }
    static HANDOVER_INLINE Head of(const Head& head, bool second) { return head; }
};

HANDOVER_INLINE float mixed(float before, float value, float intensity) {
    return fmaf(light(value), intensity, before * (1.0f - intensity));
}

HANDOVER_INLINE float4 looked_up(float4 color, Head head, int2 at, const Pass& pass, const LutParameters& parameters) {
    const float4* entries = elements<const float4>(pass.buffers[0]) + 3;
    float4 value = color;
    if (parameters.encoding == 1)
        value = make_float4(srgb_encoded(value.x), srgb_encoded(value.y), srgb_encoded(value.z), 0.0f);
    Place red = place(value.x, head.low.x, head.high.x, head.size.x);
    Place green = place(value.y, head.low.y, head.high.y, head.size.x);
    Place blue = place(value.z, head.low.z, head.high.z, head.size.x);
    if (head.size.y == 3.0f) {
        value = tetrahedral(entries, red, green, blue, int(head.size.x));
    } else {
        float r = entries[red.entry].x, g = entries[green.entry].y, b = entries[blue.entry].z;
        value.x = fmaf(entries[red.entry + 1].x - r, red.fraction, r);
        value.y = fmaf(entries[green.entry + 1].y - g, green.fraction, g);
        value.z = fmaf(entries[blue.entry + 1].z - b, blue.fraction, b);
    }
    if (parameters.encoding == 1)
        value = make_float4(srgb_decoded(value.x), srgb_decoded(value.y), srgb_decoded(value.z), 0.0f);
    // What is stored is limited anyway.
    if (parameters.intensity == 1.0f) return make_float4(value.x, value.y, value.z, color.w);
    return make_float4(mixed(color.x, value.x, parameters.intensity), mixed(color.y, value.y, parameters.intensity),
                       mixed(color.z, value.z, parameters.intensity), color.w);
}

HANDOVER_POINTWISE(lut, looked_up, LutParameters)
