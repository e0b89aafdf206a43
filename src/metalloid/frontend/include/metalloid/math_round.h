// Rounding, remainders, and functions that take a float apart.
#pragma once
#include "math_bits.h"

__MT_STRICT_BEGIN
namespace __mt_math {

inline float ceil(float x) { return __builtin_elementwise_ceil(x); }
inline float floor(float x) { return __builtin_elementwise_floor(x); }
inline float trunc(float x) { return __builtin_elementwise_trunc(x); }
inline float rint(float x) { return __builtin_elementwise_rint(x); }
inline float round(float x) {  // halves away from zero
  float t = __builtin_elementwise_trunc(x);
  return absolute(x - t) >= 0.5f ? t + with_sign(1.0f, x) : t;
}
inline float fabs(float x) { return absolute(x); }
inline float copysign(float x, float y) { return with_sign(x, y); }
inline float divide(float x, float y) { return x / y; }
inline float fdim(float x, float y) { return x <= y ? 0.0f : x - y; }
inline float fma(float a, float b, float c) { return fused(a, b, c); }

// With a NaN, the other argument. The fast ones are a single instruction and do not look for NaN:
// of many, the greatest may be looked for in any order.
inline float fmin(float x, float y) { return __builtin_elementwise_minnum(x, y); }
inline float fmax(float x, float y) { return __builtin_elementwise_maxnum(x, y); }
inline float fmin_fast(float x, float y) { __MT_ANY_ORDER return y < x ? y : x; }
inline float fmax_fast(float x, float y) { __MT_ANY_ORDER return x < y ? y : x; }

inline float fract(float x) {
  float r = x - __builtin_elementwise_floor(x);
  r = r > 0x1.fffffep-1f ? 0x1.fffffep-1f : r;
  return absolute(x) == __MT_INF ? 0.0f : r;
}
// x - floor(x) can round up to 1 in 16 bits although it does not in a float.
inline float fract_half(float x) {
  float r = fract(x);
  return r > 0x1.ffcp-1f ? 0x1.ffcp-1f : r;
}
inline float fract_bfloat(float x) {
  float r = fract(x);
  return r > 0x1.fep-1f ? 0x1.fep-1f : r;
}

inline float modf(float x, float& whole) {
  whole = __builtin_elementwise_trunc(x);
  return with_sign(absolute(x) == __MT_INF ? 0.0f : x - whole, x);
}
inline float frexp(float x, int& exponent) {
  Binary b = binary(x);
  bool regular = x != 0 && is_finite(x);
  exponent = regular ? b.exponent + 1 : 0;
  return regular ? 0.5f * b.mantissa : x;
}
inline int ilogb(float x) {
  int e = binary(x).exponent;
  return x == 0 || is_nan(x) ? int(0x80000000) : is_finite(x) ? e : 0x7fffffff;
}
inline float ldexp(float x, int k) {
  Binary b = binary(x);
  k = k > 400 ? 400 : k < -400 ? -400 : k;
  int e = b.exponent + k;
  e = e > 130 ? 130 : e < -160 ? -160 : e;
  return x != 0 && is_finite(x) ? with_sign(scaled(absolute(b.mantissa), e), x) : x;
}
inline float nextafter(float x, float y) {
  int u = int(bits(x));
  int step = (x < y) == (u >= 0) ? 1 : -1;
  float next = x == 0 ? with_sign(0x1p-149f, y) : from_bits(uint(u + step));
  return x == y ? y : is_nan(x) || is_nan(y) ? __MT_NAN : next;
}

// Quotients below 2^22 take one exact step; the others are reduced 22 bits at a time, at most 13 times.
inline float fmod_far(float x, float y) {
  Binary bx = binary(absolute(x)), by = binary(absolute(y));
  float r = bx.mantissa * 0x1p23f, d = by.mantissa * 0x1p23f;
  int k = bx.exponent - by.exponent;
  r = r >= d ? r - d : r;
  while (k > 0) {
    int step = k < 22 ? k : 22;
    r *= power_of_two(step);
    r = fused(-__builtin_elementwise_trunc(r / d), d, r);
    r = r < 0 ? r + d : r;
    k -= step;
  }
  int e = by.exponent - 23;  // down to -172: two exact factors
  return r * power_of_two(e < -100 ? -100 : e) * power_of_two(e < -100 ? e + 100 : 0);
}
inline float fmod(float x, float y) {
  float a = absolute(x), b = absolute(y);
  float q = __builtin_elementwise_trunc(a / b);
  float r = fused(-q, b, a);
  r = r < 0 ? r + b : r;
  if (q >= 0x1p22f && b > 0 && a < __MT_INF) r = fmod_far(x, y);
  r = b == __MT_INF && a < __MT_INF ? a : r;
  r = b == 0 || a == __MT_INF || is_nan(y) ? __MT_NAN : r;
  return with_sign(r, x);
}

// One rounding for a*b + c of halves: the float sum is rounded to odd, so that rounding it again is harmless.
inline float fma_half(float a, float b, float z) {
  float p = a * b;
  float s = p + z;
  float back = s - p;
  float lost = (p - (s - back)) + (z - back);
  uint u = bits(s);
  bool even = (u & 1) == 0;
  uint away = (lost > 0) == (s > 0) ? u + 1 : u - 1;
  return from_bits(even && (lost > 0 || lost < 0) ? away : u);
}
// Of bfloats the product may overflow; what then stays finite has few enough bits to be exact.
inline float fma_bfloat(float a, float b, float z) { return is_finite(a * b) ? fma_half(a, b, z) : fused(a, b, z); }
// Neighbours of a 16-bit float, by its bits.
template <class T>
inline T nextafter16(T x, T y) {
  float fx = float(x), fy = float(y);
  ushort u = __builtin_bit_cast(ushort, x);
  ushort step = (fx < fy) == (u < 0x8000) ? 1 : 0xffff;
  ushort next = fx == 0 ? (fy < 0 ? 0x8001 : 1) : ushort(u + step);
  return fx == fy ? y : is_nan(fx) || is_nan(fy) ? T(__MT_NAN) : __builtin_bit_cast(T, next);
}
}  // namespace __mt_math
__MT_STRICT_END
