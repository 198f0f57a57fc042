// What SVGF knows of a texel's surface: how it is kept, how its history is found again (section 4.1), and how it is compared with
// another's (equations 3 to 5). For kernels that include handover_wavelet.cuh before.

// A picture between passes: colour, and in w its variance, which stands in a plane of its own as well.
struct Picture {
    float4* colors;
    float* variances;
};

// What is remembered of each texel: its surface, and the mean of its luminance, of its square, and of how many frames.
struct Surfaces {
    uint4* places;  // depth in m; the normal as three halves; depth's slope along x and y, of each the upper 24 bits
    float2* means;
    float* frames;
};

// A surface is found again if its depth is off by no more than this share and two slopes, its normal by no more than 26
// degrees: the square of the chord.
constexpr float depth_share = 0.05f;
constexpr float normal_chord2 = 0.2f;
// Bilinear taps with less weight than this are not enough.
constexpr float least_weight = 0.01f;
HANDOVER_INLINE size_t texels_of(const Pass& pass) { return size_t(pass.source.extent.x) * pass.source.extent.y; }

HANDOVER_INLINE Picture picture(const Pass& pass, const Buffer& buffer) {
    float4* colors = elements<float4>(buffer);
    return {colors, reinterpret_cast<float*>(colors + texels_of(pass))};
}

HANDOVER_INLINE Surfaces surfaces(const Pass& pass, const Buffer& buffer) {
    uint4* places = elements<uint4>(buffer);
    float2* means = reinterpret_cast<float2*>(places + texels_of(pass));
    return {places, means, reinterpret_cast<float*>(means + texels_of(pass))};
}

HANDOVER_INLINE uint4 packed(float depth, ushort4 normal, float2 slopes) {
    unsigned across = __float_as_uint(slopes.x) >> 8, along = __float_as_uint(slopes.y) >> 8;
    return make_uint4(__float_as_uint(depth), normal.x | unsigned(normal.y) << 16, normal.z | across << 16,
                      across >> 16 | along << 8);
}

HANDOVER_INLINE float2 unpacked_slopes(uint4 bits) {
    return make_float2(__uint_as_float(bits.w << 24 | bits.z >> 16 << 8), __uint_as_float(bits.w & 0xffffff00u));
}

HANDOVER_INLINE bool is_inside(const Image& image, int x, int y) {
    return x >= 0 && y >= 0 && x < int(image.extent.x) && y < int(image.extent.y);
}

HANDOVER_INLINE size_t place(const Image& image, int x, int y) { return size_t(y) * image.extent.x + x; }

// How much depth changes from texel to texel: the lesser of both sides, so that an outline has the slope
// of its surface.
HANDOVER_INLINE float2 slope(const Pass& pass, int2 at, float depth) {
    float left = fabsf(load_depth(pass, at.x - 1, at.y) - depth);
    float right = fabsf(load_depth(pass, at.x + 1, at.y) - depth);
    float above = fabsf(load_depth(pass, at.x, at.y - 1) - depth);
    float below = fabsf(load_depth(pass, at.x, at.y + 1) - depth);
    // Beyond the edge there is no other texel.
    if (at.x == 0) left = right;
    if (at.x + 1 == int(pass.depth.extent.x)) right = left;
    if (at.y == 0) above = below;
    if (at.y + 1 == int(pass.depth.extent.y)) below = above;
    return make_float2(fminf(left, right), fminf(above, below));
}

// A weighted sum over texels of the previous frame.
struct History {
    float4 color;
    float mean, square, frames;
    float weight;
};

