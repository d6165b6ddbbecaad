// Functions that are called by their address.
#include "kernel.cuh"

__device__ __noinline__ int one(int n) { return n + 1; }
__device__ __noinline__ int two(int n) { return n * 2; }
typedef int (*F)(int);
__device__ F table[2] = {one, two};

KERNEL(indirect) { p[0] = table[p[1] & 1](p[2]); }

struct Base {
  virtual __device__ int f(int) = 0;
};
struct A : Base {
  __device__ int f(int n) { return n + 1; }
};
struct B : Base {
  __device__ int f(int n) { return n * 3; }
};

KERNEL(virtual) {
  A a;
  B b;
  Base* x = p[0] ? (Base*)&a : (Base*)&b;
  p[1] = x->f(p[2]);
}
