// The first warp fills a buffer in shared memory, the other warps use it, round by round, with barriers in between.
#include "labelled.cuh"

template <Bug bug>
__global__ void stages(const int* values, int* sums, int rounds) {
    extern __shared__ int buffer[];
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    int sum = 0;
    for (int round = 0; round < rounds; round++) {
        if (warp == 0) {
            const int from = bug == Bug::beyond_array ? (round + 1) * 32 + lane : round * 32 + lane;
            if (bug != Bug::uninitialized || lane > 0) buffer[lane] = values[from];
        }
        if constexpr (bug == Bug::divergent_barrier) {
            if (lane < 16) __syncthreads();
        } else if constexpr (bug == Bug::unequal_barriers) {
            // A barrier less for the first warp: from then on it is half a round ahead.
            if (warp > 0 || round > 0) __syncthreads();
        } else if constexpr (bug != Bug::missing_barrier) {
            __syncthreads();
        }
        if (warp > 0) sum += buffer[bug == Bug::beyond_shared ? lane + 1 : bug == Bug::negative_index ? lane - 1 : lane];
        if constexpr (bug != Bug::missing_second_barrier) __syncthreads();
    }
    if (warp > 0) sums[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int blocks = input.number("blocks"), threads = input.number("threads"), rounds = input.number("rounds");
        const Memory<int> values(numbers(32 * rounds)), sums(zeros(blocks * threads));
        if (bug == Bug::use_after_free) values.free();
        stages<bug><<<blocks, threads, 32 * sizeof(int)>>>(values.data, sums.data, rounds);
        finish();
        sums.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_barrier, Bug::missing_second_barrier, Bug::divergent_barrier,
                  Bug::unequal_barriers, Bug::beyond_array, Bug::beyond_shared, Bug::negative_index, Bug::uninitialized,
                  Bug::use_after_free>(count, words);
}
