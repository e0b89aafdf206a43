// Names behind Apple's own headers that published sources call: __metal_exp(x, mode) and the like.
#pragma once
#include "entry.h"
#include "math.h"
#include "simd.h"

inline constexpr constant int __METAL_PRECISE_MATH__ = 0;
inline constexpr constant int __METAL_FAST_MATH__ = 1;
inline constexpr constant int __METAL_MAYBE_FAST_MATH__ = 2;  // as the math mode says

#define __MT_BY_MODE(name, ...)                                    \
  return mode == __METAL_PRECISE_MATH__ ? metal::precise::name(__VA_ARGS__) \
         : mode == __METAL_FAST_MATH__  ? metal::fast::name(__VA_ARGS__)    \
                                        : metal::name(__VA_ARGS__);
#define __MT_INTERNAL1(name) \
  inline float __metal_##name(float a, int mode) { __MT_BY_MODE(name, a) }
#define __MT_INTERNAL2(name) \
  inline float __metal_##name(float a, float b, int mode) { __MT_BY_MODE(name, a, b) }
#define __MT_INTERNAL3(name) \
  inline float __metal_##name(float a, float b, float c, int mode) { __MT_BY_MODE(name, a, b, c) }
__MT_INTERNAL1(acos) __MT_INTERNAL1(acosh) __MT_INTERNAL1(asin) __MT_INTERNAL1(asinh) __MT_INTERNAL1(atan)
__MT_INTERNAL1(atanh) __MT_INTERNAL1(ceil) __MT_INTERNAL1(cos) __MT_INTERNAL1(cosh) __MT_INTERNAL1(cospi)
__MT_INTERNAL1(exp) __MT_INTERNAL1(exp10) __MT_INTERNAL1(exp2) __MT_INTERNAL1(fabs) __MT_INTERNAL1(floor)
__MT_INTERNAL1(fract) __MT_INTERNAL1(log) __MT_INTERNAL1(log10) __MT_INTERNAL1(log2) __MT_INTERNAL1(rint)
__MT_INTERNAL1(round) __MT_INTERNAL1(rsqrt) __MT_INTERNAL1(sin) __MT_INTERNAL1(sinh) __MT_INTERNAL1(sinpi)
__MT_INTERNAL1(sqrt) __MT_INTERNAL1(tan) __MT_INTERNAL1(tanh) __MT_INTERNAL1(tanpi) __MT_INTERNAL1(trunc)
__MT_INTERNAL2(atan2) __MT_INTERNAL2(divide) __MT_INTERNAL2(fmax) __MT_INTERNAL2(fmin) __MT_INTERNAL2(fmod)
__MT_INTERNAL2(pow) __MT_INTERNAL2(powr)
__MT_INTERNAL3(fma) __MT_INTERNAL3(fmax3) __MT_INTERNAL3(fmedian3) __MT_INTERNAL3(fmin3)
inline float __metal_fma(float a, float b, float c) { return metal::fma(a, b, c); }
inline float __metal_ldexp(float a, int k, int mode) { __MT_BY_MODE(ldexp, a, k) }
inline float __metal_nextafter(float a, float b) { return metal::nextafter(a, b); }
inline float __metal_frexp(float a, int* exponent) { return metal::frexp(a, *exponent); }

inline ushort __metal_get_simdgroup_size(ushort) { return ushort(__mt::__mt_threads_per_simdgroup(0)); }
inline ushort __metal_get_thread_index_in_simdgroup(ushort) {
  return ushort(__mt::__mt_thread_index_in_simdgroup(0));
}
#define __MT_INTERNAL_SIMD(name)                        \
  template <class... A>                                 \
  inline auto __metal_##name(A... a) {                  \
    return metal::name(a...);                           \
  }
__MT_INTERNAL_SIMD(simd_sum) __MT_INTERNAL_SIMD(simd_product) __MT_INTERNAL_SIMD(simd_min)
__MT_INTERNAL_SIMD(simd_max) __MT_INTERNAL_SIMD(simd_and) __MT_INTERNAL_SIMD(simd_or)
__MT_INTERNAL_SIMD(simd_xor) __MT_INTERNAL_SIMD(simd_prefix_inclusive_sum)
__MT_INTERNAL_SIMD(simd_prefix_exclusive_sum) __MT_INTERNAL_SIMD(simd_prefix_inclusive_product)
__MT_INTERNAL_SIMD(simd_prefix_exclusive_product) __MT_INTERNAL_SIMD(simd_broadcast)
__MT_INTERNAL_SIMD(simd_broadcast_first) __MT_INTERNAL_SIMD(simd_shuffle)
__MT_INTERNAL_SIMD(simd_shuffle_xor) __MT_INTERNAL_SIMD(simd_shuffle_up)
__MT_INTERNAL_SIMD(simd_shuffle_down) __MT_INTERNAL_SIMD(simd_shuffle_rotate_up)
__MT_INTERNAL_SIMD(simd_shuffle_rotate_down) __MT_INTERNAL_SIMD(simd_shuffle_and_fill_up)
__MT_INTERNAL_SIMD(simd_shuffle_and_fill_down)