// Adds a texel of the previous frame if it shows the same surface.
HANDOVER_INLINE void add(History& history, const Pass& pass, int x, int y, float weight, const Place& here,
                         float reach) {
    int2 at = inside(pass.source, x, y);
    size_t there = place(pass.source, at.x, at.y);
    Surfaces previous = surfaces(pass, pass.buffers[3]);
    Place surface = unpacked(previous.places[there]);
    float dx = surface.normal.x - here.normal.x, dy = surface.normal.y - here.normal.y,
          dz = surface.normal.z - here.normal.z;
    bool same = fabsf(surface.depth - here.depth) <= reach && dx * dx + dy * dy + dz * dz <= normal_chord2;
    if (!same || !is_inside(pass.source, x, y)) return;
    float2 means = previous.means[there];
    history.color = history.color + picture(pass, pass.buffers[2]).colors[there] * weight;
    history.mean += means.x * weight;
    history.square += means.y * weight;
    history.frames += previous.frames[there] * weight;
    history.weight += weight;
}

// The history of a texel (section 4.1); its weight is 0 where there is none.
HANDOVER_INLINE History reprojected(const Pass& pass, int2 at, const Place& here, float2 slopes) {
    const History none = {make_float4(0.0f, 0.0f, 0.0f, 0.0f), 0.0f, 0.0f, 0.0f, 0.0f};
    if (pass.kept_frames == 0) return none;
    float2 motion = load_motion(pass, at.x, at.y);
    float x = float(at.x) + motion.x, y = float(at.y) + motion.y;
    // NaN is nowhere.
    float width = float(pass.source.extent.x), height = float(pass.source.extent.y);
    if (!(x >= -1.0f && x <= width && y >= -1.0f && y <= height)) return none;
    float reach = depth_share * here.depth + 2.0f * (slopes.x + slopes.y);
    int left = int(floorf(x)), top = int(floorf(y));
    float across = x - floorf(x), down = y - floorf(y);
    History history = none;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float weight = (k % 2 ? across : 1.0f - across) * (k / 2 ? down : 1.0f - down);
        add(history, pass, left + k % 2, top + k / 2, weight, here, reach);
    }
    if (history.weight >= least_weight) return history;
    // Thin things are found around the place, if anywhere.
    history = none;
    left = int(floorf(x + 0.5f)) - 1;
    top = int(floorf(y + 0.5f)) - 1;
#pragma unroll
    for (int k = 0; k < 9; ++k) add(history, pass, left + k % 3, top + k / 3, 1.0f, here, reach);
    return history;
}

// Weights are powers of two: e^-unlike 2^spline cosine^128 = 2^(128 (1 + spline / 128 - unlike / (128 ln 2) +
// log2(cosine / 2))), so that one exponential and one logarithm make each. The sum before the logarithm is limited to
// [0, 1], where NaN is 0: what is like no number has the weight 2^-128, which is 0.
constexpr float sharpness = 128.0f;
constexpr float natural = 88.7228391f;  // 128 ln 2

// The texel that taps are compared with.
struct Center {
    float depth;
    float3 half_normal;
    float across, along;  // how depth is expected to change with a texel along x and along y, times 128 ln 2
};

HANDOVER_INLINE Center center(uint4 bits, float sigma_depth) {
    Place here = unpacked(bits);
    float2 slopes = unpacked_slopes(bits);
    float3 normal = here.normal;
    float scale = natural * sigma_depth;
    return {here.depth, make_float3(0.5f * normal.x, 0.5f * normal.y, 0.5f * normal.z), scale * slopes.x,
            scale * slopes.y};
}

// How depth is expected to change so many texels along x, times 128 ln 2. A thousandth of it is no edge.
HANDOVER_INLINE float change(const Center& here, float texels) {
    return fmaf(here.depth, 1e-3f * natural, fmaf(here.across, texels, 1e-6f * natural));
}

// The weight of a tap (equations 3 to 5): `per_depth` is one over the expected change, `unlike` is what its light adds.
HANDOVER_INLINE float weight_of(const Center& here, const Place& tap, float spline, float per_depth, float unlike) {
    float away = (tap.depth - here.depth) * per_depth;
    float like = saturate((spline - fabsf(away)) - unlike);
    float cosine = saturate(fmaf(tap.normal.z, here.half_normal.z,
                                 fmaf(tap.normal.y, here.half_normal.y, tap.normal.x * here.half_normal.x)));
    return approximate_exp2(sharpness * (like + approximate_log2(cosine)));
}
