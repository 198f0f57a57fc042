/*---
title = "Canny"
summary = "Edges one texel thin: the ridges of the blurred picture's gradient, of which the weak are kept where they hang together with a strong one."
source = "Canny, A Computational Approach to Edge Detection, IEEE PAMI 8(6), 1986; conventions of scikit-image's feature.canny; components by Playne and Hawick, A New Algorithm for Parallel Connected-Component Labelling on GPUs, IEEE TPDS 29(6), 2018"
stage = "look"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0; what is brighter than 1 counts as 1 for edges"

[tolerance]
ulps = 1
why = "which texels are edges is decided on sums, products, quotients and roots, which are the same everywhere; only the dimmed picture is rounded"

[[parameters]]
name = "sigma"
unit = "texels"
minimum = 0.5
maximum = 4.0
default = 1.4
step = 0.1
type = "f32"

[[parameters]]
name = "low"
unit = "of the Sobel sums; a step from black to white has 4"
minimum = 0.0
maximum = 2.0
default = 0.1
step = 0.02
type = "f32"

[[parameters]]
name = "high"
unit = "of the Sobel sums; a step from black to white has 4"
minimum = 0.0
maximum = 4.0
default = 0.3
step = 0.02
type = "f32"

[[parameters]]
name = "ink"
unit = "light"
minimum = 0.0
maximum = 4.0
default = 1.0
step = 0.05
type = "f32"

[[parameters]]
name = "picture"
unit = "of the light that is left beside the edges"
minimum = 0.0
maximum = 1.0
default = 0.2
step = 0.05
type = "f32"

# Tones, then the blurred tones, then labels.
[[buffers]]
name = "tones_then_labels"
bytes_per_texel = 4

# Rows blurred, then what each texel is.
[[buffers]]
name = "rows_then_marks"
bytes_per_texel = 4

[[passes]]
entry = "canny_tone"
source = "input"
buffers = ["tones_then_labels"]
block = [32, 8]

[[passes]]
entry = "canny_rows"
source = "input"
buffers = ["tones_then_labels", "rows_then_marks"]
block = [32, 8]

[[passes]]
entry = "canny_columns"
source = "input"
buffers = ["rows_then_marks", "tones_then_labels"]
block = [32, 8]

[[passes]]
entry = "canny_suppress"
source = "input"
buffers = ["tones_then_labels", "rows_then_marks"]
block = [32, 8]

[[passes]]
entry = "canny_label"
source = "input"
buffers = ["rows_then_marks", "tones_then_labels"]
block = [32, 8]

[[passes]]
entry = "canny_merge"
source = "input"
buffers = ["rows_then_marks", "tones_then_labels"]
block = [32, 8]

[[passes]]
entry = "canny_flatten"
source = "input"
buffers = ["rows_then_marks", "tones_then_labels"]
block = [32, 8]

[[passes]]
entry = "canny_hysteresis"
source = "input"
buffers = ["rows_then_marks", "tones_then_labels"]
block = [32, 8]

[[passes]]
entry = "canny_draw"
source = "input"
destination = "output"
buffers = ["rows_then_marks", "tones_then_labels"]
block = [32, 8]
---*/
#include "handover.cuh"

struct CannyParameters {
    float sigma;
    float low;
    float high;
    float ink;
    float picture;
};

// What a texel is.
constexpr unsigned weak = 1u, strong = 2u;
// Of a component's root: one of its texels is strong.
constexpr unsigned kept = 4u;

HANDOVER_INLINE unsigned place(const Pass& pass, int x, int y) { return unsigned(y) * pass.source.extent.x + unsigned(x); }

// A value of a buffer with a float for each texel; positions outside are clamped to the edge.
HANDOVER_INLINE float value(const Pass& pass, const float* values, int x, int y) {
    int2 at = inside(pass.source, x, y);
    return values[place(pass, at.x, at.y)];
}

