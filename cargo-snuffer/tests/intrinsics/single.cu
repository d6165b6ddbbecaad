// Functions of single precision.
#include "kernel.cuh"

KERNEL(acosf) { f[0] = acosf(f[1]); }

KERNEL(acoshf) { f[0] = acoshf(f[1]); }

KERNEL(asinf) { f[0] = asinf(f[1]); }

KERNEL(asinhf) { f[0] = asinhf(f[1]); }

KERNEL(atanf) { f[0] = atanf(f[1]); }

KERNEL(atanhf) { f[0] = atanhf(f[1]); }

KERNEL(cbrtf) { f[0] = cbrtf(f[1]); }

KERNEL(ceilf) { f[0] = ceilf(f[1]); }

KERNEL(cosf) { f[0] = cosf(f[1]); }

KERNEL(coshf) { f[0] = coshf(f[1]); }

KERNEL(cospif) { f[0] = cospif(f[1]); }

KERNEL(erff) { f[0] = erff(f[1]); }

KERNEL(erfcf) { f[0] = erfcf(f[1]); }

KERNEL(erfinvf) { f[0] = erfinvf(f[1]); }

KERNEL(erfcinvf) { f[0] = erfcinvf(f[1]); }

KERNEL(erfcxf) { f[0] = erfcxf(f[1]); }

KERNEL(expf) { f[0] = expf(f[1]); }

KERNEL(exp2f) { f[0] = exp2f(f[1]); }

KERNEL(exp10f) { f[0] = exp10f(f[1]); }

KERNEL(expm1f) { f[0] = expm1f(f[1]); }

KERNEL(fabsf) { f[0] = fabsf(f[1]); }

KERNEL(floorf) { f[0] = floorf(f[1]); }

KERNEL(lgammaf) { f[0] = lgammaf(f[1]); }

KERNEL(logf) { f[0] = logf(f[1]); }

KERNEL(log10f) { f[0] = log10f(f[1]); }

KERNEL(log1pf) { f[0] = log1pf(f[1]); }

KERNEL(log2f) { f[0] = log2f(f[1]); }

KERNEL(logbf) { f[0] = logbf(f[1]); }

KERNEL(nearbyintf) { f[0] = nearbyintf(f[1]); }

KERNEL(normcdff) { f[0] = normcdff(f[1]); }

KERNEL(normcdfinvf) { f[0] = normcdfinvf(f[1]); }

KERNEL(rcbrtf) { f[0] = rcbrtf(f[1]); }

KERNEL(rintf) { f[0] = rintf(f[1]); }

KERNEL(roundf) { f[0] = roundf(f[1]); }

KERNEL(rsqrtf) { f[0] = rsqrtf(f[1]); }

KERNEL(sinf) { f[0] = sinf(f[1]); }

KERNEL(sinhf) { f[0] = sinhf(f[1]); }

KERNEL(sinpif) { f[0] = sinpif(f[1]); }

KERNEL(sqrtf) { f[0] = sqrtf(f[1]); }

KERNEL(tanf) { f[0] = tanf(f[1]); }

KERNEL(tanhf) { f[0] = tanhf(f[1]); }

KERNEL(tgammaf) { f[0] = tgammaf(f[1]); }

KERNEL(truncf) { f[0] = truncf(f[1]); }

KERNEL(j0f) { f[0] = j0f(f[1]); }

KERNEL(j1f) { f[0] = j1f(f[1]); }

KERNEL(y0f) { f[0] = y0f(f[1]); }

KERNEL(y1f) { f[0] = y1f(f[1]); }

KERNEL(cyl_bessel_i0f) { f[0] = cyl_bessel_i0f(f[1]); }

KERNEL(__expf) { f[0] = __expf(f[1]); }

KERNEL(__exp10f) { f[0] = __exp10f(f[1]); }

KERNEL(__logf) { f[0] = __logf(f[1]); }

KERNEL(__log2f) { f[0] = __log2f(f[1]); }

KERNEL(__log10f) { f[0] = __log10f(f[1]); }

KERNEL(__sinf) { f[0] = __sinf(f[1]); }

KERNEL(__cosf) { f[0] = __cosf(f[1]); }

KERNEL(__tanf) { f[0] = __tanf(f[1]); }

KERNEL(__tanhf) { f[0] = __tanhf(f[1]); }

KERNEL(__saturatef) { f[0] = __saturatef(f[1]); }

KERNEL(atan2f) { f[0] = atan2f(f[1], f[2]); }

KERNEL(copysignf) { f[0] = copysignf(f[1], f[2]); }

KERNEL(fdimf) { f[0] = fdimf(f[1], f[2]); }

KERNEL(fdividef) { f[0] = fdividef(f[1], f[2]); }

KERNEL(fmaxf) { f[0] = fmaxf(f[1], f[2]); }

KERNEL(fminf) { f[0] = fminf(f[1], f[2]); }

KERNEL(fmodf) { f[0] = fmodf(f[1], f[2]); }

KERNEL(hypotf) { f[0] = hypotf(f[1], f[2]); }

KERNEL(nextafterf) { f[0] = nextafterf(f[1], f[2]); }

KERNEL(powf) { f[0] = powf(f[1], f[2]); }

KERNEL(remainderf) { f[0] = remainderf(f[1], f[2]); }

KERNEL(rhypotf) { f[0] = rhypotf(f[1], f[2]); }

KERNEL(__fdividef) { f[0] = __fdividef(f[1], f[2]); }

KERNEL(__powf) { f[0] = __powf(f[1], f[2]); }

KERNEL(bits) {
  p[0] = __float_as_int(f[0]);
  l[0] = __double_as_longlong(d[0]);
  p[1] = __double2hiint(d[0]);
  p[2] = __double2loint(d[0]);
  d[1] = __hiloint2double(p[1], p[2]);
  f[1] = __uint_as_float(u[1]);
}

KERNEL(cls) {
  p[0] = isnan(f[0]) + isinf(f[1]) + signbit(f[2]) + isfinite(d[0]);
  p[1] = ilogbf(f[0]);
  f[3] = ldexpf(f[0], p[0]);
  f[1] = frexpf(f[0], p + 3);
  f[2] = modff(f[0], f + 4);
  f[5] = scalbnf(f[1], p[2]);
  l[0] = llrintf(f[0]);
  p[3] = lroundf(f[2]);
}

KERNEL(sincos) {
  sincosf(f[0], f + 1, f + 2);
  sincos(d[0], d + 1, d + 2);
  sincospif(f[0], f + 1, f + 2);
  __sincosf(f[0], f + 3, f + 4);
  f[5] = norm3df(f[0], f[1], f[2]);
  f[6] = remquof(f[0], f[1], p);
  f[7] = jnf(2, f[0]);
  f[8] = ynf(2, f[0]);
}

KERNEL(ftz) {
  f[0] = __fmaf_ieee_rn(f[0], f[1], f[2]);
  f[1] = f[1] / f[2];
  f[2] = sqrtf(f[1]);
}
