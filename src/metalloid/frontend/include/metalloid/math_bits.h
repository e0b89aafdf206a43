// What every numeric header needs: strict arithmetic, bit views, numbers.
#pragma once
#include "types.h"

// Between these two the code means what it says in every math mode: no reassociation, no contraction, NaN and
// infinity honoured. On this target clang obeys float_control only with -fexperimental-strict-floating-point;
// without it every error-compensated function would be silently wrong, so the ignored pragma is an error.
#define __MT_STRICT_BEGIN                                    \
  _Pragma("clang diagnostic push")                           \
  _Pragma("clang diagnostic error \"-Wignored-pragmas\"")    \
  _Pragma("float_control(precise, on, push)")                \
  _Pragma("clang fp contract(off)")
#define __MT_ANY_ORDER _Pragma("clang fp reassociate(on)")
#define __MT_STRICT_END _Pragma("float_control(pop)") _Pragma("clang diagnostic pop")

__MT_STRICT_BEGIN
namespace __mt_math {

inline uint bits(float x) { return __builtin_bit_cast(uint, x); }
inline float from_bits(uint u) { return __builtin_bit_cast(float, u); }

#define __MT_INF __builtin_inff()
#define __MT_NAN __builtin_nanf("")

inline float absolute(float x) { return __builtin_elementwise_abs(x); }
inline float with_sign(float magnitude, float sign) { return __builtin_elementwise_copysign(magnitude, sign); }
inline float fused(float a, float b, float c) { return __builtin_elementwise_fma(a, b, c); }
inline bool is_nan(float x) { return x != x; }
inline bool is_finite(float x) { return absolute(x) < __MT_INF; }

// 2^n as a float, -126 <= n <= 127.
inline float power_of_two(int n) { return from_bits(uint(n + 127) << 23); }

// p * 2^n rounded once, for |n| <= 252 and p > 0 (or NaN, with any n). That is what an exponent of 64 bits tells the engine (backends/cpu/lower/ops/ldexp.py),
// which has one instruction for it, or two products.
inline float scaled(float p, int n) { return __builtin_elementwise_ldexp(p, long(n)); }

// The nearest integer to x, |x| < 2^22, without a float-to-int conversion (which is undefined for NaN).
struct Nearest {
  float value;
  int integer;
};
inline Nearest nearest(float x) {
  float shifted = x + 0x1.8p23f;
  return {shifted - 0x1.8p23f, int(bits(shifted)) - 0x4b400000};
}

// x = m * 2^e with 1 <= |m| < 2, for finite x that is not zero.
struct Binary {
  float mantissa;
  int exponent;
};
inline Binary binary(float x) {
  bool tiny = absolute(x) < 0x1p-126f;
  uint u = bits(tiny ? x * 0x1p24f : x);
  int e = int(u >> 23 & 255) - (tiny ? 151 : 127);
  return {from_bits((u & 0x807fffff) | 0x3f800000), e};
}

// c[0] + c[1]*x + ..., written as poly(x, c0, c1, ...).
inline float poly(float, float c) { return c; }
template <class... C>
inline float poly(float x, float c, C... rest) {
  return fused(x, poly(x, rest...), c);
}
}  // namespace __mt_math
__MT_STRICT_END
