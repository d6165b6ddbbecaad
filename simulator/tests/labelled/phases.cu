// In each phase a thread takes the number of its right neighbour: in global memory, between barriers of its block.
#include "labelled.cuh"

template <Bug bug>
__global__ void phases(int* values, int rounds) {
    const int t = threadIdx.x, right = bug == Bug::beyond_array ? t + 1 : (t + 1) % blockDim.x;
    int* const own = values + blockIdx.x * blockDim.x;
    // With unequal barriers the second half of the threads has a phase less.
    const int mine = bug == Bug::unequal_barriers && t >= blockDim.x / 2 ? rounds - 1 : rounds;
    for (int round = 0; round < mine; round++) {
        const int next = own[right];
        if constexpr (bug == Bug::divergent_barrier) {
            if (t % 2 == 0) __syncthreads();
        } else if constexpr (bug != Bug::missing_barrier) {
            __syncthreads();
        }
        own[t] = next;
        if constexpr (bug != Bug::missing_second_barrier) __syncthreads();
    }
    // A neighbouring block still works on these.
    if constexpr (bug == Bug::plain_read) own[t] += values[(blockIdx.x + 1) % gridDim.x * blockDim.x + t];
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int blocks = input.number("blocks"), threads = input.number("threads"), rounds = input.number("rounds");
        const int count = blocks * threads;
        const Memory<int> values(numbers(bug == Bug::uninitialized ? count - 1 : count), count);
        if (bug == Bug::use_after_free) values.free();
        phases<bug><<<blocks, threads>>>(values.data, rounds);
        finish();
        values.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_barrier, Bug::missing_second_barrier, Bug::divergent_barrier,
                  Bug::unequal_barriers, Bug::plain_read, Bug::beyond_array, Bug::uninitialized, Bug::use_after_free>(
        count, words);
}
