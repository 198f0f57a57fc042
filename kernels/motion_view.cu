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
#include "handover_srgb.cuh"

struct MotionViewParameters {
    float largest;
};

// The wheel has 55 colours: from red to yellow, green, cyan, blue, magenta and back in as many steps as the eye tells
// apart there. Values are whole, of 255.
// In between, channels rise or fall one after the other.
__device__ constexpr int ramp(int index, int first, int steps) {
    int value = 255 * (index - first) / steps;
    return value < 0 ? 0 : value > 255 ? 255 : value;
}

constexpr int colours = 55;

// A colour, of 1, and how much is added to it on the way to the next one: red, green, blue and nothing.
struct alignas(16) Hue {
    float value[4];
    float step[4];
};

struct Wheel {
    Hue hues[colours];
};

__device__ constexpr Wheel make_wheel() {
    Wheel wheel = {};
    for (int index = 0; index < colours; ++index) {
        int found[2][3] = {};
        for (int i = 0; i < 2; ++i) {
            int at = (index + i) % colours;
            found[i][0] = 255 - ramp(at, 15, 6) + ramp(at, 36, 13);
            found[i][1] = ramp(at, 0, 15) - ramp(at, 25, 11);
            found[i][2] = ramp(at, 21, 4) - ramp(at, 49, 6);
        }
        for (int channel = 0; channel < 3; ++channel) {
            wheel.hues[index].value[channel] = float(found[0][channel]) / 255.0f;
            wheel.hues[index].step[channel] = float(found[1][channel] - found[0][channel]) / 255.0f;
        }
    }
    return wheel;
}

__device__ constexpr Wheel wheel = make_wheel();

// The angle of a vector from -27 to 27, of which 54 are a turn. The arctangent of [0, 1] is a polynomial fitted to the least
// largest error, 1.5e-5: the wheel's values change by 1/4 a colour at most.
HANDOVER_INLINE float direction(float x, float y) {
    float along = fabsf(x), across = fabsf(y);
    float ratio = fminf(fminf(along, across), 1e30f) *
                  approximate_reciprocal(clamp(fmaxf(along, across), 1e-30f, 1e30f));
    float square = ratio * ratio;
    float sum = fmaf(fmaf(-0.100717306f, square, 0.452467293f), square, -1.00060856f);
    float angle = fmaf(fmaf(fmaf(sum, square, 1.66335559f), square, -2.85868239f), square, 8.59417152f) * ratio;
    angle = across > along ? 13.5f - angle : angle;
    return copysignf(x < 0.0f ? 27.0f - angle : angle, y);
}

HANDOVER_INLINE Light motion_shown(float4 color, Motion back, int2 at, const Pass& pass,
                                    const MotionViewParameters& parameters) {
    // The guide says where things were; the colour code takes where they go, and turns that around.
    float square = back.x * back.x + back.y * back.y;
    float length = approximate_root(square);
    bool is_far = length > parameters.largest;
    // Where the approximation could decide otherwise than the root does.
    if (fabsf(length - parameters.largest) <= 1e-6f * parameters.largest) is_far = sqrtf(square) > parameters.largest;
    float reach = length * approximate_reciprocal(parameters.largest);
    // Nearer to white the shorter the motion.
    float scale = is_far ? 0.75f : reach, white = is_far ? 0.0f : 1.0f - reach;
    float place = direction(back.x, back.y) + 27.0f;
    float whole = add_down(place, whole_floats);
    float between = place - (whole - whole_floats);
    // Not a number becomes the last.
    unsigned index = min(__float_as_uint(whole) - whole_bits, unsigned(colours - 1));
    const float4* hue = reinterpret_cast<const float4*>(&wheel.hues[index]);
    float4 value = __ldg(hue), step = __ldg(hue + 1);
    auto shown = [=](float low, float rise) {
        return srgb_decoded(saturate(fmaf(fmaf(between, rise, low), scale, white)));
    };
    return {shown(value.x, step.x), shown(value.y, step.y), shown(value.z, step.z), color.w};
}

HANDOVER_POINTWISE(motion_view, motion_shown, MotionViewParameters)
