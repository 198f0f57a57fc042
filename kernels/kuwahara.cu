/*---
title = "Kuwahara"
summary = "Flat patches with sharp borders, as of a brush: each texel takes the mean of the quietest of four squares that touch it."
source = "Kuwahara, Hachimura, Eiho and Kinoshita, Processing of RI-angiocardiographic images, 1976; variances of the luminance"
stage = "look"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "sums run row after row in one order everywhere, so that the same square is chosen; only the last rounding can differ"

[[parameters]]
name = "radius"
unit = "px"
minimum = 1
maximum = 8
default = 3
step = 1
type = "u32"

# A square of 16 texels, 5 additions each, and its mean and variance; of a texel the luminance and its square; 3
# comparisons.
[[passes]]
entry = "kuwahara"
source = "input"
destination = "output"
block = [32, 8]
texels = [1, 2]
operations = 100
---*/
#include "handover.cuh"

struct KuwaharaParameters {
    unsigned radius;
};

constexpr int largest_radius = 8;
constexpr int block_width = 32, block_height = 8, rows = 2;
constexpr int squares_width = block_width + largest_radius, squares_height = rows * block_height + largest_radius;
constexpr int tile_width = squares_width + largest_radius, tile_height = squares_height + largest_radius;

// Sums over a square.
struct Square {
    float red, green, blue, levels, squares;
};

// The fourth component is the luminance.
HANDOVER_INLINE void add(Square& square, float4 texel, float squared) {
    square.red += texel.x;
    square.green += texel.y;
    square.blue += texel.z;
    square.levels += texel.w;
    square.squares += squared;
}

// The sums of the colours, and the variance.
HANDOVER_INLINE float4 measured(const Square& square, float count) {
    float mean = square.levels / count;
    return make_float4(square.red, square.green, square.blue, square.squares / count - mean * mean);
}

HANDOVER_INLINE void put(const Pass& pass, int2 at, float4 value) {
    if (!covers(pass.destination, at)) return;
    store(pass.destination, at, value);
}

// Each square belongs to the four texels in its corners: a block sums those that its texels need, three at a time, one
// below the other, which share rows.
extern "C" __global__ void kuwahara(const __grid_constant__ Pass pass,
                                    const __grid_constant__ KuwaharaParameters parameters) {
    __shared__ float4 tile[tile_height][tile_width];
    __shared__ float4 squares[squares_height][squares_width];
    int radius = int(parameters.radius);
    float count = float((radius + 1) * (radius + 1));
    int first_x = blockIdx.x * block_width, first_y = blockIdx.y * (rows * block_height);
    int width = block_width + radius, height = rows * block_height + radius;
    for (int y = threadIdx.y; y < height + radius; y += block_height) {
        for (int x = threadIdx.x; x < width + radius; x += block_width) {
            float4 texel = load(pass.source, first_x - radius + x, first_y - radius + y);
            texel.w = luminance(texel);
            tile[y][x] = texel;
        }
    }
    __syncthreads();

    for (int index = threadIdx.y * block_width + threadIdx.x; index < (height + 2) / 3 * width;
         index += block_width * block_height) {
        int left = index % width, top = min(index / width * 3, height - 3);
        Square first = {}, second = {}, third = {};
        auto add_row = [&](int y, bool is_in_first, bool is_in_second, bool is_in_third) {
            for (int x = 0; x <= radius; ++x) {
                float4 texel = tile[top + y][left + x];
                float squared = texel.w * texel.w;
                if (is_in_first) add(first, texel, squared);
                if (is_in_second) add(second, texel, squared);
                if (is_in_third) add(third, texel, squared);
            }
        };
        // Row after row from the left, in each: the order decides which square is the quietest.
        add_row(0, true, false, false);
        add_row(1, true, true, false);
        for (int y = 2; y <= radius; ++y) add_row(y, true, true, true);
        add_row(radius + 1, false, true, true);
        add_row(radius + 2, false, false, true);
        squares[top][left] = measured(first, count);
        squares[top + 1][left] = measured(second, count);
        squares[top + 2][left] = measured(third, count);
    }
    __syncthreads();

    int2 at = make_int2(first_x + threadIdx.x, first_y + threadIdx.y);
#pragma unroll
    for (int k = 0; k < rows; ++k, at.y += block_height) {
        int x = threadIdx.x, y = threadIdx.y + k * block_height;
        // Upper left, upper right, lower left, lower right.
        float4 quietest = squares[y][x];
#pragma unroll
        for (int corner = 1; corner < 4; ++corner) {
            float4 square = squares[corner / 2 == 0 ? y : y + radius][corner % 2 == 0 ? x : x + radius];
            if (square.w < quietest.w) quietest = square;
        }
        float share = 1.0f / count, alpha = load(pass.source, at.x, at.y).w;
        put(pass, at, make_float4(quietest.x * share, quietest.y * share, quietest.z * share, alpha));
    }
}
