// A ring buffer between two blocks: the first puts items in, the second takes them out, each by one thread.
#include "labelled.cuh"

template <Bug bug>
__global__ void ring(int* cells, int* written, int* taken, int* sum, int room, int items) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        for (int i = 0; i < items; i++) {
            // Without this, an item overwrites one that is not taken yet.
            if constexpr (bug != Bug::plain_update)
                while (i - load(taken) >= room) __nanosleep(100);
            acquire<bug>();
            cells[bug == Bug::beyond_array ? i % (room + 1) : i % room] = i + 1;
            release<bug>();
            if constexpr (bug == Bug::narrow_atomic) atomicAdd_block(written, 1);
            else store(written, i + 1);
        }
    } else {
        int all = 0;
        for (int i = 0; i < items; i++) {
            while (load(written) <= i) __nanosleep(100);
            acquire<bug>();
            all += cells[bug == Bug::negative_index ? i % room - 1 : i % room];
            release<bug>();
            store(taken, i + 1);
        }
        *sum = all;
    }
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int room = input.number("room"), items = input.number("items"), threads = input.number("threads");
        const Memory<int> cells(room), written(zeros(1)), taken(zeros(1)), sum(zeros(1));
        if (bug == Bug::use_after_free) cells.free();
        int* pointers[] = {cells.data, written.data, taken.data, sum.data};
        int numbers[] = {room, items};
        void* arguments[] = {&pointers[0], &pointers[1], &pointers[2], &pointers[3], &numbers[0], &numbers[1]};
        // The blocks wait for each other, so both must run at once.
        CHECK(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(ring<bug>), 2, threads, arguments, 0, cudaStreamPerThread));
        finish();
        sum.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_acquire, Bug::missing_release, Bug::narrow_fence, Bug::narrow_atomic,
                  Bug::plain_update, Bug::beyond_array, Bug::negative_index, Bug::use_after_free>(count, words);
}
