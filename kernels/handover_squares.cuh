// Colours of light without alpha, and squares of an image in shared memory: bloom's smaller images. For kernels that include handover.cuh
// before.

HANDOVER_INLINE float3 operator+(float3 a, float3 b) { return make_float3(a.x + b.x, a.y + b.y, a.z + b.z); }
HANDOVER_INLINE float3 operator*(float3 a, float s) { return make_float3(a.x * s, a.y * s, a.z * s); }

// sum + value * weight, rounded once.
HANDOVER_INLINE float3 accumulate(float3 sum, float3 value, float weight) {
    return make_float3(fmaf(value.x, weight, sum.x), fmaf(value.y, weight, sum.y), fmaf(value.z, weight, sum.z));
}

HANDOVER_INLINE float3 to_color(unsigned red_green, unsigned blue_alpha) {
    float2 xy = to_float(red_green);
    return make_float3(xy.x, xy.y, half_to_float(halves_of(blue_alpha).x));
}

HANDOVER_INLINE uint2 words_of(float3 color) {
    return make_uint2(to_halves(color.x, color.y), to_halves(color.z, 0.0f));
}

// A colour between narrow light and wide light, of which `wide` is the sum that `weight` makes a mean.
HANDOVER_INLINE float3 mixed(float3 narrow, float3 wide, float scatter, float weight) {
    return accumulate(narrow * (1.0f - scatter), wide, scatter * weight);
}

// The 3x3 tent over the bilinearly enlarged source: along each axis four texels with weights 1, 5, 7, 3 sixteenths, from the one
// two before its own on, or for an odd position 3, 7, 5, 1, from the one before its own on. So the same four make an odd one
// and the even one behind it.
HANDOVER_INLINE float3 even_tent(float3 a, float3 b, float3 c, float3 d) {
    return accumulate(accumulate(accumulate(a, b, 5.0f), c, 7.0f), d, 3.0f);
}

HANDOVER_INLINE float3 odd_tent(float3 a, float3 b, float3 c, float3 d) {
    return accumulate(accumulate(accumulate(d, c, 5.0f), b, 7.0f), a, 3.0f);
}

// A square of an image in shared memory: `size` texels each way, from `first` on. Where it reaches beyond the image there are the
// nearest texels inside.
template <int size_>
struct Square {
    static constexpr int size = size_;
    uint2* texels;
    int2 first;

    HANDOVER_INLINE float3 at(int x, int y) const {
        uint2 words = texels[(y - first.y) * size + x - first.x];
        return to_color(words.x, words.y);
    }
};

// Fills a square with what `make` makes of the places of an image of that extent. All threads of a block call it together.
template <int size, typename Make>
HANDOVER_INLINE void fill(const Square<size>& square, int2 extent, const Make& make) {
    int threads = int(blockDim.x * blockDim.y);
    for (int i = int(threadIdx.y * blockDim.x + threadIdx.x); i < size * size; i += threads) {
        int x = square.first.x + i % size, y = square.first.y + i / size;
        square.texels[i] = words_of(make(make_int2(min(max(x, 0), extent.x - 1), min(max(y, 0), extent.y - 1))));
    }
    __syncthreads();
}

// A texel of the image that is half as large: see `down_from`.
template <int size>
HANDOVER_INLINE float3 halved(const Square<size>& from, int2 at) {
    float3 sum = make_float3(0.0f, 0.0f, 0.0f);
#pragma unroll
    for (int j = 0; j < 6; ++j) {
        float3 row[6];
#pragma unroll
        for (int i = 0; i < 6; ++i) row[i] = from.at(2 * at.x - 2 + i, 2 * at.y - 2 + j);
        float3 middle = row[2] + row[3];
        float3 inner = row[1] + middle + row[4];
        float3 outer = accumulate((row[0] + row[1]) + (row[4] + row[5]), middle, 2.0f);
        sum = accumulate(sum, outer, j == 2 || j == 3 ? 2.0f : 1.0f);
        if (j > 0 && j < 5) sum = accumulate(sum, inner, 4.0f);
    }
    return sum * (1.0f / 128.0f);
}

// A texel of the image that is twice as large, in 256ths. Four texels from the other end are the odd ones' tent.
template <int size>
HANDOVER_INLINE float3 doubled(const Square<size>& from, int2 at) {
    int step_x = at.x % 2 == 0 ? 1 : -1, step_y = at.y % 2 == 0 ? 1 : -1;
    float3 row[4];
#pragma unroll
    for (int j = 0; j < 4; ++j) {
        int x = at.x / 2, y = at.y / 2 + (j - 2) * step_y;
        row[j] = even_tent(from.at(x - 2 * step_x, y), from.at(x - step_x, y), from.at(x, y), from.at(x + step_x, y));
    }
    return even_tent(row[0], row[1], row[2], row[3]);
}
