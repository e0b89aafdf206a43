// metal::vec of 8 and 16 elements: what a lane holds of a matrix. They have no members x, y, z, w.
#pragma once
#include "vec.h"

namespace metal {
#define __MT_LONG_EACH(type, expression)                            \
  {                                                                 \
    type made;                                                      \
    _Pragma("unroll") for (int i = 0; i < __count; i++) made.__elements[i] = expression; \
    return made;                                                    \
  }
// With a number on one side as well: a source's own `template <class T> T operator*(const T&, float)` must not fit
// better, since Apple's vectors are no classes, and their operators nobody else's.
#define __MT_LONG_MIXED(op)                                                             \
  friend constexpr vec operator op(const vec& a, T b) { return a op vec(b); }           \
  friend constexpr vec operator op(T a, const vec& b) { return vec(a) op b; }           \
  constexpr vec& operator op##=(const vec& b) { return *this = *this op b; }
#define __MT_LONG_BINARY(op)                                                                                          \
  friend constexpr vec operator op(const vec& a, const vec& b) __MT_LONG_EACH(vec, T(a.__elements[i] op b.__elements[i])) \
  __MT_LONG_MIXED(op)
#define __MT_LONG_GUARDED(op, function)                                                                       \
  friend constexpr vec operator op(const vec& a, const vec& b)                                                \
      __MT_LONG_EACH(vec, ::__mt::function<T>(a.__elements[i], b.__elements[i]))                              \
  __MT_LONG_MIXED(op)
#define __MT_LONG_COMPARE(op)                                   \
  friend constexpr auto operator op(const vec& a, const vec& b) \
      __MT_LONG_EACH(__MT_LONG_BOOLS, (a.__elements[i] op b.__elements[i]))
#define __MT_LONG_BOOLS vec<bool, __count>

#define __MT_LONG_VEC(N)                                                                             \
  template <class T>                                                                                 \
  struct alignas(N * sizeof(T)) vec<T, N> {                                                          \
    using value_type = T;                                                                            \
    static constexpr int __count = N;                                                                \
    T __elements[N];                                                                                 \
    vec() = default;                                                                                 \
    constexpr vec(T s) : __elements{} {                                                              \
      _Pragma("unroll") for (int i = 0; i < N; i++) __elements[i] = s;                               \
    }                                                                                                \
    constexpr vec(std::initializer_list<T> l) : __elements{} {                                       \
      _Pragma("unroll") for (int i = 0; i < N; i++) __elements[i] = __listed<N>(l, i);               \
    }                                                                                                \
    template <class U>                                                                               \
    explicit constexpr vec(const vec<U, N>& v) : __elements{} {                                      \
      _Pragma("unroll") for (int i = 0; i < N; i++) __elements[i] = __to<T>(v.__elements[i]);        \
    }                                                                                                \
    constexpr T& operator[](size_t i) { return __elements[i]; }                                      \
    constexpr const T& operator[](size_t i) const { return __elements[i]; }                          \
    __MT_LONG_BINARY(+) __MT_LONG_BINARY(-) __MT_LONG_BINARY(*)                                      \
    __MT_LONG_BINARY(&) __MT_LONG_BINARY(|) __MT_LONG_BINARY(^)                                      \
    __MT_LONG_GUARDED(/, element_quotient) __MT_LONG_GUARDED(%, element_remainder)                   \
    __MT_LONG_GUARDED(<<, element_shifted_left) __MT_LONG_GUARDED(>>, element_shifted_right)         \
    __MT_LONG_COMPARE(==) __MT_LONG_COMPARE(!=) __MT_LONG_COMPARE(<) __MT_LONG_COMPARE(<=)           \
    __MT_LONG_COMPARE(>) __MT_LONG_COMPARE(>=) __MT_LONG_COMPARE(&&) __MT_LONG_COMPARE(||)           \
    constexpr vec operator+() const { return *this; }                                                \
    constexpr vec operator-() const __MT_LONG_EACH(vec, T(-__elements[i]))                           \
    constexpr vec operator~() const __MT_LONG_EACH(vec, T(~__elements[i]))                           \
    constexpr auto operator!() const { return *this == vec(T(0)); }                                  \
  };
__MT_LONG_VEC(8)
__MT_LONG_VEC(16)
}  // namespace metal
