// One level of a search: each thread takes its nodes of a list, and appends to the next list the targets that nobody has seen.
#include "labelled.cuh"

template <Bug bug>
__global__ void level(const int* offsets, const int* targets, int* seen, const int* list, int length, int* next, int* tail,
                      int* guarded) {
    for (int at = blockIdx.x * blockDim.x + threadIdx.x; at < length; at += gridDim.x * blockDim.x) {
        const int node = list[at];
        for (int e = offsets[node]; e < offsets[node + 1]; e++) {
            const int target = targets[e];
            if constexpr (bug == Bug::same_value) {
                seen[target] = 1;
            } else if (bug == Bug::plain_read ? seen[target] != 0 : load(&seen[target]) != 0) {
                continue;
            } else if (atomicExch(&seen[target], 1) != 0) {
                continue;
            }
            int place;
            if constexpr (bug == Bug::plain_update) place = (*tail)++;
            else if constexpr (bug == Bug::narrow_atomic) place = atomicAdd_block(tail, 1);
            else place = atomicAdd(tail, 1);
            if constexpr (bug != Bug::plain_update && bug != Bug::narrow_atomic) next[place] = target;
        }
    }
    // The first block writes and says so; another one writes only if it comes before that.
    if (threadIdx.x == 0) {
        const int own = bug == Bug::other_order ? 0 : blockIdx.x;
        if (blockIdx.x == 0 || load(guarded) == 0) guarded[1 + own] = blockIdx.x + 1;
        __threadfence();
        if (blockIdx.x == 0) store(guarded, 1);
    }
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int nodes = input.number("nodes"), blocks = input.number("blocks"), threads = input.number("threads");
        const Graph graph(input.text("shape"), nodes);
        const Memory<int> offsets(graph.offsets), targets(graph.targets);
        std::vector<int> all(nodes);
        for (int v = 0; v < nodes; v++) all[v] = v;
        // Every edge may append.
        const int room = static_cast<int>(graph.targets.size()) - (bug == Bug::beyond_array);
        const Memory<int> list(all), seen(zeros(nodes)), next(zeros(room)), tail(zeros(1));
        const Memory<int> guarded(zeros(1 + blocks));
        if (bug == Bug::use_after_free) list.free();
        level<bug><<<blocks, threads>>>(offsets.data, targets.data, seen.data, list.data, nodes, next.data, tail.data,
                                        guarded.data);
        finish();
        tail.read();
        next.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::plain_update, Bug::plain_read, Bug::narrow_atomic, Bug::same_value,
                  Bug::other_order, Bug::beyond_array, Bug::use_after_free>(count, words);
}
