// The product of two square matrices, by tiles in shared memory.
#include "labelled.cuh"

template <Bug bug, int TILE>
__global__ void product(const float* left, const float* right, float* result, int size, int stride) {
    __shared__ float a[TILE][TILE];
    __shared__ float b[TILE * TILE];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * TILE + x, row = blockIdx.y * TILE + y;
    float sum = 0;
    for (int first = 0; first < size; first += TILE) {
        const bool checks = bug != Bug::beyond_array;
        const bool zero = bug != Bug::uninitialized;
        if (!checks || (row < size && first + x < size)) a[y][x] = left[row * stride + first + x];
        else if (zero) a[y][x] = 0;
        if (!checks || (first + y < size && column < size)) b[y * TILE + x] = right[(first + y) * stride + column];
        else if (zero) b[y * TILE + x] = 0;
        if constexpr (bug != Bug::missing_barrier) __syncthreads();
        for (int k = 0; k < TILE; k++) {
            const int last = bug == Bug::beyond_shared ? k + 1 : k;
            sum += a[y][k] * b[last * TILE + x];
        }
        if constexpr (bug != Bug::missing_second_barrier) __syncthreads();
    }
    // Beyond the row is the next one, or what pads it.
    const bool stores = bug == Bug::inside_allocation ? row < size && column <= size : row < size && column < size;
    if (stores) result[row * stride + column] = sum;
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int size = input.number("size"), tile = input.number("tile"), blocks = (size + tile - 1) / tile;
        // Rows of the result end with an element that is not theirs.
        const int stride = size + (bug == Bug::inside_allocation);
        std::vector<float> different(size * stride);
        for (size_t i = 0; i < different.size(); i++) different[i] = static_cast<float>(i + 1);
        const Memory<float> left(different), right(different), result(different);
        if (bug == Bug::use_after_free) right.free();
        const dim3 grid(blocks, blocks), block(tile, tile);
        auto launch = tile == 2   ? product<bug, 2>
                      : tile == 4 ? product<bug, 4>
                      : tile == 8 ? product<bug, 8>
                                  : product<bug, 16>;
        launch<<<grid, block>>>(left.data, right.data, result.data, size, stride);
        finish();
        result.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_barrier, Bug::missing_second_barrier, Bug::beyond_array,
                  Bug::beyond_shared, Bug::inside_allocation, Bug::uninitialized, Bug::use_after_free>(count, words);
}
