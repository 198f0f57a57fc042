// The chain's last pass under the schedule `copy-back`: the processed image (linear light, RGBA16F) becomes the 8-bit screen image,
// sRGB-encoded, to the bit as shaders/present.wgsl writes it.
#include "handover.cuh"

constexpr unsigned first = 0x0400;     // the bits of the least half that the table has
constexpr unsigned one = 0x3c00;       // of 1: from it on all is white
constexpr unsigned infinity = 0x7c00;  // what has larger bits is NaN or negative, and black
constexpr int texels_a_thread = 4;     // 16 bytes of the screen image

// See SrgbTable: an entry is of eight halves, its lower byte is theirs, its upper byte is how many of them have it.
HANDOVER_INLINE unsigned srgb_byte(unsigned light, const unsigned short* table) {
    if (light > infinity || light < first) return 0;
    if (light >= one) return 255;
    unsigned half = light - first;
    unsigned entry = __ldg(table + half / 8);
    return (entry & 255) + (half % 8 >= entry >> 8);
}

// Two words with a texel's halves become a word with its bytes; alpha is 1.
HANDOVER_INLINE unsigned encoded(unsigned red_green, unsigned blue_alpha, const unsigned short* table) {
    return srgb_byte(red_green & 0xffff, table) | srgb_byte(red_green >> 16, table) << 8 |
           srgb_byte(blue_alpha & 0xffff, table) << 16 | 0xff000000u;
}

extern "C" __global__ void encode(const __grid_constant__ Image processed, const __grid_constant__ Image screen,
                                  const __grid_constant__ Buffer srgb) {
    int2 at = thread_texel();
    int x = at.x * texels_a_thread, width = int(screen.extent.x);
    if (x >= width || at.y >= int(screen.extent.y)) return;
    const unsigned short* table = elements<unsigned short>(srgb);
    if (x + texels_a_thread <= width) {
        // Surfaces take accesses of any width: 16 bytes are two texels of one image and four of the other.
        uint4 left = surf2Dread<uint4>(processed.surface, x * int(texel_size), at.y);
        uint4 right = surf2Dread<uint4>(processed.surface, (x + 2) * int(texel_size), at.y);
        surf2Dwrite(make_uint4(encoded(left.x, left.y, table), encoded(left.z, left.w, table),
                               encoded(right.x, right.y, table), encoded(right.z, right.w, table)),
                    screen.surface, x * 4, at.y);
        return;
    }
    for (; x < width; ++x) {
        uint2 texel = surf2Dread<uint2>(processed.surface, x * int(texel_size), at.y);
        surf2Dwrite(encoded(texel.x, texel.y, table), screen.surface, x * 4, at.y);
    }
}
