// Tensor cores.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

#include "kernel.cuh"

KERNEL(wmma16) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __half, row_major> a;
  fragment<matrix_b, 16, 16, 16, __half, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  load_matrix_sync(a, (__half*)f, 16);
  load_matrix_sync(b, (__half*)f, 16);
  fill_fragment(c, 0.f);
  mma_sync(c, a, b, c);
  store_matrix_sync(f + 512, c, 16, mem_row_major);
}

KERNEL(wmmah) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 32, 8, 16, __half, col_major> a;
  fragment<matrix_b, 32, 8, 16, __half, row_major> b;
  fragment<accumulator, 32, 8, 16, __half> c;
  load_matrix_sync(a, (__half*)f, 32);
  load_matrix_sync(b, (__half*)f, 16);
  load_matrix_sync(c, (__half*)f, 8, mem_row_major);
  mma_sync(c, a, b, c);
  store_matrix_sync((__half*)f + 1024, c, 8, mem_row_major);
}

KERNEL(wmmabf) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> a;
  fragment<matrix_b, 16, 16, 16, __nv_bfloat16, col_major> b;
  fragment<accumulator, 16, 16, 16, float> c;
  load_matrix_sync(a, (__nv_bfloat16*)f, 16);
  load_matrix_sync(b, (__nv_bfloat16*)f, 16);
  fill_fragment(c, 0.f);
  mma_sync(c, a, b, c);
  store_matrix_sync(f + 512, c, 16, mem_row_major);
}

KERNEL(wmmai) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 16, signed char, row_major> a;
  fragment<matrix_b, 16, 16, 16, signed char, col_major> b;
  fragment<accumulator, 16, 16, 16, int> c;
  load_matrix_sync(a, (signed char*)f, 16);
  load_matrix_sync(b, (signed char*)f, 16);
  fill_fragment(c, 0);
  mma_sync(c, a, b, c);
  store_matrix_sync(p + 512, c, 16, mem_row_major);
}

KERNEL(wmmatf) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 16, 16, 8, precision::tf32, row_major> a;
  fragment<matrix_b, 16, 16, 8, precision::tf32, col_major> b;
  fragment<accumulator, 16, 16, 8, float> c;
  load_matrix_sync(a, f, 16);
  load_matrix_sync(b, f, 16);
  fill_fragment(c, 0.f);
  mma_sync(c, a, b, c);
  store_matrix_sync(f + 512, c, 16, mem_row_major);
}

KERNEL(mmaf8) {
  asm volatile("mma.sync.aligned.m16n8k32.row.col.f32.e4m3.e4m3.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
               : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(u[4]), "r"(u[5]));
}

KERNEL(mmad) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0,%1},{%2},{%3},{%0,%1};"
               : "+d"(d[0]), "+d"(d[1])
               : "d"(d[2]), "d"(d[3]));
}

KERNEL(mma4) {
  asm volatile("mma.sync.aligned.m16n8k64.row.col.s32.s4.s4.s32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+r"(p[0]), "+r"(p[1]), "+r"(p[2]), "+r"(p[3])
               : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(u[4]), "r"(u[5]));
}

KERNEL(mma1688) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3},{%4,%5,%6,%7},{%8,%9},{%0,%1,%2,%3};"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])
               : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(u[4]), "r"(u[5]));
}

KERNEL(ldmatrix) {
  __shared__ __half s[512];
  unsigned a = __cvta_generic_to_shared(s + threadIdx.x * 8), r0, r1, r2, r3;
  s[threadIdx.x * 8] = __half(1.f);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0,%1,%2,%3},[%4];"
               : "=r"(r0), "=r"(r1), "=r"(r2), "=r"(r3)
               : "r"(a));
  u[0] = r0 + r1 + r2 + r3;
  asm volatile("ldmatrix.sync.aligned.m8n8.x1.shared.b16 {%0},[%1];" : "=r"(r0) : "r"(a));
  u[1] = r0;
  asm volatile("stmatrix.sync.aligned.m8n8.x1.shared.b16 [%1],{%0};" ::"r"(r0), "r"(a));
  asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0,%1;" : "=r"(r1) : "r"(r0));
  u[2] = r1;
}
