// Union and find on a line of parents: each node looks for its root and then points there, so that later searches are short.
#include "labelled.cuh"

template <Bug bug>
__global__ void find(int* parents, int* roots, int* longest, int nodes) {
    const int node = blockIdx.x * blockDim.x + threadIdx.x;
    if (node >= nodes) return;
    int root = node, steps = 0;
    while (true) {
        const int parent = bug == Bug::plain_read ? parents[root] : load(&parents[root]);
        if (parent == root) break;
        root = parent;
        steps++;
    }
    roots[node] = root;
    const int before = load(&parents[node]);
    if (before != root) {
        if constexpr (bug == Bug::plain_update) parents[node] = root;
        else if constexpr (bug == Bug::narrow_atomic) atomicCAS_block(&parents[node], before, root);
        else atomicCAS(&parents[node], before, root);
    }
    if constexpr (bug == Bug::same_value) longest[0] = nodes;
    else atomicMax(&longest[0], steps);
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int nodes = input.number("nodes"), threads = input.number("threads");
        std::vector<int> line(nodes);
        for (int v = 0; v < nodes; v++) line[v] = v > 0 ? v - 1 : 0;
        if (bug == Bug::beyond_array) line[0] = nodes;
        if (bug == Bug::negative_index) line[0] = -1;
        if (bug == Bug::uninitialized) line.pop_back();
        const Memory<int> parents(line, nodes), roots(nodes), longest(zeros(1));
        if (bug == Bug::use_after_free) parents.free();
        find<bug><<<(nodes + threads - 1) / threads, threads>>>(parents.data, roots.data, longest.data, nodes);
        finish();
        roots.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::plain_update, Bug::plain_read, Bug::narrow_atomic, Bug::same_value,
                  Bug::beyond_array, Bug::negative_index, Bug::uninitialized, Bug::use_after_free>(count, words);
}
