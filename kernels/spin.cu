/*---
title = "Spin"
summary = "Copies, and lasts at least as long as told. The self-test holds the instrument against it."
source = "none: the identity"
alpha = "copied"
broken_pixels = "copied: NaN and infinities keep their bits"
hidden = true

[tolerance]
ulps = 0
why = "no arithmetic is done"

[[parameters]]
name = "microseconds"
unit = "us"
minimum = 0.0
maximum = 100000.0
default = 100.0
step = 10.0
type = "f32"

[[passes]]
entry = "spin"
source = "input"
destination = "output"
block = [32, 8]
---*/
#include "handover.cuh"

struct SpinParameters {
    float microseconds;
};

#ifdef __CUDA_ARCH__
HANDOVER_INLINE unsigned long long nanoseconds() {
    unsigned long long now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    return now;
}
#else
// Elsewhere there is nothing to hold an instrument against.
HANDOVER_INLINE unsigned long long nanoseconds() { return ~0ull >> 1; }
#endif

// One thread waits, so that the kernel lasts as long however many blocks run at a time.
extern "C" __global__ void spin(const __grid_constant__ Pass pass, const __grid_constant__ SpinParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    if (at.x == 0 && at.y == 0) {
        unsigned long long until = nanoseconds() + (unsigned long long)(parameters.microseconds * 1000.0f);
        while (nanoseconds() < until) {
        }
    }
    store_bits(pass.destination, at, load_bits(pass.source, at));
}
