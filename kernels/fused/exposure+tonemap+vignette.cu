// Several effects in one pass, as src/kernels/fusion.rs writes it.
#include "handover.cuh"
#undef HANDOVER_POINTWISE_KERNEL
#define HANDOVER_POINTWISE_KERNEL(entry, Parameters)

namespace member_0 {
#include "exposure.cu"
}

namespace member_1 {
#include "tonemap.cu"
}

namespace member_2 {
#include "vignette.cu"
}

// As they follow one another in the launch's parameters.
struct FusedParameters {
    member_0::exposure_pointwise::Parameters of_0;
    member_1::tonemap_pointwise::Parameters of_1;
    member_2::vignette_pointwise::Parameters of_2;
};

struct Fused {
    using Parameters = FusedParameters;

    struct Read {
        member_0::exposure_pointwise::Read of_0;
        member_1::tonemap_pointwise::Read of_1;
        member_2::vignette_pointwise::Read of_2;
    };

    static HANDOVER_INLINE Read read(const Pass& pass, int2 at) {
        return {
            member_0::exposure_pointwise::read(member_pass<0, 0>(pass, 0u, false), at),
            member_1::tonemap_pointwise::read(member_pass<0, 0>(pass, 0u, false), at),
            member_2::vignette_pointwise::read(member_pass<0, 0>(pass, 0u, false), at),
        };
    }

    static HANDOVER_INLINE auto apply(
        TexelPair<false> texels, const Read& read, int2 at, const Pass& pass, const Parameters& parameters,
        bool exactly) {
        auto after_0 = member_0::exposure_pointwise::apply(
            texels, read.of_0, at, member_pass<0, 0>(pass, 0u, false), parameters.of_0, exactly);
        auto after_1 = member_1::tonemap_pointwise::apply(
            after_0, read.of_1, at, member_pass<0, 0>(pass, 0u, false), parameters.of_1, exactly);
        auto after_2 = member_2::vignette_pointwise::apply(
            after_1, read.of_2, at, member_pass<0, 0>(pass, 0u, false), parameters.of_2, exactly);
        return after_2;
    }
};

extern "C" __global__ void fused_exposure_tonemap_vignette(
    const __grid_constant__ Pass pass, const __grid_constant__ FusedParameters parameters) {
    pointwise<Fused>(pass, parameters);
}
