// The small library parts: numeric_limits, array, uniform.
#pragma once
#include "atomic.h"
#include "types.h"

namespace metal {

// ---- numeric_limits
template <class T>
struct numeric_limits {
  static constexpr constant bool is_specialized = false;
};
#define __MT_LIMITS_COMMON(T, integer, is_sign)                    \
  static constexpr constant bool is_specialized = true;            \
  static constexpr constant bool is_signed = is_sign;              \
  static constexpr constant bool is_integer = integer;             \
  static constexpr constant bool is_exact = integer;               \
  static constexpr constant bool has_infinity = !integer;          \
  static constexpr constant bool has_quiet_NaN = !integer;         \
  static constexpr constant int radix = 2;
#define __MT_INTEGER_LIMITS(T, is_sign)                                                    \
  template <>                                                                              \
  struct numeric_limits<T> {                                                               \
    __MT_LIMITS_COMMON(T, true, is_sign)                                                   \
    static constexpr constant int digits = int(sizeof(T) * 8) - is_sign;                   \
    static constexpr constant int digits10 = digits * 301 / 1000;                          \
    static constexpr T max() { return T(is_sign ? (1ul << (sizeof(T) * 8 - 1)) - 1 : ~0ul); } \
    static constexpr T min() { return is_sign ? T(-max() - 1) : T(0); }                    \
    static constexpr T lowest() { return min(); }                                          \
    static constexpr T epsilon() { return T(0); }                                          \
    static constexpr T infinity() { return T(0); }                                         \
    static constexpr T quiet_NaN() { return T(0); }                                        \
  };
__MT_INTEGER_LIMITS(char, true)
__MT_INTEGER_LIMITS(int8_t, true)
__MT_INTEGER_LIMITS(uchar, false)
__MT_INTEGER_LIMITS(short, true)
__MT_INTEGER_LIMITS(ushort, false)
__MT_INTEGER_LIMITS(int, true)
__MT_INTEGER_LIMITS(uint, false)
__MT_INTEGER_LIMITS(long, true)
__MT_INTEGER_LIMITS(ulong, false)
template <>
struct numeric_limits<bool> {
  __MT_LIMITS_COMMON(bool, true, false)
  static constexpr constant int digits = 1;
  static constexpr constant int digits10 = 0;
  static constexpr bool max() { return true; }
  static constexpr bool min() { return false; }
  static constexpr bool lowest() { return false; }
};
#define __MT_REAL_LIMITS(T, I, mantissa, exponent, MAX, MIN, EPSILON, INF, NAN_, DENORM)  \
  template <>                                                                             \
  struct numeric_limits<T> {                                                              \
    __MT_LIMITS_COMMON(T, false, true)                                                    \
    static constexpr constant int digits = mantissa;                                      \
    static constexpr constant int digits10 = (mantissa - 1) * 301 / 1000;                 \
    static constexpr constant int max_digits10 = mantissa * 301 / 1000 + 2;               \
    static constexpr constant int max_exponent = exponent;                                \
    static constexpr constant int min_exponent = 3 - exponent;                            \
    static constexpr T max() { return __builtin_bit_cast(T, I(MAX)); }                    \
    static constexpr T lowest() { return -max(); }                                        \
    static constexpr T min() { return __builtin_bit_cast(T, I(MIN)); }                    \
    static constexpr T epsilon() { return __builtin_bit_cast(T, I(EPSILON)); }            \
    static constexpr T round_error() { return T(0.5f); }                                  \
    static constexpr T infinity() { return __builtin_bit_cast(T, I(INF)); }               \
    static constexpr T quiet_NaN() { return __builtin_bit_cast(T, I(NAN_)); }             \
    static constexpr T signaling_NaN() { return quiet_NaN(); }                            \
    static constexpr T denorm_min() { return __builtin_bit_cast(T, I(DENORM)); }          \
  };
__MT_REAL_LIMITS(float, uint, 24, 128, 0x7f7fffff, 0x00800000, 0x34000000, 0x7f800000, 0x7fc00000, 1)
__MT_REAL_LIMITS(half, ushort, 11, 16, 0x7bff, 0x0400, 0x1400, 0x7c00, 0x7e00, 1)
__MT_REAL_LIMITS(bfloat, ushort, 8, 128, 0x7f7f, 0x0080, 0x3c00, 0x7f80, 0x7fc0, 1)
template <class T>
struct numeric_limits<const T> : numeric_limits<T> {};

// ---- array
template <class T>
struct __array_element : type_identity<T> {};
template <class T>
struct __array_element<atomic<T>> : type_identity<__array_atomic<T>> {};
template <class A, size_t N>
struct array {
  using T = typename __array_element<A>::type;
  T __elements[N ? N : 1];
  constexpr T& operator[](size_t i) { return __elements[i]; }
  constexpr const T& operator[](size_t i) const { return __elements[i]; }
  constexpr size_t size() const { return N; }
  constexpr bool empty() const { return N == 0; }
  constexpr T* data() { return __elements; }
  constexpr const T* data() const { return __elements; }
  constexpr T* begin() { return __elements; }
  constexpr T* end() { return __elements + N; }
  constexpr const T* begin() const { return __elements; }
  constexpr const T* end() const { return __elements + N; }
  constexpr T& front() { return __elements[0]; }
  constexpr T& back() { return __elements[N - 1]; }
};

// A value that the author promises to be the same in all threads of a SIMD-group.
template <class T>
struct uniform {
  T __value;
  uniform() = default;
  constexpr uniform(T value) : __value(value) {}
  constexpr operator T() const { return __value; }
};
template <class T>
constexpr uniform<T> make_uniform(T value) {
  return uniform<T>(value);
}

namespace raytracing {}  // for `using namespace metal::raytracing` in files whose other kernels trace no rays
}  // namespace metal
