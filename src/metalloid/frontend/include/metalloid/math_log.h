// Logarithms: x = m * 2^e with m near 1, a polynomial for log(m), and e times a constant; then the inverse hyperbolics.
#pragma once
#include "math_exp.h"

__MT_STRICT_BEGIN
namespace __mt_math {

// x = (1 + f) * 2^e with sqrt(1/2) <= 1 + f < sqrt(2), for normal and denormal x > 0.
struct NearOne {
  float f;
  int e;
};
inline NearOne near_one(float x) {
  bool tiny = x < 0x1p-126f;
  uint u = bits(tiny ? x * 0x1p24f : x) - 0x3f3504f3;
  int e = (int(u) >> 23) - (tiny ? 24 : 0);
  return {from_bits((u & 0x7fffff) + 0x3f3504f3) - 1.0f, e};
}

inline float log_edges(float x, float result) {
  result = x < __MT_INF ? result : x;
  return x > 0 ? result : x == 0 ? -__MT_INF : __MT_NAN;
}

inline float log_of_near_one(float f, float e) {
  float p = poly(f, 0x1.555554p-2f, -0x1.000226p-2f, 0x1.99a01cp-3f, -0x1.54728ap-3f, 0x1.22d93p-3f,
                 -0x1.0d8246p-3f, 0x1.055eaep-3f, -0x1.38c974p-4f);
  float t = f * f * f * p;
  t = fused(e, __MT_LN2_LO, t);
  t = fused(-0.5f * f, f, t);
  return fused(e, __MT_LN2_HI, f + t);
}

inline float log(float x) {
  NearOne n = near_one(x);
  return log_edges(x, log_of_near_one(n.f, float(n.e)));
}
inline float log2(float x) {
  NearOne n = near_one(x);
  float p = poly(n.f, 0x1.715476p+0f, -0x1.715476p-1f, 0x1.ec7208p-2f, -0x1.7156c8p-2f, 0x1.2739aep-2f,
                 -0x1.eb16fcp-3f, 0x1.abb54cp-3f, -0x1.8bd9fp-3f, 0x1.4eff96p-3f, -0x1.47af7p-4f);
  return log_edges(x, fused(n.f, p, float(n.e)));
}
inline float log10(float x) {
  NearOne n = near_one(x);
  float p = poly(n.f, 0x1.bcb7b2p-2f, -0x1.bcb7b2p-3f, 0x1.2878eep-3f, -0x1.bcb65ep-4f, 0x1.645474p-4f,
                 -0x1.28b1a2p-4f, 0x1.e9e97ap-5f, -0x1.b5d55p-5f, 0x1.05b8ep-4f, -0x1.a199b8p-5f);
  float e = float(n.e);
  return log_edges(x, fused(e, 0x1.344136p-2f, fused(e, -0x1.ec10c0p-27f, n.f * p)));
}

// log(1 + u) for 0 <= u < 2^100 and -1 < u <= 0: what 1 + u rounds away is added to f.
inline float log_one_plus(float u) {
  float w = 1.0f + u;
  float lost = absolute(u) < 1.0f ? u - (w - 1.0f) : 1.0f - (w - u);
  NearOne n = near_one(w);
  return log_of_near_one(fused(lost, power_of_two(-n.e), n.f), float(n.e));
}

inline float asinh(float x) {
  float a = absolute(x);
  float s = a * a;
  float small = log_one_plus(a < 0x1p20f ? a + s / (1.0f + __builtin_elementwise_sqrt(1.0f + s)) : 0.0f);
  small = a < 0x1p-12f ? a : small;
  float large = log(a) + __MT_LN2_HI;
  return with_sign(a < 0x1p20f ? small : large, x);
}
inline float acosh(float x) {
  float t = x - 1.0f;
  float small = log_one_plus(x < 0x1p20f ? t + __builtin_elementwise_sqrt(t * (t + 2.0f)) : 0.0f);
  float large = log(x) + __MT_LN2_HI;
  return x < 1.0f ? __MT_NAN : x < 0x1p20f ? small : large;
}
inline float atanh(float x) {
  float a = absolute(x);
  float u = (a + a) / (1.0f - a);
  float r = a < 0x1p-12f ? a : 0.5f * log_one_plus(u);
  r = a < 1.0f ? r : a == 1.0f ? __MT_INF : __MT_NAN;
  return with_sign(r, x);
}
}  // namespace __mt_math
__MT_STRICT_END
