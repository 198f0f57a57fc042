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
absolute = 1e-5
why = "twelve products with weights of both signs, so what is left beside bright texels is little; the sum is squared"

# 12 taps of 14, 4 crosses of 20, 30 for the shape and 24 for the limits; 8 steepest, 4 reciprocals and roots of the
# shape and the sum.
[arithmetic]
operations = 302
special = 12

[[passes]]
entry = "easu"
source = "input"
destination = "output"
block = [32, 8]
texels = [1, 2]
---*/
#include "handover.cuh"

constexpr int block_width = 32, block_height = 8;
constexpr int rows = 2;  // texels that a thread writes, `block_height` apart
// The scene is at most as large as what is shown: a block's positions, and two texels around.
constexpr int tile_width = block_width + 5, tile_height = rows * block_height + 5;

// What a block reads of the scene: encoded colours with their lumas, and alpha.
struct Tile {
    float4 texel[tile_height][tile_width];
    float alpha[tile_height][tile_width];
};

// Half of red and blue, all of green: the header's luma, times two.
HANDOVER_INLINE float luma(float4 color) { return color.z * 0.5f + (color.x * 0.5f + color.y); }

// FSR works on values as they are displayed. The root is close to that encoding, and exact.
HANDOVER_INLINE float4 encoded(float4 color) {
    float4 root = make_float4(sqrtf(color.x), sqrtf(color.y), sqrtf(color.z), 0.0f);
    root.w = luma(root);
    return root;
}

// Direction and length of the edge, gathered over the four texels around the position.
struct Edge {
    float x, y, length;
};

// How much of the steepest step the whole step is; 0 where there is none.
HANDOVER_INLINE float straightness(float step, float steepest) {
    return fminf(quotient(fabsf(step), fmaxf(steepest, 1e-20f)), 1.0f);
}

// Adds what the cross about one of the four texels says,
//       a
//     b c d
//       e
// with that texel's bilinear weight.
HANDOVER_INLINE void gather(Edge& edge, float weight, float a, float b, float c, float d, float e) {
    float dc = d - c, cb = c - b, x = d - b;
    float share = straightness(x, fmaxf(fabsf(dc), fabsf(cb)));
    edge.x += x * weight;
    edge.length = fmaf(share * share, weight, edge.length);
    float ec = e - c, ca = c - a, y = e - a;
    share = straightness(y, fmaxf(fabsf(ec), fabsf(ca)));
    edge.y += y * weight;
    edge.length = fmaf(share * share, weight, edge.length);
}

// The kernel's shape: its axes, each divided by how far the kernel is stretched along it, how deep its negative lobe
// is, and where it ends.
struct Shape {
    float2 along, across;
    float lobe, clip;
};

// An approximation of Lanczos 2 by polynomials, at a tap's distance from the position.
HANDOVER_INLINE void tap(float4& sum, const Shape& shape, float dx, float dy, float4 color) {
    float along = fmaf(dx, shape.along.x, dy * shape.along.y);
    float across = fmaf(dx, shape.across.x, dy * shape.across.y);
    float squared = fminf(fmaf(along, along, across * across), shape.clip);
    float base = fmaf(2.0f / 5.0f, squared, -1.0f);
    float window = fmaf(shape.lobe, squared, -1.0f);
    float weight = fmaf(25.0f / 16.0f, base * base, -(25.0f / 16.0f - 1.0f)) * (window * window);
    sum = make_float4(fmaf(color.x, weight, sum.x), fmaf(color.y, weight, sum.y), fmaf(color.z, weight, sum.z),
                      sum.w + weight);
}

HANDOVER_INLINE float least(float a, float b, float c, float d) { return fminf(fminf(a, b), fminf(c, d)); }
HANDOVER_INLINE float most(float a, float b, float c, float d) { return fmaxf(fmaxf(a, b), fmaxf(c, d)); }

