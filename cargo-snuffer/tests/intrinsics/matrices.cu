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

KERNEL(wmma8) {
  using namespace nvcuda::wmma;
  __shared__ __align__(32) unsigned char s[1024];
  __shared__ __align__(32) int t[256];
  fragment<matrix_a, 8, 32, 16, unsigned char, col_major> a;
  fragment<matrix_b, 8, 32, 16, unsigned char, row_major> b;
  fragment<accumulator, 8, 32, 16, int> c;
  s[threadIdx.x] = threadIdx.x;
  load_matrix_sync(a, s, 16);
  load_matrix_sync(b, s, 32);
  load_matrix_sync(c, t, 32, mem_row_major);
  mma_sync(c, a, b, c, true);
  store_matrix_sync(t, c, 8, mem_col_major);
  p[threadIdx.x] = t[threadIdx.x];
}

KERNEL(wmma4) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 8, 8, 32, experimental::precision::s4, row_major> a;
  fragment<matrix_b, 8, 8, 32, experimental::precision::s4, col_major> b;
  fragment<accumulator, 8, 8, 32, int> c;
  load_matrix_sync(a, p, 32);
  load_matrix_sync(b, p, 32);
  fill_fragment(c, 0);
  mma_sync(c, a, b, c);
  store_matrix_sync(p + 512, c, 8, mem_row_major);
}

KERNEL(wmma1) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 8, 8, 128, experimental::precision::b1, row_major> a;
  fragment<matrix_b, 8, 8, 128, experimental::precision::b1, col_major> b;
  fragment<accumulator, 8, 8, 128, int> c;
  load_matrix_sync(a, p, 128);
  load_matrix_sync(b, p, 128);
  fill_fragment(c, 0);
  bmma_sync(c, a, b, c);
  bmma_sync(c, a, b, c, experimental::bmmaBitOpAND);
  store_matrix_sync(p + 512, c, 8, mem_row_major);
}

KERNEL(wmmad) {
  using namespace nvcuda::wmma;
  fragment<matrix_a, 8, 8, 4, double, row_major> a;
  fragment<matrix_b, 8, 8, 4, double, col_major> b;
  fragment<accumulator, 8, 8, 4, double> c;
  load_matrix_sync(a, d, 4);
  load_matrix_sync(b, d, 4);
  load_matrix_sync(c, d, 8, mem_col_major);
  mma_sync(c, a, b, c);
  store_matrix_sync(d + 512, c, 8, mem_row_major);
}

// One, two or four registers of `a`, and as many of `b`, on sums of two or four integers or floats.
#define INTEGERS(name, form, a, b, c)                                                                  \
  KERNEL(name) {                                                                                       \
    asm volatile(form " " c "," a "," b "," c ";"                                                      \
                 : "+r"(p[0]), "+r"(p[1]), "+r"(p[2]), "+r"(p[3])                                      \
                 : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(u[4]), "r"(u[5]));                  \
  }
#define FLOATS(name, form, a, b)                                                                       \
  KERNEL(name) {                                                                                       \
    asm volatile(form " {%0,%1,%2,%3}," a "," b ",{%0,%1,%2,%3};"                                      \
                 : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3])                                      \
                 : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(u[4]), "r"(u[5]));                  \
  }
#define DOUBLES(name, form, a, b)                                                                      \
  KERNEL(name) {                                                                                       \
    asm volatile(form " {%0,%1,%2,%3}," a "," b ",{%0,%1,%2,%3};"                                      \
                 : "+d"(d[0]), "+d"(d[1]), "+d"(d[2]), "+d"(d[3])                                      \
                 : "d"(d[4]), "d"(d[5]), "d"(d[6]), "d"(d[7]), "d"(d[8]), "d"(d[9]), "d"(d[10]), "d"(d[11]), \
                   "d"(d[12]), "d"(d[13]), "d"(d[14]), "d"(d[15]));                                    \
  }

