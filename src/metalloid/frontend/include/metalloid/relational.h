// Metal's relational functions: tests of a float's class, all, any, select.
//
// The tests look at bits, so that fast math, which promises that there is no NaN, has nothing to fold.
#pragma once
#include "math.h"

__MT_STRICT_BEGIN
namespace __mt_math {
template <class T>
inline uint magnitude_bits(T x) { return bits(float(x)) & 0x7fffffff; }
// The smallest normal number of the type, as a float.
template <class T>
inline uint normal_bits(T) { return is_half<T>() ? 0x38800000 : 0x00800000; }

template <class T>
inline bool isnan(T x) { return magnitude_bits(x) > 0x7f800000; }
template <class T>
inline bool isinf(T x) { return magnitude_bits(x) == 0x7f800000; }
template <class T>
inline bool isfinite(T x) { return magnitude_bits(x) < 0x7f800000; }
template <class T>
inline bool isnormal(T x) {
  return magnitude_bits(x) >= normal_bits(x) && magnitude_bits(x) < 0x7f800000;
}
template <class T>
inline bool signbit(T x) { return bits(float(x)) >> 31 != 0; }
template <class T>
inline bool isordered(T x, T y) { return !isnan(x) && !isnan(y); }
template <class T>
inline bool isunordered(T x, T y) { return isnan(x) || isnan(y); }
}  // namespace __mt_math
__MT_STRICT_END

namespace metal {
#define __MT_TEST1(name)                                                                        \
  template <class A, class R = ::__mt_math::real_t<A>>                                          \
  inline auto name(A x) {                                                                       \
    if constexpr (::__mt_math::is_number<R>()) return ::__mt_math::name(::__mt_math::to<R>(x)); \
    else return ::__mt_math::map_each([](auto a) { return ::__mt_math::name(a); }, R(x));       \
  }
#define __MT_TEST2(name)                                                                                          \
  template <class A, class B, class R = ::__mt_math::real_t<A, B>>                                                \
  inline auto name(A x, B y) {                                                                                    \
    if constexpr (::__mt_math::is_number<R>()) return ::__mt_math::name(::__mt_math::to<R>(x), ::__mt_math::to<R>(y)); \
    else return ::__mt_math::map_each([](auto a, auto b) { return ::__mt_math::name(a, b); },                     \
                                      ::__mt_math::to<R>(x), ::__mt_math::to<R>(y));                              \
  }
__MT_TEST1(isnan)
__MT_TEST1(isinf)
__MT_TEST1(isfinite)
__MT_TEST1(isnormal)
__MT_TEST1(signbit)
__MT_TEST2(isordered)
__MT_TEST2(isunordered)
#undef __MT_TEST1
#undef __MT_TEST2

inline bool all(bool x) { return x; }
inline bool any(bool x) { return x; }
template <class T, int N>
inline bool all(vec<T, N> x) {
  bool r = bool(x.x) & bool(x.y);
  if constexpr (N > 2) r = r & bool(x.z);
  if constexpr (N > 3) r = r & bool(x.w);
  return r;
}
template <class T, int N>
inline bool any(vec<T, N> x) {
  bool r = bool(x.x) | bool(x.y);
  if constexpr (N > 2) r = r | bool(x.z);
  if constexpr (N > 3) r = r | bool(x.w);
  return r;
}

// c ? b : a, for each component; an integer c counts as true when it is not zero.
template <class A, class B, class M, int N, class R = ::__mt_math::either_t<A, B, vec<::metal::vec_element_t<A>, N>>>
inline R select(A a, B b, vec<M, N> c) {
  return ::__mt_math::map_each([](auto p, auto q, auto m) { return m ? q : p; }, ::__mt_math::to<R>(a),
                               ::__mt_math::to<R>(b), c);
}
template <class A, class B, class C, class R = ::__mt_math::either_t<A, B>>
inline ::metal::enable_if_t<::__mt_math::is_number<C>(), R> select(A a, B b, C c) {
  const R x = ::__mt_math::to<R>(a), y = ::__mt_math::to<R>(b);
  if constexpr (::__mt_math::is_number<R>()) return c ? y : x;
  else return ::metal::select(x, y, decltype(x == y)(bool(c)));
}
}  // namespace metal
