// exp and its family: e^x = 2^n * e^r with |r| <= ln2 / 2, and a polynomial for e^r.
#pragma once
#include "math_bits.h"

__MT_STRICT_BEGIN
namespace __mt_math {

#define __MT_LN2_HI 0x1.62e430p-1f
#define __MT_LN2_LO -0x1.05c610p-29f

inline float exp_of_reduced(float r) {
  float p = poly(r, 0x1.0p-1f, 0x1.55549p-3f, 0x1.5554bep-5f, 0x1.123b2p-7f, 0x1.6d7ca6p-10f);
  return 1.0f + fused(r * r, p, r);
}
inline float exp2_of_reduced(float r) {
  float p = poly(r, 0x1.62e43p-1f, 0x1.ebfbep-3f, 0x1.c6af7ap-5f, 0x1.3b2a28p-7f, 0x1.5f096p-10f, 0x1.4447b8p-13f);
  return fused(r, p, 1.0f);
}
// Written so that NaN passes through.
inline float limited(float x, float low, float high) {
  x = x > high ? high : x;
  return x < low ? low : x;
}

// e^x * 2^shift
inline float exp_shifted(float x, int shift) {
  x = limited(x, -104.0f, 90.0f);
  Nearest n = nearest(x * 0x1.715476p+0f);
  float r = fused(n.value, -__MT_LN2_HI, x);
  r = fused(n.value, -__MT_LN2_LO, r);
  return scaled(exp_of_reduced(r), n.integer + shift);
}
inline float exp(float x) { return exp_shifted(x, 0); }

inline float exp2(float x) {
  x = limited(x, -151.0f, 129.0f);
  Nearest n = nearest(x);
  return scaled(exp2_of_reduced(x - n.value), n.integer);
}

// The rounding of x * log2(e) costs |x| / 2 ulp, which fast math allows.
inline float exp_fast(float x) { return exp2(x * 0x1.715476p+0f); }

inline float exp10(float x) {
  x = limited(x, -46.0f, 39.0f);
  Nearest n = nearest(x * 0x1.a934fp+1f);
  float r = fused(n.value, -0x1.344136p-2f, x);
  r = fused(n.value, 0x1.ec10c0p-27f, r);
  return scaled(exp_of_reduced(r * 0x1.26bb1cp+1f), n.integer);
}

inline float sinh(float x) {
  float a = absolute(x);
  float s = x * x;
  float p = poly(s, 0x1.555556p-3f, 0x1.1110ep-7f, 0x1.a022bcp-13f, 0x1.756c1ep-19f);
  float small = fused(x * s, p, x);
  float e = exp_shifted(a, -1);
  return a < 1.0f ? small : with_sign(e - 0.25f / e, x);
}
inline float cosh(float x) {
  float e = exp_shifted(absolute(x), -1);
  return e + 0.25f / e;
}
inline float tanh(float x) {
  float a = absolute(x);
  float s = a * a;
  float p = poly(s, -0x1.555554p-2f, 0x1.11107ap-3f, -0x1.b9f188p-5f, 0x1.63a55p-6f, -0x1.0c5edp-7f, 0x1.1a2818p-9f);
  float small = fused(a * s, p, a);
  float large = 1.0f - 2.0f / (exp_shifted(a + a, 0) + 1.0f);
  return with_sign(a < 0.625f ? small : large, x);
}
}  // namespace __mt_math
__MT_STRICT_END
