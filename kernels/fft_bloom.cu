/*---
title = "Glare"
summary = "Light above a threshold is scattered over the whole picture as in an eye: a corona, a star and a coloured halo, by Fourier transforms."
source = "Spencer, Shirley, Zimmerman and Greenberg, Physically-Based Glare Effects for Digital Images, SIGGRAPH 1995, section 3: the photopic point spread function; Cooley and Tukey 1965, by cuFFT"
stage = "bloom"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; `limit` bounds what one pixel can scatter"

[tolerance]
ulps = 2
absolute = 2e-3
why = "a Fourier transform in float has errors of some 1e-7 of the brightest light, wherever it falls, and light is up to `limit` 256 times `intensity` 4"

[[parameters]]
name = "threshold"
unit = "light"
minimum = 0.0
maximum = 16.0
default = 1.0
step = 0.1
type = "f32"

[[parameters]]
name = "limit"
unit = "light"
minimum = 1.0
maximum = 256.0
default = 64.0
step = 1.0
logarithmic = true
type = "f32"

[[parameters]]
name = "intensity"
unit = ""
minimum = 0.0
maximum = 4.0
default = 0.4
step = 0.05
type = "f32"

[[parameters]]
name = "view"
unit = "degrees from the picture's upper edge to its lower"
minimum = 5.0
maximum = 120.0
default = 30.0
step = 1.0
type = "f32"

[[parameters]]
name = "star"
unit = "of the corona"
minimum = 0.0
maximum = 1.0
default = 0.5
step = 0.05
type = "f32"

[[parameters]]
name = "points"
unit = "of the star"
minimum = 2
maximum = 16
default = 6
step = 1
type = "u32"

[[parameters]]
name = "halo"
unit = ""
minimum = 0.0
maximum = 8.0
default = 1.0
step = 0.1
type = "f32"

[[buffers]]
name = "light"
grid = "real"
planes = 3
divisor = 2

[[buffers]]
name = "light_spectrum"
grid = "spectrum"
planes = 3
divisor = 2

[[buffers]]
name = "scattered"
grid = "real"
planes = 3
divisor = 2

[[buffers]]
name = "glare_spectrum"
grid = "spectrum"
planes = 3
divisor = 2

[[passes]]
entry = "fft_bloom_glare"
source = "input"
buffers = ["scattered", "light"]
once = true
block = [32, 8]

[[passes]]
entry = "fft_bloom_glare_forth"
transform = "r2c"
buffers = ["scattered", "glare_spectrum"]
once = true

[[passes]]
entry = "fft_bloom_bright"
source = "input"
buffers = ["light"]
texels = [2, 8]
block = [32, 4]

[[passes]]
entry = "fft_bloom_light_forth"
transform = "r2c"
buffers = ["light", "light_spectrum"]

[[passes]]
entry = "fft_bloom_multiply"
source = "input"
buffers = ["light_spectrum", "glare_spectrum"]
texels = [2, 2]
block = [32, 8]

[[passes]]
entry = "fft_bloom_light_back"
transform = "c2r"
buffers = ["light_spectrum", "scattered"]

[[passes]]
entry = "fft_bloom_composite"
source = "input"
destination = "output"
buffers = ["scattered"]
texels = [2, 8]
block = [32, 4]
---*/
#include "handover.cuh"

struct FftBloomParameters {
    float threshold;
    float limit;
    float intensity;
    float view;
    float star;
    unsigned points;
    float halo;
};

constexpr int planes = 3;
// Wavelengths of red, green and blue, nm.
constexpr float wavelengths[planes] = {611.0f, 549.0f, 465.0f};
// The photopic weights of the paper, of the parts that scatter: f1 the corona, f2 the ring around it, f3 the lenticular halo.
constexpr float corona_weight = 0.478f, ring_weight = 0.207f, halo_weight = 0.033f;
// Of ((1 + cos) / 2)^16 over the circle, the mean is 32! / (16! 16! 4^16): this is its inverse.
constexpr float star_gain = 7.1454107f;

// The grids are the picture halved, rounded up, and padded.
HANDOVER_INLINE int halved(unsigned length) { return int((length + 1) / 2); }

// The least of one odd number times a power of two above 1 that is at least as large.
template <unsigned odd>
HANDOVER_INLINE unsigned times_power_of_two(unsigned least) {
    unsigned times = (least + odd - 1) / odd;
    return odd << max(32 - __clz(int(times - 1)), 1);
}

// `padded` in src/kernels/grid.rs.
HANDOVER_INLINE int padded(int length) {
    unsigned least = unsigned(2 * length - 1);
    unsigned fine = min(min(times_power_of_two<25>(least), times_power_of_two<27>(least)),
                        min(times_power_of_two<75>(least), times_power_of_two<135>(least)));
    unsigned coarse = min(min(times_power_of_two<1>(least), times_power_of_two<3>(least)),
                          min(times_power_of_two<5>(least), times_power_of_two<9>(least)));
    return int(min(min(fine, coarse), min(times_power_of_two<15>(least), times_power_of_two<45>(least))));
}

