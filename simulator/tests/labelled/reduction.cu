// The sum of an array: a tree in shared memory for each block, and one addition of each block to the total.
#include "labelled.cuh"

template <Bug bug>
__global__ void reduction(const int* values, int count, int* total) {
    extern __shared__ int cells[];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if constexpr (bug == Bug::uninitialized) {
        if (i < count) cells[t] = values[i];
    } else if constexpr (bug == Bug::beyond_array) {
        cells[t] = i <= count ? values[i] : 0;
    } else {
        cells[t] = i < count ? values[i] : 0;
    }
    if constexpr (bug != Bug::missing_barrier) __syncthreads();
    for (int half = blockDim.x / 2; half > 0; half /= 2) {
        if constexpr (bug == Bug::divergent_barrier) {
            if (t < half) {
                cells[t] += cells[t + half];
                __syncthreads();
            }
        } else {
            const int other = bug == Bug::beyond_shared ? 2 * half : half;
            if (t < half) cells[t] += cells[t + other];
            if constexpr (bug != Bug::missing_second_barrier) __syncthreads();
        }
    }
    if (t > 0) return;
    if constexpr (bug == Bug::plain_update) *total += cells[0];
    else if constexpr (bug == Bug::narrow_atomic) atomicAdd_block(total, cells[0]);
    else if constexpr (bug == Bug::same_value) *total = static_cast<int>(gridDim.x);
    else atomicAdd(total, cells[0]);
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int blocks = input.number("blocks"), threads = input.number("threads");
        // The last block has one element less than threads.
        const int count = blocks * threads - 1;
        const Memory<int> values(numbers(count)), total(zeros(1));
        if (bug == Bug::use_after_free) values.free();
        reduction<bug><<<blocks, threads, threads * sizeof(int)>>>(values.data, count, total.data);
        finish();
        total.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_barrier, Bug::missing_second_barrier, Bug::plain_update,
                  Bug::narrow_atomic, Bug::same_value, Bug::beyond_array, Bug::beyond_shared, Bug::divergent_barrier,
                  Bug::uninitialized, Bug::use_after_free>(count, words);
}
