// One thread of each warp adds to a counter that a lock guards.
#include "labelled.cuh"

template <Bug bug>
__global__ void guarded(int* lock, int* counter) {
    if (threadIdx.x % 32 != 0) return;
    if constexpr (bug != Bug::plain_update) {
        if constexpr (bug == Bug::narrow_atomic) {
            while (atomicCAS_block(lock, 0, 1) != 0) __nanosleep(100);
        } else {
            while (atomicCAS(lock, 0, 1) != 0) __nanosleep(100);
        }
        acquire<bug>();
    }
    *counter += 1;
    if constexpr (bug != Bug::plain_update) {
        release<bug>();
        if constexpr (bug == Bug::plain_flag) *lock = 0;
        else if constexpr (bug == Bug::volatile_flag) *const_cast<volatile int*>(lock) = 0;
        else if constexpr (bug == Bug::narrow_atomic) atomicExch_block(lock, 0);
        else atomicExch(lock, 0);
    }
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int blocks = input.number("blocks"), threads = input.number("threads");
        const Memory<int> lock(zeros(1)), counter(zeros(bug == Bug::uninitialized ? 0 : 1), 1);
        if (bug == Bug::use_after_free) counter.free();
        guarded<bug><<<blocks, threads>>>(lock.data, counter.data);
        finish();
        counter.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_acquire, Bug::missing_release, Bug::narrow_fence, Bug::narrow_atomic,
                  Bug::plain_flag, Bug::volatile_flag, Bug::plain_update, Bug::uninitialized, Bug::use_after_free>(
        count, words);
}
