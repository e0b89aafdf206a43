// Shifts and divisions as Metal defines them, whatever their right side.
//
// To clang, a shift by the width or a division by zero is undefined: where it can tell, the result and all that
// depends on it vanish, and after `a / b` it takes b for anything but zero. The front end writes `a << b` as
// `a << by() << b`, which binds as the user's did, and `a <<= b` as `a <<= by() += b`. What the guards leave where b is
// not known until the kernel runs, the front end takes out again (divisions.py): the engines define x / 0 themselves.
#pragma once
#include "traits.h"

namespace __mt {
using namespace metal;

template <class T>
inline constexpr constant bool is_number = __is_integral(T) || __is_enum(T);

// The amount modulo the width. A constant expression stays what C++ says it is: an error.
template <class T, class N>
constexpr auto shifted_left(T a, N n) -> decltype(a << n) {
  constexpr int mask = int(8 * sizeof(+a)) - 1;
  return __builtin_is_constant_evaluated() ? a << n : a << (int(n) & mask);
}
template <class T, class N>
constexpr auto shifted_right(T a, N n) -> decltype(a >> n) {
  constexpr int mask = int(8 * sizeof(+a)) - 1;
  return __builtin_is_constant_evaluated() ? a >> n : a >> (int(n) & mask);
}
// 0 where the divisor is 0.
template <class A, class B>
constexpr auto quotient(A a, B b) -> decltype(a / b) {
  using T = decltype(a / b);
  if (__builtin_is_constant_evaluated()) return a / b;
  const T x = a, y = b;
  const T result = x / (y == 0 ? T(1) : y);
  return y == 0 ? T(0) : result;
}
template <class A, class B>
constexpr auto remainder(A a, B b) -> decltype(a % b) {
  using T = decltype(a % b);
  if (__builtin_is_constant_evaluated()) return a % b;
  const T x = a, y = b;
  const T result = x % (y == 0 ? T(1) : y);
  return y == 0 ? T(0) : result;
}

// ... and where it is -1, the quotient that does not fit is the dividend.
template <class A, class B>
constexpr auto any_quotient(A a, B b) -> decltype(a / b) {
  using T = decltype(a / b);
  if (__builtin_is_constant_evaluated() || !__is_signed(T)) return quotient(a, b);
  const T x = a, y = b;
  const T result = quotient(x, y == T(-1) ? T(1) : y);
  return y == T(-1) ? T(0 - make_unsigned_t<T>(x)) : result;
}
template <class A, class B>
constexpr auto any_remainder(A a, B b) -> decltype(a % b) {
  using T = decltype(a % b);
  if (__builtin_is_constant_evaluated() || !__is_signed(T)) return remainder(a, b);
  const T y = b;
  return remainder(T(a), y == T(-1) ? T(1) : y);
}

// Elements of vectors are not promoted: a char shifts modulo 8.
template <class T>
constexpr T element_shifted_left(T a, T n) { return T(a << (int(n) & int(8 * sizeof(T) - 1))); }
template <class T>
constexpr T element_shifted_right(T a, T n) { return T(a >> (int(n) & int(8 * sizeof(T) - 1))); }
template <class T>
constexpr T element_quotient(T a, T b) {
  if constexpr (__is_integral(T)) return T(any_quotient(a, b));
  else return T(a / b);
}
template <class T>
constexpr T element_remainder(T a, T b) { return T(any_remainder(a, b)); }

// What stands between the two sides; `any` where the right one is -1.
template <bool any>
struct guard {};
using by = guard<false>;
using by_minus_one = guard<true>;
template <class N, bool any>
struct amount {
  N value;
};
template <class N, bool any>
constexpr amount<N, any> operator+=(guard<any>, N n) { return {n}; }

// Scalars go by value, so that a bit-field is as good as any; classes by reference, with all their operators.
template <class T, bool any>
struct left_scalar {
  T a;
};
template <class T>
struct left_object {
  T&& a;
};
template <class T>
using if_scalar = enable_if_t<!__is_class(remove_reference_t<T>), int>;
template <class T>
using if_object = enable_if_t<__is_class(remove_reference_t<T>), int>;

#define __MT_OPERATOR(op, function, any_function)                                                           \
  template <class T, bool any, if_scalar<T> = 0>                                                            \
  constexpr left_scalar<T, any> operator op(T a, guard<any>) { return {a}; }                                \
  template <class T, bool any, if_object<T> = 0>                                                            \
  constexpr left_object<T> operator op(T&& a, guard<any>) { return {static_cast<T&&>(a)}; }                 \
  template <class T, class N, bool any, if_scalar<N> = 0>                                                   \
  constexpr auto operator op(left_scalar<T, any> l, N n) -> decltype(l.a op n) {                            \
    if constexpr (!is_number<T> || !is_number<N>) return l.a op n;                                          \
    else if constexpr (any) return any_function(l.a, n);                                                    \
    else return function(l.a, n);                                                                           \
  }                                                                                                         \
  template <class T, class N, bool any, if_object<N> = 0>                                                   \
  constexpr auto operator op(left_scalar<T, any> l, N&& n) -> decltype(l.a op static_cast<N&&>(n)) {        \
    return l.a op static_cast<N&&>(n);                                                                      \
  }                                                                                                         \
  template <class T, class N>                                                                               \
  constexpr auto operator op(left_object<T> l, N&& n)                                                       \
      -> decltype(static_cast<T&&>(l.a) op static_cast<N&&>(n)) {                                           \
    return static_cast<T&&>(l.a) op static_cast<N&&>(n);                                                    \
  }                                                                                                         \
  template <class T, class N, bool any>                                                                     \
  constexpr auto operator op(const T& a, amount<N, any> n) -> decltype(a op n.value) {                      \
    return a op guard<any>() op n.value;                                                                    \
  }                                                                                                         \
  template <class T, class N, bool any>                                                                     \
  constexpr auto operator op##=(T& a, amount<N, any> n) -> decltype(a op##= n.value) {                      \
    if constexpr (is_number<T> && is_number<N>)                                                             \
      return a = static_cast<remove_cvref_t<T>>(+a op guard<any>() op n.value);                             \
    else return a op##= n.value;                                                                            \
  }
__MT_OPERATOR(<<, shifted_left, shifted_left)
__MT_OPERATOR(>>, shifted_right, shifted_right)
__MT_OPERATOR(/, quotient, any_quotient)
__MT_OPERATOR(%, remainder, any_remainder)
#undef __MT_OPERATOR
}  // namespace __mt
