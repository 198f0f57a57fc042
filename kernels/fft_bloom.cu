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
name = "glare"
grid = "real"
planes = 3
divisor = 2

[[buffers]]
name = "glare_spectrum"
grid = "spectrum"
planes = 3
divisor = 2

[[passes]]
entry = "fft_bloom_bright"
source = "input"
buffers = ["light"]
block = [32, 8]

[[passes]]
entry = "fft_bloom_glare"
source = "input"
buffers = ["glare"]
block = [32, 8]

[[passes]]
entry = "fft_bloom_light_forth"
transform = "r2c"
buffers = ["light", "light_spectrum"]

[[passes]]
entry = "fft_bloom_glare_forth"
transform = "r2c"
buffers = ["glare", "glare_spectrum"]

[[passes]]
entry = "fft_bloom_multiply"
source = "input"
buffers = ["light_spectrum", "glare_spectrum"]
block = [32, 8]

[[passes]]
entry = "fft_bloom_light_back"
transform = "c2r"
buffers = ["light_spectrum", "light"]

[[passes]]
entry = "fft_bloom_composite"
source = "input"
destination = "output"
buffers = ["light"]
block = [32, 8]
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

// The grids are the picture halved, rounded up, and padded: see `padded` in src/kernels/grid.rs.
HANDOVER_INLINE int halved(unsigned length) { return int((length + 1) / 2); }

HANDOVER_INLINE int padded(int length) {
    int least = max(2 * length - 1, 1), unit = 2;
    while (8 * unit < least) unit *= 2;
    return (least + unit - 1) / unit * unit;
}

// The share of a colour that is above the threshold, in [0, 1].
HANDOVER_INLINE float4 above(float4 color, float threshold, float limit) {
    color = make_float4(fminf(color.x, limit), fminf(color.y, limit), fminf(color.z, limit), 0.0f);
    float brightest = fmaxf(color.x, fmaxf(color.y, color.z));
    return color * (brightest > threshold ? (brightest - threshold) / brightest : 0.0f);
}

extern "C" __global__ void fft_bloom_bright(const __grid_constant__ Pass pass,
                                            const __grid_constant__ FftBloomParameters parameters) {
    int2 at = thread_texel();
    int across = halved(pass.source.extent.x), down = halved(pass.source.extent.y);
    int width = padded(across), height = padded(down);
    if (at.x >= width || at.y >= height) return;
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    if (at.x < across && at.y < down) {
        for (int i = 0; i < 4; ++i) {
            float4 color = load(pass.source, 2 * at.x + (i & 1), 2 * at.y + (i >> 1));
            sum = sum + above(color, parameters.threshold, parameters.limit) * 0.25f;
        }
    }
    float* light = elements<float>(pass.buffers[0]) + (size_t(at.y) * width + at.x);
    size_t plane = size_t(width) * height;
    light[0] = sum.x;
    light[plane] = sum.y;
    light[2 * plane] = sum.z;
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

extern "C" __global__ void fft_bloom_glare(const __grid_constant__ Pass pass,
                                           const __grid_constant__ FftBloomParameters parameters) {
    int2 at = thread_texel();
    int across = halved(pass.source.extent.x), down = halved(pass.source.extent.y);
    int width = padded(across), height = padded(down);
    if (at.x >= width || at.y >= height) return;
    float* glare = elements<float>(pass.buffers[0]) + (size_t(at.y) * width + at.x);
    size_t plane = size_t(width) * height;
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
    }
}

// The product of the spectra is that of the convolution. The glare's first element is its sum, which is made 1; the transforms forth
// and back multiply by the number of texels.
extern "C" __global__ void fft_bloom_multiply(const __grid_constant__ Pass pass,
                                              const __grid_constant__ FftBloomParameters parameters) {
    int2 at = thread_texel();
    int width = padded(halved(pass.source.extent.x)), height = padded(halved(pass.source.extent.y));
    int columns = width / 2 + 1;
    if (at.x >= columns || at.y >= height) return;
    float2* light = elements<float2>(pass.buffers[0]);
    const float2* glare = elements<const float2>(pass.buffers[1]);
    size_t plane = size_t(columns) * height, place = size_t(at.y) * columns + at.x;
    float texels = float(width) * float(height);
    for (int i = 0; i < planes; ++i) {
        float scale = 1.0f / (glare[i * plane].x * texels);
        float2 a = light[i * plane + place], b = glare[i * plane + place];
        b = make_float2(b.x * scale, b.y * scale);
        light[i * plane + place] = make_float2(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
    }
}

// Bilinear, a quarter of a texel before or behind a middle.
HANDOVER_INLINE float light_at(const float* light, int2 at, int across, int down, int width) {
    int left = (at.x + 1) / 2 - 1, top = (at.y + 1) / 2 - 1;
    int x[2] = {max(left, 0), min(left + 1, across - 1)}, y[2] = {max(top, 0), min(top + 1, down - 1)};
    float share_x = at.x & 1 ? 0.25f : 0.75f, share_y = at.y & 1 ? 0.25f : 0.75f;
    const float* upper = light + size_t(y[0]) * width;
    const float* lower = light + size_t(y[1]) * width;
    float above = upper[x[0]] * (1.0f - share_x) + upper[x[1]] * share_x;
    float below = lower[x[0]] * (1.0f - share_x) + lower[x[1]] * share_x;
    return above * (1.0f - share_y) + below * share_y;
}

extern "C" __global__ void fft_bloom_composite(const __grid_constant__ Pass pass,
                                               const __grid_constant__ FftBloomParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    int across = halved(pass.source.extent.x), down = halved(pass.source.extent.y);
    int width = padded(across), height = padded(down);
    const float* light = elements<const float>(pass.buffers[0]);
    size_t plane = size_t(width) * height;
    float4 color = load(pass.source, at.x, at.y);
    float red = light_at(light, at, across, down, width);
    float green = light_at(light + plane, at, across, down, width);
    float blue = light_at(light + 2 * plane, at, across, down, width);
    store(pass.destination, at,
          make_float4(color.x + parameters.intensity * red, color.y + parameters.intensity * green,
                      color.z + parameters.intensity * blue, color.w));
}
