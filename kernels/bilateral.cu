/*---
title = "Bilateral filter"
summary = "Smooths what differs little and keeps edges: neighbours weigh by their distance and by their difference in colour."
source = "Tomasi and Manduchi, Bilateral Filtering for Gray and Color Images, ICCV 1998: Gaussians of the distance and of the Euclidean distance of colours, over (2 radius + 1)^2 texels; the edge texel continues outwards"
stage = "denoise"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504, too far from others to weigh; it stays as it is"

[tolerance]
ulps = 1
why = "sums of up to 625 non-negative products, and exponents whose last bit shows the more the smaller the weight is, differ by a share of about 1e-5, which can move a half across a rounding boundary"

[[parameters]]
name = "radius"
unit = "px"
minimum = 1
maximum = 12
default = 4
step = 1
type = "u32"

[[parameters]]
name = "sigma_space"
unit = "px"
minimum = 0.5
maximum = 8.0
default = 2.0
step = 0.25
logarithmic = true
type = "f32"

[[parameters]]
name = "sigma_range"
unit = "light"
minimum = 0.01
maximum = 4.0
default = 0.1
step = 0.01
logarithmic = true
type = "f32"

# 81 taps of 3 differences, 3 squares added, 3 products and the weight added; of each an exponential.
[[passes]]
entry = "bilateral"
source = "input"
destination = "output"
block = [32, 8]
texels = [1, 4]
operations = 810
special = 81
---*/
#include "handover.cuh"

struct BilateralParameters {
    unsigned radius;
    float sigma_space;
    float sigma_range;
};

constexpr int largest_radius = 12;
constexpr int rows = 4;  // texels that a thread filters, one below the other
constexpr int block_width = 32, block_height = 8;
constexpr int tile_width = block_width + 2 * largest_radius, tile_height = rows * block_height + 2 * largest_radius;

// Colours of a block's texels and of those around, divided so that the range's exponent is the square of a difference.
struct Tile {
    float red[tile_height][tile_width], green[tile_height][tile_width], blue[tile_height][tile_width];
};

struct Color {
    float red, green, blue;
};

HANDOVER_INLINE Color color_at(const Tile& tile, int x, int y) {
    return {tile.red[y][x], tile.green[y][x], tile.blue[y][x]};
}

// Weighted sums of a thread's texels, and the sums of the weights.
struct Sums {
    Color center[rows];
    Color sum[rows];
    float total[rows];
};

// Adds a tap for one of the texels; `space` is the exponent of its distance.
HANDOVER_INLINE void add(Sums& sums, int row, Color tap, float space) {
    Color& center = sums.center[row];
    float red = tap.red - center.red, green = tap.green - center.green, blue = tap.blue - center.blue;
    float weight = approximate_exp2(fmaf(-red, red, fmaf(-green, green, fmaf(-blue, blue, space))));
    Color& sum = sums.sum[row];
    sum = {fmaf(tap.red, weight, sum.red), fmaf(tap.green, weight, sum.green), fmaf(tap.blue, weight, sum.blue)};
    sums.total[row] += weight;
}

HANDOVER_INLINE void put(const Pass& pass, int2 at, float4 value) {
    if (!covers(pass.destination, at)) return;
    store(pass.destination, at, value);
}

// exp(-d^2 / (2 sigma^2)) = 2^(d^2 * exponent), so that one power serves both Gaussians. Each texel that a thread
// reads is a tap of all its texels that lie near enough.
extern "C" __global__ void bilateral(const __grid_constant__ Pass pass,
                                     const __grid_constant__ BilateralParameters parameters) {
    __shared__ Tile tile;
    // By column: the exponents that a row of taps has for each of a thread's texels.
    __shared__ float4 space[largest_radius + 1][2 * largest_radius + rows];
    int radius = int(parameters.radius);
    float space_exponent = -0.72134752f / (parameters.sigma_space * parameters.sigma_space);
    float scale = 0.849321800f / parameters.sigma_range;
    int left = blockIdx.x * block_width - radius, top = blockIdx.y * (rows * block_height) - radius;
    for (int y = threadIdx.y; y < rows * block_height + 2 * radius; y += block_height) {
        for (int x = threadIdx.x; x < block_width + 2 * radius; x += block_width) {
            float4 color = load(pass.source, left + x, top + y);
            tile.red[y][x] = color.x * scale;
            tile.green[y][x] = color.y * scale;
            tile.blue[y][x] = color.z * scale;
        }
    }
    for (int i = threadIdx.y; i <= radius; i += block_height) {
        int j = int(threadIdx.x) - radius;
        if (threadIdx.x < 2 * largest_radius + rows) {
            auto exponent = [&](int j) { return float(i * i + j * j) * space_exponent; };
            space[i][threadIdx.x] = make_float4(exponent(j), exponent(j - 1), exponent(j - 2), exponent(j - 3));
        }
    }
    __syncthreads();

    Sums sums;
    int own_x = threadIdx.x + radius, first = rows * threadIdx.y;
#pragma unroll
    for (int row = 0; row < rows; ++row) {
        sums.center[row] = color_at(tile, own_x, first + radius + row);
        sums.sum[row] = {0.0f, 0.0f, 0.0f};
        sums.total[row] = 0.0f;
    }
    for (int i = -radius; i <= radius; ++i) {
        const float4* exponents = space[i < 0 ? -i : i];
        int x = own_x + i;
        // The first rows are too far away for the last texels, the last ones for the first.
#pragma unroll
        for (int y = 0; y < rows - 1; ++y) {
            Color tap = color_at(tile, x, first + y);
            float4 exponent = exponents[y];
            add(sums, 0, tap, exponent.x);
            if (y >= 1) add(sums, 1, tap, exponent.y);
            if (y >= 2) add(sums, 2, tap, exponent.z);
        }
#pragma unroll 2
        for (int y = rows - 1; y <= 2 * radius; ++y) {
            Color tap = color_at(tile, x, first + y);
            float4 exponent = exponents[y];
            add(sums, 0, tap, exponent.x);
            add(sums, 1, tap, exponent.y);
            add(sums, 2, tap, exponent.z);
            add(sums, 3, tap, exponent.w);
        }
#pragma unroll
        for (int y = 1; y < rows; ++y) {
            Color tap = color_at(tile, x, first + 2 * radius + y);
            float4 exponent = exponents[2 * radius + y];
            if (y <= 1) add(sums, 1, tap, exponent.y);
            if (y <= 2) add(sums, 2, tap, exponent.z);
            add(sums, 3, tap, exponent.w);
        }
    }
    int2 at = make_int2(blockIdx.x * block_width + threadIdx.x, blockIdx.y * (rows * block_height) + first);
#pragma unroll
    for (int row = 0; row < rows; ++row, ++at.y) {
        float share = 1.0f / (sums.total[row] * scale);
        Color sum = sums.sum[row];
        float alpha = load(pass.source, at.x, at.y).w;
        put(pass, at, make_float4(sum.red * share, sum.green * share, sum.blue * share, alpha));
    }
}
