// A kernel that calls what it is named after, on memory of any kind of number.
#pragma once
#define KERNEL(name) \
  extern "C" __global__ void test_##name(int* p, float* f, double* d, unsigned* u, long long* l, unsigned long long* q)
