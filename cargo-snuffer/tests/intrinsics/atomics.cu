// Atomic functions.
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "kernel.cuh"

KERNEL(a_Add) {
  atomicAdd(p, 1);
  atomicAdd(u, 1u);
  atomicAdd(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicAdd(&s, 2);
  p[3] = atomicAdd(p + 2, 2);
}

KERNEL(a_Add_block) {
  atomicAdd_block(p, 1);
  atomicAdd_block(u, 1u);
  atomicAdd_block(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicAdd_block(&s, 2);
  p[3] = atomicAdd_block(p + 2, 2);
}

KERNEL(a_Add_system) {
  atomicAdd_system(p, 1);
  atomicAdd_system(u, 1u);
  atomicAdd_system(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicAdd_system(&s, 2);
  p[3] = atomicAdd_system(p + 2, 2);
}

KERNEL(a_Exch) {
  atomicExch(p, 1);
  atomicExch(u, 1u);
  atomicExch(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicExch(&s, 2);
  p[3] = atomicExch(p + 2, 2);
}

KERNEL(a_Exch_block) {
  atomicExch_block(p, 1);
  atomicExch_block(u, 1u);
  atomicExch_block(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicExch_block(&s, 2);
  p[3] = atomicExch_block(p + 2, 2);
}

KERNEL(a_Exch_system) {
  atomicExch_system(p, 1);
  atomicExch_system(u, 1u);
  atomicExch_system(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicExch_system(&s, 2);
  p[3] = atomicExch_system(p + 2, 2);
}

KERNEL(a_Min) {
  atomicMin(p, 1);
  atomicMin(u, 1u);
  atomicMin(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicMin(&s, 2);
  p[3] = atomicMin(p + 2, 2);
}

KERNEL(a_Min_block) {
  atomicMin_block(p, 1);
  atomicMin_block(u, 1u);
  atomicMin_block(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicMin_block(&s, 2);
  p[3] = atomicMin_block(p + 2, 2);
}

KERNEL(a_Min_system) {
  atomicMin_system(p, 1);
  atomicMin_system(u, 1u);
  atomicMin_system(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicMin_system(&s, 2);
  p[3] = atomicMin_system(p + 2, 2);
}

KERNEL(a_Max) {
  atomicMax(p, 1);
  atomicMax(u, 1u);
  atomicMax(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicMax(&s, 2);
  p[3] = atomicMax(p + 2, 2);
}

KERNEL(a_Max_block) {
  atomicMax_block(p, 1);
  atomicMax_block(u, 1u);
  atomicMax_block(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicMax_block(&s, 2);
  p[3] = atomicMax_block(p + 2, 2);
}

KERNEL(a_Max_system) {
  atomicMax_system(p, 1);
  atomicMax_system(u, 1u);
  atomicMax_system(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicMax_system(&s, 2);
  p[3] = atomicMax_system(p + 2, 2);
}

KERNEL(a_And) {
  atomicAnd(p, 1);
  atomicAnd(u, 1u);
  atomicAnd(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicAnd(&s, 2);
  p[3] = atomicAnd(p + 2, 2);
}

KERNEL(a_And_block) {
  atomicAnd_block(p, 1);
  atomicAnd_block(u, 1u);
  atomicAnd_block(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicAnd_block(&s, 2);
  p[3] = atomicAnd_block(p + 2, 2);
}

KERNEL(a_And_system) {
  atomicAnd_system(p, 1);
  atomicAnd_system(u, 1u);
  atomicAnd_system(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicAnd_system(&s, 2);
  p[3] = atomicAnd_system(p + 2, 2);
}

KERNEL(a_Or) {
  atomicOr(p, 1);
  atomicOr(u, 1u);
  atomicOr(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicOr(&s, 2);
  p[3] = atomicOr(p + 2, 2);
}

KERNEL(a_Or_block) {
  atomicOr_block(p, 1);
  atomicOr_block(u, 1u);
  atomicOr_block(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicOr_block(&s, 2);
  p[3] = atomicOr_block(p + 2, 2);
}

KERNEL(a_Or_system) {
  atomicOr_system(p, 1);
  atomicOr_system(u, 1u);
  atomicOr_system(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicOr_system(&s, 2);
  p[3] = atomicOr_system(p + 2, 2);
}

KERNEL(a_Xor) {
  atomicXor(p, 1);
  atomicXor(u, 1u);
  atomicXor(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicXor(&s, 2);
  p[3] = atomicXor(p + 2, 2);
}

KERNEL(a_Xor_block) {
  atomicXor_block(p, 1);
  atomicXor_block(u, 1u);
  atomicXor_block(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicXor_block(&s, 2);
  p[3] = atomicXor_block(p + 2, 2);
}

KERNEL(a_Xor_system) {
  atomicXor_system(p, 1);
  atomicXor_system(u, 1u);
  atomicXor_system(q, 1ull);
  __shared__ int s;
  s = 0;
  atomicXor_system(&s, 2);
  p[3] = atomicXor_system(p + 2, 2);
}

KERNEL(a_float) {
  atomicAdd(f, 1.f);
  f[1] = atomicAdd(f + 2, 1.f);
  atomicAdd(d, 1.0);
  d[1] = atomicAdd(d + 2, 1.0);
  atomicExch(f + 3, 2.f);
  __shared__ float s;
  s = 1;
  atomicAdd(&s, 1.f);
  f[4] = s;
}

KERNEL(a_sub) {
  atomicSub(p, 1);
  p[1] = atomicSub(p + 2, 1);
  u[0] = atomicInc(u + 1, 5);
  u[2] = atomicDec(u + 3, 5);
  p[4] = atomicCAS(p + 5, 1, 2);
  q[0] = atomicCAS(q + 1, 1ull, 2ull);
  unsigned short* h = (unsigned short*)u;
  h[2] = atomicCAS(h + 4, (unsigned short)1, (unsigned short)2);
}

KERNEL(a_sll) {
  atomicMin(l, 1ll);
  atomicMax(l, 1ll);
}

KERNEL(hatomic) {
  atomicAdd((__half*)f, __float2half(1.f));
  atomicAdd((__half2*)(f + 2), __half2{});
  atomicAdd((__nv_bfloat16*)(f + 4), __float2bfloat16(1.f));
  atomicAdd((__nv_bfloat162*)(f + 6), __nv_bfloat162{});
}
