// Shifts and divisions as Metal defines them, whatever their right side.
//
// To clang, a shift by the width or a division by zero is undefined: where it can tell, the result and all that
// depends on it vanish, and after `a / b` it takes b for anything but zero. The front end writes `a << b` as
// `a << by() << b`, which binds as the user's did, and `a <<= b` as `a <<= by() += b`. What the guards leave where b is
// not known until the kernel runs, the front end takes out again (ir/divisions.py): the engines define x / 0 themselves.
//
// In a checked run the front end writes `a / dv() / b` instead (watched.py): a divisor that is 0, or has an element that
// is, is told as well. Elements of vectors of 8 or 16 bits tell where a sum or product does not fit (`fitted`), if the
// front end asks for it: it specialises `watched` before the user's text.
#pragma once
#include "traits.h"

namespace metal {
template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;
}  // namespace metal

extern "C" __attribute__((convergent)) void __mt_check_bounds(int what, long value);

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
// 0 where the divisor is 0; where it is -1, the quotient that does not fit is the dividend. For both, it is x * y.
template <class T>
constexpr bool special(T y) {
  if constexpr (__is_signed(T)) return make_unsigned_t<T>(y) + 1 <= 1;
  else return y == 0;
}
// Both sides of each choice are values already: what is computed in one would become a branch.
template <class A, class B>
constexpr auto quotient(A a, B b) -> decltype(a / b) {
  using T = decltype(a / b);
  if (__builtin_is_constant_evaluated()) return a / b;
  const T x = a, y = b;
  const bool other = special(y);
  const T divisor = other ? 1 : y, result = x / divisor;
  if constexpr (__is_signed(T)) {
    const T product = make_unsigned_t<T>(x) * make_unsigned_t<T>(y);
    return other ? product : result;
  } else {
    return other ? 0 : result;
  }
}
template <class A, class B>
constexpr auto remainder(A a, B b) -> decltype(a % b) {
  using T = decltype(a % b);
  if (__builtin_is_constant_evaluated()) return a % b;
  const T x = a, y = b;
  const bool other = special(y);
  const T divisor = other ? 1 : y;
  return x % divisor;
}

// Elements of vectors are not promoted: a char shifts modulo 8.
template <class T>
constexpr T element_shifted_left(T a, T n) { return T(a << (int(n) & int(8 * sizeof(T) - 1))); }
template <class T>
constexpr T element_shifted_right(T a, T n) { return T(a >> (int(n) & int(8 * sizeof(T) - 1))); }
template <class T>
constexpr T element_quotient(T a, T b) {
  if constexpr (__is_integral(T)) return T(quotient(a, b));
  else return T(a / b);
}
template <class T>
constexpr T element_remainder(T a, T b) { return T(remainder(a, b)); }

// A pointer whose memory is not looked at (casts.py).
template <class P>
constexpr P at(P pointer) { return pointer; }

// An element of a vector, cut to its type.
template <class T>
inline constexpr constant bool watched = false;
template <class T, class W>
constexpr T fitted(W wide) {
  const T kept = T(wide);
  if (!__builtin_is_constant_evaluated() && W(kept) != wide)
    __mt_check_bounds(int(__is_signed(T)) - int(8 * sizeof(T)) - 64, long(wide));  // as names.py has it
  return kept;
}
template <class T>
constexpr T element_sum(T a, T b) { return fitted<T>(a + b); }
template <class T>
constexpr T element_difference(T a, T b) { return fitted<T>(a - b); }
template <class T>
constexpr T element_product(T a, T b) { return fitted<T>(a * b); }

// What stands between the two sides.
struct by {};
template <class N>
struct amount {
  N value;
};
template <class N>
constexpr amount<N> operator+=(by, N n) { return {n}; }

// Scalars go by value, so that a bit-field is as good as any; classes by reference, with all their operators.
template <class T>
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