// exp(-1 / (2 sigma^2)), by the exponential series of an eighth of it: only operations that round alike everywhere, for an
// edge must not hang on an ulp. The series' remainder is below 1e-9.
HANDOVER_INLINE float neighbour_weight(float sigma) {
    float x = 1.0f / (16.0f * sigma * sigma);
    float sum = 1.0f;
    for (int term = 8; term > 0; --term) sum = 1.0f + sum * x / float(term);
    float square = sum * sum, fourth = square * square;
    return 1.0f / (fourth * fourth);
}

// The Gaussian of a line, cut off at four sigma as SciPy does. The weight of offset i is q^(i^2), where q is the first
// neighbour's: from one to the next it is multiplied by an odd power of q.
HANDOVER_INLINE float blurred(const Pass& pass, const float* values, int2 at, int2 step, float sigma) {
    float q = neighbour_weight(sigma);
    int radius = int(4.0f * sigma + 0.5f);
    float weight = 1.0f, factor = q;
    float sum = value(pass, values, at.x, at.y), total = 1.0f;
    for (int i = 1; i <= radius; ++i) {
        weight = weight * factor;
        factor = factor * (q * q);
        float before = value(pass, values, at.x - i * step.x, at.y - i * step.y);
        float after = value(pass, values, at.x + i * step.x, at.y + i * step.y);
        sum = sum + weight * (before + after);
        total = total + 2.0f * weight;
    }
    return sum / total;
}

extern "C" __global__ void canny_tone(const __grid_constant__ Pass pass, const __grid_constant__ CannyParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    float tone = sqrtf(fminf(luminance(load(pass.source, at.x, at.y)), 1.0f));
    elements<float>(pass.buffers[0])[place(pass, at.x, at.y)] = tone;
}

extern "C" __global__ void canny_rows(const __grid_constant__ Pass pass, const __grid_constant__ CannyParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    const float* tones = elements<float>(pass.buffers[0]);
    elements<float>(pass.buffers[1])[place(pass, at.x, at.y)] =
        blurred(pass, tones, at, make_int2(1, 0), parameters.sigma);
}

extern "C" __global__ void canny_columns(const __grid_constant__ Pass pass,
                                         const __grid_constant__ CannyParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    const float* rows = elements<float>(pass.buffers[0]);
    elements<float>(pass.buffers[1])[place(pass, at.x, at.y)] =
        blurred(pass, rows, at, make_int2(0, 1), parameters.sigma);
}

// A ridge is at least as high as its two neighbours along the gradient, which lie between texels: they are interpolated
// between the straight and the diagonal neighbour. The outermost texels have none.
extern "C" __global__ void canny_suppress(const __grid_constant__ Pass pass,
                                          const __grid_constant__ CannyParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    const float* smooth = elements<float>(pass.buffers[0]);
    float t[5][5];
#pragma unroll
    for (int j = 0; j < 5; ++j)
#pragma unroll
        for (int i = 0; i < 5; ++i) t[j][i] = value(pass, smooth, at.x + i - 2, at.y + j - 2);
    float m[3][3], gx = 0.0f, gy = 0.0f;
#pragma unroll
    for (int j = 0; j < 3; ++j) {
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            float x = (t[j][i + 2] - t[j][i]) + 2.0f * (t[j + 1][i + 2] - t[j + 1][i]) + (t[j + 2][i + 2] - t[j + 2][i]);
            float y = (t[j + 2][i] - t[j][i]) + 2.0f * (t[j + 2][i + 1] - t[j][i + 1]) + (t[j + 2][i + 2] - t[j][i + 2]);
            m[j][i] = sqrtf(x * x + y * y);
            if (i == 1 && j == 1) {
                gx = x;
                gy = y;
            }
        }
    }
    float magnitude = m[1][1], across = fabsf(gx), along = fabsf(gy);
    bool is_falling = (gx >= 0.0f) == (gy >= 0.0f);  // the gradient points to the lower right, or the upper left
    bool is_steep = along > across;
    float diagonal_before = is_falling ? m[0][0] : m[0][2], diagonal_after = is_falling ? m[2][2] : m[2][0];
    float straight_before = is_steep ? m[0][1] : is_falling ? m[1][0] : m[1][2];
    float straight_after = is_steep ? m[2][1] : is_falling ? m[1][2] : m[1][0];
    float share = magnitude > 0.0f ? fminf(across, along) / fmaxf(across, along) : 0.0f;
    float before = diagonal_before * share + straight_before * (1.0f - share);
    float after = diagonal_after * share + straight_after * (1.0f - share);
    bool is_inner = at.x > 0 && at.y > 0 && at.x + 1 < int(pass.source.extent.x) && at.y + 1 < int(pass.source.extent.y);
    bool is_ridge = is_inner && magnitude > 0.0f && before <= magnitude && after <= magnitude;
    unsigned mark = 0u;
    if (is_ridge && magnitude >= parameters.low) mark = magnitude >= parameters.high ? strong : weak;
    elements<unsigned>(pass.buffers[1])[place(pass, at.x, at.y)] = mark;
}

