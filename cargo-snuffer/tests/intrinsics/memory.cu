// Loads, stores and address spaces.
#include "kernel.cuh"

KERNEL(ldcache) {
  f[0] = __ldg(f + 1);
  f[1] = __ldcg(f + 2);
  f[2] = __ldca(f + 3);
  f[3] = __ldcs(f + 4);
  f[4] = __ldlu(f + 5);
  f[5] = __ldcv(f + 6);
  __stwb(f, 1.f);
  __stcg(f + 1, 1.f);
  __stcs(f + 2, 1.f);
  __stwt(f + 3, 1.f);
  ((float4*)f)[1] = __ldg((float4*)f + 2);
  ((int2*)p)[0] = __ldcg((int2*)p + 1);
}

KERNEL(vec) {
  ((float4*)f)[0] = ((float4*)f)[1];
  ((uchar4*)u)[0] = ((uchar4*)u)[1];
  ((short2*)u)[2] = ((short2*)u)[3];
  ((double2*)d)[0] = ((double2*)d)[1];
  ((ulonglong2*)q)[1] = ((ulonglong2*)q)[0];
}

KERNEL(prefetch) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(f));
  asm volatile("prefetch.global.L1 [%0];" ::"l"(f));
}

KERNEL(space) {
  p[0] = __isGlobal(f);
  p[1] = __isShared(f);
  p[2] = __isLocal(f);
  p[3] = __isConstant(f);
  q[0] = __cvta_generic_to_global(f);
  __shared__ int s;
  s = 1;
  q[1] = __cvta_generic_to_shared(&s);
}

KERNEL(alloca) {
  int a[64];
  for (int i = 0; i < 64; i++) a[i] = p[i % 4];
  p[0] = a[u[0] % 64];
}

KERNEL(memops) {
  memcpy(p, u, 64);
  memset(f, 0, 32);
}

__constant__ int table_c[4] = {1, 2, 3, 4};

KERNEL(constant) { p[0] = table_c[p[1] & 3]; }

KERNEL(selp) {
  f[0] = p[0] > 1 ? f[1] : f[2];
  d[0] = p[1] ? d[1] : d[2];
  switch (p[0]) {
    case 0:
      p[1] = 3;
      break;
    case 1:
      p[1] = 5;
      break;
    case 2:
      p[1] = f[1];
      break;
    case 3:
      p[1] = 11;
      break;
    case 4:
      p[1] = p[3];
      break;
    case 5:
      p[2] = 1;
      break;
    case 6:
      p[3] = 4;
      break;
    default:
      p[1] = 1;
  }
}
