// metal::vec: classes of plain members, so that everything vanishes into scalars.
//
// Not clang's ext_vector: a C cast between two of those reinterprets bits, and the IR would be vectors.
#pragma once
#include "listed.h"
#include "operators.h"
#include "traits.h"

namespace metal {

template <class T, int N>
struct vec;
template <class T, int N>
struct packed_vec;

template <class T>
struct is_vector : false_type {};
template <class T, int N>
struct is_vector<vec<T, N>> : true_type {};
template <class T>
inline constexpr constant bool is_vector_v = is_vector<T>::value;

template <class T>
struct vec_element : type_identity<T> {};
template <class T, int N>
struct vec_element<vec<T, N>> : type_identity<T> {};
template <class T, int N>
struct vec_element<packed_vec<T, N>> : type_identity<T> {};
template <class T>
using vec_element_t = typename vec_element<T>::type;

template <class A, class B>
using __if_scalar = enable_if_t<is_arithmetic_v<A> || __is_enum(A), B>;

// A real number beside a vector of integers, where it would lose its fraction: Metal refuses it.
template <class T, class S>
using __if_lost = enable_if_t<is_integral_v<T> && is_floating_point_v<S>>;

// A conversion between scalars; clang knows none between half and bfloat.
template <class T, class U>
constexpr T __to(U u) {
  if constexpr ((is_same_v<T, half> && is_same_v<U, bfloat>) || (is_same_v<T, bfloat> && is_same_v<U, half>))
    return T(float(u));
  else
    return T(u);
}

// Swizzles are properties, so that `v.xy` is a value of type vec<T, 2> and `v.xy = w` a store.
// The second letter of each pair is the colour name. `&`: in `v.xyz.xy = w` the store would be to a copy, and lost.
#define __MT_SWIZZLE2(a, A, b, B)                                              \
  constexpr vec<T, 2> __get_##a##b() const { return vec<T, 2>(a, b); }         \
  constexpr vec<T, 2> __get_##a##b() const volatile { return vec<T, 2>(a, b); } \
  constexpr vec<T, 2> __put_##a##b(const vec<T, 2>& u) & { vec<T, 2> v = u; a = v.x, b = v.y; return v; } \
  __declspec(property(get = __get_##a##b, put = __put_##a##b)) vec<T, 2> a##b; \
  __declspec(property(get = __get_##a##b, put = __put_##a##b)) vec<T, 2> A##B;
#define __MT_SWIZZLE3(a, A, b, B, c, C)                                                 \
  constexpr vec<T, 3> __get_##a##b##c() const { return vec<T, 3>(a, b, c); }            \
  constexpr vec<T, 3> __get_##a##b##c() const volatile { return vec<T, 3>(a, b, c); }   \
  constexpr vec<T, 3> __put_##a##b##c(const vec<T, 3>& u) & { vec<T, 3> v = u; a = v.x, b = v.y, c = v.z; return v; } \
  __declspec(property(get = __get_##a##b##c, put = __put_##a##b##c)) vec<T, 3> a##b##c; \
  __declspec(property(get = __get_##a##b##c, put = __put_##a##b##c)) vec<T, 3> A##B##C;
#define __MT_SWIZZLE4(a, A, b, B, c, C, d, D)                                                       \
  constexpr vec<T, 4> __get_##a##b##c##d() const { return vec<T, 4>(a, b, c, d); }                  \
  constexpr vec<T, 4> __get_##a##b##c##d() const volatile { return vec<T, 4>(a, b, c, d); }         \
  constexpr vec<T, 4> __put_##a##b##c##d(const vec<T, 4>& u) & { vec<T, 4> v = u; a = v.x, b = v.y, c = v.z, d = v.w; return v; } \
  __declspec(property(get = __get_##a##b##c##d, put = __put_##a##b##c##d)) vec<T, 4> a##b##c##d; \
  __declspec(property(get = __get_##a##b##c##d, put = __put_##a##b##c##d)) vec<T, 4> A##B##C##D;
#define __MT_COLOUR(a, A)                    \
  constexpr T __get_##a() const { return a; } \
  constexpr T __get_##a() const volatile { return a; } \
  constexpr T __put_##a(T v) & { return a = v; } \
  __declspec(property(get = __get_##a, put = __put_##a)) T A;

// An element of a swizzle is a value: a reference would be to a copy, and what is stored there lost.
#define __MT_SUBSCRIPT                                                         \
  constexpr T& operator[](size_t i) & { return (&x)[i]; }                      \
  constexpr const T& operator[](size_t i) const& { return (&x)[i]; }           \
  constexpr T operator[](size_t i) && { return (&x)[i]; }

// The swizzles a source may use: the ordered ones always, all of them where a source needs more.
#define __MT_SWIZZLES_2 __MT_COLOUR(x, r) __MT_COLOUR(y, g) __MT_SWIZZLE2(x, r, y, g)
#define __MT_SWIZZLES_3                                                                    \
  __MT_COLOUR(x, r) __MT_COLOUR(y, g) __MT_COLOUR(z, b) __MT_SWIZZLE2(x, r, y, g)          \
  __MT_SWIZZLE2(y, g, z, b) __MT_SWIZZLE2(x, r, z, b) __MT_SWIZZLE3(x, r, y, g, z, b)
#define __MT_SWIZZLES_4                                                                              \
  __MT_COLOUR(x, r) __MT_COLOUR(y, g) __MT_COLOUR(z, b) __MT_COLOUR(w, a) __MT_SWIZZLE2(x, r, y, g)  \
  __MT_SWIZZLE2(y, g, z, b) __MT_SWIZZLE2(z, b, w, a) __MT_SWIZZLE2(x, r, z, b)                      \
  __MT_SWIZZLE2(y, g, w, a) __MT_SWIZZLE3(x, r, y, g, z, b) __MT_SWIZZLE3(y, g, z, b, w, a)          \
  __MT_SWIZZLE4(x, r, y, g, z, b, w, a)
#if __METALLOID_ALL_SWIZZLES__
#include "swizzles.h"
#endif

// To and from `volatile` memory. Templates, so that vectors stay what is copied as bytes.
template <int N, class To, class From>
constexpr void __copy_elements(To& to, From& from) {
  to.x = from.x, to.y = from.y;
  if constexpr (N > 2) to.z = from.z;
  if constexpr (N > 3) to.w = from.w;
}
#define __MT_VOLATILE(vec, N)                                                    \
  template <class U, class = enable_if_t<is_same_v<U, T>>>                       \
  vec(const volatile vec<U, N>& v) { __copy_elements<N>(*this, v); }             \
  template <class U, class = enable_if_t<is_same_v<U, T>>>                       \
  void operator=(const vec<U, N>& v) volatile { __copy_elements<N>(*this, v); }
#define __MT_VOLATILE_TO(op)                              \
  constexpr vec operator op##=(const vec& b) volatile {   \
    const vec result = vec(*this) op b;                   \
    *this = result;                                       \
    return result;                                        \
  }

#define __MT_VEC_REFUSED_TO(op)                    \
  template <class S, class = __if_lost<T, S>>      \
  void operator op(S) = delete;
#define __MT_VEC_BINARY(op, EACH)                                     \
  __MT_VOLATILE_TO(op) __MT_VEC_REFUSED_TO(op##=)                     \
  friend constexpr vec operator op(const vec& a, const vec& b) { return EACH(op); } \
  constexpr vec& operator op##=(const vec& b) {                              \
    vec& a = *this;                                                   \
    return a = EACH(op);                                              \
  }
// In checked runs vectors of 8 or 16 bits tell of what they do not hold.
#define __MT_VEC_WATCHED(op, EACH, CALL, function)                    \
  __MT_VOLATILE_TO(op) __MT_VEC_REFUSED_TO(op##=)                     \
  friend constexpr vec operator op(const vec& a, const vec& b) {      \
    if constexpr (::__mt::watched<T>) return CALL(::__mt::function);  \
    else return EACH(op);                                             \
  }                                                                   \
  constexpr vec& operator op##=(const vec& b) {                       \
    vec& a = *this;                                                   \
    if constexpr (::__mt::watched<T>) return a = CALL(::__mt::function); \
    else return a = EACH(op);                                         \
  }
#define __MT_VEC_GUARDED(op, CALL, function)                          \
  __MT_VOLATILE_TO(op) __MT_VEC_REFUSED_TO(op##=)                     \
  friend constexpr vec operator op(const vec& a, const vec& b) { return CALL(::__mt::function); } \
  constexpr vec& operator op##=(const vec& b) { return *this = *this op b; }
#define __MT_VEC_COMPARE(op, EACH, N) \
  friend constexpr vec<bool, N> operator op(const vec& a, const vec& b) { return __MT_BOOLS##N(op); }

// Everything but the members and the constructors.
#define __MT_VEC_BODY(N, EACH, UNARY, CALL)                                                    \
  vec() = default;                                                                       \
  __MT_VOLATILE(vec, N)                                                                  \
  using value_type = T;                                                                  \
  __MT_SUBSCRIPT                                                                         \
  constexpr volatile T& operator[](size_t i) volatile& { return (&x)[i]; }               \
  constexpr const volatile T& operator[](size_t i) const volatile& { return (&x)[i]; }   \
  __MT_VEC_WATCHED(+, EACH, CALL, element_sum) __MT_VEC_WATCHED(-, EACH, CALL, element_difference) \
  __MT_VEC_WATCHED(*, EACH, CALL, element_product)                                       \
  __MT_VEC_BINARY(&, EACH) __MT_VEC_BINARY(|, EACH) __MT_VEC_BINARY(^, EACH)             \
  __MT_VEC_GUARDED(/, CALL, element_quotient) __MT_VEC_GUARDED(%, CALL, element_remainder) \
  __MT_VEC_GUARDED(<<, CALL, element_shifted_left) __MT_VEC_GUARDED(>>, CALL, element_shifted_right) \
  __MT_VEC_COMPARE(==, EACH, N) __MT_VEC_COMPARE(!=, EACH, N)                            \
  __MT_VEC_COMPARE(<, EACH, N) __MT_VEC_COMPARE(<=, EACH, N)                             \
  __MT_VEC_COMPARE(>, EACH, N) __MT_VEC_COMPARE(>=, EACH, N)                             \
  __MT_VEC_COMPARE(&&, EACH, N) __MT_VEC_COMPARE(||, EACH, N)                            \
  constexpr vec operator+() const { return *this; }                                      \
  constexpr vec operator-() const { const vec& a = *this; return UNARY(-); }             \
  constexpr vec operator~() const { const vec& a = *this; return UNARY(~); }             \
  constexpr vec<bool, N> operator!() const { return *this == vec(T(0)); }                \
  constexpr vec operator+() const volatile { return vec(*this); }                        \
  constexpr vec operator-() const volatile { return -vec(*this); }                       \
  constexpr vec operator~() const volatile { return ~vec(*this); }                       \
  constexpr vec<bool, N> operator!() const volatile { return !vec(*this); }              \
  constexpr vec operator++() volatile { return *this += vec(T(1)); }                     \
  constexpr vec operator--() volatile { return *this -= vec(T(1)); }                     \
  constexpr vec operator++(int) volatile { const vec old = *this; *this = vec(old + vec(T(1))); return old; } \
  constexpr vec operator--(int) volatile { const vec old = *this; *this = vec(old - vec(T(1))); return old; } \
  constexpr vec& operator++() { return *this += vec(T(1)); }                             \
  constexpr vec& operator--() { return *this -= vec(T(1)); }                             \
  constexpr vec operator++(int) { vec old = *this; ++*this; return old; }                \
  constexpr vec operator--(int) { vec old = *this; --*this; return old; }                \
  __MT_SWIZZLES_##N

#define __MT_EACH2(op) vec(T(a.x op b.x), T(a.y op b.y))
#define __MT_EACH3(op) vec(T(a.x op b.x), T(a.y op b.y), T(a.z op b.z))
#define __MT_EACH4(op) vec(T(a.x op b.x), T(a.y op b.y), T(a.z op b.z), T(a.w op b.w))
#define __MT_CALL2(f) vec(f<T>(a.x, b.x), f<T>(a.y, b.y))
#define __MT_CALL3(f) vec(f<T>(a.x, b.x), f<T>(a.y, b.y), f<T>(a.z, b.z))
#define __MT_CALL4(f) vec(f<T>(a.x, b.x), f<T>(a.y, b.y), f<T>(a.z, b.z), f<T>(a.w, b.w))
#define __MT_UNARY2(op) vec(T(op a.x), T(op a.y))
#define __MT_UNARY3(op) vec(T(op a.x), T(op a.y), T(op a.z))
#define __MT_UNARY4(op) vec(T(op a.x), T(op a.y), T(op a.z), T(op a.w))
#define __MT_BOOLS2(op) vec<bool, 2>(a.x op b.x, a.y op b.y)
#define __MT_BOOLS3(op) vec<bool, 3>(a.x op b.x, a.y op b.y, a.z op b.z)
#define __MT_BOOLS4(op) vec<bool, 4>(a.x op b.x, a.y op b.y, a.z op b.z, a.w op b.w)

template <class T>
struct alignas(2 * sizeof(T)) vec<T, 2> {
  T x, y;
  constexpr vec(T s) : x(s), y(s) {}
  constexpr vec(std::initializer_list<T> l) : x(__listed<2>(l, 0)), y(__listed<2>(l, 1)) {}
  constexpr vec(T x, T y) : x(x), y(y) {}
  template <class U>
  explicit constexpr vec(const vec<U, 2>& v) : x(__to<T>(v.x)), y(__to<T>(v.y)) {}
  constexpr vec(const packed_vec<T, 2>& v) : x(v.x), y(v.y) {}
  __MT_VEC_BODY(2, __MT_EACH2, __MT_UNARY2, __MT_CALL2)
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 3> {
  T x, y, z;
  constexpr vec(T s) : x(s), y(s), z(s) {}
  constexpr vec(std::initializer_list<T> l) : x(__listed<3>(l, 0)), y(__listed<3>(l, 1)), z(__listed<3>(l, 2)) {}
  constexpr vec(T x, T y, T z) : x(x), y(y), z(z) {}
  constexpr vec(const vec<T, 2>& v, T z) : x(v.x), y(v.y), z(z) {}
  constexpr vec(T x, const vec<T, 2>& v) : x(x), y(v.x), z(v.y) {}
  template <class U>
  explicit constexpr vec(const vec<U, 3>& v) : x(__to<T>(v.x)), y(__to<T>(v.y)), z(__to<T>(v.z)) {}
  constexpr vec(const packed_vec<T, 3>& v) : x(v.x), y(v.y), z(v.z) {}
  __MT_VEC_BODY(3, __MT_EACH3, __MT_UNARY3, __MT_CALL3)
};

template <class T>
struct alignas(4 * sizeof(T)) vec<T, 4> {
  T x, y, z, w;
  constexpr vec(T s) : x(s), y(s), z(s), w(s) {}
  constexpr vec(std::initializer_list<T> l) : x(__listed<4>(l, 0)), y(__listed<4>(l, 1)), z(__listed<4>(l, 2)), w(__listed<4>(l, 3)) {}
  constexpr vec(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
  constexpr vec(const vec<T, 2>& a, const vec<T, 2>& b) : x(a.x), y(a.y), z(b.x), w(b.y) {}
  template <class S, class = __if_scalar<S, void>>
  vec(const vec<T, 2>&, S) = delete;  // one element short; the number would become two
  template <class S, class = __if_scalar<S, void>>
  vec(S, const vec<T, 2>&) = delete;
  constexpr vec(const vec<T, 2>& a, T z, T w) : x(a.x), y(a.y), z(z), w(w) {}
  constexpr vec(T x, const vec<T, 2>& a, T w) : x(x), y(a.x), z(a.y), w(w) {}
  constexpr vec(T x, T y, const vec<T, 2>& a) : x(x), y(y), z(a.x), w(a.y) {}
  constexpr vec(const vec<T, 3>& a, T w) : x(a.x), y(a.y), z(a.z), w(w) {}
  constexpr vec(T x, const vec<T, 3>& a) : x(x), y(a.x), z(a.y), w(a.z) {}
  template <class U>
  explicit constexpr vec(const vec<U, 4>& v) : x(__to<T>(v.x)), y(__to<T>(v.y)), z(__to<T>(v.z)), w(__to<T>(v.w)) {}
  constexpr vec(const packed_vec<T, 4>& v) : x(v.x), y(v.y), z(v.z), w(v.w) {}
  __MT_VEC_BODY(4, __MT_EACH4, __MT_UNARY4, __MT_CALL4)
};

// Not members, which every type of vector would pay for.
#define __MT_VEC_REFUSED(op)                              \
  template <class T, int N, class S, class = __if_lost<T, S>> \
  void operator op(const vec<T, N>&, S) = delete;         \
  template <class T, int N, class S, class = __if_lost<T, S>> \
  void operator op(S, const vec<T, N>&) = delete;
__MT_VEC_REFUSED(+) __MT_VEC_REFUSED(-) __MT_VEC_REFUSED(*) __MT_VEC_REFUSED(/) __MT_VEC_REFUSED(%)
__MT_VEC_REFUSED(&) __MT_VEC_REFUSED(|) __MT_VEC_REFUSED(^) __MT_VEC_REFUSED(<<) __MT_VEC_REFUSED(>>)
__MT_VEC_REFUSED(==) __MT_VEC_REFUSED(!=) __MT_VEC_REFUSED(<) __MT_VEC_REFUSED(<=) __MT_VEC_REFUSED(>)
__MT_VEC_REFUSED(>=) __MT_VEC_REFUSED(&&) __MT_VEC_REFUSED(||)
}  // namespace metal
