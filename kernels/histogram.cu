/*---
title = "Histogram"
summary = "Draws how often each value of red, green and blue is in the picture, in the lower left corner: values of the display from left to right, counts on a logarithmic scale."
source = "values of 8 bits encoded as IEC 61966-2-1 (sRGB); bars as high as log(1 + count)"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; what is above 1 counts as 255"

[tolerance]
ulps = 1
absolute = 2e-4
why = "counts are integers and equal; log2f moves the end of a bar by less than 2e-4 of a texel, where it is shaded"

[[parameters]]
name = "size"
unit = "of the picture"
minimum = 0.1
maximum = 1.0
default = 0.3
step = 0.05
type = "f32"

[[parameters]]
name = "opacity"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.85
step = 0.05
type = "f32"

[[buffers]]
name = "copies"
bytes = 49152
zeroed = true

# The sums of the copies, then the largest of them.
[[buffers]]
name = "counts"
bytes = 3076
zeroed = true

[[passes]]
entry = "histogram_count"
source = "input"
buffers = ["copies"]
threads = [1024, 128]
block = [128, 1]

[[passes]]
entry = "histogram_gather"
buffers = ["copies", "counts"]
threads = [768, 1]
block = [32, 1]

[[passes]]
entry = "histogram_draw"
source = "input"
destination = "output"
buffers = ["counts"]
block = [32, 8]
---*/
#include "handover.cuh"

struct HistogramParameters {
    float size;
    float opacity;
};

// Of red, then green, then blue.
constexpr int bin_count = 3 * 256;
// As many histograms, so that texels of one value do not all wait for one place in memory.
constexpr int copies = 16;
// Of the first pass, as in its description.
constexpr int columns = 1024, rows = 128;

// The sRGB encoding of light, of 255. The power 1 / 2.4 = 1/4 + 1/6 is made of roots, the cube root by Halley's method from
// a line: only operations that round alike everywhere, so that no value flips between a GPU and a CPU. Three steps leave
// 3e-7 of the value.
HANDOVER_INLINE int code(float light) {
    light = fminf(light, 1.0f);
    float encoded = 12.92f * light;
    if (light > 0.0031308f) {
        float root = sqrtf(light);
        float cube_root = 0.45f + 0.55f * root;
        for (int step = 0; step < 3; ++step) {
            float cube = cube_root * cube_root * cube_root;
            cube_root = cube_root * (cube + 2.0f * root) / (2.0f * cube + root);
        }
        encoded = 1.055f * (sqrtf(root) * cube_root) - 0.055f;
    }
    return min(int(encoded * 255.0f + 0.5f), 255);
}

// What a thread has counted of one bin.
struct Run {
    int bin;
    unsigned count;
};

// One more of a bin; bins that follow each other are added at once.
HANDOVER_INLINE void count(unsigned* histogram, Run& run, int bin) {
    if (bin != run.bin) {
        if (run.count > 0u) atomicAdd(&histogram[run.bin], run.count);
        run = {bin, 0u};
    }
    ++run.count;
}

extern "C" __global__ void histogram_count(const __grid_constant__ Pass pass,
                                           const __grid_constant__ HistogramParameters parameters) {
    int2 thread = thread_texel();
    int width = int(pass.source.extent.x), height = int(pass.source.extent.y);
    int strip = (height + rows - 1) / rows;
    int top = thread.y * strip, bottom = min(top + strip, height);
    unsigned* histogram = elements<unsigned>(pass.buffers[0]) + bin_count * (thread.y % copies);
    Run red = {0, 0u}, green = {0, 0u}, blue = {0, 0u};
    for (int x = thread.x; x < width; x += columns) {
        for (int y = top; y < bottom; ++y) {
            float4 color = load(pass.source, x, y);
            count(histogram, red, code(color.x));
            count(histogram, green, 256 + code(color.y));
            count(histogram, blue, 512 + code(color.z));
        }
    }
    for (const Run& run : {red, green, blue})
        if (run.count > 0u) atomicAdd(&histogram[run.bin], run.count);
}

extern "C" __global__ void histogram_gather(const __grid_constant__ Pass pass,
                                            const __grid_constant__ HistogramParameters parameters) {
    int bin = thread_texel().x;
    if (bin >= bin_count) return;
    const unsigned* histograms = elements<unsigned>(pass.buffers[0]);
    unsigned sum = 0u;
    for (int copy = 0; copy < copies; ++copy) sum += histograms[bin_count * copy + bin];
    unsigned* counts = elements<unsigned>(pass.buffers[1]);
    counts[bin] = sum;
    atomicMax(&counts[bin_count], sum);
}

// How much of a texel its channel's bar covers; `up` rows are below it in the panel. A column narrower than a value shows the
// largest of those that it stands for.
HANDOVER_INLINE float bar(const unsigned* counts, unsigned most, int column, int up, int2 panel) {
    int first = column * 256 / panel.x, end = max(first + 1, (column + 1) * 256 / panel.x);
    unsigned count = 0u;
    for (int bin = first; bin < end; ++bin) count = max(count, counts[bin]);
    float height = float(panel.y) * (log2f(1.0f + float(count)) / log2f(1.0f + float(most)));
    return clamp(height - float(up), 0.0f, 1.0f);
}

extern "C" __global__ void histogram_draw(const __grid_constant__ Pass pass,
                                          const __grid_constant__ HistogramParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x, at.y);
    int width = int(pass.source.extent.x), height = int(pass.source.extent.y);
    int margin = min(width, height) / 40;
    int2 panel = make_int2(max(int(parameters.size * float(width - 2 * margin)), 1),
                           max(int(parameters.size * float(height - 2 * margin)), 1));
    int column = at.x - margin, up = height - margin - 1 - at.y;
    if (column >= 0 && column < panel.x && up >= 0 && up < panel.y) {
        const unsigned* counts = elements<unsigned>(pass.buffers[0]);
        unsigned most = counts[bin_count];
        // Lines at quarters of the values, and a frame.
        bool is_line = column * 4 / panel.x != (column - 1) * 4 / panel.x || column == 0 || column == panel.x - 1 ||
                       up == 0 || up == panel.y - 1;
        float ground = is_line ? 0.1f : 0.01f, through = 1.0f - parameters.opacity;
        float red = ground + 0.6f * bar(counts, most, column, up, panel);
        float green = ground + 0.6f * bar(counts + 256, most, column, up, panel);
        float blue = ground + 0.6f * bar(counts + 512, most, column, up, panel);
        color = make_float4(fminf(color.x, 1.0f) * through + red * parameters.opacity,
                            fminf(color.y, 1.0f) * through + green * parameters.opacity,
                            fminf(color.z, 1.0f) * through + blue * parameters.opacity, color.w);
    }
    store(pass.destination, at, color);
}
