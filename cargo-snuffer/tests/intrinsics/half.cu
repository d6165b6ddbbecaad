// Half precision and 8-bit floats.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "kernel.cuh"

__device__ __half h2div0(__half a, __half b) { return __hdiv(a, b); }

KERNEL(half1) {
  __half* h = (__half*)f;
  h[0] = __hadd(h[1], h[2]);
  h[1] = __hfma(h[1], h[2], h[3]);
  h[2] = h2div0(h[1], h[2]);
  h[3] = hexp(h[1]);
  h[4] = hlog(h[1]);
  h[5] = hsqrt(h[1]);
  h[6] = __hmax(h[1], h[2]);
  h[7] = __hmin_nan(h[1], h[2]);
  h[8] = hrcp(h[1]);
  h[9] = hsin(h[1]);
  h[10] = __hadd_sat(h[1], h[2]);
  h[11] = hceil(h[1]);
  h[12] = hrint(h[1]);
  h[13] = htrunc(h[1]);
  h[14] = __hfma_relu(h[1], h[2], h[3]);
  h[15] = htanh(h[1]);
  h[16] = hexp2(h[1]);
  h[17] = htanh_approx(h[2]);
}

KERNEL(half2) {
  __half2* h = (__half2*)f;
  h[0] = __hadd2(h[1], h[2]);
  h[1] = __hfma2(h[1], h[2], h[3]);
  h[2] = __h2div(h[1], h[2]);
  h[3] = h2exp(h[1]);
  h[4] = __hmax2(h[1], h[2]);
  h[5] = __heq2(h[1], h[2]);
  h[6] = __hneg2(h[1]);
  h[7] = __habs2(h[1]);
  h[8] = __lowhigh2highlow(h[1]);
  p[0] = __hbeq2(h[1], h[2]);
  h[9] = __hfma2_sat(h[1], h[2], h[3]);
  h[10] = __hmul2_sat(h[1], h[2]);
  h[11] = __hcmadd(h[1], h[2], h[3]);
  u[20] = __hgt2_mask(h[1], h[2]);
}

KERNEL(halfcvt) {
  __half* h = (__half*)f;
  p[0] = __half2int_rz(h[1]);
  h[0] = __float2half_rd(f[3]);
  h[1] = __int2half_ru(p[1]);
  l[0] = __half2ll_rn(h[2]);
  h[3] = __double2half(d[0]);
  h[4] = __ushort2half_rz((unsigned short)u[0]);
  u[1] = __half2ushort_rd(h[5]);
  h[6] = __ull2half_rn(q[1]);
  ((signed char*)p)[9] = __half2char_rz(h[1]);
}

KERNEL(bf1) {
  __nv_bfloat16* h = (__nv_bfloat16*)f;
  h[0] = __hadd(h[1], h[2]);
  h[1] = __hfma(h[1], h[2], h[3]);
  h[2] = __hdiv(h[1], h[2]);
  h[3] = hexp(h[1]);
  h[4] = __hmax(h[1], h[2]);
  h[5] = __hmul_sat(h[1], h[2]);
  h[6] = __float2bfloat16_ru(f[9]);
  p[0] = __bfloat162int_rz(h[1]);
  h[7] = __hfma_relu(h[1], h[2], h[3]);
  h[8] = __hmax_nan(h[1], h[2]);
  h[9] = htanh_approx(h[2]);
  h[10] = hexp2(h[1]);
}

KERNEL(bf2) {
  __nv_bfloat162* h = (__nv_bfloat162*)f;
  h[0] = __hadd2(h[1], h[2]);
  h[1] = __hfma2(h[1], h[2], h[3]);
  h[3] = __floats2bfloat162_rn(f[20], f[21]);
  h[4] = __hmax2(h[1], h[2]);
  h[5] = __hlt2(h[1], h[2]);
  h[6] = __hsub2(h[1], h[2]);
  h[7] = __hneg2(h[1]);
}

KERNEL(fp8) {
  __nv_fp8_e4m3 a(f[0]);
  __nv_fp8_e5m2 b(f[1]);
  f[2] = float(a) + float(b);
  __nv_fp8x2_e4m3 c(((float2*)f)[2]);
  f[3] = float2(c).x;
}
