/*---
title = "Auto exposure"
summary = "Brings the picture's mean luminance to a key value, as an eye or a camera does: the darkest and brightest shares are left out of the mean, and it takes its time."
source = "log-average luminance to a key value: Reinhard et al., Photographic Tone Reproduction for Digital Images, 2002, section 3.1; exponential adaptation: Durand and Dorsey, Interactive Tone Mapping, 2000, section 4.2; the mean is trimmed as in statistics"
stage = "exposure"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; black counts as 2^-16"

[tolerance]
ulps = 1
why = "counts are integers and equal; log2f, exp2f and expf, and sums of 256 logarithms in another order, move the gain by less than 1e-5"

[[parameters]]
name = "key"
unit = "light"
minimum = 0.01
maximum = 1.0
default = 0.18
step = 0.01
type = "f32"

[[parameters]]
name = "low"
unit = "of the texels, the darkest that do not count"
minimum = 0.0
maximum = 0.45
default = 0.1
step = 0.05
type = "f32"

[[parameters]]
name = "high"
unit = "of the texels, above which the brightest do not count"
minimum = 0.55
maximum = 1.0
default = 0.9
step = 0.05
type = "f32"

[[parameters]]
name = "to_bright"
unit = "s"
minimum = 0.01
maximum = 10.0
default = 0.4
step = 0.1
logarithmic = true
type = "f32"

[[parameters]]
name = "to_dark"
unit = "s"
minimum = 0.01
maximum = 30.0
default = 1.2
step = 0.1
logarithmic = true
type = "f32"

[[parameters]]
name = "lowest"
unit = "EV"
minimum = -16.0
maximum = 0.0
default = -8.0
step = 0.5
type = "f32"

[[parameters]]
name = "highest"
unit = "EV"
minimum = 0.0
maximum = 16.0
default = 6.0
step = 0.5
type = "f32"

[[buffers]]
name = "histograms"
bytes = 131072
zeroed = true

[[buffers]]
name = "bins"
bytes = 2048

[[buffers]]
name = "adapted"
bytes = 8
keeps = true

[[passes]]
entry = "auto_exposure_count"
source = "input"
buffers = ["histograms"]
threads = [1024, 128]
block = [128, 1]

[[passes]]
entry = "auto_exposure_gather"
buffers = ["histograms", "bins"]
threads = [256, 1]
block = [32, 1]

[[passes]]
entry = "auto_exposure_adapt"
source = "input"
buffers = ["bins", "adapted.previous", "adapted"]
threads = [1, 1]
block = [1, 1]

[[passes]]
entry = "auto_exposure_apply"
source = "input"
destination = "output"
buffers = ["adapted"]
pointwise = true
---*/
#include "handover.cuh"

struct AutoExposureParameters {
    float key;
    float low;
    float high;
    float to_bright;
    float to_dark;
    float lowest;
    float highest;
};

// 256 bins of luminance from 2^-16 to 2^16, 8 an octave, equally wide within one: a bin is the exponent and the first
// three bits of the fraction of a float, so that no logarithm decides. The next eight bits say where in its bin a value
// is.
constexpr int bin_count = 256;
constexpr unsigned first_bin = (127u - 16u) << 3;
// As many histograms, so that texels of one bin do not all wait for one place in memory.
constexpr int copies = 32;
// Of the first pass, as in its description.
constexpr int columns = 1024, rows = 128;

// What a thread has counted of one bin.
struct Run {
    int bin;
    unsigned count;
    unsigned offsets;  // sum of the places in the bin, each 0 to 255
};

// A histogram is a count for each bin, then the sum of places for each, in 64 bits: the sum over a bin needs more than
// 32.
using Sum = unsigned long long;

// Threads of a block of the first pass, and its warps, of which each has a histogram of its own until the block is
// done: there 32 bits are enough, since a block has fewer than 2^24 texels.
constexpr int threads = 128, warps = threads / 32;

HANDOVER_INLINE void add(unsigned* histogram, const Run& run) {
    if (run.count == 0u) return;
    atomicAdd(&histogram[run.bin], run.count);
    atomicAdd(&histogram[bin_count + run.bin], run.offsets);
}