// The result at a fraction of a texel from the tile's texel at column and row.
HANDOVER_INLINE float4 resolved(const Tile& tile, int column, int row, float px, float py) {
    //     b c
    //   e f g h
    //   i j k l
    //     n o
    const auto& t = tile.texel;
    float4 b = t[row - 1][column], c = t[row - 1][column + 1];
    float4 e = t[row][column - 1], f = t[row][column], g = t[row][column + 1], h = t[row][column + 2];
    float4 i = t[row + 1][column - 1], j = t[row + 1][column], k = t[row + 1][column + 1], l = t[row + 1][column + 2];
    float4 n = t[row + 2][column], o = t[row + 2][column + 1];

    Edge edge = {0.0f, 0.0f, 0.0f};
    gather(edge, (1.0f - px) * (1.0f - py), b.w, e.w, f.w, g.w, j.w);
    gather(edge, px * (1.0f - py), c.w, f.w, g.w, h.w, k.w);
    gather(edge, (1.0f - px) * py, f.w, i.w, j.w, k.w, n.w);
    gather(edge, px * py, g.w, j.w, k.w, l.w, o.w);

    float squared = edge.x * edge.x + edge.y * edge.y;
    bool flat = squared < 1.0f / 32768.0f;
    float scale = flat ? 1.0f : rsqrtf(squared);
    float x = (flat ? 1.0f : edge.x) * scale, y = edge.y * scale;
    float length = 0.5f * edge.length;
    length *= length;
    float stretch = quotient(x * x + y * y, fmaxf(fabsf(x), fabsf(y)));
    float along = fmaf(stretch - 1.0f, length, 1.0f), across = 1.0f - 0.5f * length;
    float lobe = 0.5f + (1.0f / 4.0f - 0.04f - 0.5f) * length;
    Shape shape = {make_float2(x * along, y * along), make_float2(-y * across, x * across), lobe, quotient(1.0f, lobe)};

    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    tap(sum, shape, 0.0f - px, -1.0f - py, b);
    tap(sum, shape, 1.0f - px, -1.0f - py, c);
    tap(sum, shape, -1.0f - px, 1.0f - py, i);
    tap(sum, shape, 0.0f - px, 1.0f - py, j);
    tap(sum, shape, 0.0f - px, 0.0f - py, f);
    tap(sum, shape, -1.0f - px, 0.0f - py, e);
    tap(sum, shape, 1.0f - px, 1.0f - py, k);
    tap(sum, shape, 2.0f - px, 1.0f - py, l);
    tap(sum, shape, 2.0f - px, 0.0f - py, h);
    tap(sum, shape, 1.0f - px, 0.0f - py, g);
    tap(sum, shape, 1.0f - px, 2.0f - py, o);
    tap(sum, shape, 0.0f - px, 2.0f - py, n);

    // Without ringing: between the darkest and the brightest of the four texels around.
    float share = quotient(1.0f, sum.w);
    float red = clamp(sum.x * share, least(f.x, g.x, j.x, k.x), most(f.x, g.x, j.x, k.x));
    float green = clamp(sum.y * share, least(f.y, g.y, j.y, k.y), most(f.y, g.y, j.y, k.y));
    float blue = clamp(sum.z * share, least(f.z, g.z, j.z, k.z), most(f.z, g.z, j.z, k.z));
    float alpha = tile.alpha[row + (py < 0.5f ? 0 : 1)][column + (px < 0.5f ? 0 : 1)];
    return make_float4(red * red, green * green, blue * blue, alpha);
}

HANDOVER_INLINE void put(const Pass& pass, int2 at, float4 value) {
    if (!covers(pass.destination, at)) return;
    store(pass.destination, at, value);
}

// Where a texel of what is shown stands along one axis of the scene.
HANDOVER_INLINE float place(int at, float scale) { return at * scale + (0.5f * scale - 0.5f); }

extern "C" __global__ void easu(const __grid_constant__ Pass pass, const __grid_constant__ NoParameters parameters) {
    __shared__ Tile tile;
    float scale_x = float(pass.source.extent.x) / float(pass.destination.extent.x);
    float scale_y = float(pass.source.extent.y) / float(pass.destination.extent.y);
    int first_x = blockIdx.x * block_width, first_y = blockIdx.y * (rows * block_height);
    int left = int(floorf(place(first_x, scale_x))) - 1, top = int(floorf(place(first_y, scale_y))) - 1;
    int width = int(floorf(place(first_x + block_width - 1, scale_x))) + 3 - left;
    int height = int(floorf(place(first_y + rows * block_height - 1, scale_y))) + 3 - top;
    for (int y = threadIdx.y; y < height; y += block_height) {
        for (int x = threadIdx.x; x < width; x += block_width) {
            float4 color = load(pass.source, left + x, top + y);
            tile.texel[y][x] = encoded(color);
            tile.alpha[y][x] = color.w;
        }
    }
    __syncthreads();
    int2 at = make_int2(first_x + threadIdx.x, first_y + threadIdx.y);
    float px = place(at.x, scale_x), column = floorf(px);
#pragma unroll
    for (int k = 0; k < rows; ++k, at.y += block_height) {
        float py = place(at.y, scale_y), row = floorf(py);
        put(pass, at, resolved(tile, int(column) - left, int(row) - top, px - column, py - row));
    }
}
