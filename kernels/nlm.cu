/*---
title = "Non-local means"
summary = "Averages texels whose surroundings look alike: noise goes, texture stays."
source = "Buades, Coll and Morel, A non-local algorithm for image denoising, CVPR 2005: weights exp(-d / h^2) of the squared distance of patches, the mean over the channels, weighted by a Gaussian of sigma patch_radius / 2; the edge texel continues outwards"
stage = "denoise"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504: nothing looks like it, so patches that hold it stay as they are"

[tolerance]
ulps = 1
why = "sums of up to 225 non-negative products, and exponents whose last bits show the more the smaller the weight is, differ by a share of about 1e-5, which can move a half across a rounding boundary"

[[parameters]]
name = "patch_radius"
unit = "px"
minimum = 1
maximum = 3
default = 1
step = 1
type = "u32"

[[parameters]]
name = "search_radius"
unit = "px"
minimum = 1
maximum = 7
default = 5
step = 1
type = "u32"

[[parameters]]
name = "h"
unit = "light"
minimum = 0.01
maximum = 1.0
default = 0.05
step = 0.01
logarithmic = true
type = "f32"

# 121 offsets of 3 differences and 3 squares added, 2 x 2 for either axis of the patch's Gaussian, which is relative to
# the middle and symmetric, 3 products and the weight added; of each an exponential.
[[passes]]
entry = "nlm"
source = "input"
destination = "output"
block = [32, 4]
texels = [1, 8]
operations = 1694
special = 121
---*/
#include "handover.cuh"

struct NlmParameters {
    unsigned patch_radius;
    unsigned search_radius;
    float h;
};

// exp(-i^2 / (2 sigma^2)) with a sigma of half the patch's radius.
template <int patch>
HANDOVER_INLINE float relative_weight(int i) {
    if (patch == 1) return 0.135335283f;
    if (patch == 2) return i == 1 ? 0.606530660f : 0.135335283f;
    return i == 1 ? 0.800737403f : i == 2 ? 0.411112291f : 0.135335283f;
}

// The same for i = 0, over the sum from -radius to radius.
template <int patch>
constexpr HANDOVER_INLINE float middle_weight() {
    return patch == 1 ? 0.786986042f : patch == 2 ? 0.402619947f : 0.270682149f;
}

// Texels that a thread filters, one below the other: as many as its registers hold.
template <int patch>
constexpr int rows_of = patch == 1 ? 8 : 4;

constexpr int reach = 7;  // the largest search radius
constexpr int block_width = 32, block_height = 4;

template <int patch>
constexpr int height_of = rows_of<patch> * block_height + 2 * (patch + reach) + 1;
constexpr int tile_width = block_width + 2 * reach, tile_height = height_of<1>;
static_assert(height_of<2> <= tile_height && height_of<3> <= tile_height, "the tile holds those of larger patches");

// Colours of a block's texels and of those around, divided so that the exponent is minus a sum of squared differences.
using Tile = float4[tile_height][tile_width];

HANDOVER_INLINE float squared_distance(float4 a, float4 b) {
    float red = a.x - b.x, green = a.y - b.y, blue = a.z - b.z;
    return fmaf(red, red, fmaf(green, green, blue * blue));
}

HANDOVER_INLINE void put(const Pass& pass, int2 at, float4 value) {
    if (!covers(pass.destination, at)) return;
    store(pass.destination, at, value);
}

