/*---
title = "Spin"
summary = "Copies, and lasts at least as long as told. The self-test holds the instrument against it."
source = "none: the identity"
stage = "inspect"
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

// Elsewhere than on a GPU there is no instrument to hold against it, and nothing waits.
HANDOVER_INLINE void wait(unsigned long long nanoseconds) {
#ifdef __CUDA_ARCH__
    unsigned long long begin, now;
    asm volatile("mov.u64 %0, %globaltimer;" : "=l"(begin));
    do {
        asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
    } while (now - begin < nanoseconds);
#endif
}

// One thread waits, so that the kernel lasts as long however many blocks run at a time.
extern "C" __global__ void spin(const __grid_constant__ Pass pass, const __grid_constant__ SpinParameters parameters) {
    int2 at = thread_texel();
    if (!covers(pass.destination, at)) return;
    if (at.x == 0 && at.y == 0) {
        wait((unsigned long long)(parameters.microseconds * 1000.0f));
    }
    store_bits(pass.destination, at, load_bits(pass.source, at));
}
