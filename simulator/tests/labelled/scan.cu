// Sums of all beginnings of an array, in shared memory: in each round a thread adds what stands `distance` before it.
#include "labelled.cuh"

template <Bug bug>
__global__ void scan(const int* values, int* sums) {
    extern __shared__ int cells[];
    const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
    if (bug != Bug::uninitialized || t > 0) cells[t] = values[i];
    if constexpr (bug != Bug::missing_barrier) __syncthreads();
    if constexpr (bug == Bug::unequal_barriers) {
        for (int distance = 1; distance <= t; distance *= 2) {
            const int before = cells[t - distance];
            __syncthreads();
            cells[t] += before;
            __syncthreads();
        }
    } else {
        for (int distance = 1; distance < blockDim.x; distance *= 2) {
            const bool adds = bug == Bug::negative_index || t >= distance;
            const int at = bug == Bug::beyond_shared ? t + distance : t - distance;
            const int before = adds ? cells[at] : 0;
            if constexpr (bug != Bug::missing_second_barrier) __syncthreads();
            cells[t] += before;
            __syncthreads();
        }
    }
    sums[bug == Bug::beyond_array ? i + 1 : i] = cells[t];
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int blocks = input.number("blocks"), threads = input.number("threads"), count = blocks * threads;
        const Memory<int> values(numbers(count)), sums(count);
        if (bug == Bug::use_after_free) values.free();
        scan<bug><<<blocks, threads, threads * sizeof(int)>>>(values.data, sums.data);
        finish();
        sums.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_barrier, Bug::missing_second_barrier, Bug::unequal_barriers,
                  Bug::uninitialized, Bug::negative_index, Bug::beyond_shared, Bug::beyond_array, Bug::use_after_free>(
        count, words);
}
