// Functions of double precision.
#include "kernel.cuh"

KERNEL(acos) { d[0] = acos(d[1]); }

KERNEL(acosh) { d[0] = acosh(d[1]); }

KERNEL(asin) { d[0] = asin(d[1]); }

KERNEL(asinh) { d[0] = asinh(d[1]); }

KERNEL(atan) { d[0] = atan(d[1]); }

KERNEL(atanh) { d[0] = atanh(d[1]); }

KERNEL(cbrt) { d[0] = cbrt(d[1]); }

KERNEL(ceil) { d[0] = ceil(d[1]); }

KERNEL(cos) { d[0] = cos(d[1]); }

KERNEL(cosh) { d[0] = cosh(d[1]); }

KERNEL(cospi) { d[0] = cospi(d[1]); }

KERNEL(erf) { d[0] = erf(d[1]); }

KERNEL(erfc) { d[0] = erfc(d[1]); }

KERNEL(erfinv) { d[0] = erfinv(d[1]); }

KERNEL(erfcinv) { d[0] = erfcinv(d[1]); }

KERNEL(erfcx) { d[0] = erfcx(d[1]); }

KERNEL(exp) { d[0] = exp(d[1]); }

KERNEL(exp2) { d[0] = exp2(d[1]); }

KERNEL(exp10) { d[0] = exp10(d[1]); }

KERNEL(expm1) { d[0] = expm1(d[1]); }

KERNEL(fabs) { d[0] = fabs(d[1]); }

KERNEL(floor) { d[0] = floor(d[1]); }

KERNEL(lgamma) { d[0] = lgamma(d[1]); }

KERNEL(log) { d[0] = log(d[1]); }

KERNEL(log10) { d[0] = log10(d[1]); }

KERNEL(log1p) { d[0] = log1p(d[1]); }

KERNEL(log2) { d[0] = log2(d[1]); }

KERNEL(logb) { d[0] = logb(d[1]); }

KERNEL(nearbyint) { d[0] = nearbyint(d[1]); }

KERNEL(normcdf) { d[0] = normcdf(d[1]); }

KERNEL(normcdfinv) { d[0] = normcdfinv(d[1]); }

KERNEL(rcbrt) { d[0] = rcbrt(d[1]); }

KERNEL(rint) { d[0] = rint(d[1]); }

KERNEL(round) { d[0] = round(d[1]); }

KERNEL(rsqrt) { d[0] = rsqrt(d[1]); }

KERNEL(sin) { d[0] = sin(d[1]); }

KERNEL(sinh) { d[0] = sinh(d[1]); }

KERNEL(sinpi) { d[0] = sinpi(d[1]); }

KERNEL(sqrt) { d[0] = sqrt(d[1]); }

KERNEL(tan) { d[0] = tan(d[1]); }

KERNEL(tanh) { d[0] = tanh(d[1]); }

KERNEL(tgamma) { d[0] = tgamma(d[1]); }

KERNEL(trunc) { d[0] = trunc(d[1]); }

KERNEL(j0) { d[0] = j0(d[1]); }

KERNEL(j1) { d[0] = j1(d[1]); }

KERNEL(y0) { d[0] = y0(d[1]); }

KERNEL(y1) { d[0] = y1(d[1]); }

KERNEL(atan2) { d[0] = atan2(d[1], d[2]); }

KERNEL(copysign) { d[0] = copysign(d[1], d[2]); }

KERNEL(fdim) { d[0] = fdim(d[1], d[2]); }

KERNEL(fmax) { d[0] = fmax(d[1], d[2]); }

KERNEL(fmin) { d[0] = fmin(d[1], d[2]); }

KERNEL(fmod) { d[0] = fmod(d[1], d[2]); }

KERNEL(hypot) { d[0] = hypot(d[1], d[2]); }

KERNEL(nextafter) { d[0] = nextafter(d[1], d[2]); }

KERNEL(pow) { d[0] = pow(d[1], d[2]); }

KERNEL(remainder) { d[0] = remainder(d[1], d[2]); }

KERNEL(rhypot) { d[0] = rhypot(d[1], d[2]); }
