// How often each number occurs: counted in shared memory, then added to the result.
#include "labelled.cuh"

template <Bug bug>
__global__ void histogram(const int* values, int* result, int bins) {
    extern __shared__ int counts[];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if constexpr (bug != Bug::uninitialized)
        for (int b = t; b < bins; b += blockDim.x) counts[b] = 0;
    if constexpr (bug != Bug::missing_barrier) __syncthreads();
    const int bin = bug == Bug::beyond_shared ? values[i] + 1 : values[i];
    if constexpr (bug == Bug::plain_update) counts[bin] += 1;
    else if constexpr (bug == Bug::same_value) counts[bin] = 1;
    else atomicAdd(&counts[bin], 1);
    if constexpr (bug != Bug::missing_second_barrier) __syncthreads();
    for (int b = t; b < bins; b += blockDim.x) {
        int* const at = bug == Bug::beyond_array ? &result[b + 1] : &result[b];
        if constexpr (bug == Bug::plain_read) *at += counts[b];
        else if constexpr (bug == Bug::narrow_atomic) atomicAdd_block(at, counts[b]);
        else atomicAdd(at, counts[b]);
    }
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int blocks = input.number("blocks"), threads = input.number("threads"), bins = input.number("bins");
        const bool equal = input.text("data") == "equal";
        std::vector<int> data(blocks * threads);
        // All in the last bin, or those of a block spread over the bins.
        for (int i = 0; i < blocks * threads; i++) data[i] = equal ? bins - 1 : (i % threads) % bins;
        const Memory<int> values(data), result(zeros(bins));
        if (bug == Bug::use_after_free) values.free();
        histogram<bug><<<blocks, threads, bins * sizeof(int)>>>(values.data, result.data, bins);
        finish();
        result.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_barrier, Bug::missing_second_barrier, Bug::plain_update,
                  Bug::plain_read, Bug::same_value, Bug::narrow_atomic, Bug::beyond_array, Bug::beyond_shared,
                  Bug::uninitialized, Bug::use_after_free>(count, words);
}