// What of a colour is above the threshold. Alpha is no light.
HANDOVER_INLINE float4 above(uint2 words, float threshold, float limit) {
    float2 xy = to_float(words.x);
    float4 color = make_float4(fminf(xy.x, limit), fminf(xy.y, limit),
                               fminf(half_to_float(halves_of(words.y).x), limit), 0.0f);
    float brightest = fmaxf(color.x, fmaxf(color.y, color.z));
    return color * (brightest > threshold ? quotient(brightest - threshold, brightest) : 0.0f);
}

// Rows of the picture that a thread makes texels of, of two columns each: half as many rows of the grid.
constexpr int rows = 8;

// Writes what the grid has of the picture. What is beside it is 0, since `fft_bloom_glare` made it so.
extern "C" __global__ void fft_bloom_bright(const __grid_constant__ Pass pass,
                                            const __grid_constant__ FftBloomParameters parameters) {
    int2 at = thread_texel();
    at.y *= rows / 2;
    int across = halved(pass.source.extent.x), down = halved(pass.source.extent.y);
    if (at.x >= across || at.y >= down) return;
    uint4 words[rows];
#pragma unroll
    for (int i = 0; i < rows; ++i) words[i] = read_two(pass.source, 2 * at.x, 2 * at.y + i);
    int width = padded(across);
    size_t plane = length<float>(pass.buffers[0]) / planes;
    float* light = elements<float>(pass.buffers[0]) + (size_t(at.y) * width + at.x);
#pragma unroll
    for (int j = 0; j < rows / 2; ++j) {
        if (at.y + j >= down) break;
        float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            uint4 two = light_of(words[2 * j + i]);
            sum = accumulate(sum, above(make_uint2(two.x, two.y), parameters.threshold, parameters.limit), 0.25f);
            sum = accumulate(sum, above(make_uint2(two.z, two.w), parameters.threshold, parameters.limit), 0.25f);
        }
        light[0] = sum.x;
        light[plane] = sum.y;
        light[2 * plane] = sum.z;
        light += width;
    }
}

// The offset that a place of a grid stands for, behind whose middle the negative ones are.
HANDOVER_INLINE int offset(int place, int length) { return 2 * place < length ? place : place - length; }

// cos(points * angle), of the direction (x, y) of length 1: the real part of a power.
HANDOVER_INLINE float cosine(float x, float y, unsigned points) {
    float re = x, im = y;
    for (unsigned i = 1; i < points; ++i) {
        float next = re * x - im * y;
        im = re * y + im * x;
        re = next;
    }
    return re;
}

// Makes the glare, and the grid of light dark.
extern "C" __global__ void fft_bloom_glare(const __grid_constant__ Pass pass,
                                           const __grid_constant__ FftBloomParameters parameters) {
    int2 at = thread_texel();
    int across = halved(pass.source.extent.x), down = halved(pass.source.extent.y);
    int width = padded(across), height = padded(down);
    if (at.x >= width || at.y >= height) return;
    size_t plane = size_t(width) * height, place = size_t(at.y) * width + at.x;
    float* glare = elements<float>(pass.buffers[0]) + place;
    float* light = elements<float>(pass.buffers[1]) + place;
    int x = offset(at.x, width), y = offset(at.y, height);
    // Further apart no two texels are.
    bool is_met = abs(x) < across && abs(y) < down;
    float radius = sqrtf(float(x) * float(x) + float(y) * float(y));
    // The middle is as its neighbours: what is not scattered is in the picture already.
    float distance = fmaxf(radius, 1.0f);
    float angle = distance * (parameters.view / float(down));
    float star = 1.0f;
    if (radius > 0.0f) {
        float lobe = 0.5f + 0.5f * cosine(float(x) / radius, float(y) / radius, parameters.points);
        for (int i = 0; i < 4; ++i) lobe *= lobe;
        star = lobe * star_gain;
    }
    float near = angle + 0.02f;
    float corona = 20.91f / (near * near * near) * ((1.0f - parameters.star) + star * parameters.star);
    float ring = 72.37f / (near * near);
    for (int i = 0; i < planes; ++i) {
        float off = angle - 3.0f * (wavelengths[i] / 568.0f);
        float halo = 436.9f * (568.0f / wavelengths[i]) * expf(-(off * off));
        float value = corona_weight * corona + ring_weight * ring + parameters.halo * halo_weight * halo;
        glare[i * plane] = is_met ? value : 0.0f;
        light[i * plane] = 0.0f;
    }
}

HANDOVER_INLINE float4 product(float4 a, float4 b, float scale) {
    b = b * scale;
    return make_float4(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x, a.z * b.z - a.w * b.w, a.z * b.w + a.w * b.z);
}

