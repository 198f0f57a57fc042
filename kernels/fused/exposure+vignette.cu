// Several effects in one pass, as src/kernels/fusion.rs writes it.
#include "handover.cuh"
#undef HANDOVER_POINTWISE_KERNEL
#define HANDOVER_POINTWISE_KERNEL(entry, Parameters)

namespace member_0 {
#include "exposure.cu"
}

namespace member_1 {
#include "vignette.cu"
}

// As they follow one another in the launch's parameters.
struct FusedParameters {
    member_0::exposure_pointwise::Parameters of_0;
    member_1::vignette_pointwise::Parameters of_1;
};

struct Fused {
    using Parameters = FusedParameters;

    static HANDOVER_INLINE ushort4 apply(ushort4 bits, int2 at, const Pass& pass, const Parameters& parameters) {
        bits = member_0::exposure_pointwise::apply(
            bits, at, member_pass<0, 0>(pass, 0u, false), parameters.of_0);
        bits = member_1::vignette_pointwise::apply(
            bits, at, member_pass<0, 0>(pass, 0u, false), parameters.of_1);
        return bits;
    }
};

extern "C" __global__ void fused_exposure_vignette(
    const __grid_constant__ Pass pass, const __grid_constant__ FusedParameters parameters) {
    pointwise<Fused>(pass, parameters);
}
