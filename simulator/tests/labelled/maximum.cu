// Each node takes the largest value among its neighbours and itself, plus one.
#include "labelled.cuh"

template <Bug bug>
__global__ void maximum(const int* offsets, const int* targets, int* old, int* fresh, int nodes) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (bug == Bug::beyond_array ? node > nodes : node >= nodes) return;
    int largest = old[node];
    for (int e = offsets[node]; e < offsets[node + 1]; e++) {
        const int target = targets[e];
        if constexpr (bug == Bug::misaligned) {
            const int2 pair = *reinterpret_cast<const int2*>(old + target);
            largest = max(largest, max(pair.x, pair.y));
        } else if constexpr (bug == Bug::negative_index) {
            largest = max(largest, old[target - 1]);
        } else {
            largest = max(largest, old[target]);
        }
    }
    // In place, a neighbour reads what this thread writes.
    (bug == Bug::plain_read ? old : fresh)[node] = largest + 1;
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int nodes = input.number("nodes"), threads = input.number("threads");
        const Graph graph(input.text("shape"), nodes);
        const Memory<int> offsets(graph.offsets), targets(graph.targets), fresh(zeros(nodes));
        const int written = bug == Bug::uninitialized ? nodes - 1 : nodes;
        // The pair of the last node is inside the memory.
        const Memory<int> old(numbers(written), nodes + (bug == Bug::misaligned));
        if (bug == Bug::use_after_free) old.free();
        const int blocks = (nodes + threads - 1) / threads;
        maximum<bug><<<blocks, threads>>>(offsets.data, targets.data, old.data, fresh.data, nodes);
        finish();
        fresh.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::plain_read, Bug::beyond_array, Bug::negative_index, Bug::misaligned,
                  Bug::uninitialized, Bug::use_after_free>(count, words);
}
