// Arithmetic and conversions in each rounding mode.
#include "kernel.cuh"

KERNEL(r_rn) {
  f[0] = __fadd_rn(f[1], f[2]);
  f[1] = __fmul_rn(f[1], f[2]);
  f[2] = __fmaf_rn(f[1], f[2], f[3]);
  f[3] = __fdiv_rn(f[1], f[2]);
  f[4] = __fsqrt_rn(f[1]);
  f[5] = __frcp_rn(f[1]);
  d[0] = __dadd_rn(d[1], d[2]);
  d[1] = __dmul_rn(d[1], d[2]);
  d[2] = __fma_rn(d[1], d[2], d[3]);
  d[3] = __ddiv_rn(d[1], d[2]);
  d[4] = __dsqrt_rn(d[1]);
  d[5] = __drcp_rn(d[1]);
  f[6] = __fsub_rn(f[1], f[2]);
}

KERNEL(c_rn) {
  p[0] = __float2int_rn(f[0]);
  u[0] = __float2uint_rn(f[1]);
  l[0] = __float2ll_rn(f[2]);
  q[0] = __float2ull_rn(f[3]);
  f[0] = __int2float_rn(p[0]);
  f[1] = __ll2float_rn(l[0]);
  f[2] = __ull2float_rn(q[1]);
  d[0] = __ll2double_rn(l[0]);
  p[1] = __double2int_rn(d[1]);
  l[1] = __double2ll_rn(d[2]);
  f[4] = __double2float_rn(d[3]);
  u[4] = __double2uint_rn(d[0]);
  q[3] = __double2ull_rn(d[0]);
  d[3] = __ull2double_rn(q[1]);
  f[7] = __uint2float_rn(u[7]);
}

KERNEL(r_rz) {
  f[0] = __fadd_rz(f[1], f[2]);
  f[1] = __fmul_rz(f[1], f[2]);
  f[2] = __fmaf_rz(f[1], f[2], f[3]);
  f[3] = __fdiv_rz(f[1], f[2]);
  f[4] = __fsqrt_rz(f[1]);
  f[5] = __frcp_rz(f[1]);
  d[0] = __dadd_rz(d[1], d[2]);
  d[1] = __dmul_rz(d[1], d[2]);
  d[2] = __fma_rz(d[1], d[2], d[3]);
  d[3] = __ddiv_rz(d[1], d[2]);
  d[4] = __dsqrt_rz(d[1]);
  d[5] = __drcp_rz(d[1]);
  f[6] = __fsub_rz(f[1], f[2]);
}

KERNEL(c_rz) {
  p[0] = __float2int_rz(f[0]);
  u[0] = __float2uint_rz(f[1]);
  l[0] = __float2ll_rz(f[2]);
  q[0] = __float2ull_rz(f[3]);
  f[0] = __int2float_rz(p[0]);
  f[1] = __ll2float_rz(l[0]);
  f[2] = __ull2float_rz(q[1]);
  d[0] = __ll2double_rz(l[0]);
  p[1] = __double2int_rz(d[1]);
  l[1] = __double2ll_rz(d[2]);
  f[4] = __double2float_rz(d[3]);
  u[4] = __double2uint_rz(d[0]);
  q[3] = __double2ull_rz(d[0]);
  d[3] = __ull2double_rz(q[1]);
  f[7] = __uint2float_rz(u[7]);
}

KERNEL(r_ru) {
  f[0] = __fadd_ru(f[1], f[2]);
  f[1] = __fmul_ru(f[1], f[2]);
  f[2] = __fmaf_ru(f[1], f[2], f[3]);
  f[3] = __fdiv_ru(f[1], f[2]);
  f[4] = __fsqrt_ru(f[1]);
  f[5] = __frcp_ru(f[1]);
  d[0] = __dadd_ru(d[1], d[2]);
  d[1] = __dmul_ru(d[1], d[2]);
  d[2] = __fma_ru(d[1], d[2], d[3]);
  d[3] = __ddiv_ru(d[1], d[2]);
  d[4] = __dsqrt_ru(d[1]);
  d[5] = __drcp_ru(d[1]);
  f[6] = __fsub_ru(f[1], f[2]);
}

KERNEL(c_ru) {
  p[0] = __float2int_ru(f[0]);
  u[0] = __float2uint_ru(f[1]);
  l[0] = __float2ll_ru(f[2]);
  q[0] = __float2ull_ru(f[3]);
  f[0] = __int2float_ru(p[0]);
  f[1] = __ll2float_ru(l[0]);
  f[2] = __ull2float_ru(q[1]);
  d[0] = __ll2double_ru(l[0]);
  p[1] = __double2int_ru(d[1]);
  l[1] = __double2ll_ru(d[2]);
  f[4] = __double2float_ru(d[3]);
  u[4] = __double2uint_ru(d[0]);
  q[3] = __double2ull_ru(d[0]);
  d[3] = __ull2double_ru(q[1]);
  f[7] = __uint2float_ru(u[7]);
}

KERNEL(r_rd) {
  f[0] = __fadd_rd(f[1], f[2]);
  f[1] = __fmul_rd(f[1], f[2]);
  f[2] = __fmaf_rd(f[1], f[2], f[3]);
  f[3] = __fdiv_rd(f[1], f[2]);
  f[4] = __fsqrt_rd(f[1]);
  f[5] = __frcp_rd(f[1]);
  d[0] = __dadd_rd(d[1], d[2]);
  d[1] = __dmul_rd(d[1], d[2]);
  d[2] = __fma_rd(d[1], d[2], d[3]);
  d[3] = __ddiv_rd(d[1], d[2]);
  d[4] = __dsqrt_rd(d[1]);
  d[5] = __drcp_rd(d[1]);
  f[6] = __fsub_rd(f[1], f[2]);
}

KERNEL(c_rd) {
  p[0] = __float2int_rd(f[0]);
  u[0] = __float2uint_rd(f[1]);
  l[0] = __float2ll_rd(f[2]);
  q[0] = __float2ull_rd(f[3]);
  f[0] = __int2float_rd(p[0]);
  f[1] = __ll2float_rd(l[0]);
  f[2] = __ull2float_rd(q[1]);
  d[0] = __ll2double_rd(l[0]);
  p[1] = __double2int_rd(d[1]);
  l[1] = __double2ll_rd(d[2]);
  f[4] = __double2float_rd(d[3]);
  u[4] = __double2uint_rd(d[0]);
  q[3] = __double2ull_rd(d[0]);
  d[3] = __ull2double_rd(q[1]);
  f[7] = __uint2float_rd(u[7]);
}
