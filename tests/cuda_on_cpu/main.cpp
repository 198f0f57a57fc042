// Runs launches of kernels that were compiled for the CPU. Standard input: jobs, each a frame with its launches;
// standard output: the last image of each. All numbers are 32 bits, little-endian.
#include "cuda.h"

#include "handover.cuh"

#include <vector>

// The kernels, and `kernels`: a function for each that takes a Pass and a parameter struct.
using Kernel = void (*)(const Pass&, const void*);
#include "kernels.inc"

static bool read(void* to, size_t size) { return std::fread(to, 1, size, stdin) == size; }

static unsigned read_number() {
    unsigned value;
    if (!read(&value, sizeof value)) std::exit(2);
    return value;
}

int main() {
    unsigned image_count;
    while (read(&image_count, sizeof image_count)) {
        // Image 0 is given; the last one is the result. What is not written stays NaN, which no kernel stores.
        std::vector<std::vector<ushort4>> texels(image_count);
        std::vector<Surface> surfaces(image_count);
        std::vector<Image> images(image_count);
        for (unsigned i = 0; i < image_count; ++i) {
            unsigned width = read_number(), height = read_number();
            texels[i].assign(width * height, make_ushort4(0x7e55, 0x7e55, 0x7e55, 0x7e55));
            surfaces[i] = {int(width), int(height), texels[i].data()};
            images[i] = {reinterpret_cast<unsigned long long>(&surfaces[i]), 0, {width, height}};
        }
        if (!read(texels[0].data(), texels[0].size() * sizeof(ushort4))) return 2;
        unsigned frame = read_number(), launch_count = read_number();
        for (unsigned i = 0; i < launch_count; ++i) {
            unsigned kernel = read_number(), source = read_number(), second = read_number();
            unsigned destination = read_number();
            blockDim = {read_number(), read_number(), 1};
            std::vector<char> parameters(read_number());
            if (!read(parameters.data(), parameters.size())) return 2;
            Pass pass = {};
            pass.source = images.at(source);
            if (second != ~0u) pass.second = images.at(second);
            pass.destination = images.at(destination);
            pass.frame = frame;
            pass.time = frame / 60.0f;
            uint2 extent = pass.destination.extent;
            for (blockIdx.y = 0; blockIdx.y * blockDim.y < extent.y; ++blockIdx.y)
                for (blockIdx.x = 0; blockIdx.x * blockDim.x < extent.x; ++blockIdx.x)
                    for (threadIdx.y = 0; threadIdx.y < blockDim.y; ++threadIdx.y)
                        for (threadIdx.x = 0; threadIdx.x < blockDim.x; ++threadIdx.x)
                            kernels[kernel](pass, parameters.data());
        }
        std::fwrite(texels.back().data(), sizeof(ushort4), texels.back().size(), stdout);
    }
}
