/*---
title = "Motion view"
summary = "Shows the motion guide instead of the picture: the hue is the direction in which things move, the saturation how far. White stands still; what moves further than `largest` is darker."
source = "Baker et al., A Database and Evaluation Methodology for Optical Flow, IJCV 2011, and its colour code (colorcode.cpp, vision.middlebury.edu/flow); shown as values of the display (IEC 61966-2-1)"
stage = "inspect"
alpha = "unchanged"
broken_pixels = "the picture's are not shown; a motion that is NaN is black"
guides = ["motion"]

[tolerance]
ulps = 2
absolute = 1e-5
why = "atan2f and powers differ by some ulps of float; where the wheel's colours are near black their differences are compared absolutely"

[[parameters]]
name = "largest"
unit = "texels a frame"
minimum = 0.5
maximum = 256.0
default = 16.0
step = 1.0
logarithmic = true
type = "f32"

[[passes]]
entry = "motion_view"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct MotionViewParameters {
    float largest;
};

// The wheel has 55 colours: from red to yellow, green, cyan, blue, magenta and back in as many steps as the eye tells
// apart there. Values are whole, of 255.
// In between, channels rise or fall one after the other.
HANDOVER_INLINE int ramp(int index, int first, int steps) { return min(max(255 * (index - first) / steps, 0), 255); }

HANDOVER_INLINE float4 wheel(int index) {
    int red = 255 - ramp(index, 15, 6) + ramp(index, 36, 13);
    int green = ramp(index, 0, 15) - ramp(index, 25, 11);
    int blue = ramp(index, 21, 4) - ramp(index, 49, 6);
    return make_float4(float(red), float(green), float(blue), 0.0f);
}

// A value of the wheel, nearer to white the shorter the motion, as light.
HANDOVER_INLINE float shown(float low, float high, float between, float reach) {
    float value = ((1.0f - between) * low + between * high) / 255.0f;
    value = reach <= 1.0f ? 1.0f - reach * (1.0f - value) : 0.75f * value;
    value = clamp(value, 0.0f, 1.0f);
    return value <= 0.04045f ? value / 12.92f : power((value + 0.055f) / 1.055f, 2.4f);
}

HANDOVER_INLINE float4 motion_shown(float4 color, int2 at, const Pass& pass, const MotionViewParameters& parameters) {
    // The guide says where things were; the colour code takes where they go, and turns that around.
    float2 back = load_motion(pass, at.x, at.y);
    float reach = sqrtf(back.x * back.x + back.y * back.y) / parameters.largest;
    float turn = atan2f(back.y, back.x) / 3.14159265f;
    float place = (turn + 1.0f) / 2.0f * 54.0f;
    int index = min(max(int(place), 0), 54);
    float between = place - float(index);
    float4 low = wheel(index), high = wheel((index + 1) % 55);
    return make_float4(shown(low.x, high.x, between, reach), shown(low.y, high.y, between, reach),
                       shown(low.z, high.z, between, reach), color.w);
}

HANDOVER_POINTWISE(motion_view, motion_shown, MotionViewParameters)
