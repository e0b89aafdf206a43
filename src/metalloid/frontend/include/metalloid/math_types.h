// Which type a call computes in when its arguments differ, and how a function of scalars becomes one of vectors.
//
// One vector among the arguments decides, and scalars spread over it. Between scalars: float if there is a float, or
// half and bfloat together; else half or bfloat; integers alone become float (real_t) or follow C++ (either_t).
#pragma once
#include "math_bits.h"

namespace __mt_math {
using metal::conditional_t;
using metal::packed_vec;
using metal::vec;

template <class A>
constexpr bool is_half() { return __is_same(A, half); }
template <class A>
constexpr bool is_bfloat() { return __is_same(A, bfloat); }
template <class A>
constexpr bool is_single() { return __is_same(A, float) || __is_same(A, double); }
template <class A>
constexpr bool is_real() { return is_single<A>() || is_half<A>() || is_bfloat<A>(); }
template <class A>
constexpr bool is_number() { return __is_integral(A) || is_real<A>() || (__is_enum(A) && !__is_scoped_enum(A)); }

// The vector type an argument stands for; void for numbers and everything else.
template <class A>
struct vector_of { using type = void; };
template <class T, int N>
struct vector_of<vec<T, N>> { using type = vec<T, N>; };
template <class T, int N>
struct vector_of<packed_vec<T, N>> { using type = vec<T, N>; };

template <class... A>
struct first_vector { using type = void; };
template <class A, class... B>
struct first_vector<A, B...> {
  using own = typename vector_of<A>::type;
  using type = typename conditional_t<__is_same(own, void), first_vector<B...>, vector_of<A>>::type;
};

template <class... A>
struct real_number {
  using narrow = conditional_t<(is_half<A>() || ...), half, bfloat>;
  static constexpr bool wide = (is_single<A>() || ...) || (is_half<A>() || ...) == (is_bfloat<A>() || ...);
  using type = conditional_t<wide, float, narrow>;
};

template <class... A>
struct integer_number;
template <class A>
struct integer_number<A> { using type = conditional_t<__is_enum(A), decltype(A{} + 0), A>; };
template <class A, class... B>
struct integer_number<A, A, B...> : integer_number<A, B...> {};
template <class A, class B, class... C>
struct integer_number<A, B, C...> : integer_number<decltype(A{} + B{}), C...> {};

// kind: 0 no common type, 1 a vector, 2 a real number, 3 an integer.
template <int kind, class V, class... A>
struct common {};
template <class V, class... A>
struct common<1, V, A...> { using type = V; };
template <class V, class... A>
struct common<2, V, A...> : real_number<A...> {};
template <class V, class... A>
struct common<3, V, A...> : integer_number<A...> {};

template <class V, bool keep_integers, class... A>
constexpr int kind_of() {
  if (!__is_same(V, void)) {
    const bool same = ((is_number<A>() || __is_same(V, typename vector_of<A>::type)) && ...);
    return same && (keep_integers || is_real<metal::vec_element_t<V>>()) ? 1 : 0;
  }
  if (!(is_number<A>() && ...)) return 0;
  return keep_integers && !(is_real<A>() || ...) ? 3 : 2;
}
template <bool keep_integers, class V, class... A>
using common_t = typename common<kind_of<V, keep_integers, A...>(), V, A...>::type;

// Results of functions that take real components only, or any.
template <class T>
using real_only = metal::enable_if_t<is_real<T>(), T>;
template <class T, int N>
using vec_real_t = vec<real_only<T>, N>;
template <class T, int N>
using vec_either_t = vec<T, N>;

template <class... A>
using real_t = common_t<false, typename first_vector<A...>::type, A...>;
template <class... A>
using either_t = common_t<true, typename first_vector<A...>::type, A...>;

// The same for one number only.
template <class A>
using real_number_t = common_t<false, void, A>;

// Number to number; clang has no cast between half and bfloat.
template <class R, class A>
inline R number_to(A a) {
  if constexpr ((is_half<R>() && is_bfloat<A>()) || (is_bfloat<R>() && is_half<A>())) return R(float(a));
  else return R(a);
}
template <class R>
struct converter {
  template <class A>
  static R from(A a) { return number_to<R>(a); }
};
template <class T, int N>
struct converter<vec<T, N>> {
  template <class A>
  static vec<T, N> from(A a) {
    if constexpr (is_number<A>()) return vec<T, N>(number_to<T>(a));
    else return vec<T, N>(a);
  }
};
template <class R, class A>
inline R to(A a) { return converter<R>::from(a); }

// What metal::precise and metal::fast take for an argument: numbers of 16 bits become floats.
inline float single(half x) { return float(x); }
inline float single(bfloat x) { return float(x); }
template <class A>
inline A single(A x) { return x; }

// f applied to each component; every argument has N of them.
template <class R, class F, class... V>
inline vec<R, 2> each(vec<R, 2>*, F f, V... v) { return vec<R, 2>(f(v.x...), f(v.y...)); }
template <class R, class F, class... V>
inline vec<R, 3> each(vec<R, 3>*, F f, V... v) { return vec<R, 3>(f(v.x...), f(v.y...), f(v.z...)); }
template <class R, class F, class... V>
inline vec<R, 4> each(vec<R, 4>*, F f, V... v) { return vec<R, 4>(f(v.x...), f(v.y...), f(v.z...), f(v.w...)); }
template <class R, int N, class F, class... V>
inline vec<R, N> map(F f, V... v) { return each(static_cast<vec<R, N>*>(nullptr), f, v...); }
// The same, where f decides the type of the components.
template <class F, class T, int N, class... V>
inline auto map_each(F f, vec<T, N> first, V... rest) {
  return map<decltype(f(first.x, rest.x...)), N>(f, first, rest...);
}
}  // namespace __mt_math