// Each edge texel is a component of its own, which its place names.
extern "C" __global__ void canny_label(const __grid_constant__ Pass pass, const __grid_constant__ CannyParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    unsigned self = place(pass, at.x, at.y);
    elements<unsigned>(pass.buffers[1])[self] = self;
}

// The first of a component as far as it is known: labels lead to smaller places, and a root to itself. Volatile: other
// threads lower them.
HANDOVER_INLINE unsigned root(const volatile unsigned* labels, unsigned at) {
    for (unsigned label = labels[at]; label != at; label = labels[at]) at = label;
    return at;
}

// Makes two components one. A root that another thread has lowered meanwhile is followed from what it was lowered to, so
// whatever the order of threads, the components that result are the same.
HANDOVER_INLINE void join(unsigned* labels, unsigned a, unsigned b) {
    a = root(labels, a);
    b = root(labels, b);
    while (a != b) {
        unsigned high = max(a, b), low = min(a, b);
        unsigned before = atomicMin(&labels[high], low);
        a = before == high ? low : root(labels, before);
        b = root(labels, low);
    }
}

extern "C" __global__ void canny_merge(const __grid_constant__ Pass pass, const __grid_constant__ CannyParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    const unsigned* marks = elements<unsigned>(pass.buffers[0]);
    unsigned* labels = elements<unsigned>(pass.buffers[1]);
    unsigned self = place(pass, at.x, at.y), width = pass.source.extent.x;
    if (marks[self] == 0u) return;
    // Edges are never outermost, so all neighbours are inside. Where the one above is an edge, it is joined to the other two
    // already.
    if (marks[self - 1u] != 0u) join(labels, self, self - 1u);
    if (marks[self - width] != 0u) {
        join(labels, self, self - width);
        return;
    }
    if (marks[self - width - 1u] != 0u) join(labels, self, self - width - 1u);
    if (marks[self - width + 1u] != 0u) join(labels, self, self - width + 1u);
}

extern "C" __global__ void canny_flatten(const __grid_constant__ Pass pass,
                                         const __grid_constant__ CannyParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    unsigned* labels = elements<unsigned>(pass.buffers[1]);
    unsigned self = place(pass, at.x, at.y);
    labels[self] = root(labels, self);
}

extern "C" __global__ void canny_hysteresis(const __grid_constant__ Pass pass,
                                            const __grid_constant__ CannyParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.source, at)) return;
    unsigned* marks = elements<unsigned>(pass.buffers[0]);
    unsigned self = place(pass, at.x, at.y);
    if (marks[self] & strong) atomicOr(&marks[elements<unsigned>(pass.buffers[1])[self]], kept);
}

extern "C" __global__ void canny_draw(const __grid_constant__ Pass pass, const __grid_constant__ CannyParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    const unsigned* marks = elements<unsigned>(pass.buffers[0]);
    unsigned self = place(pass, at.x, at.y);
    bool is_edge = marks[self] != 0u && (marks[elements<unsigned>(pass.buffers[1])[self]] & kept);
    float4 color = load(pass.source, at.x, at.y);
    float4 shown = is_edge ? make_float4(parameters.ink, parameters.ink, parameters.ink, 1.0f) : color * parameters.picture;
    store(pass.destination, at, make_float4(shown.x, shown.y, shown.z, color.w));
}
