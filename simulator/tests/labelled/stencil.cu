// Each cell of each row becomes the sum of itself and its two neighbours; a block has a row in shared memory.
#include "labelled.cuh"

template <Bug bug>
__global__ void stencil(int* old, int* fresh, int width) {
    // A cell on both sides of the row.
    extern __shared__ int cells[];
    const int t = threadIdx.x;
    int* const row = old + blockIdx.x * width;
    cells[t + 1] = row[t];
    if (bug != Bug::uninitialized) {
        if (t == 0) cells[0] = bug == Bug::negative_index || bug == Bug::inside_allocation ? row[-1] : 0;
        if (t == width - 1) cells[width + 1] = bug == Bug::beyond_array ? row[width] : 0;
    }
    if constexpr (bug != Bug::missing_barrier) __syncthreads();
    const int right = bug == Bug::beyond_shared ? cells[t + 3] : cells[t + 2];
    const int sum = cells[t] + cells[t + 1] + right;
    // Not of its own row in place, but of the row before.
    if constexpr (bug == Bug::plain_update) old[(blockIdx.x + 1) % gridDim.x * width + t] = sum;
    else fresh[blockIdx.x * width + t] = sum;
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int rows = input.number("blocks"), width = input.number("threads");
        // With a row before the first that is read, what is before a row is inside the allocation.
        const int before = bug == Bug::inside_allocation ? width : 0;
        const Memory<int> old(numbers(rows * width + before)), fresh(zeros(rows * width));
        if (bug == Bug::use_after_free) old.free();
        stencil<bug><<<rows, width, (width + 2) * sizeof(int)>>>(old.data + before, fresh.data, width);
        finish();
        fresh.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_barrier, Bug::plain_update, Bug::beyond_array, Bug::negative_index,
                  Bug::inside_allocation, Bug::beyond_shared, Bug::uninitialized, Bug::use_after_free>(count, words);
}
