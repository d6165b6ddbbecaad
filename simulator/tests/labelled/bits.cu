// Each thread packs a level and a kind into a word, whose other bits nobody writes, and then adds its level to those of the kind.
#include "labelled.cuh"

struct Fields {
    unsigned level : 5, : 3, kind : 3, : 21;
};

constexpr int KINDS = 8;

enum class By { mask, field, bytes };

template <Bug bug, By by>
__global__ void pack(unsigned* words, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned level = i % 32, kind = i % KINDS;
    // The kind is missing.
    constexpr bool is_whole = bug != Bug::uninitialized;
    if constexpr (by == By::mask) {
        unsigned word = words[i];
        word = (word & ~31u) | level;
        if constexpr (is_whole) word = (word & ~(7u << 8)) | kind << 8;
        words[i] = word;
    } else if constexpr (by == By::field) {
        Fields& fields = reinterpret_cast<Fields&>(words[i]);
        fields.level = level;
        if constexpr (is_whole) fields.kind = kind;
    } else {
        unsigned char* bytes = reinterpret_cast<unsigned char*>(&words[i]);
        bytes[0] = level;
        if constexpr (is_whole) bytes[1] = kind;
    }
}

template <Bug bug>
__global__ void add_up(const unsigned* words, unsigned* levels, int count) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    const unsigned word = words[i], kind = word >> 8 & 7, level = word & 31;
    if constexpr (bug == Bug::plain_update) levels[kind] += level + 1;
    else atomicAdd(&levels[kind], level + 1);
}

template <Bug bug>
struct Program {
    template <By by>
    static void run_by(int blocks, int threads) {
        const int count = blocks * threads;
        const Memory<unsigned> words(count), levels(std::vector<unsigned>(KINDS, 0));
        pack<bug, by><<<blocks, threads>>>(words.data, count);
        add_up<bug><<<blocks, threads>>>(words.data, levels.data, count);
        finish();
        levels.read();
    }

    static void run(const Input& input) {
        const std::string by = input.text("by");
        const int blocks = input.number("blocks"), threads = input.number("threads");
        if (by == "mask") run_by<By::mask>(blocks, threads);
        else if (by == "field") run_by<By::field>(blocks, threads);
        else if (by == "bytes") run_by<By::bytes>(blocks, threads);
        else mistake("no way to pack by " + by);
    }
};

int main(int count, char** words) {
    return choose<Program, Bug::none, Bug::uninitialized, Bug::plain_update>(count, words);
}
