// Each thread copies the name of a record, behind which the record has another field, and counts in the first record.
#include "labelled.cuh"

struct alignas(16) Record {
    int name[8];
    int balance;
};

template <Bug bug>
__global__ void copy(const Record* from, Record* to, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (bug == Bug::beyond_array ? i > count : i >= count) return;
    if constexpr (bug == Bug::misaligned) {
        const int2 pair = *reinterpret_cast<const int2*>(&from[i].name[1]);
        to[i].name[0] = pair.x + pair.y;
    } else if constexpr (bug == Bug::negative_index) {
        to[i - 1].name[0] = from[i].name[0];
    } else {
        // The ninth word is the other field.
        const int words = bug == Bug::inside_allocation ? 9 : 8;
        for (int w = 0; w < words; w++) to[i].name[w] = from[i].name[w];
    }
    if constexpr (bug == Bug::plain_update) to[0].balance += 1;
    else if constexpr (bug == Bug::same_value) to[0].balance = 7;
    else if constexpr (bug == Bug::narrow_atomic) atomicAdd_block(&to[0].balance, 1);
    else atomicAdd(&to[0].balance, 1);
}

template <Bug bug>
struct Program {
    static void run(const Input& input) {
        const int blocks = input.number("blocks"), threads = input.number("threads");
        // A thread of the last block has no record.
        const int count = blocks * threads - 1;
        const std::vector<Record> records(count, Record{{1, 2, 3, 4, 5, 6, 7, 8}, 9});
        const Memory<Record> from(bug == Bug::uninitialized ? std::vector<Record>() : records, count), to(records);
        if (bug == Bug::use_after_free) to.free();
        copy<bug><<<blocks, threads>>>(from.data, to.data, count);
        finish();
        to.read();
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::plain_update, Bug::same_value, Bug::narrow_atomic, Bug::misaligned,
                  Bug::beyond_array, Bug::negative_index, Bug::inside_allocation, Bug::uninitialized, Bug::use_after_free>(
        count, words);
}
