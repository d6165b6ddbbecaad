// The parts that the programs share: the bugs, the input of a run, memory, and graphs.
//
// A program is called as `PROGRAM BUG KEY=VALUE …`. Each bug is a template parameter, so each variant is compiled code of its own.
// Exit codes: 0 the program ran to its end, 1 a call of CUDA failed, 2 the arguments are wrong.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

// X-macro, so that a bug and its name cannot differ.
#define EACH_BUG(X)                                                                                                    \
    X(none) X(missing_barrier) X(missing_second_barrier) X(missing_warp_barrier) X(plain_update) X(plain_read)         \
    X(plain_flag) X(volatile_flag) X(missing_release) X(missing_acquire) X(narrow_fence) X(narrow_atomic)              \
    X(same_value) X(other_order) X(beyond_array) X(beyond_shared) X(negative_index) X(inside_allocation)               \
    X(use_after_free) X(uninitialized) X(divergent_barrier) X(unequal_barriers) X(wrong_mask) X(misaligned)

enum class Bug {
#define X(name) name,
    EACH_BUG(X)
#undef X
};

inline const char* name_of(Bug bug) {
    static const char* const NAMES[] = {
#define X(name) #name,
        EACH_BUG(X)
#undef X
    };
    return NAMES[static_cast<int>(bug)];
}

[[noreturn]] inline void mistake(const std::string& what) {
    std::fprintf(stderr, "%s\n", what.c_str());
    std::exit(2);
}

inline void check(int code, const char* call) {
    if (code != 0) {
        std::fprintf(stderr, "%s returns %d\n", call, code);
        std::exit(1);
    }
}
#define CHECK(call) check(static_cast<int>(call), #call)

// The arguments of a run.
class Input {
    std::vector<std::pair<std::string, std::string>> values;

  public:
    std::string bug;

    Input(int count, char** words) {
        if (count < 2) mistake("usage: PROGRAM BUG KEY=VALUE ...");
        bug = words[1];
        for (int i = 2; i < count; i++) {
            const char* equals = std::strchr(words[i], '=');
            if (equals == nullptr) mistake(std::string("not KEY=VALUE: ") + words[i]);
            values.emplace_back(std::string(words[i], equals - words[i]), equals + 1);
        }
    }

    std::string text(const char* key) const {
        for (const auto& value : values)
            if (value.first == key) return value.second;
        mistake(std::string("missing ") + key);
    }

    int number(const char* key) const { return std::atoi(text(key).c_str()); }
};

// Global memory that a run owns until the process ends.
template <class T>
class Memory {
    size_t count;

  public:
    T* data = nullptr;

    // Bytes that nobody has written.
    explicit Memory(size_t count) : count(count) { CHECK(cudaMalloc(reinterpret_cast<void**>(&data), count * sizeof(T))); }

    // The first elements are written.
    Memory(const std::vector<T>& values, size_t count) : Memory(count) {
        if (!values.empty()) CHECK(cuMemcpyHtoD(address(), values.data(), values.size() * sizeof(T)));
    }

    explicit Memory(const std::vector<T>& values) : Memory(values, values.size()) {}

    CUdeviceptr address() const { return reinterpret_cast<CUdeviceptr>(data); }

    void free() const { CHECK(cudaFree(data)); }

    std::vector<T> read() const {
        std::vector<T> values(count);
        CHECK(cuMemcpyDtoH(values.data(), address(), count * sizeof(T)));
        return values;
    }
};

inline std::vector<int> zeros(int count) { return std::vector<int>(count, 0); }

// `count` numbers from 1, all different.
inline std::vector<int> numbers(int count) {
    std::vector<int> values(count);
    for (int i = 0; i < count; i++) values[i] = i + 1;
    return values;
}

inline void finish() {
    CHECK(cudaGetLastError());
    CHECK(cudaStreamSynchronize(cudaStreamPerThread));
}

// Runs the variant that the first argument names.
template <template <Bug> class Program, Bug... bugs>
int choose(int count, char** words) {
    const Input input(count, words);
    bool found = false;
    auto attempt = [&](Bug bug, void (*run)(const Input&)) {
        if (input.bug != name_of(bug)) return;
        found = true;
        run(input);
    };
    (attempt(bugs, Program<bugs>::run), ...);
    if (!found) mistake("this program has no bug " + input.bug);
    return 0;
}

// A graph in compressed rows: the targets of the edges of node v are targets[offsets[v] .. offsets[v + 1]].
struct Graph {
    std::vector<int> offsets, targets;

    Graph(const std::string& shape, int nodes) {
        offsets.push_back(0);
        for (int v = 0; v < nodes; v++) {
            if (shape == "ring" && nodes > 1) edge((v + 1) % nodes);
            else if (shape == "star" && v > 0) edge(0);
            else if (shape == "pairs" && v % 2 == 0 && v + 1 < nodes) edge(v + 1);
            else if (shape == "line") {
                if (v > 0) edge(v - 1);
                if (v + 1 < nodes) edge(v + 1);
            } else if (shape == "complete") {
                for (int u = 0; u < nodes; u++)
                    if (u != v) edge(u);
            } else if (shape != "ring" && shape != "star" && shape != "pairs" && shape != "empty") {
                mistake("no shape " + shape);
            }
            offsets.push_back(static_cast<int>(targets.size()));
        }
        // An allocation of no bytes is no allocation.
        if (targets.empty()) targets.push_back(0);
    }

  private:
    void edge(int target) { targets.push_back(target); }
};

// Relaxed accesses of the whole device.
__device__ inline int load(const int* at) {
    int value;
    asm volatile("ld.relaxed.gpu.s32 %0, [%1];" : "=r"(value) : "l"(at) : "memory");
    return value;
}

__device__ inline void store(int* at, int value) {
    asm volatile("st.relaxed.gpu.s32 [%0], %1;" ::"l"(at), "r"(value) : "memory");
}

// The fence before others may see what was written: correct, too narrow, or missing.
template <Bug bug>
__device__ inline void release() {
    if constexpr (bug == Bug::narrow_fence) __threadfence_block();
    else if constexpr (bug != Bug::missing_release) __threadfence();
}

// The fence before what others wrote is read.
template <Bug bug>
__device__ inline void acquire() {
    if constexpr (bug == Bug::narrow_fence) __threadfence_block();
    else if constexpr (bug != Bug::missing_acquire) __threadfence();
}
