// What the language needs beyond arithmetic.
#include "kernel.cuh"

KERNEL(assume) {
  __builtin_assume(p[0] > 0);
  p[1] = __builtin_expect(p[0], 1);
  if (p[0] == 12345) __trap();
  if (p[0] == 1234) __brkpt();
}

__device__ __noinline__ int fib(int n) { return n < 2 ? n : fib(n - 1) + fib(n - 2); }

KERNEL(recursion) { p[0] = fib(p[1] & 7); }

KERNEL(malloc) {
  int* m = (int*)malloc(16);
  m[0] = p[0];
  p[1] = m[0];
  free(m);
}
