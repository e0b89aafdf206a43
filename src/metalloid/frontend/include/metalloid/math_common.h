// The cores of the common functions and of those that serve integers too.
#pragma once
#include "math_round.h"

__MT_STRICT_BEGIN
namespace __mt_math {

inline float fmin3(float x, float y, float z) { return fmin(fmin(x, y), z); }
inline float fmax3(float x, float y, float z) { return fmax(fmax(x, y), z); }
inline float fmedian3(float x, float y, float z) { return fmax(fmin(x, y), fmin(fmax(x, y), z)); }
inline float fmin3_fast(float x, float y, float z) { return fmin_fast(fmin_fast(x, y), z); }
inline float fmax3_fast(float x, float y, float z) { return fmax_fast(fmax_fast(x, y), z); }
inline float fmedian3_fast(float x, float y, float z) {
  return fmax_fast(fmin_fast(x, y), fmin_fast(fmax_fast(x, y), z));
}
inline float clamp(float x, float low, float high) { return fmin(fmax(x, low), high); }
// In this order of the arguments a NaN x becomes low, as in the precise one.
inline float clamp_fast(float x, float low, float high) { return fmin_fast(x > low ? x : low, high); }
inline float saturate(float x) { return clamp_fast(x, 0.0f, 1.0f); }

inline float mix(float x, float y, float a) { return fused(y - x, a, x); }
inline float step(float edge, float x) { return x < edge ? 0.0f : 1.0f; }
inline float smoothstep(float low, float high, float x) {
  float t = saturate((x - low) / (high - low));
  return t * t * (3.0f - 2.0f * t);
}
inline float sign(float x) { return x > 0 ? 1.0f : x < 0 ? -1.0f : x == 0 ? x : 0.0f; }

// Stands where a function has no integer form; real_t never names one.
template <class... T>
constexpr float no_integers(T...) { return 0; }
template <class T>
constexpr T integer_min(T x, T y) { return y < x ? y : x; }
template <class T>
constexpr T integer_max(T x, T y) { return x < y ? y : x; }
template <class T>
constexpr T integer_min3(T x, T y, T z) { return integer_min(integer_min(x, y), z); }
template <class T>
constexpr T integer_max3(T x, T y, T z) { return integer_max(integer_max(x, y), z); }
template <class T>
constexpr T integer_median3(T x, T y, T z) {
  return integer_max(integer_min(x, y), integer_min(integer_max(x, y), z));
}
template <class T>
constexpr T integer_clamp(T x, T low, T high) { return integer_min(integer_max(x, low), high); }
// |x| modulo 2^bits: the smallest integer is its own absolute value.
template <class T>
constexpr T integer_abs(T x) {
  if constexpr (__is_unsigned(T)) return x;
  else return x < 0 ? T(0 - metal::make_unsigned_t<T>(x)) : x;
}
}  // namespace __mt_math
__MT_STRICT_END
