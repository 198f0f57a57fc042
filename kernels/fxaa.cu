/*---
title = "FXAA"
summary = "Fast approximate anti-aliasing: finds the ends of edges in the picture and blends across them."
source = "Lottes, FXAA 3.11, Fxaa3_11.h (NVIDIA 2011): FxaaPixelShader, quality preset 39. Luma is the square root of the luminance, of light up to 1: what a display of gamma 2 shows. Colours are blended in linear light, so that an edge has the light of its coverage"
stage = "anti_aliasing"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504, whose luma is 1"

[tolerance]
ulps = 1
why = "luma and all that is decided by it are the same operations in float on every processor, of which square roots and divisions are exact in the last bit; only the last rounding differs"

[[parameters]]
name = "subpix"
unit = ""
minimum = 0.0
maximum = 1.0
default = 0.75
step = 0.05
type = "f32"

[[parameters]]
name = "edge_threshold"
unit = "of the local maximum of luma"
minimum = 0.063
maximum = 0.333
default = 0.166
step = 0.01
type = "f32"

[[parameters]]
name = "edge_threshold_min"
unit = "luma"
minimum = 0.0312
maximum = 0.0833
default = 0.0833
step = 0.005
type = "f32"

[[passes]]
entry = "fxaa"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct FxaaParameters {
    float subpix;
    float edge_threshold;
    float edge_threshold_min;
};

HANDOVER_INLINE float luma(const Image& image, int x, int y) {
    return sqrtf(fminf(luminance(load(image, x, y)), 1.0f));
}

// Luma between a texel and the one beside it, across the edge: a bilinear tap half way.
HANDOVER_INLINE float luma_across(const Image& image, int x, int y, int2 side) {
    return 0.5f * (luma(image, x, y) + luma(image, x + side.x, y + side.y));
}

// Where an edge ends in one direction.
struct SpanEnd {
    float distance;    // texels
    float difference;  // of luma there from that of the edge
};

// Walks along the edge between `at` and the texel at `side`, until luma differs from the edge's by `enough`.
HANDOVER_INLINE SpanEnd find_end(const Image& image, int2 at, int2 side, int2 step, float edge_luma, float enough) {
    // Preset 39 goes on by 1, 1, 1, 1, 1, 1.5, 2, 2, 2, 2, 4 and 8 texels. These are the distances; nothing is read at the last.
    const float distances[12] = {1.0f,  2.0f,  3.0f,  4.0f,  5.0f,  6.5f,
                                 8.5f, 10.5f, 12.5f, 14.5f, 18.5f, 26.5f};
    SpanEnd end = {distances[11], 0.0f};
    for (int k = 0; k < 11; ++k) {
        int whole = int(distances[k]);
        int x = at.x + whole * step.x, y = at.y + whole * step.y;
        float found = luma_across(image, x, y, side);
        // A tap at half a texel is the mean of two.
        if (k >= 5) found = 0.5f * (found + luma_across(image, x + step.x, y + step.y, side));
        end.difference = found - edge_luma;
        if (fabsf(end.difference) >= enough) {
            end.distance = distances[k];
            break;
        }
    }
    return end;
}

extern "C" __global__ void fxaa(const __grid_constant__ Pass pass, const __grid_constant__ FxaaParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    const Image& image = pass.source;
    float4 color = load(image, at.x, at.y);
    float middle = sqrtf(fminf(luminance(color), 1.0f));
    float north = luma(image, at.x, at.y - 1), south = luma(image, at.x, at.y + 1);
    float west = luma(image, at.x - 1, at.y), east = luma(image, at.x + 1, at.y);
    float brightest = fmaxf(fmaxf(fmaxf(north, south), fmaxf(west, east)), middle);
    float darkest = fminf(fminf(fminf(north, south), fminf(west, east)), middle);
    float range = brightest - darkest;
    if (range < fmaxf(parameters.edge_threshold_min, brightest * parameters.edge_threshold)) {
        store(pass.destination, at, color);
        return;
    }
    float north_west = luma(image, at.x - 1, at.y - 1), north_east = luma(image, at.x + 1, at.y - 1);
    float south_west = luma(image, at.x - 1, at.y + 1), south_east = luma(image, at.x + 1, at.y + 1);

    // Second differences along columns say how horizontal the edge is, along rows how vertical. Around a peak or a saddle
    // both are the same sum, so that the order of the operations decides: it is the published one.
    float horizontal = fabsf(-2.0f * west + (north_west + south_west)) +
                       (fabsf(-2.0f * middle + (north + south)) * 2.0f +
                        fabsf(-2.0f * east + (north_east + south_east)));
    float vertical = fabsf(-2.0f * south + (south_west + south_east)) +
                     (fabsf(-2.0f * middle + (west + east)) * 2.0f +
                      fabsf(-2.0f * north + (north_west + north_east)));
    bool is_horizontal = horizontal >= vertical;

    // The steeper of the two sides is where the edge is.
    float before = is_horizontal ? north : west, after = is_horizontal ? south : east;
    float gradient_before = fabsf(before - middle), gradient_after = fabsf(after - middle);
    bool is_before = gradient_before >= gradient_after;
    float edge_luma = 0.5f * ((is_before ? before : after) + middle);
    float enough = 0.25f * fmaxf(gradient_before, gradient_after);
    int sign = is_before ? -1 : 1;
    int2 side = is_horizontal ? make_int2(0, sign) : make_int2(sign, 0);
    int2 step = is_horizontal ? make_int2(1, 0) : make_int2(0, 1);

    SpanEnd negative = find_end(image, at, side, make_int2(-step.x, -step.y), edge_luma, enough);
    SpanEnd positive = find_end(image, at, side, step, edge_luma, enough);
    SpanEnd nearest = negative.distance < positive.distance ? negative : positive;
    // At its near end the edge must turn to this texel's other side, else it is the neighbour that is to be blended.
    bool is_good = (nearest.difference < 0.0f) != (middle - edge_luma < 0.0f);
    float edge_offset = is_good ? 0.5f - nearest.distance / (negative.distance + positive.distance) : 0.0f;

    // How much the texel stands out of its neighbourhood, for what is smaller than a texel. In the published order of operations:
    // beside a texel of 65504 the last bit of the offset shows.
    float cross = north + south + (west + east), corners = north_west + south_west + (north_east + south_east);
    float mean = (2.0f * cross + corners) * (1.0f / 12.0f);
    float contrast = fminf(fabsf(mean - middle) / range, 1.0f);
    float smooth = (contrast * contrast) * (3.0f - 2.0f * contrast);
    float offset = fmaxf(edge_offset, smooth * smooth * parameters.subpix);

    float4 blended = color * (1.0f - offset) + load(image, at.x + side.x, at.y + side.y) * offset;
    store(pass.destination, at, make_float4(blended.x, blended.y, blended.z, color.w));
}
