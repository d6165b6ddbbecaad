// Each block writes its part of a sum and takes a ticket. The block with the last ticket adds the parts up.
#include "labelled.cuh"

template <Bug bug>
__global__ void last(const int* values, int* parts, unsigned* tickets, int* total) {
    __shared__ bool is_last;
    extern __shared__ int cells[];
    const int t = threadIdx.x;
    cells[t] = values[blockIdx.x * blockDim.x + t];
    __syncthreads();
    if (t == 0) {
        int sum = 0;
        for (int i = 0; i < blockDim.x; i++) sum += cells[i];
        parts[bug == Bug::beyond_array ? blockIdx.x + 1 : blockIdx.x] = sum;
        release<bug>();
        unsigned ticket;
        if constexpr (bug == Bug::plain_update) ticket = (*tickets)++;
        else if constexpr (bug == Bug::narrow_atomic) ticket = atomicAdd_block(tickets, 1u);
        else ticket = atomicAdd(tickets, 1u);
        is_last = ticket == gridDim.x - 1;
        acquire<bug>();
    }
    if constexpr (bug != Bug::missing_barrier) __syncthreads();
    if (!is_last) return;
    // Each thread has its parts, so all of them, and not only the one with the ticket, must see what the blocks wrote.
    int sum = 0;
    for (int i = t; i < gridDim.x; i += blockDim.x) sum += parts[i];
    atomicAdd(total, sum);
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int blocks = input.number("blocks"), threads = input.number("threads");
        const Memory<int> values(numbers(blocks * threads)), parts(blocks), total(zeros(1));
        const Memory<unsigned> tickets(bug == Bug::uninitialized ? std::vector<unsigned>() : std::vector<unsigned>{0}, 1);
        if (bug == Bug::use_after_free) parts.free();
        last<bug><<<blocks, threads, threads * sizeof(int)>>>(values.data, parts.data, tickets.data, total.data);
        finish();
        total.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_acquire, Bug::missing_release, Bug::narrow_fence, Bug::narrow_atomic,
                  Bug::plain_update, Bug::missing_barrier, Bug::beyond_array, Bug::uninitialized, Bug::use_after_free>(
        count, words);
}
