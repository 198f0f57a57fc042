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

# 12 taps of 14 with 2 for where each stands, 0.45 crosses of 22 (one for each of the scene's texels at two thirds), 30 for
# the shape and 24 for the limits; 2 reciprocals a cross, 4 of the shape and the sum.
[[passes]]
entry = "easu"
source = "input"
destination = "output"
block = [32, 8]
texels = [1, 2]
operations = 256
special = 5
---*/
#include "handover.cuh"

constexpr int block_width = 32, block_height = 8;
constexpr int rows = 2;  // texels that a thread writes, `block_height` apart
// The scene is at most as large as what is shown: a block's positions, and two texels around.
constexpr int tile_width = block_width + 5, tile_height = rows * block_height + 5;

// What a block reads of the scene: encoded colours with alpha, their lumas, and the edges that they show.
struct Tile {
    float4 texel[tile_height][tile_width];
    float luma[tile_height][tile_width];
    float edge_x[tile_height][tile_width], edge_y[tile_height][tile_width], edge_length[tile_height][tile_width];
};

// Half of red and blue, all of green: the header's luma, times two.
HANDOVER_INLINE float luma(float4 color) { return color.z * 0.5f + (color.x * 0.5f + color.y); }

// FSR works on values as they are displayed. The root is close to that encoding, and exact.
HANDOVER_INLINE float4 encoded(float4 color) {
    return make_float4(sqrtf(color.x), sqrtf(color.y), sqrtf(color.z), color.w);
}

// How much of the steepest step the whole step is, squared; 0 where there is none.
HANDOVER_INLINE float straightness(float step, float before, float after) {
    float steepest = fmaxf(fmaxf(fabsf(before), fabsf(after)), 1e-20f);
    float share = fminf(quotient(fabsf(step), steepest), 1.0f);
    return share * share;
}

// What the cross about a texel says of an edge there. Every position about the texel uses it.
HANDOVER_INLINE void look(Tile& tile, int column, int row) {
    const auto& luma = tile.luma;
    //       a
    //     b c d
    //       e
    float a = luma[row - 1][column], b = luma[row][column - 1], c = luma[row][column], d = luma[row][column + 1];
    float e = luma[row + 1][column];
    float x = d - b, y = e - a;
    tile.edge_x[row][column] = x;
    tile.edge_y[row][column] = y;
    tile.edge_length[row][column] = straightness(x, c - b, d - c) + straightness(y, c - a, e - c);
}

// One of the three between four texels, at a position between them.
HANDOVER_INLINE float between(const float (&plane)[tile_height][tile_width], int column, int row, float px, float py) {
    float above = plane[row][column] * (1.0f - px) + plane[row][column + 1] * px;
    float below = plane[row + 1][column] * (1.0f - px) + plane[row + 1][column + 1] * px;
    return above * (1.0f - py) + below * py;
}

// The kernel's shape: its axes, each divided by how far the kernel is stretched along it, how deep its negative lobe
// is, and where it ends.
struct Shape {
    float2 along, across;
    float lobe, clip;
};

// An approximation of Lanczos 2 by polynomials, at a tap's distance from the position along both axes.
HANDOVER_INLINE void tap(float4& sum, const Shape& shape, float along, float across, float4 color) {
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

    float edge_x = between(tile.edge_x, column, row, px, py), edge_y = between(tile.edge_y, column, row, px, py);
    float squared = edge_x * edge_x + edge_y * edge_y;
    bool flat = squared < 1.0f / 32768.0f;
    float scale = flat ? 1.0f : rsqrtf(squared);
    float x = (flat ? 1.0f : edge_x) * scale, y = edge_y * scale;
    float length = 0.5f * between(tile.edge_length, column, row, px, py);
    length *= length;
    float stretch = quotient(x * x + y * y, fmaxf(fabsf(x), fabsf(y)));
    float along = fmaf(stretch - 1.0f, length, 1.0f), across = 1.0f - 0.5f * length;
    float lobe = 0.5f + (1.0f / 4.0f - 0.04f - 0.5f) * length;
    Shape shape = {make_float2(x * along, y * along), make_float2(-y * across, x * across), lobe, quotient(1.0f, lobe)};

    // Where texel f stands, and from there a texel to the right (r) and a texel down (d).
    float f0 = -(px * shape.along.x + py * shape.along.y), f1 = -(px * shape.across.x + py * shape.across.y);
    float r0 = shape.along.x, r1 = shape.across.x, d0 = shape.along.y, d1 = shape.across.y;
    float j0 = f0 + d0, j1 = f1 + d1, b0 = f0 - d0, b1 = f1 - d1, n0 = j0 + d0, n1 = j1 + d1;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    tap(sum, shape, b0, b1, b);
    tap(sum, shape, b0 + r0, b1 + r1, c);
    tap(sum, shape, j0 - r0, j1 - r1, i);
    tap(sum, shape, j0, j1, j);
    tap(sum, shape, f0, f1, f);
    tap(sum, shape, f0 - r0, f1 - r1, e);
    tap(sum, shape, j0 + r0, j1 + r1, k);
    tap(sum, shape, fmaf(2.0f, r0, j0), fmaf(2.0f, r1, j1), l);
    tap(sum, shape, fmaf(2.0f, r0, f0), fmaf(2.0f, r1, f1), h);
    tap(sum, shape, f0 + r0, f1 + r1, g);
    tap(sum, shape, n0 + r0, n1 + r1, o);
    tap(sum, shape, n0, n1, n);

    // Without ringing: between the darkest and the brightest of the four texels around.
    float share = quotient(1.0f, sum.w);
    float red = clamp(sum.x * share, least(f.x, g.x, j.x, k.x), most(f.x, g.x, j.x, k.x));
    float green = clamp(sum.y * share, least(f.y, g.y, j.y, k.y), most(f.y, g.y, j.y, k.y));
    float blue = clamp(sum.z * share, least(f.z, g.z, j.z, k.z), most(f.z, g.z, j.z, k.z));
    float alpha = t[row + (py < 0.5f ? 0 : 1)][column + (px < 0.5f ? 0 : 1)].w;
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
            float4 color = encoded(load(pass.source, left + x, top + y));
            tile.texel[y][x] = color;
            tile.luma[y][x] = luma(color);
        }
    }
    __syncthreads();
    for (int y = threadIdx.y + 1; y < height - 1; y += block_height) {
        for (int x = threadIdx.x + 1; x < width - 1; x += block_width) look(tile, x, y);
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
