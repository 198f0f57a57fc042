// Threads as fibers. A fiber runs one thread after the other; only where one waits does another fiber go on, so that
// kernels whose threads never wait run as in a plain loop.

// The check of longjmp takes a switch to another stack for an error.
#undef _FORTIFY_SOURCE

#include "block.h"

#include "cuda.h"

#include <csetjmp>
#include <deque>
#include <memory>
#include <ucontext.h>
#include <vector>

// Products of one lane that are not computed yet.
struct Product {
    float* sum;
    unsigned a[2], b;
};

struct Fiber {
    static constexpr size_t stack_bytes = 256 * 1024;

    std::unique_ptr<char[]> stack{new char[stack_bytes]};
    ucontext_t beginning;  // of the first switch alone: later ones need no system call
    jmp_buf place;
    bool has_begun = false;
    uint3 thread;
};

struct Warp {
    Slot slots[32];
    Exchange exchanges[32];
    unsigned long long results[32];
    Fiber* fibers[32];
    std::vector<Product> products[32];
    unsigned arrived = 0;  // lanes that wait, as bits
};

static std::vector<std::unique_ptr<Fiber>> fibers;
static std::vector<Fiber*> idle;     // have no thread
static std::deque<Fiber*> runnable;  // no longer wait
static std::vector<Fiber*> at_barrier;
static std::vector<Warp> warps;
static Fiber* current;
static ucontext_t scheduler;
static jmp_buf scheduler_place;

static Kernel block_kernel;
static const Pass* block_pass;
static const void* block_parameters;
static unsigned threads, begun, ended;

[[noreturn]] static void refuse(const char* what) {
    std::fprintf(stderr, "%s: block %u, %u\n", what, blockIdx.x, blockIdx.y);
    std::abort();
}

// Glibc's _setjmp and _longjmp leave the signal mask alone, which swapcontext sets by a system call each time.
static void leave_fiber() {
    if (_setjmp(current->place) == 0) _longjmp(scheduler_place, 1);
}

static void enter(Fiber* fiber) {
    current = fiber;
    if (_setjmp(scheduler_place) != 0) return;
    if (fiber->has_begun) {
        threadIdx = fiber->thread;
        _longjmp(fiber->place, 1);
    }
    fiber->has_begun = true;
    setcontext(&fiber->beginning);
}

static void release_barrier() {
    if (at_barrier.size() + ended < threads) return;
    runnable.insert(runnable.end(), at_barrier.begin(), at_barrier.end());
    at_barrier.clear();
}

static void run_threads() {
    for (;;) {
        while (begun < threads) {
            // Every other block begins with its last thread: a barrier that is missing shows in one of the orders.
            unsigned index = (blockIdx.x + blockIdx.y) % 2 == 0 ? begun : threads - 1 - begun;
            ++begun;
            current->thread = threadIdx = {index % blockDim.x, index / blockDim.x, 0};
            block_kernel(*block_pass, block_parameters);
            ++ended;
            if (!at_barrier.empty()) release_barrier();
        }
        idle.push_back(current);
        leave_fiber();
    }
}

static Fiber* idle_fiber() {
    if (!idle.empty()) {
        Fiber* fiber = idle.back();
        idle.pop_back();
        return fiber;
    }
    fibers.push_back(std::make_unique<Fiber>());
    Fiber* fiber = fibers.back().get();
    getcontext(&fiber->beginning);
    fiber->beginning.uc_stack.ss_sp = fiber->stack.get();
    fiber->beginning.uc_stack.ss_size = Fiber::stack_bytes;
    fiber->beginning.uc_link = &scheduler;
    makecontext(&fiber->beginning, run_threads, 0);
    return fiber;
}

void run_block(Kernel kernel, const Pass& pass, const void* parameters) {
    block_kernel = kernel;
    block_pass = &pass;
    block_parameters = parameters;
    threads = blockDim.x * blockDim.y;
    begun = ended = 0;
    if (warps.size() < (threads + 31) / 32) warps.resize((threads + 31) / 32);
    while (begun < threads || !runnable.empty()) {
        if (runnable.empty()) {
            enter(idle_fiber());
        } else {
            Fiber* fiber = runnable.front();
            runnable.pop_front();
            enter(fiber);
        }
    }
    if (ended < threads) refuse("threads wait for others that have ended or wait elsewhere");
}

void wait_for_block() {
    at_barrier.push_back(current);
    release_barrier();
    leave_fiber();
}

// This thread's lane and warp.
static int lane_of(Warp*& warp) {
    unsigned index = threadIdx.y * blockDim.x + threadIdx.x;
    warp = &warps[index / 32];
    return index % 32;
}

unsigned long long meet(unsigned mask, unsigned long long value, int argument, Exchange exchange) {
    Warp* warp;
    int lane = lane_of(warp);
    if (!(mask >> lane & 1)) refuse("a lane waits for others by a mask that it is not in");
    warp->slots[lane] = {value, argument, mask};
    warp->exchanges[lane] = exchange;
    warp->fibers[lane] = current;
    warp->arrived |= 1u << lane;
    if ((warp->arrived & mask) == mask) {
        for (int other = 0; other < 32; ++other) {
            if (!(mask >> other & 1)) continue;
            if (warp->slots[other].mask != mask || warp->exchanges[other] != exchange)
                refuse("lanes of a warp meet with different masks or at different functions");
            warp->results[other] = exchange(warp->slots, other);
            runnable.push_back(warp->fibers[other]);
        }
        warp->arrived &= ~mask;
    }
    leave_fiber();
    return warp->results[lane];
}

void log_product(float* sum, unsigned a0, unsigned a1, unsigned b) {
    Warp* warp;
    int lane = lane_of(warp);
    warp->products[lane].push_back({sum, {a0, a1}, b});
}

// Half `index` of a word.
static float half_at(unsigned word, int index) { return half_to_float((unsigned short)(word >> 16 * index)); }

// One lane's part of all products, whose logs are the slots' values.
static unsigned long long own_products(const Slot (&slots)[32], int lane) {
    auto log = [&](int of) -> const std::vector<Product>& {
        return *reinterpret_cast<const std::vector<Product>*>(slots[of].value);
    };
    int group = lane / 4, column = lane % 4 * 2;
    for (size_t product = 0; product < log(lane).size(); ++product) {
        for (int of = 0; of < 32; ++of)
            if (log(of).size() != log(lane).size()) refuse("lanes of a warp multiply different numbers of matrices");
        for (int part = 0; part < 4; ++part) {
            float& sum = log(lane)[product].sum[part];
            for (int k = 0; k < 8; ++k) {
                unsigned a = log(4 * group + k / 2)[product].a[part / 2];
                unsigned b = log(4 * (column + part % 2) + k / 2)[product].b;
                sum += half_at(a, k % 2) * half_at(b, k % 2);
            }
        }
    }
    return 0;
}

void compute_products() {
    Warp* warp;
    int lane = lane_of(warp);
    meet(~0u, reinterpret_cast<unsigned long long>(&warp->products[lane]), 0, own_products);
    warp->products[lane].clear();
}