// Each thread takes a strip of rows of every 1024th column, and adds once for texels of one bin that follow each other.
extern "C" __global__ void auto_exposure_count(const __grid_constant__ Pass pass,
                                               const __grid_constant__ AutoExposureParameters parameters) {
    int2 thread = thread_texel();
    int width = int(pass.source.extent.x), height = int(pass.source.extent.y);
    int strip = (height + rows - 1) / rows;
    int top = thread.y * strip, bottom = min(top + strip, height);
    __shared__ unsigned histograms[warps][2 * bin_count];
    for (int i = int(threadIdx.x); i < warps * 2 * bin_count; i += threads) {
        histograms[i / (2 * bin_count)][i % (2 * bin_count)] = 0u;
    }
    __syncthreads();
    unsigned* histogram = histograms[threadIdx.x / 32];
    Run run = {0, 0u, 0u};
    for (int x = thread.x; x < width; x += columns) {
        for (int y = top; y < bottom; ++y) {
            unsigned bits = __float_as_uint(fabsf(luminance(load(pass.source, x, y))));  // 0 may have a sign
            int bin = int(bits >> 20) - int(first_bin);
            unsigned offset = bin < 0 ? 0u : bits >> 12 & 255u;
            bin = min(max(bin, 0), bin_count - 1);
            if (bin != run.bin) {
                add(histogram, run);
                run = {bin, 0u, 0u};
            }
            ++run.count;
            run.offsets += offset;
        }
    }
    add(histogram, run);
    __syncthreads();
    Sum* whole = elements<Sum>(pass.buffers[0]) + 2 * bin_count * (blockIdx.y % copies);
    for (int i = int(threadIdx.x); i < 2 * bin_count; i += threads) {
        unsigned sum = 0u;
        for (int warp = 0; warp < warps; ++warp) sum += histograms[warp][i];
        if (sum > 0u) atomicAdd(&whole[i], Sum(sum));
    }
}

// A thread a bin: how many texels, and the logarithm of their mean luminance.
extern "C" __global__ void auto_exposure_gather(const __grid_constant__ Pass pass,
                                                const __grid_constant__ AutoExposureParameters parameters) {
    int bin = thread_texel().x;
    if (bin >= bin_count) return;
    const Sum* histograms = elements<Sum>(pass.buffers[0]);
    Sum count = 0, offsets = 0;
    for (int copy = 0; copy < copies; ++copy) {
        count += histograms[2 * bin_count * copy + bin];
        offsets += histograms[2 * bin_count * copy + bin_count + bin];
    }
    // The middle of the last step that was kept; a step is 2^-11 of an octave.
    float place = count > 0 ? (float(offsets) / float(count) + 0.5f) / 256.0f : 0.0f;
    float mantissa = 1.0f + (float(bin % 8) + place) / 8.0f;
    float2* bins = elements<float2>(pass.buffers[1]);
    bins[bin] = make_float2(float(count), float(bin / 8 - 16) + log2f(mantissa));
}

extern "C" __global__ void auto_exposure_adapt(const __grid_constant__ Pass pass,
                                               const __grid_constant__ AutoExposureParameters parameters) {
    const float2* bins = elements<float2>(pass.buffers[0]);
    float texels = float(pass.source.extent.x) * float(pass.source.extent.y);
    float low = parameters.low * texels, high = parameters.high * texels;
    float below = 0.0f, counted = 0.0f, sum = 0.0f;
#pragma unroll 8
    for (int bin = 0; bin < bin_count; ++bin) {
        float count = bins[bin].x;
        float share = fmaxf(fminf(high, below + count) - fmaxf(low, below), 0.0f);
        below += count;
        counted += share;
        sum += share * bins[bin].y;
    }
    float target = clamp(log2f(parameters.key) - sum / counted, parameters.lowest, parameters.highest);
    float stops = target;
    if (pass.kept_frames > 0u) {
        stops = elements<float2>(pass.buffers[1])->x;
        // Fewer stops: it became brighter.
        float constant = target < stops ? parameters.to_bright : parameters.to_dark;
        stops += (target - stops) * (1.0f - expf(-pass.time_delta / constant));
    }
    *elements<float2>(pass.buffers[2]) = make_float2(stops, exp2f(stops));
}

HANDOVER_INLINE float4 adapted(float4 color, int2 at, const Pass& pass, const AutoExposureParameters& parameters) {
    float gain = elements<float2>(pass.buffers[0])->y;
    return make_float4(color.x * gain, color.y * gain, color.z * gain, color.w);
}

HANDOVER_POINTWISE(auto_exposure_apply, adapted, AutoExposureParameters)
