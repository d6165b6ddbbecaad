// Sums within warps: by shared memory with barriers of the warp, or by shuffles.
#include "labelled.cuh"

constexpr unsigned ALL = 0xffffffff;

template <Bug bug>
__global__ void by_memory(const int* values, int* sums) {
    extern __shared__ int cells[];
    const int t = threadIdx.x, lane = t % 32;
    int* const own = cells + t - lane;
    own[lane] = values[blockIdx.x * blockDim.x + t];
    if constexpr (bug != Bug::missing_warp_barrier) __syncwarp();
    for (int half = 16; half > 0; half /= 2) {
        const int other = bug == Bug::beyond_shared ? lane + 32 : bug == Bug::negative_index ? lane - 32 : lane + half;
        if (lane < half) own[lane] += own[other];
        if constexpr (bug == Bug::wrong_mask) {
            // The upper lanes come, and do not name themselves.
            __syncwarp(ALL >> 16);
        } else if constexpr (bug != Bug::missing_second_barrier) {
            __syncwarp();
        }
    }
    if (lane == 0) sums[(blockIdx.x * blockDim.x + t) / 32] = own[0];
}

template <Bug bug>
__global__ void by_shuffles(const int* values, int* sums) {
    const int t = threadIdx.x, lane = t % 32;
    int sum = values[blockIdx.x * blockDim.x + t];
    if constexpr (bug == Bug::wrong_mask) {
        // The lanes that leave are named.
        if (lane >= 24) return;
    }
    for (int half = 16; half > 0; half /= 2) sum += __shfl_down_sync(ALL, sum, half);
    const int warp = (blockIdx.x * blockDim.x + t) / 32;
    if (lane == 0) sums[bug == Bug::beyond_array ? warp + 1 : warp] = sum;
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int blocks = input.number("blocks"), threads = input.number("threads"), count = blocks * threads;
        const Memory<int> values(numbers(bug == Bug::uninitialized ? count - 1 : count), count), sums(count / 32);
        if (bug == Bug::use_after_free) values.free();
        if (input.text("by") == "memory") by_memory<bug><<<blocks, threads, threads * sizeof(int)>>>(values.data, sums.data);
        else by_shuffles<bug><<<blocks, threads>>>(values.data, sums.data);
        finish();
        sums.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_warp_barrier, Bug::missing_second_barrier, Bug::wrong_mask,
                  Bug::beyond_array, Bug::beyond_shared, Bug::negative_index, Bug::uninitialized, Bug::use_after_free>(
        count, words);
}