#define __MT_OPERATOR(op, function)                                                                        \
  template <class T, if_scalar<T> = 0>                                                                     \
  constexpr left_scalar<T> operator op(T a, by) { return {a}; }                                            \
  template <class T, if_object<T> = 0>                                                                     \
  constexpr left_object<T> operator op(T&& a, by) { return {static_cast<T&&>(a)}; }                        \
  template <class T, class N, if_scalar<N> = 0>                                                            \
  constexpr auto operator op(left_scalar<T> l, N n) -> decltype(l.a op n) {                                \
    if constexpr (!is_number<T> || !is_number<N>) return l.a op n;                                         \
    else return function(l.a, n);                                                                          \
  }                                                                                                        \
  template <class T, class N, if_object<N> = 0>                                                            \
  constexpr auto operator op(left_scalar<T> l, N&& n) -> decltype(l.a op static_cast<N&&>(n)) {            \
    return l.a op static_cast<N&&>(n);                                                                     \
  }                                                                                                        \
  template <class T, class N>                                                                              \
  constexpr auto operator op(left_object<T> l, N&& n)                                                      \
      -> decltype(static_cast<T&&>(l.a) op static_cast<N&&>(n)) {                                          \
    return static_cast<T&&>(l.a) op static_cast<N&&>(n);                                                   \
  }                                                                                                        \
  template <class T, class N>                                                                              \
  constexpr auto operator op(const T& a, amount<N> n) -> decltype(a op n.value) {                          \
    return a op by() op n.value;                                                                           \
  }                                                                                                        \
  template <class T, class N>                                                                              \
  constexpr auto operator op##=(T& a, amount<N> n) -> decltype(a op##= n.value) {                          \
    if constexpr (is_number<T> && is_number<N>)                                                            \
      return a = static_cast<remove_cvref_t<T>>(+a op by() op n.value);                                    \
    else return a op##= n.value;                                                                           \
  }
__MT_OPERATOR(<<, shifted_left)
__MT_OPERATOR(>>, shifted_right)
__MT_OPERATOR(/, quotient)
__MT_OPERATOR(%, remainder)
#undef __MT_OPERATOR

struct dv {};
template <class T>
struct divided {
  T a;
};
template <class N>
struct divisor {
  N value;
};
template <class N>
constexpr divisor<N> operator+=(dv, N n) { return {n}; }
template <class T>
struct divided_object {
  T&& a;
};
template <class N>
constexpr void tell_zero(N n) {
  if (!__builtin_is_constant_evaluated() && n == N(0)) __mt_check_bounds(-1, 0);
}
// Whether a type is a vector of whole numbers, and how many.
template <class T>
inline constexpr constant int whole_elements = 0;
template <class T, int N>
inline constexpr constant int whole_elements<vec<T, N>> = __is_integral(T) ? N : 0;
template <class T, int N>
inline constexpr constant int whole_elements<packed_vec<T, N>> = __is_integral(T) ? N : 0;
// A dividend and a divisor of which one or both are vectors.
template <class T, class N>
constexpr void tell_zeros(const N& n) {
  using Divisor = remove_cvref_t<N>;
  if constexpr (whole_elements<Divisor> > 0) {
    const Divisor all = n;
    for (int i = 0; i < whole_elements<Divisor>; i++) tell_zero(all[i]);
  } else if constexpr (is_number<Divisor> && whole_elements<remove_cvref_t<T>> > 0) {
    tell_zero(Divisor(n));
  }
}

#define __MT_WATCHED(op)                                                                                   \
  template <class T, if_scalar<T> = 0>                                                                     \
  constexpr divided<T> operator op(T a, dv) { return {a}; }                                                \
  template <class T, if_object<T> = 0>                                                                     \
  constexpr divided_object<T> operator op(T&& a, dv) { return {static_cast<T&&>(a)}; }                     \
  template <class T, class N, if_scalar<N> = 0>                                                            \
  constexpr auto operator op(divided<T> l, N n) -> decltype(l.a op n) {                                    \
    if constexpr (is_number<T> && is_number<N>) tell_zero(n);                                              \
    return left_scalar<T>{l.a} op n;                                                                       \
  }                                                                                                        \
  template <class T, class N>                                                                              \
  constexpr auto operator op(divided_object<T> l, N&& n)                                                   \
      -> decltype(static_cast<T&&>(l.a) op static_cast<N&&>(n)) {                                          \
    tell_zeros<T>(n);                                                                                      \
    return static_cast<T&&>(l.a) op static_cast<N&&>(n);                                                   \
  }                                                                                                        \
  template <class T, class N, if_object<N> = 0>                                                            \
  constexpr auto operator op(divided<T> l, N&& n) -> decltype(l.a op static_cast<N&&>(n)) {                \
    if constexpr (is_number<T>) tell_zeros<T>(n);                                                          \
    return l.a op static_cast<N&&>(n);                                                                     \
  }                                                                                                        \
  template <class T, class N>                                                                              \
  constexpr auto operator op##=(T& a, divisor<N> n) -> decltype(a op##= n.value) {                         \
    if constexpr (is_number<T> && is_number<N>) tell_zero(n.value);                                        \
    else tell_zeros<T>(n.value);                                                                           \
    return a op##= by() += n.value;                                                                        \
  }
__MT_WATCHED(/)
__MT_WATCHED(%)
#undef __MT_WATCHED
}  // namespace __mt
