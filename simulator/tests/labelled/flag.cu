// A block, or a warp, passes a message: it writes data and then a flag. Others look once, and read the data if the flag is set.
#include "labelled.cuh"

template <Bug bug>
__global__ void message(int* data, int* flag, int* seen, int length, int writer, bool by_warps) {
    const int lane = threadIdx.x % 32, warp = threadIdx.x / 32, part = by_warps ? warp : blockIdx.x;
    if (by_warps ? lane != 0 : threadIdx.x != 0) return;
    if (part == writer) {
        for (int i = 0; i < length; i++) data[bug == Bug::beyond_array ? i + 1 : i] = i + 1;
        release<bug>();
        if constexpr (bug == Bug::plain_flag) *flag = 1;
        else if constexpr (bug == Bug::volatile_flag) *const_cast<volatile int*>(flag) = 1;
        else if constexpr (bug == Bug::narrow_atomic) atomicExch_block(flag, 1);
        else atomicExch(flag, 1);
    } else {
        int is_set;
        if constexpr (bug == Bug::plain_read) is_set = *flag;
        else if constexpr (bug == Bug::volatile_flag) is_set = *const_cast<volatile int*>(flag);
        else if constexpr (bug == Bug::narrow_atomic) is_set = atomicAdd_block(flag, 0);
        else is_set = load(flag);
        int sum = 0;
        if (is_set || bug == Bug::plain_update) {
            acquire<bug>();
            for (int i = 0; i < length; i++) sum += data[i];
        }
        seen[part] = sum;
    }
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int parts = input.number("parts"), length = input.number("length");
        const bool by_warps = input.text("between") == "warps";
        // Where parts run in their order, the first one has written before others look, and the last one after that.
        const int writer = input.text("writer") == "first" ? 0 : parts - 1;
        const Memory<int> data(zeros(length)), flag(zeros(1)), seen(zeros(parts));
        if (bug == Bug::use_after_free) data.free();
        message<bug><<<by_warps ? 1 : parts, by_warps ? 32 * parts : 32>>>(data.data, flag.data, seen.data, length, writer,
                                                                            by_warps);
        finish();
        seen.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::missing_acquire, Bug::missing_release, Bug::narrow_fence, Bug::narrow_atomic,
                  Bug::plain_flag, Bug::plain_read, Bug::volatile_flag, Bug::plain_update, Bug::beyond_array,
                  Bug::use_after_free>(count, words);
}
