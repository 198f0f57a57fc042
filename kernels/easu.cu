/*---
title = "EASU"
summary = "AMD FSR 1: edges of a scene drawn smaller are found again at the display's extent. With --render-scale below 1."
source = "AMD FidelityFX Super Resolution 1.0, ffx_fsr1.h: FsrEasuCon and FsrEasuF, with exact reciprocals and roots"
stage = "upscale"
upscales = true
alpha = "that of the nearest texel"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 2
relative = 2e-3
absolute = 1e-6
why = "twelve products with weights of both signs; the sum is divided by that of the weights and squared"

[[passes]]
entry = "easu"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

// FSR works on values as they are displayed. The root is close to that encoding, and exact.
HANDOVER_INLINE float4 encoded(const Image& image, int x, int y) {
    float4 color = load(image, x, y);
    return make_float4(sqrtf(color.x), sqrtf(color.y), sqrtf(color.z), color.w);
}

// Half of red and blue, all of green: the header's luma, times two.
HANDOVER_INLINE float luma(float4 color) { return color.z * 0.5f + (color.x * 0.5f + color.y); }

// Direction and length of the edge, gathered over the four texels around the position.
struct Edge {
    float x, y, length;
};

// Adds what the cross about one of the four texels says,
//       a
//     b c d
//       e
// with that texel's bilinear weight.
HANDOVER_INLINE void gather(Edge& edge, float weight, float a, float b, float c, float d, float e) {
    float dc = d - c, cb = c - b, x = d - b;
    float steepest = fmaxf(fabsf(dc), fabsf(cb));
    float share = steepest > 0.0f ? clamp(fabsf(x) / steepest, 0.0f, 1.0f) : 0.0f;
    edge.x += x * weight;
    edge.length += share * share * weight;
    float ec = e - c, ca = c - a, y = e - a;
    steepest = fmaxf(fabsf(ec), fabsf(ca));
    share = steepest > 0.0f ? clamp(fabsf(y) / steepest, 0.0f, 1.0f) : 0.0f;
    edge.y += y * weight;
    edge.length += share * share * weight;
}

// The kernel's shape: its axes, how far they are stretched, how deep its negative lobe is, and where it ends.
struct Shape {
    float x, y, along, across, lobe, clip;
};

// An approximation of Lanczos 2 by polynomials, at a tap's distance from the position.
HANDOVER_INLINE void tap(float4& sum, float& total, const Shape& shape, float dx, float dy, float4 color) {
    float along = (dx * shape.x + dy * shape.y) * shape.along;
    float across = (dx * -shape.y + dy * shape.x) * shape.across;
    float squared = fminf(along * along + across * across, shape.clip);
    float base = 2.0f / 5.0f * squared - 1.0f;
    float window = shape.lobe * squared - 1.0f;
    float weight = (25.0f / 16.0f * (base * base) - (25.0f / 16.0f - 1.0f)) * (window * window);
    sum = sum + color * weight;
    total += weight;
}

HANDOVER_INLINE float least(float a, float b, float c, float d) { return fminf(fminf(a, b), fminf(c, d)); }
HANDOVER_INLINE float most(float a, float b, float c, float d) { return fmaxf(fmaxf(a, b), fmaxf(c, d)); }

extern "C" __global__ void easu(const __grid_constant__ Pass pass, const __grid_constant__ NoParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float scale_x = float(pass.source.extent.x) / float(pass.destination.extent.x);
    float scale_y = float(pass.source.extent.y) / float(pass.destination.extent.y);
    float px = at.x * scale_x + (0.5f * scale_x - 0.5f), py = at.y * scale_y + (0.5f * scale_y - 0.5f);
    float left = floorf(px), top = floorf(py);
    int x = int(left), y = int(top);
    px -= left;
    py -= top;

    //     b c
    //   e f g h
    //   i j k l
    //     n o
    const Image& image = pass.source;
    float4 b = encoded(image, x, y - 1), c = encoded(image, x + 1, y - 1);
    float4 e = encoded(image, x - 1, y), f = encoded(image, x, y), g = encoded(image, x + 1, y),
           h = encoded(image, x + 2, y);
    float4 i = encoded(image, x - 1, y + 1), j = encoded(image, x, y + 1), k = encoded(image, x + 1, y + 1),
           l = encoded(image, x + 2, y + 1);
    float4 n = encoded(image, x, y + 2), o = encoded(image, x + 1, y + 2);
    float bl = luma(b), cl = luma(c), el = luma(e), fl = luma(f), gl = luma(g), hl = luma(h);
    float il = luma(i), jl = luma(j), kl = luma(k), ll = luma(l), nl = luma(n), ol = luma(o);

    Edge edge = {0.0f, 0.0f, 0.0f};
    gather(edge, (1.0f - px) * (1.0f - py), bl, el, fl, gl, jl);
    gather(edge, px * (1.0f - py), cl, fl, gl, hl, kl);
    gather(edge, (1.0f - px) * py, fl, il, jl, kl, nl);
    gather(edge, px * py, gl, jl, kl, ll, ol);

    float squared = edge.x * edge.x + edge.y * edge.y;
    bool flat = squared < 1.0f / 32768.0f;
    float scale = flat ? 1.0f : 1.0f / sqrtf(squared);
    Shape shape;
    shape.x = (flat ? 1.0f : edge.x) * scale;
    shape.y = edge.y * scale;
    float length = 0.5f * edge.length;
    length *= length;
    float stretch = (shape.x * shape.x + shape.y * shape.y) / fmaxf(fabsf(shape.x), fabsf(shape.y));
    shape.along = 1.0f + (stretch - 1.0f) * length;
    shape.across = 1.0f - 0.5f * length;
    shape.lobe = 0.5f + (1.0f / 4.0f - 0.04f - 0.5f) * length;
    shape.clip = 1.0f / shape.lobe;

    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float total = 0.0f;
    tap(sum, total, shape, 0.0f - px, -1.0f - py, b);
    tap(sum, total, shape, 1.0f - px, -1.0f - py, c);
    tap(sum, total, shape, -1.0f - px, 1.0f - py, i);
    tap(sum, total, shape, 0.0f - px, 1.0f - py, j);
    tap(sum, total, shape, 0.0f - px, 0.0f - py, f);
    tap(sum, total, shape, -1.0f - px, 0.0f - py, e);
    tap(sum, total, shape, 1.0f - px, 1.0f - py, k);
    tap(sum, total, shape, 2.0f - px, 1.0f - py, l);
    tap(sum, total, shape, 2.0f - px, 0.0f - py, h);
    tap(sum, total, shape, 1.0f - px, 0.0f - py, g);
    tap(sum, total, shape, 1.0f - px, 2.0f - py, o);
    tap(sum, total, shape, 0.0f - px, 2.0f - py, n);

    // Without ringing: between the darkest and the brightest of the four texels around.
    float red = clamp(sum.x / total, least(f.x, g.x, j.x, k.x), most(f.x, g.x, j.x, k.x));
    float green = clamp(sum.y / total, least(f.y, g.y, j.y, k.y), most(f.y, g.y, j.y, k.y));
    float blue = clamp(sum.z / total, least(f.z, g.z, j.z, k.z), most(f.z, g.z, j.z, k.z));
    float4 nearest = py < 0.5f ? (px < 0.5f ? f : g) : (px < 0.5f ? j : k);
    store(pass.destination, at, make_float4(red * red, green * green, blue * blue, nearest.w));
}
