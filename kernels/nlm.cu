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

[[passes]]
entry = "nlm"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct NlmParameters {
    unsigned patch_radius;
    unsigned search_radius;
    float h;
};

// exp(-i^2 / (2 sigma^2)) with a sigma of half the patch's radius, over the sum from -radius to radius.
template <int patch>
HANDOVER_INLINE float gaussian(int i) {
    i = i < 0 ? -i : i;
    if (patch == 1) return i == 0 ? 0.786986042f : 0.106506979f;
    if (patch == 2) return i == 0 ? 0.402619947f : i == 1 ? 0.244201342f : 0.0544886845f;
    return i == 0 ? 0.270682149f : i == 1 ? 0.216745321f : i == 2 ? 0.111280758f : 0.0366328454f;
}

// The mean over the search window. A row of it is searched at once: each texel that is read is compared with all texels
// of the row of the patch that it can meet, so that it is read once for all patches which share it.
template <int patch>
HANDOVER_INLINE float4 denoised(const Image& image, int2 at, int search, float h) {
    constexpr int reach = 7;  // the largest search radius
    // exp(-d / (3 h^2)) = 2^(d * exponent)
    float exponent = -0.480898347f / (h * h);
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float total = 0.0f;
    for (int dy = -search; dy <= search; ++dy) {
        float distance[2 * reach + 1] = {};
        for (int j = -patch; j <= patch; ++j) {
            float4 own[2 * patch + 1];
            float weight[2 * patch + 1];
#pragma unroll
            for (int i = -patch; i <= patch; ++i) {
                own[i + patch] = load(image, at.x + i, at.y + j);
                weight[i + patch] = gaussian<patch>(i) * gaussian<patch>(j);
            }
#pragma unroll
            for (int x = -reach - patch; x <= reach + patch; ++x) {
                if (x < -search - patch || x > search + patch) continue;
                float4 other = load(image, at.x + x, at.y + dy + j);
#pragma unroll
                for (int i = -patch; i <= patch; ++i) {
                    int dx = x - i;
                    if (dx < -reach || dx > reach) continue;
                    float red = other.x - own[i + patch].x, green = other.y - own[i + patch].y;
                    float blue = other.z - own[i + patch].z;
                    float difference = fmaf(red, red, fmaf(green, green, blue * blue));
                    distance[dx + reach] = fmaf(difference, weight[i + patch], distance[dx + reach]);
                }
            }
        }
#pragma unroll
        for (int dx = -reach; dx <= reach; ++dx) {
            if (dx < -search || dx > search) continue;
            float weight = exp2f(distance[dx + reach] * exponent);
            sum = accumulate(sum, load(image, at.x + dx, at.y + dy), weight);
            total += weight;
        }
    }
    // The texel itself weighs 1, so that the total is at least that.
    return sum * (1.0f / total);
}

extern "C" __global__ void nlm(const __grid_constant__ Pass pass, const __grid_constant__ NlmParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    int search = int(parameters.search_radius);
    float4 mean;
    if (parameters.patch_radius == 1)
        mean = denoised<1>(pass.source, at, search, parameters.h);
    else if (parameters.patch_radius == 2)
        mean = denoised<2>(pass.source, at, search, parameters.h);
    else
        mean = denoised<3>(pass.source, at, search, parameters.h);
    store(pass.destination, at, make_float4(mean.x, mean.y, mean.z, load(pass.source, at.x, at.y).w));
}
