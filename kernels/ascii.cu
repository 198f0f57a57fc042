/*---
title = "ASCII"
summary = "The picture in letters: cells of 8x8 pixels, each a letter with as much ink as the cell has light."
source = "16 letters of font8x8_basic (Hepper; after the VGA font of IBM; public domain), ordered by ink; the tone is the square root of the mean luminance"
stage = "look"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504; light above 1 is white"

[tolerance]
ulps = 1
why = "sums run row after row in one order everywhere, so that the same letter is chosen; only the last rounding can differ"

[[parameters]]
name = "colour"
unit = "share; 0 is white letters"
minimum = 0.0
maximum = 1.0
default = 1.0
step = 0.1
type = "f32"

[[passes]]
entry = "ascii_cells"
source = "input"
destination = "cells"
divisor = 8
block = [16, 16]

[[passes]]
entry = "ascii_letters"
source = "cells"
second = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct AsciiParameters {
    float colour;
};

constexpr int cell = 8;  // texels along each axis

// Eight rows of eight texels, from the lowest bit to the right and down. The ink rises from 0 to 37 texels.
__device__ const unsigned long long letters[16] = {
    0x0000000000000000,  // space
    0x000c0c0000000000,  // .
    0x000000003f000000,  // -
    0x000c0c00000c0c00,  // :
    0x060c0c00000c0c00,  // ;
    0x00003f00003f0000,  // =
    0x00000c0c3f0c0c00,  // +
    0x00180018183c3c18,  // !
    0x001e3303331e0000,  // c
    0x001e3333331e0000,  // o
    0x0000663cff3c6600,  // *
    0x0067361e36660607,  // k
    0x0033333f33331e0c,  // A
    0x001e037b7b7b633e,  // @
    0x0036367f367f3636,  // #
    0x0063636b7f7f7763,  // M
};

// The mean of a cell; the last ones are cut off by the edge.
extern "C" __global__ void ascii_cells(const __grid_constant__ Pass pass,
                                       const __grid_constant__ AsciiParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    int left = at.x * cell, top = at.y * cell;
    int right = min(left + cell, int(pass.source.extent.x)), bottom = min(top + cell, int(pass.source.extent.y));
    float4 sum = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    for (int y = top; y < bottom; ++y)
        for (int x = left; x < right; ++x) sum = sum + load(pass.source, x, y);
    float count = float((right - left) * (bottom - top));
    store(pass.destination, at, make_float4(sum.x / count, sum.y / count, sum.z / count, sum.w / count));
}

extern "C" __global__ void ascii_letters(const __grid_constant__ Pass pass,
                                         const __grid_constant__ AsciiParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float4 color = load(pass.source, at.x / cell, at.y / cell);
    float tone = sqrtf(fminf(luminance(color), 1.0f));
    unsigned long long letter = letters[min(int(tone * 16.0f), 15)];
    bool ink = (letter >> (at.y % cell * cell + at.x % cell)) & 1u;
    // The letter's ink stands for the light, so its colour is as bright as it can be.
    float brightest = fmaxf(color.x, fmaxf(color.y, color.z));
    float scale = brightest > 0.0f ? brightest : 1.0f;
    float share = parameters.colour, white = 1.0f - share;
    float4 lit = make_float4(white + share * (color.x / scale), white + share * (color.y / scale),
                             white + share * (color.z / scale), 0.0f);
    float alpha = load(pass.second, at.x, at.y).w;
    store(pass.destination, at,
          ink ? make_float4(lit.x, lit.y, lit.z, alpha) : make_float4(0.0f, 0.0f, 0.0f, alpha));
}
