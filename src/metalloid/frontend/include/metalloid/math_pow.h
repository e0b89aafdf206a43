// pow, and rsqrt: the two that need more than a float's precision on the way.
#pragma once
#include "math_log.h"

__MT_STRICT_BEGIN
namespace __mt_math {

// A number held as high + low.
struct Pair {
  float high, low;
};
// |a| >= |b|, or a == 0.
inline Pair sum_of(float a, float b) {
  float s = a + b;
  return {s, (a - s) + b};
}
inline Pair product_of(float a, float b) {
  float p = a * b;
  return {p, fused(a, b, -p)};
}

// log2(x) to about 2^-29: the first three terms of log(1+f) = f - f^2/2 + f^3/3 - ... in pairs.
inline Pair log2_pair(float x) {
  NearOne n = near_one(x);
  float f = n.f;
  float tail = f * poly(f, -0x1.00000ap-2f, 0x1.999ebp-3f, -0x1.5556f8p-3f, 0x1.239cf2p-3f, -0x1.fd405ap-4f,
                        0x1.e2c2ecp-4f, -0x1.d6775cp-4f, 0x1.13c1d2p-4f);
  Pair third = sum_of(0x1.555556p-2f, tail);
  third.low += -0x1.555556p-27f;
  Pair square = product_of(f, f);
  Pair cube = product_of(f, square.high);
  cube.low = fused(f, square.low, cube.low);
  Pair high_terms = product_of(cube.high, third.high);
  high_terms.low = fused(cube.high, third.low, fused(cube.low, third.high, high_terms.low));
  Pair low_terms = sum_of(f, -0.5f * square.high);
  Pair ln = sum_of(low_terms.high, high_terms.high);
  ln.low += high_terms.low + fused(-0.5f, square.low, low_terms.low);
  Pair log2 = product_of(ln.high, 0x1.715476p+0f);
  log2.low = fused(ln.high, 0x1.4ae0c0p-26f, fused(ln.low, 0x1.715476p+0f, log2.low));
  Pair total = sum_of(float(n.e), log2.high);
  return {total.high, total.low + log2.low};
}

inline float pow(float x, float y) {
  float a = absolute(x);
  Pair l = log2_pair(a);
  Pair t = product_of(y, l.high);
  t.low = fused(y, l.low, t.low);
  bool moderate = absolute(t.high) < 160.0f;
  Nearest n = nearest(limited(t.high, -160.0f, 160.0f));
  float r = moderate ? (t.high - n.value) + t.low : 0.0f;
  float magnitude = scaled(exp2_of_reduced(r), n.integer);

  bool whole = __builtin_elementwise_trunc(y) == y;
  bool odd = whole && __builtin_elementwise_trunc(0.5f * y) != 0.5f * y;
  magnitude = a == 0 || a == __MT_INF ? ((y < 0) == (a == 0) ? __MT_INF : 0.0f) : magnitude;
  magnitude = a == 1.0f ? 1.0f : magnitude;
  float result = odd ? with_sign(magnitude, x) : magnitude;
  result = (x < 0 && !whole && a != __MT_INF) || is_nan(x) || is_nan(y) ? __MT_NAN : result;
  return x == 1.0f || y == 0 ? 1.0f : result;
}
inline float powr(float x, float y) { return x < 0 ? __MT_NAN : pow(x, y); }

inline float sqrt(float x) { return __builtin_elementwise_sqrt(x); }
inline float rsqrt_fast(float x) { return 1.0f / __builtin_elementwise_sqrt(x); }

// Correctly rounded: one step of Newton's iteration from 1/sqrt(x), with the residual 1 - x*y*y in full.
inline float rsqrt(float x) {
  bool small = x < 0x1p-60f, large = x > 0x1p60f;
  float s = x * (small ? 0x1p96f : large ? 0x1p-64f : 1.0f);
  float y = 1.0f / __builtin_elementwise_sqrt(s);
  Pair square = product_of(y, y);
  float residual = fused(-s, square.low, fused(-s, square.high, 1.0f));
  float better = fused(y * residual, fused(0.375f, residual, 0.5f), y);
  better *= small ? 0x1p48f : large ? 0x1p-32f : 1.0f;
  return x > 0 && x < __MT_INF ? better : y;
}
}  // namespace __mt_math
__MT_STRICT_END