// Filters the texels of one tile, of which `at` is the thread's first. Each lane of a warp has a column: it compares
// its texels with those of another column, sums along the column by the patch's Gaussian, and across with the lanes
// beside. So the first and the last `patch` lanes have no result.
template <int patch>
HANDOVER_INLINE void filter(const Pass& pass, const Tile& tile, int2 at, int search, float unit) {
    constexpr int rows = rows_of<patch>, length = rows + 2 * patch;
    float4 own[length], sum[rows];
    float total[rows];
#pragma unroll
    for (int k = 0; k < length; ++k) own[k] = tile[rows * threadIdx.y + search + k][threadIdx.x + search];
#pragma unroll
    for (int row = 0; row < rows; ++row) {
        sum[row] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
        total[row] = 0.0f;
    }
#pragma unroll 1
    for (int dx = 0; dx <= 2 * search; ++dx) {
        // A step down needs one new texel, which takes the place of the topmost.
        const float4* next = &tile[rows * threadIdx.y][threadIdx.x + dx];
        float4 other[length];
#pragma unroll
        for (int k = 0; k < length; ++k) other[k] = next[k * tile_width];
#pragma unroll 1
        for (int dy = 0; dy <= 2 * search; dy += length) {
            next += length * tile_width;
#pragma unroll
            for (int step = 0; step < length; ++step) {
                if (dy + step > 2 * search) break;
                float distance[length];
#pragma unroll
                for (int k = 0; k < length; ++k)
                    distance[k] = squared_distance(other[(k + step) % length], own[k]);
                other[step] = next[step * tile_width];
#pragma unroll
                for (int row = 0; row < rows; ++row) {
                    float along = distance[row + patch];
#pragma unroll
                    for (int i = 1; i <= patch; ++i)
                        along = fmaf(distance[row + patch - i] + distance[row + patch + i],
                                     relative_weight<patch>(i), along);
                    float across = along;
#pragma unroll
                    for (int i = 1; i <= patch; ++i) {
                        float sides = __shfl_up_sync(~0u, along, i) + __shfl_down_sync(~0u, along, i);
                        across = fmaf(sides, relative_weight<patch>(i), across);
                    }
                    float weight = approximate_exp2(-across);
                    float4 texel = other[(row + patch + step) % length];
                    sum[row].x = fmaf(texel.x, weight, sum[row].x);
                    sum[row].y = fmaf(texel.y, weight, sum[row].y);
                    sum[row].z = fmaf(texel.z, weight, sum[row].z);
                    total[row] += weight;
                }
            }
        }
    }
    if (threadIdx.x < patch || threadIdx.x >= block_width - patch) return;
#pragma unroll
    for (int row = 0; row < rows; ++row, ++at.y) {
        // The texel itself weighs 1, so that the total is at least that.
        float share = unit / total[row];
        float alpha = load(pass.source, at.x, at.y).w;
        put(pass, at, make_float4(sum[row].x * share, sum[row].y * share, sum[row].z * share, alpha));
    }
}

// All tiles that fall to a block: as a tile yields fewer columns than it has, that can be more than one.
template <int patch>
HANDOVER_INLINE void denoise(const Pass& pass, const NlmParameters& parameters, Tile& tile) {
    constexpr int rows = rows_of<patch>, width = block_width - 2 * patch, height = rows * block_height;
    int search = int(parameters.search_radius);
    // exp(-d / (3 h^2)) = 2^-(0.693468345^2 d / h^2)
    constexpr float share = 0.693468345f * middle_weight<patch>();
    float scale = share / parameters.h;
    int columns = (int(pass.destination.extent.x) + width - 1) / width;
    int tiles = columns * ((int(pass.destination.extent.y) + height - 1) / height);
    for (int index = blockIdx.y * gridDim.x + blockIdx.x; index < tiles; index += gridDim.x * gridDim.y) {
        int left = index % columns * width - patch, top = index / columns * height;
        __syncthreads();
        for (int y = threadIdx.y; y < height + 2 * (patch + search); y += block_height) {
            for (int x = threadIdx.x; x < block_width + 2 * search; x += block_width)
                tile[y][x] = load(pass.source, left - search + x, top - patch - search + y) * scale;
        }
        __syncthreads();
        int2 at = make_int2(left + threadIdx.x, top + rows * int(threadIdx.y));
        filter<patch>(pass, tile, at, search, parameters.h * (1.0f / share));
    }
}

extern "C" __global__ void __launch_bounds__(128, 3)
    nlm(const __grid_constant__ Pass pass, const __grid_constant__ NlmParameters parameters) {
    __shared__ Tile tile;
    if (parameters.patch_radius == 1)
        denoise<1>(pass, parameters, tile);
    else if (parameters.patch_radius == 2)
        denoise<2>(pass, parameters, tile);
    else
        denoise<3>(pass, parameters, tile);
}
