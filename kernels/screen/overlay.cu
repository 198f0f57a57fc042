// The overlay over the screen image under the schedule `copy-back`, to the bit as shaders/overlay.wgsl draws it: a block a tile of
// 16x16 texels that has any shape. Each sum and each product is rounded by itself, in the same order.
#include "handover.cuh"

// Where things are in `words`, in fours. See DrawList.
struct Layout {
    unsigned references;
    unsigned tiles;
    unsigned tile_count;
    unsigned atlas_width;
};

// A texel that is covered: what of the atlas it shows, times which colour; both premultiplied and sRGB-encoded, in steps of a byte.
struct Covered {
    float2 uv;
    float4 color;
};

// One over the square of 255: a product of two bytes becomes 0 to 1.
constexpr float of_bytes = 1.53787005e-5f;

HANDOVER_INLINE float4 bytes(unsigned word) {
    return make_float4(float(word & 255), float(word >> 8 & 255), float(word >> 16 & 255), float(word >> 24));
}

HANDOVER_INLINE float2 point(unsigned x, unsigned y) { return make_float2(__uint_as_float(x), __uint_as_float(y)); }

// Twice the area of a, b, p: positive where they run clockwise on the screen. Computed from the same end whichever way the edge
// runs, so that two triangles that share it get the same number with opposite signs.
HANDOVER_INLINE float edge(float2 a, float2 b, float2 p) {
    bool swapped = a.x > b.x || (a.x == b.x && a.y > b.y);
    float2 origin = swapped ? b : a, end = swapped ? a : b;
    float2 along = make_float2(end.x - origin.x, end.y - origin.y);
    float2 to = make_float2(p.x - origin.x, p.y - origin.y);
    float area = along.x * to.y - along.y * to.x;
    return swapped ? -area : area;
}

// A texel whose centre is on an edge belongs to the triangle right of or below it.
HANDOVER_INLINE bool is_inside(float area, float2 a, float2 b) {
    float2 along = make_float2(b.x - a.x, b.y - a.y);
    return area > 0.0f || (area == 0.0f && (along.y < 0.0f || (along.y == 0.0f && along.x > 0.0f)));
}

// A triangle's four fours: corners a and b, corner c, their texture coordinates, their colours and one over twice the area.
HANDOVER_INLINE bool triangle(const uint4* words, unsigned at, float2 p, Covered& covered) {
    uint4 ab = words[at], c_uv = words[at + 1];
    float2 a = point(ab.x, ab.y), b = point(ab.z, ab.w), c = point(c_uv.x, c_uv.y);
    float of_c = edge(a, b, p), of_a = edge(b, c, p), of_b = edge(c, a, p);
    float area = of_c + of_a + of_b;
    if (!is_inside(of_c, a, b) || !is_inside(of_a, b, c) || !is_inside(of_b, c, a) || area <= 0.0f) return false;
    uint4 uv = words[at + 2], colors = words[at + 3];
    // Devices divide differently; a step of Newton's method from the host's quotient has the one of these very sums.
    float near = __uint_as_float(colors.w);
    float inverse = near * (2.0f - area * near);
    float u = clamp(of_a * inverse, 0.0f, 1.0f);
    float v = clamp(of_b * inverse, 0.0f, 1.0f);
    float w = clamp(of_c * inverse, 0.0f, 1.0f);
    float2 uv_a = point(uv.x, uv.y), uv_b = point(uv.z, uv.w), uv_c = point(c_uv.z, c_uv.w);
    covered.uv = make_float2(u * uv_a.x + v * uv_b.x + w * uv_c.x, u * uv_a.y + v * uv_b.y + w * uv_c.y);
    covered.color = bytes(colors.x) * u + bytes(colors.y) * v + bytes(colors.z) * w;
    return true;
}

// Its place in the atlas; never beyond it.
HANDOVER_INLINE unsigned atlas_place(float2 uv, unsigned width, const Buffer& atlas) {
    unsigned long long place = (unsigned long long)(unsigned(uv.y)) * width + unsigned(uv.x);
    unsigned long long last = length<unsigned>(atlas) - 1;
    return unsigned(place < last ? place : last);
}

HANDOVER_INLINE unsigned blended(float over, float alpha, unsigned under) {
    float value = over * 255.0f + float(under) * (1.0f - alpha);
    return unsigned(fminf(floorf(value + 0.5f), 255.0f));
}

extern "C" __global__ void overlay(const __grid_constant__ Image screen, const __grid_constant__ Buffer list,
                                   const __grid_constant__ Buffer atlas, const __grid_constant__ Layout layout) {
    const uint4* words = elements<uint4>(list);
    // Column, row, first reference, how many.
    uint4 tile = words[layout.tiles + blockIdx.x];
    int2 texel = make_int2(int(tile.x * 16 + threadIdx.x), int(tile.y * 16 + threadIdx.y));
    // A list made for another extent is cut off at the image's edge.
    if (!covers(screen, texel)) return;
    float2 p = make_float2(float(texel.x) + 0.5f, float(texel.y) + 0.5f);
    const unsigned* references = elements<unsigned>(list) + 4 * size_t(layout.references);
    float4 over = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    bool is_covered = false;
    for (unsigned reference = tile.z; reference < tile.z + tile.w; ++reference) {
        unsigned shape = references[reference];
        // Its bounds, where its triangle is (0: it is a rectangle), and a rectangle's colour.
        uint4 head = words[shape];
        if (texel.x < int(head.x & 0xffff) || texel.y < int(head.x >> 16) || texel.x >= int(head.y & 0xffff) ||
            texel.y >= int(head.y >> 16))
            continue;
        Covered covered;
        if (head.z == 0) {
            uint4 uv = words[shape + 1];
            float2 origin = point(uv.x, uv.y), slope = point(uv.z, uv.w);
            covered.uv = make_float2(origin.x + slope.x * p.x, origin.y + slope.y * p.y);
            covered.color = bytes(head.w);
        } else if (!triangle(words, head.z, p, covered)) {
            continue;
        }
        float4 seen = bytes(elements<unsigned>(atlas)[atlas_place(covered.uv, layout.atlas_width, atlas)]);
        float4 color = make_float4(seen.x * covered.color.x, seen.y * covered.color.y, seen.z * covered.color.z,
                                   seen.w * covered.color.w) *
                       of_bytes;
        over = color + over * (1.0f - color.w);
        is_covered = true;
    }
    // What nothing covers is not even read: it stays the very same.
    if (!is_covered) return;
    uchar4 under = surf2Dread<uchar4>(screen.surface, texel.x * 4, texel.y);
    surf2Dwrite(blended(over.x, over.w, under.x) | blended(over.y, over.w, under.y) << 8 |
                    blended(over.z, over.w, under.z) << 16 | 0xff000000u,
                screen.surface, texel.x * 4, texel.y);
}
