// Runs the kernels that write the screen image. Standard input: jobs; standard output: each job's screen image. All numbers are 32
// bits, little-endian.
#include "cuda.h"

#include "handover.cuh"

#include <vector>

namespace encoding {
#include "encode.cu"
}
namespace drawing {
#include "overlay.cu"
}

static void read(void* to, size_t size) {
    if (size && std::fread(to, 1, size, stdin) != size) std::exit(2);
}

static unsigned number() {
    unsigned value;
    read(&value, sizeof value);
    return value;
}

// An image with its texels.
struct Texels {
    std::vector<char> bytes;
    Surface surface;
    Image image;

    Texels(unsigned width, unsigned height, unsigned texel_bytes)
        : bytes(size_t(width) * height * texel_bytes), surface{int(width), int(height), int(texel_bytes), bytes.data()},
          image{reinterpret_cast<unsigned long long>(&surface), 0, {width, height}} {}
};

// Memory aligned as a device's is, whose content follows.
struct Memory {
    std::vector<uint4> fours;
    Buffer buffer;

    Memory() {
        unsigned size = number();
        fours.resize((size + 15) / 16);
        read(fours.data(), size);
        buffer = {reinterpret_cast<unsigned long long>(fours.data()), size};
    }
};

template <typename F>
static void launch(unsigned width, unsigned height, unsigned across, unsigned down, F thread) {
    blockDim = {across, down, 1};
    for (blockIdx.y = 0; blockIdx.y * down < height; ++blockIdx.y)
        for (blockIdx.x = 0; blockIdx.x * across < width; ++blockIdx.x)
            for (threadIdx.y = 0; threadIdx.y < down; ++threadIdx.y)
                for (threadIdx.x = 0; threadIdx.x < across; ++threadIdx.x) thread();
}

int main() {
    unsigned draws;
    while (std::fread(&draws, sizeof draws, 1, stdin) == 1) {
        unsigned width = number(), height = number();
        Texels screen(width, height, 4);
        if (draws) {
            read(screen.bytes.data(), screen.bytes.size());
            drawing::Layout layout;
            read(&layout, sizeof layout);
            Memory list, atlas;
            launch(layout.tile_count * 16, 16, 16, 16,
                   [&] { drawing::overlay(screen.image, list.buffer, atlas.buffer, layout); });
        } else {
            Texels processed(width, height, 8);
            read(processed.bytes.data(), processed.bytes.size());
            Memory table;
            launch((width + 3) / 4, height, 32, 8,
                   [&] { encoding::encode(processed.image, screen.image, table.buffer); });
        }
        std::fwrite(screen.bytes.data(), 1, screen.bytes.size(), stdout);
    }
}
