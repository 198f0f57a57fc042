// The threads of a block, which can wait for each other. Each runs until it waits or ends, then another does.
#pragma once

struct Pass;
using Kernel = void (*)(const Pass&, const void*);

// Runs all threads of the block that blockIdx and blockDim name.
void run_block(Kernel kernel, const Pass& pass, const void* parameters);

// What a lane hands in where lanes of a warp meet.
struct Slot {
    unsigned long long value;
    int argument;
    unsigned mask;
};

// What one lane gets of what the lanes of its mask handed in.
using Exchange = unsigned long long (*)(const Slot (&slots)[32], int lane);

// Waits until all threads of the block that have not ended do.
void wait_for_block();

// Waits for the lanes of the mask, this one among them, and exchanges. All have to come with the same mask and
// exchange.
unsigned long long meet(unsigned mask, unsigned long long value, int argument, Exchange exchange);

// A product of matrices that a lane takes part in: the halves that it holds, and where its sums are.
void log_product(float* sum, unsigned a0, unsigned a1, unsigned b);

// Waits for the warp, then adds all products that its lanes logged, in order.
void compute_products();
