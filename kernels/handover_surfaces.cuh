// What SVGF knows of a texel's surface: how it is kept, how its history is found again (section 4.1), and how it is
// compared with another's (equations 3 to 5). For kernels that include handover_wavelet.cuh before.

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

// Columns or rows of the previous frame, and what a tap there weighs; those outside weigh nothing.
template <int count>
struct Line {
    unsigned at[count];
    float weight[count];

    HANDOVER_INLINE void set(int k, int place, unsigned length, float inside_weight) {
        at[k] = unsigned(min(max(place, 0), int(length) - 1));
        weight[k] = int(at[k]) == place ? inside_weight : 0.0f;
    }
};

// Adds texels of a row of the previous frame, of those that show the same surface: all are asked for before the first
// is looked at.
template <int count>
HANDOVER_INLINE void add(History& history, const Pass& pass, const Line<count>& columns, unsigned row, float row_weight,
                         const Place& here, float reach) {
    Surfaces previous = surfaces(pass, pass.buffers[3]);
    const float4* colors = picture(pass, pass.buffers[2]).colors;
    unsigned begin = row * pass.source.extent.x;
    uint4 bits[count];
#pragma unroll
    for (int k = 0; k < count; ++k) bits[k] = previous.places[begin + columns.at[k]];
    float weight[count], sum = 0.0f;
#pragma unroll
    for (int k = 0; k < count; ++k) {
        Place surface = unpacked(bits[k]);
        float dx = surface.normal.x - here.normal.x, dy = surface.normal.y - here.normal.y,
              dz = surface.normal.z - here.normal.z;
        bool same = fabsf(surface.depth - here.depth) <= reach && dx * dx + dy * dy + dz * dz <= normal_chord2;
        weight[k] = same ? columns.weight[k] * row_weight : 0.0f;
        sum += weight[k];
    }
    if (!(sum > 0.0f)) return;
    float4 color[count];
    float2 means[count];
    float frames[count];
#pragma unroll
    for (int k = 0; k < count; ++k) {
        color[k] = colors[begin + columns.at[k]];
        means[k] = previous.means[begin + columns.at[k]];
        frames[k] = previous.frames[begin + columns.at[k]];
    }
#pragma unroll
    for (int k = 0; k < count; ++k) {
        history.color = accumulate(history.color, color[k], weight[k]);
        history.mean = fmaf(means[k].x, weight[k], history.mean);
        history.square = fmaf(means[k].y, weight[k], history.square);
        history.frames = fmaf(frames[k], weight[k], history.frames);
    }
    history.weight += sum;
}

// The history of a texel (section 4.1); its weight is 0 where there is none.
HANDOVER_INLINE History reprojected(const Pass& pass, int2 at, const Place& here, float2 slopes, float2 motion) {
    const History none = {make_float4(0.0f, 0.0f, 0.0f, 0.0f), 0.0f, 0.0f, 0.0f, 0.0f};
    if (pass.kept_frames == 0 || !(fabsf(here.depth) < farthest)) return none;
    float x = float(at.x) + motion.x, y = float(at.y) + motion.y;
    // NaN is nowhere.
    uint2 extent = pass.source.extent;
    if (!(x >= -1.0f && x <= float(extent.x) && y >= -1.0f && y <= float(extent.y))) return none;
    float reach = depth_share * here.depth + 2.0f * (slopes.x + slopes.y);
    float left = floorf(x), top = floorf(y), across = x - left, down = y - top;
    History history = none;
    Line<2> columns, rows;
#pragma unroll
    for (int k = 0; k < 2; ++k) {
        columns.set(k, int(left) + k, extent.x, k ? across : 1.0f - across);
        rows.set(k, int(top) + k, extent.y, k ? down : 1.0f - down);
    }
#pragma unroll
    for (int k = 0; k < 2; ++k) add(history, pass, columns, rows.at[k], rows.weight[k], here, reach);
    if (history.weight >= least_weight) return history;
    // Thin things are found around the place, if anywhere.
    history = none;
    Line<3> around;
#pragma unroll
    for (int k = 0; k < 3; ++k) around.set(k, int(floorf(x + 0.5f)) - 1 + k, extent.x, 1.0f);
#pragma unroll 1
    for (int k = -1; k <= 1; ++k) {
        Line<1> row;
        row.set(0, int(floorf(y + 0.5f)) + k, extent.y, 1.0f);
        add(history, pass, around, row.at[0], row.weight[0], here, reach);
    }
    return history;
}

