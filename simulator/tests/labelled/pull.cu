// Each node counts itself up, and sums what its targets have counted so far. Any order is right.
#include "labelled.cuh"

template <Bug bug>
__global__ void pull(const int* offsets, const int* targets, int* counts, int* sums, int nodes) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes) return;
    if constexpr (bug == Bug::plain_update) counts[node] += 1;
    else if constexpr (bug == Bug::narrow_atomic) atomicAdd_block(&counts[node], 1);
    else atomicAdd(&counts[node], 1);
    int sum = 0;
    for (int e = offsets[node]; e < offsets[node + 1]; e++) {
        const int target = bug == Bug::beyond_array ? targets[e] + 1 : targets[e];
        sum += bug == Bug::plain_read ? counts[target] : load(&counts[target]);
    }
    sums[node] = sum;
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int nodes = input.number("nodes"), threads = input.number("threads");
        const Graph graph(input.text("shape"), nodes);
        const Memory<int> offsets(graph.offsets), targets(graph.targets), sums(nodes);
        const Memory<int> counts(zeros(bug == Bug::uninitialized ? nodes - 1 : nodes), nodes);
        if (bug == Bug::use_after_free) counts.free();
        const int blocks = (nodes + threads - 1) / threads;
        pull<bug><<<blocks, threads>>>(offsets.data, targets.data, counts.data, sums.data, nodes);
        finish();
        sums.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::plain_update, Bug::plain_read, Bug::narrow_atomic, Bug::beyond_array,
                  Bug::uninitialized, Bug::use_after_free>(count, words);
}
