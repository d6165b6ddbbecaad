// Each node adds its value to the sums of its targets.
#include "labelled.cuh"

template <Bug bug>
__global__ void push(const int* offsets, const int* targets, const int* values, int* sums, int* seen, int nodes) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes) return;
    for (int e = offsets[node]; e < offsets[node + 1]; e++) {
        const int target = bug == Bug::beyond_array ? targets[e] + 1 : targets[e];
        if constexpr (bug == Bug::plain_update) sums[target] += values[node];
        else if constexpr (bug == Bug::narrow_atomic) atomicAdd_block(&sums[target], values[node]);
        else if constexpr (bug == Bug::same_value) sums[target] = 1;
        else atomicAdd(&sums[target], values[node]);
    }
    // Other nodes may still add.
    if constexpr (bug == Bug::plain_read) seen[node] = sums[node];
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int nodes = input.number("nodes"), threads = input.number("threads");
        const Graph graph(input.text("shape"), nodes);
        const Memory<int> offsets(graph.offsets), targets(graph.targets), values(numbers(nodes));
        const Memory<int> sums(zeros(nodes)), seen(zeros(nodes));
        if (bug == Bug::use_after_free) values.free();
        const int blocks = (nodes + threads - 1) / threads;
        push<bug><<<blocks, threads>>>(offsets.data, targets.data, values.data, sums.data, seen.data, nodes);
        finish();
        sums.read();
        seen.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::plain_update, Bug::narrow_atomic, Bug::same_value, Bug::plain_read,
                  Bug::beyond_array, Bug::use_after_free>(count, words);
}
