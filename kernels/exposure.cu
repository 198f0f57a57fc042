/*---
title = "Exposure"
summary = "Multiplies the light by two to the power of the stops. Whole stops are exact."
source = "definition of the exposure value: one stop doubles the light"
stage = "exposure"
key = "1"
alpha = "unchanged"
broken_pixels = "NaN and negative values are read as 0, infinity as 65504"

[tolerance]
ulps = 1
why = "exp2f of the fraction of a stop is good to 2 ulps of float, which can move a half across a rounding boundary"

[[parameters]]
name = "stops"
unit = "EV"
minimum = -10.0
maximum = 10.0
default = 0.5
step = 0.25
type = "f32"

[[passes]]
entry = "exposure"
source = "input"
destination = "output"
pointwise = true
---*/
#include "handover.cuh"

struct ExposureParameters {
    float stops;
};

// The whole stops go to the exponent, so that they are exact.
HANDOVER_INLINE float gain(float stops) {
    float whole = rintf(stops);
    return ldexpf(exp2f(stops - whole), int(whole));
}

HANDOVER_INLINE float4 brightened(float4 color, int2 at, const Pass& pass, const ExposureParameters& parameters) {
    float4 exposed = color * gain(parameters.stops);
    return make_float4(exposed.x, exposed.y, exposed.z, color.w);
}

HANDOVER_POINTWISE(exposure, brightened, ExposureParameters)
