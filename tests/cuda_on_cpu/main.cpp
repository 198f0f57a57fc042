// Runs launches of kernels that were compiled for the CPU. Standard input: jobs, each some frames with their launches;
// standard output: the last image of each job's last frame. All numbers are 32 bits, little-endian.
#include "cuda.h"

#include "handover.cuh"

#include <complex>
#include <vector>

// The kernels by chunk: a function for each that takes a Pass and a parameter struct.
#include "chunks.inc"

static void read(void* to, size_t size) {
    if (size && std::fread(to, 1, size, stdin) != size) std::exit(2);
}

static unsigned number() {
    unsigned value;
    read(&value, sizeof value);
    return value;
}

static float real() {
    float value;
    read(&value, sizeof value);
    return value;
}

// Images given in each frame: the scene and its guides.
constexpr unsigned given = 5;

// Fourier transforms of all planes by the definition, along rows and then along columns.
static void transform(bool forth, unsigned width, unsigned height, const Buffer& from, const Buffer& to) {
    using Complex = std::complex<double>;
    unsigned columns = width / 2 + 1;
    auto turns = [&](unsigned length) {
        std::vector<Complex> roots(length);
        for (unsigned i = 0; i < length; ++i)
            roots[i] = std::polar(1.0, (forth ? -2.0 : 2.0) * 3.14159265358979323846 * i / length);
        return roots;
    };
    std::vector<Complex> across = turns(width), down = turns(height), lines(size_t(columns) * height);
    size_t planes = (forth ? from : to).size / (sizeof(float) * width * height);
    for (size_t plane = 0; plane < planes; ++plane) {
        float* real = elements<float>(forth ? from : to) + plane * width * height;
        float2* spectrum = elements<float2>(forth ? to : from) + plane * columns * height;
        for (unsigned y = 0; y < height; ++y)
            for (unsigned k = 0; k < columns; ++k) {
                Complex sum = 0;
                if (forth)
                    for (unsigned x = 0; x < width; ++x) sum += double(real[y * width + x]) * across[k * x % width];
                else
                    for (unsigned l = 0; l < height; ++l) {
                        float2 value = spectrum[l * columns + k];
                        sum += Complex(value.x, value.y) * down[l * y % height];
                    }
                lines[y * columns + k] = sum;
            }
        if (forth)
            for (unsigned l = 0; l < height; ++l)
                for (unsigned k = 0; k < columns; ++k) {
                    Complex sum = 0;
                    for (unsigned y = 0; y < height; ++y) sum += lines[y * columns + k] * down[l * y % height];
                    spectrum[l * columns + k] = {float(sum.real()), float(sum.imag())};
                }
        else
            for (unsigned y = 0; y < height; ++y)
                for (unsigned x = 0; x < width; ++x) {
                    double sum = 0;
                    for (unsigned k = 0; k < width; ++k) {
                        // The other half of a real grid's spectrum is the conjugate of this one.
                        Complex value = k < columns ? lines[y * columns + k] : std::conj(lines[y * columns + width - k]);
                        sum += (value * across[k * x % width]).real();
                    }
                    real[y * width + x] = float(sum);
                }
    }
}

int main() {
    unsigned image_count;
    while (std::fread(&image_count, sizeof image_count, 1, stdin) == 1) {
        // What is not written stays 0xff: NaN, which no kernel stores.
        std::vector<std::vector<char>> texels(image_count);
        std::vector<Surface> surfaces(image_count);
        std::vector<Image> images(image_count);
        for (unsigned i = 0; i < image_count; ++i) {
            unsigned width = number(), height = number(), texel_bytes = number();
            texels[i].assign(size_t(width) * height * texel_bytes, char(0xff));
            surfaces[i] = {int(width), int(height), int(texel_bytes), texels[i].data()};
            images[i] = {reinterpret_cast<unsigned long long>(&surfaces[i]), 0, {width, height}};
        }
        std::vector<std::vector<uint4>> memory(number());
        std::vector<Buffer> buffers(memory.size());
        for (size_t i = 0; i < memory.size(); ++i) {
            unsigned size = number();
            memory[i].assign((size + 15) / 16, {~0u, ~0u, ~0u, ~0u});
            buffers[i] = {reinterpret_cast<unsigned long long>(memory[i].data()), size};
        }
        // Tables are the last buffers; their content follows.
        for (size_t tables = number(), i = memory.size() - tables; i < memory.size(); ++i)
            read(memory[i].data(), buffers[i].size);
        for (unsigned frames = number(); frames > 0; --frames) {
            for (unsigned i = 0; i < given; ++i) read(texels[i].data(), texels[i].size());
            Pass common = {};
            common.depth = images[1];
            common.normal = images[2];
            common.albedo = images[3];
            common.motion = images[4];
            common.frame = number();
            common.time = real();
            common.time_delta = real();
            for (float* at : {&common.pointer.x, &common.pointer.y, &common.previous_pointer.x,
                              &common.previous_pointer.y, &common.jitter.x, &common.jitter.y})
                *at = real();
            for (unsigned launches = number(); launches > 0; --launches) {
                Pass pass = common;
                unsigned chunk = number(), place = number();
                Kernel kernel = chunk == ~0u ? nullptr : chunks[chunk][place];
                for (Image* image : {&pass.source, &pass.second, &pass.third, &pass.destination}) {
                    unsigned index = number();
                    if (index != ~0u) *image = images.at(index);
                }
                for (Buffer& buffer : pass.buffers) {
                    unsigned index = number();
                    if (index != ~0u) buffer = buffers.at(index);
                }
                for (unsigned zeroes = number(); zeroes > 0; --zeroes) {
                    std::vector<uint4>& words = memory.at(number());
                    std::fill(words.begin(), words.end(), uint4{0, 0, 0, 0});
                }
                unsigned width = number(), height = number();
                blockDim = {number(), number(), 1};
                pass.kept_frames = number();
                pass.index = number();
                // Aligned as a struct of floats and integers.
                std::vector<unsigned> parameters(number() / 4);
                read(parameters.data(), parameters.size() * 4);
                if (!kernel) {
                    transform(place == 0, width, height, pass.buffers[0], pass.buffers[1]);
                    continue;
                }
                gridDim = {(width + blockDim.x - 1) / blockDim.x, (height + blockDim.y - 1) / blockDim.y, 1};
                for (blockIdx.y = 0; blockIdx.y < gridDim.y; ++blockIdx.y)
                    for (blockIdx.x = 0; blockIdx.x < gridDim.x; ++blockIdx.x)
                        run_block(kernel, pass, parameters.data());
            }
        }
        std::fwrite(texels.back().data(), 1, texels.back().size(), stdout);
    }
}