INTEGERS(mma8816, "mma.sync.aligned.m8n8k16.row.col.s32.s8.u8.s32", "{%4}", "{%8}", "{%0,%1}")
INTEGERS(mma16816s8, "mma.sync.aligned.m16n8k16.row.col.s32.u8.s8.s32", "{%4,%5}", "{%8}", "{%0,%1,%2,%3}")
INTEGERS(mma16832s8, "mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.s8.s32", "{%4,%5,%6,%7}", "{%8,%9}", "{%0,%1,%2,%3}")
INTEGERS(mma8832, "mma.sync.aligned.m8n8k32.row.col.satfinite.s32.s4.u4.s32", "{%4}", "{%8}", "{%0,%1}")
INTEGERS(mma16832s4, "mma.sync.aligned.m16n8k32.row.col.s32.u4.u4.s32", "{%4,%5}", "{%8}", "{%0,%1,%2,%3}")
INTEGERS(mma88128, "mma.sync.aligned.m8n8k128.row.col.s32.b1.b1.s32.xor.popc", "{%4}", "{%8}", "{%0,%1}")
INTEGERS(mma168128, "mma.sync.aligned.m16n8k128.row.col.s32.b1.b1.s32.and.popc", "{%4,%5}", "{%8}", "{%0,%1,%2,%3}")
INTEGERS(mma168256, "mma.sync.aligned.m16n8k256.row.col.s32.b1.b1.s32.and.popc", "{%4,%5,%6,%7}", "{%8,%9}", "{%0,%1,%2,%3}")
// Two halves of the sums in each integer.
INTEGERS(mma884h, "mma.sync.aligned.m8n8k4.col.row.f16.f16.f16.f16", "{%4,%5}", "{%8,%9}", "{%0,%1,%2,%3}")
INTEGERS(mma1688h, "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16", "{%4,%5}", "{%8}", "{%0,%1}")
INTEGERS(mma16816h, "mma.sync.aligned.m16n8k16.row.col.f16.f16.f16.f16", "{%4,%5,%6,%7}", "{%8,%9}", "{%0,%1}")
INTEGERS(mma16816f8h, "mma.sync.aligned.m16n8k16.row.col.f16.e5m2.e4m3.f16", "{%4,%5}", "{%8}", "{%0,%1}")
FLOATS(mma1688f16, "mma.sync.aligned.m16n8k8.row.col.f32.f16.f16.f32", "{%4,%5}", "{%8}")
FLOATS(mma16816f16, "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "{%4,%5,%6,%7}", "{%8,%9}")
FLOATS(mma1688bf, "mma.sync.aligned.m16n8k8.row.col.f32.bf16.bf16.f32", "{%4,%5}", "{%8}")
FLOATS(mma16816bf, "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32", "{%4,%5,%6,%7}", "{%8,%9}")
FLOATS(mma1684, "mma.sync.aligned.m16n8k4.row.col.f32.tf32.tf32.f32", "{%4,%5}", "{%8}")
FLOATS(mma16816f8, "mma.sync.aligned.m16n8k16.row.col.f32.e4m3.e5m2.f32", "{%4,%5}", "{%8}")
DOUBLES(mma1684d, "mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64", "{%4,%5}", "{%12}")
DOUBLES(mma1688d, "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64", "{%4,%5,%6,%7}", "{%12,%13}")
DOUBLES(mma16816d, "mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64", "{%4,%5,%6,%7,%8,%9,%10,%11}", "{%12,%13,%14,%15}")

KERNEL(mma884) {
  asm volatile("mma.sync.aligned.m8n8k4.row.col.f32.f16.f16.f32 {%0,%1,%2,%3,%4,%5,%6,%7},{%8,%9},{%10,%11},{%0,%1,%2,%3,%4,%5,%6,%7};"
               : "+f"(f[0]), "+f"(f[1]), "+f"(f[2]), "+f"(f[3]), "+f"(f[4]), "+f"(f[5]), "+f"(f[6]), "+f"(f[7])
               : "r"(u[0]), "r"(u[1]), "r"(u[2]), "r"(u[3]));
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

KERNEL(ldmatrix2) {
  __shared__ __align__(16) __half s[512];
  unsigned a = __cvta_generic_to_shared(s + threadIdx.x * 8), r0, r1;
  s[threadIdx.x * 8] = __half(1.f);
  asm volatile("ldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%0,%1},[%2];" : "=r"(r0), "=r"(r1) : "r"(a));
  asm volatile("stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [%2],{%0,%1};" ::"r"(r0), "r"(r1), "r"(a));
  asm volatile("stmatrix.sync.aligned.m8n8.x4.b16 [%2],{%0,%1,%0,%1};" ::"r"(r0), "r"(r1), "l"(s + threadIdx.x * 8));
  u[0] = r0 + r1;
}
