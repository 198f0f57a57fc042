// What the wavelets that stop at edges share: surfaces, taps of a column, and which texels a thread has. For kernels
// that include handover.cuh before.

// Black surfaces count as dark ones.
constexpr float darkest_albedo = 0.01f;
// Texels of a column that a thread filters: their taps are the same but for the ends.
constexpr int column = 4;

// What a surface reflects, for dividing.
HANDOVER_INLINE float3 reflectance(const Pass& pass, int2 at) {
    uchar4 albedo = surf2Dread<uchar4>(pass.albedo.surface, at.x * 4, at.y);
    return make_float3(fmaxf(albedo.x * (1.0f / 255.0f), darkest_albedo),
                       fmaxf(albedo.y * (1.0f / 255.0f), darkest_albedo),
                       fmaxf(albedo.z * (1.0f / 255.0f), darkest_albedo));
}

// Where a texel is, as the filters see it: its depth in m, and its normal.
struct Place {
    float depth;
    float3 normal;
};

HANDOVER_INLINE Place unpacked(uint4 bits) {
    float3 normal = make_float3(half_to_float((unsigned short)bits.y), half_to_float((unsigned short)(bits.y >> 16)),
                                half_to_float((unsigned short)bits.z));
    return {__uint_as_float(bits.x), normal};
}

// Where depth or normal is no number, or depth is beyond reach, a texel is like no other, as one of this depth is.
constexpr float nowhere = 3e38f, farthest = 1e15f;

// The rows of a column's taps, `step` apart, in arrays of an element a texel. Where all are inside, none is looked at;
// of rows outside, the nearest is taken, and is to have the depth `nowhere`.
template <bool all_inside>
struct Taps {
    int top, step;
    uint2 extent;

    HANDOVER_INLINE Taps(const Pass& pass, int top, int step) : top(top), step(step), extent(pass.source.extent) {}
    HANDOVER_INLINE int nearest(int row) const { return min(max(top + row * step, 0), int(extent.y) - 1); }
    template <typename T>
    HANDOVER_INLINE T& at(T* beside, int row) const {
        return beside[unsigned(nearest(row)) * extent.x];
    }
    HANDOVER_INLINE bool is_outside(int row) const { return nearest(row) != top + row * step; }
};

template <>
struct Taps<true> {
    unsigned first;
    unsigned pitch;

    HANDOVER_INLINE Taps(const Pass& pass, int top, int step)
        : first(unsigned(top) * pass.source.extent.x), pitch(pass.source.extent.x * unsigned(step)) {}
    template <typename T>
    HANDOVER_INLINE T& at(T* beside, int row) const {
        return beside[first + (unsigned long long)(unsigned(row)) * pitch];
    }
    HANDOVER_INLINE bool is_outside(int) const { return false; }
};

// The B3 spline at a distance of up to two taps is 1, 4, 6, 4, 1 sixteenths: its logarithm.
HANDOVER_INLINE float log_spline(int distance) { return distance == 0 ? -1.41503750f : -2.0f * float(distance); }

// A block's rows stand as far apart as its taps, so that few texels beyond them are read. Blocks beyond the grid, which
// has one for each eight rows, are done by the first ones.
constexpr int block_rows = 2 * column;

HANDOVER_INLINE int blocks_down(const Pass& pass, unsigned index) {
    unsigned rows = unsigned(block_rows) << index;
    return int((pass.source.extent.y + rows - 1) / unsigned(block_rows) >> index << index);
}

// The first of a thread's texels in a block.
HANDOVER_INLINE int top_of(const Pass& pass, int block) {
    int step = 1 << pass.index;
    return (block >> pass.index) * (block_rows * step) + (block & (step - 1)) + int(threadIdx.y) * (column * step);
}

// Whether the rows are inside from so many steps above a column to as many below it.
HANDOVER_INLINE bool all_inside(const Pass& pass, int top, int reach, int step) {
    return top >= reach * step && top + (column - 1 + reach) * step < int(pass.source.extent.y);
}

// What the light becomes on the surface.
HANDOVER_INLINE void show(const Pass& pass, int2 at, float3 light) {
    if (!covers(pass.destination, at)) return;
    float3 albedo = reflectance(pass, at);
    float alpha = load(pass.source, at.x, at.y).w;
    store(pass.destination, at, make_float4(light.x * albedo.x, light.y * albedo.y, light.z * albedo.z, alpha));
}