// The product of the spectra is that of the convolution. The glare's first element is its sum, which is made 1; the transforms forth
// and back multiply by the number of texels. Each access is of two elements that follow one another, in whatever rows: a grid has an
// even height, so that these are all.
extern "C" __global__ void fft_bloom_multiply(const __grid_constant__ Pass pass,
                                              const __grid_constant__ FftBloomParameters parameters) {
    constexpr unsigned pairs_each = 2;
    unsigned size = blockDim.x * blockDim.y, block = blockIdx.y * gridDim.x + blockIdx.x;
    unsigned first = block * size * pairs_each + threadIdx.y * blockDim.x + threadIdx.x;
    unsigned plane = unsigned(length<float4>(pass.buffers[0])) / planes;
    float4* light = elements<float4>(pass.buffers[0]);
    const float4* glare = elements<const float4>(pass.buffers[1]);
    float4 a[pairs_each][planes], b[pairs_each][planes];
#pragma unroll
    for (unsigned pair = 0; pair < pairs_each; ++pair) {
        size_t place = min(first + pair * size, plane - 1);
#pragma unroll
        for (int i = 0; i < planes; ++i) {
            a[pair][i] = light[i * size_t(plane) + place];
            b[pair][i] = glare[i * size_t(plane) + place];
        }
    }
    float texels = float(padded(halved(pass.source.extent.x))) * float(padded(halved(pass.source.extent.y)));
#pragma unroll
    for (int i = 0; i < planes; ++i) {
        float scale = 1.0f / (glare[i * size_t(plane)].x * texels);
#pragma unroll
        for (unsigned pair = 0; pair < pairs_each; ++pair) {
            unsigned place = first + pair * size;
            if (place < plane) light[i * size_t(plane) + place] = product(a[pair][i], b[pair][i], scale);
        }
    }
}

// Three elements of a row, around one: those outside are the nearest inside.
struct Row {
    float before, here, after;
};

// The thread's columns of the grid: in the one before, its own, the one after.
struct Columns {
    int before, here, after;
};

HANDOVER_INLINE Row load_row(const float* light, int y, int down, int width, Columns at) {
    light += size_t(min(max(y, 0), down - 1)) * width;
    return {light[at.before], light[at.here], light[at.after]};
}

// Bilinear, a quarter of a texel before or behind a middle.
HANDOVER_INLINE float between(float near, float far) { return 0.75f * near + 0.25f * far; }

HANDOVER_INLINE unsigned lit(unsigned words, float low, float high, float intensity) {
    float2 color = to_float(words);
    return to_halves(light(color.x + intensity * low), light(color.y + intensity * high));
}

// A thread makes two columns, which lie beside the middle of one texel of the grid.
extern "C" __global__ void fft_bloom_composite(const __grid_constant__ Pass pass,
                                               const __grid_constant__ FftBloomParameters parameters) {
    int2 at = thread_texel();
    at = make_int2(2 * at.x, rows * at.y);
    if (!covers(pass.destination, at)) return;
    int across = halved(pass.source.extent.x), down = halved(pass.source.extent.y);
    uint4 words[rows];
#pragma unroll
    for (int j = 0; j < rows; ++j) words[j] = read_two(pass.source, at.x, at.y + j);
    int width = padded(across), column = at.x / 2, row = at.y / 2;
    size_t plane = length<float>(pass.buffers[0]) / planes;
    Columns columns = {max(column - 1, 0), column, min(column + 1, across - 1)};
    // By row of the grid: its two columns of the picture, of red, green and blue.
    float2 of[rows / 2 + 2][planes];
#pragma unroll
    for (int j = 0; j < rows / 2 + 2; ++j) {
#pragma unroll
        for (int i = 0; i < planes; ++i) {
            const float* light = elements<const float>(pass.buffers[0]) + i * plane;
            Row around = load_row(light, row + j - 1, down, width, columns);
            of[j][i] = make_float2(between(around.here, around.before), between(around.here, around.after));
        }
    }
#pragma unroll
    for (int j = 0; j < rows; ++j) {
        int near = j / 2 + 1, far = j % 2 == 0 ? near - 1 : near + 1;
        float2 added[planes];
#pragma unroll
        for (int i = 0; i < planes; ++i)
            added[i] = make_float2(between(of[near][i].x, of[far][i].x), between(of[near][i].y, of[far][i].y));
        uint4 color = light_of(words[j]);
        color.x = lit(color.x, added[0].x, added[1].x, parameters.intensity);
        color.z = lit(color.z, added[0].y, added[1].y, parameters.intensity);
        float2 blue = make_float2(to_float(color.y).x, to_float(color.w).x);
        color.y = with_low(color.y, light(blue.x + parameters.intensity * added[2].x));
        color.w = with_low(color.w, light(blue.y + parameters.intensity * added[2].y));
        int2 place = make_int2(at.x, at.y + j);
        if (covers(pass.destination, place)) store_two(pass.destination, place, color);
    }
}
