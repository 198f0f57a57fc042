// What lanes of a warp and threads of a block do together, as CUDA C++ names it.
#pragma once

inline void __syncthreads() { wait_for_block(); }

inline void __syncwarp(unsigned mask = ~0u) {
    meet(mask, 0, 0, [](const Slot (&)[32], int) { return 0ull; });
}

// The value of another lane, which has to be in the mask.
inline unsigned long long value_of(const Slot (&slots)[32], int lane, int other) {
    if (!(slots[lane].mask >> other & 1)) {
        std::fprintf(stderr, "lane %d reads lane %d, which is not in its mask\n", lane, other);
        std::abort();
    }
    return slots[other].value;
}

template <typename T>
T shuffled(unsigned mask, T value, int argument, int width, Exchange exchange) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8);
    unsigned long long bits = 0;
    std::memcpy(&bits, &value, sizeof value);
    // Width is a power of two up to 32, below which the argument stays.
    bits = meet(mask, bits, argument << 8 | width, exchange);
    std::memcpy(&value, &bits, sizeof value);
    return value;
}

template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
    return shuffled(mask, value, source, width, [](const Slot (&slots)[32], int lane) {
        int width = slots[lane].argument & 255, source = slots[lane].argument >> 8;
        return value_of(slots, lane, lane / width * width + (source & (width - 1)));
    });
}

// A lane that looks beyond its segment keeps its own value.
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return shuffled(mask, value, delta, width, [](const Slot (&slots)[32], int lane) {
        int width = slots[lane].argument & 255, source = lane - (slots[lane].argument >> 8);
        return value_of(slots, lane, source < lane / width * width ? lane : source);
    });
}

template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
    return shuffled(mask, value, delta, width, [](const Slot (&slots)[32], int lane) {
        int width = slots[lane].argument & 255, source = lane + (slots[lane].argument >> 8);
        return value_of(slots, lane, source >= lane / width * width + width ? lane : source);
    });
}

template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
    return shuffled(mask, value, bits, width, [](const Slot (&slots)[32], int lane) {
        int width = slots[lane].argument & 255, source = lane ^ slots[lane].argument >> 8;
        return value_of(slots, lane, source >= lane / width * width + width ? lane : source);
    });
}

// The lanes of the mask whose predicate is not 0, as bits.
inline unsigned __ballot_sync(unsigned mask, int predicate) {
    return meet(mask, predicate != 0, 0, [](const Slot (&slots)[32], int lane) {
        unsigned long long bits = 0;
        for (int other = 0; other < 32; ++other)
            if (slots[lane].mask >> other & 1) bits |= slots[other].value << other;
        return bits;
    });
}
inline int __any_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) != 0; }
inline int __all_sync(unsigned mask, int predicate) { return __ballot_sync(mask, predicate) == mask; }

// Zero bits before the first that is set.
inline int __clz(int value) { return value == 0 ? 32 : __builtin_clz(unsigned(value)); }

// Four of the eight bytes of both, each chosen by the lower three bits of a digit; its fourth bit spreads that byte's
// sign.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selector) {
    unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned digit = selector >> 4 * i, byte = bytes >> 8 * (digit & 7) & 255;
        if (digit & 8) byte = byte & 128 ? 255 : 0;
        result |= byte << 8 * i;
    }
    return result;
}

// As in handover.cuh.
inline void multiply(float (&sum)[4], unsigned a0, unsigned a1, unsigned b) { log_product(sum, a0, a1, b); }
inline void collect() { compute_products(); }
