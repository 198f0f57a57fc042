/*---
title = "Vignette and grain"
summary = "Darkens the corners and adds monochrome film grain that changes with each frame."
source = "smoothstep over the distance from the centre; grain from the PCG RXS-M-XS hash (O'Neill 2014; Jarzynski and Olano, JCGT 9(3), 2020)"
stage = "vignette"
key = "8"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
absolute = 1e-6
why = "grain is subtracted and can cancel the light, by less than 1e-6; elsewhere only the last rounding differs"

[[parameters]]
name = "darkening"
unit = "of the light, at the corner"
minimum = 0.0
maximum = 1.0
default = 0.4
step = 0.05
type = "f32"

[[parameters]]
name = "start"
unit = "of the half diagonal"
minimum = 0.0
maximum = 0.95
default = 0.3
step = 0.05
type = "f32"

[[parameters]]
name = "grain"
unit = "light"
minimum = 0.0
maximum = 0.5
default = 0.02
step = 0.005
type = "f32"

[[parameters]]
name = "grain_size"
unit = "px"
minimum = 1
maximum = 8
default = 1
step = 1
type = "u32"

[[passes]]
entry = "vignette"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct VignetteParameters {
    float darkening;
    float start;
    float grain;
    unsigned grain_size;
};

// One step of PCG's 32-bit generator and its RXS-M-XS output, used as a hash.
HANDOVER_INLINE unsigned pcg(unsigned value) {
    unsigned state = value * 747796405u + 2891336453u;
    unsigned word = ((state >> ((state >> 28) + 4u)) ^ state) * 277803737u;
    return (word >> 22) ^ word;
}

// Triangular noise in [-1, 1] from the two halves of one hash; of the frame number the low 32 bits count.
HANDOVER_INLINE float noise(unsigned x, unsigned y, unsigned frame) {
    unsigned hash = pcg(x + pcg(y + pcg(frame)));
    return float(int(hash & 0xffffu) + int(hash >> 16) - 0xffff) * (1.0f / 65535.0f);
}

extern "C" __global__ void vignette(const __grid_constant__ Pass pass,
                                    const __grid_constant__ VignetteParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    float center_x = 0.5f * float(pass.source.extent.x), center_y = 0.5f * float(pass.source.extent.y);
    float dx = float(at.x) + 0.5f - center_x, dy = float(at.y) + 0.5f - center_y;
    // 0 at the centre, 1 at the image's corner.
    float distance = sqrtf((dx * dx + dy * dy) / (center_x * center_x + center_y * center_y));
    float s = clamp((distance - parameters.start) / (1.0f - parameters.start), 0.0f, 1.0f);
    float4 color = load(pass.source, at.x, at.y);
    float4 dimmed = color * (1.0f - parameters.darkening * (s * s * (3.0f - 2.0f * s)));
    // Grain is strongest in the middle tones and absent in black and white.
    float level = fminf(luminance(dimmed), 1.0f);
    float response = 2.0f * sqrtf(level * (1.0f - level));
    float grain = parameters.grain * response *
                  noise(unsigned(at.x) / parameters.grain_size, unsigned(at.y) / parameters.grain_size,
                        unsigned(pass.frame));
    store(pass.destination, at, make_float4(dimmed.x + grain, dimmed.y + grain, dimmed.z + grain, color.w));
}