// Weights are powers of two: e^-unlike cosine^128 = 2^(128 - unlike / ln 2 + 128 log2(cosine / 2)), so that one
// exponential and one logarithm make each. No term is NaN: what is like no number has the normal 0, whose logarithm is
// minus infinity.
constexpr float sharpness = 128.0f;
constexpr float natural = 0.693147181f;  // ln 2

// The texel that taps are compared with.
struct Center {
    float depth;
    float3 half_normal;
    float across, along;  // how depth is expected to change with a texel along x and along y, times ln 2
};

HANDOVER_INLINE Center center(uint4 bits, float sigma_depth) {
    Place here = unpacked(bits);
    float2 slopes = unpacked_slopes(bits);
    bool is_known = slopes.x + slopes.y < farthest;
    float half = is_known ? 0.5f : 0.0f, scale = natural * sigma_depth;
    return {here.depth, make_float3(half * here.normal.x, half * here.normal.y, half * here.normal.z),
            is_known ? scale * slopes.x : 0.0f, is_known ? scale * slopes.y : 0.0f};
}

// How depth is expected to change so many texels along x, times ln 2. A thousandth of it is no edge.
HANDOVER_INLINE float change(const Center& here, float texels) {
    return fmaf(fabsf(here.depth), 1e-3f * natural, fmaf(here.across, texels, 1e-6f * natural));
}

// The weight of a tap (equations 3 to 5): `per_depth` is one over the expected change, `like` what its distance and its
// light make of it, and `sharpness`.
HANDOVER_INLINE float weight_of(const Center& here, const Place& tap, float per_depth, float like) {
    float away = (tap.depth - here.depth) * per_depth;
    float cosine = saturate(fmaf(tap.normal.z, here.half_normal.z,
                                 fmaf(tap.normal.y, here.half_normal.y, tap.normal.x * here.half_normal.x)));
    return approximate_exp2(fmaf(approximate_log2(cosine), sharpness, like - fabsf(away)));
}

// Luminance, to be compared with others of this function alone.
HANDOVER_INLINE float light_of(float4 color) {
    return fmaf(color.x, 0.2126f, fmaf(color.y, 0.7152f, 0.0722f * color.z));
}

// The standard deviation of a texel's luminance, of the variances around it (equation 5). All lanes of a warp call it
// together, each a texel further on than the one before; `beside` is what the first has on its left and the last on its
// right.
HANDOVER_INLINE float deviation(const float* variances, const unsigned (&rows)[3], int x, int beside) {
    int lane = threadIdx.x % 32;
    float own = fmaf(variances[rows[1] + x], 0.5f, 0.25f * (variances[rows[0] + x] + variances[rows[2] + x]));
    float outer = fmaf(variances[rows[1] + beside], 0.5f,
                       0.25f * (variances[rows[0] + beside] + variances[rows[2] + beside]));
    float left = __shfl_up_sync(~0u, own, 1), right = __shfl_down_sync(~0u, own, 1);
    left = lane == 0 ? outer : left;
    right = lane == 31 ? outer : right;
    return approximate_root(fmaf(own, 0.5f, 0.25f * (left + right)));
}

// The sums of one level for a texel, which is there from the start with the weight 1: those of taps are relative to
// its.
struct Filtered {
    float4 color;  // in w its variance
    float total;
    float light;
    float per_light;  // 1 / ln 2 over what luminance may differ by
};

// Means of more frames than this are still means of so many.
constexpr float longest_history = 256.0f;
// Fewer frames than this do not show their variance (section 4.2).
constexpr float short_history = 4.0f;
