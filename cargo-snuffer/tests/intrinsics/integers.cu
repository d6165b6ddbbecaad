// Integer intrinsics.
#include "kernel.cuh"

KERNEL(brev) {
  u[0] = __brev(u[1]);
  q[0] = __brevll(q[1]);
}

KERNEL(byteperm) { u[0] = __byte_perm(u[1], u[2], u[3]); }

KERNEL(clz) {
  p[0] = __clz(p[1]);
  p[2] = __clzll(l[1]);
}

KERNEL(ffs) {
  p[0] = __ffs(p[1]);
  p[1] = __ffsll(l[1]);
}

KERNEL(funnel) {
  u[0] = __funnelshift_l(u[1], u[2], u[3]);
  u[1] = __funnelshift_lc(u[1], u[2], u[3]);
  u[2] = __funnelshift_r(u[1], u[2], u[3]);
  u[3] = __funnelshift_rc(u[1], u[2], u[3]);
}

KERNEL(hadd) {
  p[0] = __hadd(p[1], p[2]);
  p[3] = __rhadd(p[1], p[2]);
  u[0] = __uhadd(u[1], u[2]);
  u[3] = __urhadd(u[1], u[2]);
}

KERNEL(mul24) {
  p[0] = __mul24(p[1], p[2]);
  u[0] = __umul24(u[1], u[2]);
}

KERNEL(mulhi) {
  p[0] = __mulhi(p[1], p[2]);
  l[0] = __mul64hi(l[1], l[2]);
  u[0] = __umulhi(u[1], u[2]);
  q[0] = __umul64hi(q[1], q[2]);
}

KERNEL(popc) {
  p[0] = __popc(u[1]);
  p[1] = __popcll(q[1]);
}

KERNEL(sad) {
  u[0] = __sad(p[1], p[2], u[3]);
  u[1] = __usad(u[1], u[2], u[3]);
}

KERNEL(dp4a) {
  p[0] = __dp4a(p[1], p[2], p[3]);
  u[0] = __dp4a(u[1], u[2], u[3]);
}

KERNEL(dp2a) {
  p[0] = __dp2a_lo(p[1], p[2], p[3]);
  p[4] = __dp2a_hi(p[1], p[2], p[3]);
  u[0] = __dp2a_lo(u[1], u[2], u[3]);
  u[4] = __dp2a_hi(u[1], u[2], u[3]);
}

KERNEL(minmax) {
  p[0] = min(p[1], p[2]);
  u[0] = max(u[1], u[2]);
  l[0] = min(l[1], l[2]);
  q[0] = max(q[1], q[2]);
}

KERNEL(absl) {
  l[0] = llabs(l[1]);
  p[0] = abs(p[1]);
}

KERNEL(divs) {
  p[0] = p[1] / p[2];
  p[3] = p[1] % p[2];
  l[0] = l[1] / l[2];
  l[3] = l[1] % l[2];
  u[0] = u[1] / u[2];
  q[0] = q[1] % q[2];
}

KERNEL(shorts) {
  short* s = (short*)p;
  s[0] = s[1] / s[2];
  s[3] = s[1] * s[2] >> s[3];
}

KERNEL(i128) {
  __int128 a = l[0];
  a = a * l[1] + l[2];
  l[3] = a >> 64;
  l[4] = (long long)(a / l[5]);
}

KERNEL(vadd) {
  u[0] = __vadd4(u[1], u[2]);
  u[1] = __vaddss4(u[1], u[2]);
  u[2] = __vabsdiffs4(u[1], u[2]);
  u[3] = __vmaxs4(u[1], u[2]);
}

KERNEL(vcmp) {
  u[0] = __vcmpeq4(u[1], u[2]);
  u[1] = __vcmpgts2(u[1], u[2]);
  u[2] = __vsads4(u[1], u[2]);
  u[3] = __vavgu4(u[1], u[2]);
  u[4] = __viaddmax_s32(u[1], u[2], u[3]);
}

KERNEL(viadd) {
  u[0] = __viaddmax_s16x2(u[1], u[2], u[3]);
  u[1] = __vimax3_s32(u[1], u[2], u[3]);
  bool b, c;
  u[2] = __vibmax_s32(u[1], u[2], &b);
  u[3] = b;
}

KERNEL(bfe) {
  u[0] = (u[1] >> u[2]) & ((1u << u[3]) - 1);
  asm("bfe.u32 %0,%1,%2,%3;" : "=r"(u[4]) : "r"(u[1]), "r"(u[2]), "r"(u[3]));
  asm("bfi.b32 %0,%1,%2,%3,%4;" : "=r"(u[5]) : "r"(u[1]), "r"(u[2]), "r"(u[3]), "r"(u[4]));
  asm("bfind.u32 %0,%1;" : "=r"(u[6]) : "r"(u[1]));
  asm("lop3.b32 %0,%1,%2,%3,0x96;" : "=r"(u[7]) : "r"(u[1]), "r"(u[2]), "r"(u[3]));
  asm("szext.clamp.s32 %0,%1,%2;" : "=r"(p[7]) : "r"(p[1]), "r"(u[2]));
  asm("bmsk.clamp.b32 %0,%1,%2;" : "=r"(u[8]) : "r"(u[1]), "r"(u[2]));
  asm("fns.b32 %0,%1,%2,%3;" : "=r"(u[9]) : "r"(u[1]), "r"(u[2]), "r"(p[3]));
}

KERNEL(carry) {
  asm("add.cc.u32 %0,%2,%3;addc.u32 %1,%4,%5;" : "=r"(u[0]), "=r"(u[1]) : "r"(u[2]), "r"(u[3]), "r"(u[4]), "r"(u[5]));
  asm("mad.lo.cc.u32 %0,%2,%3,%4;madc.hi.u32 %1,%2,%3,%5;"
      : "=r"(u[0]), "=r"(u[1])
      : "r"(u[2]), "r"(u[3]), "r"(u[4]), "r"(u[5]));
  asm("sub.cc.u64 %0,%2,%3;subc.u64 %1,%4,%5;" : "=l"(q[0]), "=l"(q[1]) : "l"(q[2]), "l"(q[3]), "l"(q[4]), "l"(q[5]));
  asm("add.sat.s32 %0,%1,%2;" : "=r"(p[0]) : "r"(p[1]), "r"(p[2]));
  asm("sub.sat.s32 %0,%1,%2;" : "=r"(p[3]) : "r"(p[1]), "r"(p[2]));
  asm("mad.hi.sat.s32 %0,%1,%2,%3;" : "=r"(p[4]) : "r"(p[1]), "r"(p[2]), "r"(p[3]));
}
