// Packed vectors: the same members without the padding. Arithmetic happens on the vec they convert to.
#pragma once
#include "vec.h"

namespace metal {

#define __MT_PACKED_BODY(N)                                                              \
  packed_vec() = default;                                                                \
  __MT_VOLATILE(packed_vec, N)                                                           \
  using value_type = T;                                                                  \
  __MT_SUBSCRIPT                                                                         \
  template <class U>                                                                     \
  explicit constexpr operator vec<U, N>() const { return vec<U, N>(vec<T, N>(*this)); }  \
  __MT_PACKED_ASSIGN(N, +) __MT_PACKED_ASSIGN(N, -) __MT_PACKED_ASSIGN(N, *)             \
  __MT_PACKED_ASSIGN(N, /) __MT_PACKED_ASSIGN(N, %) __MT_PACKED_ASSIGN(N, &)             \
  __MT_PACKED_ASSIGN(N, |) __MT_PACKED_ASSIGN(N, ^) __MT_PACKED_ASSIGN(N, <<)            \
  __MT_PACKED_ASSIGN(N, >>)                                                              \
  constexpr packed_vec& operator++() { return *this += vec<T, N>(T(1)); }                \
  constexpr packed_vec& operator--() { return *this -= vec<T, N>(T(1)); }                \
  constexpr packed_vec operator++(int) { packed_vec old = *this; ++*this; return old; }  \
  constexpr packed_vec operator--(int) { packed_vec old = *this; --*this; return old; }  \
  __MT_SWIZZLES_##N
#define __MT_PACKED_ASSIGN(N, op) \
  constexpr packed_vec& operator op##=(const vec<T, N>& b) { return *this = vec<T, N>(*this) op b; }

template <class T>
struct packed_vec<T, 2> {
  T x, y;
  constexpr packed_vec(T s) : x(s), y(s) {}
  constexpr packed_vec(std::initializer_list<T> l) : x(__listed<2>(l, 0)), y(__listed<2>(l, 1)) {}
  constexpr packed_vec(T x, T y) : x(x), y(y) {}
  constexpr packed_vec(const vec<T, 2>& v) : x(v.x), y(v.y) {}
  template <class U>
  explicit constexpr packed_vec(const vec<U, 2>& v) : x(__to<T>(v.x)), y(__to<T>(v.y)) {}
  __MT_PACKED_BODY(2)
};
template <class T>
struct packed_vec<T, 3> {
  T x, y, z;
  constexpr packed_vec(T s) : x(s), y(s), z(s) {}
  constexpr packed_vec(std::initializer_list<T> l) : x(__listed<3>(l, 0)), y(__listed<3>(l, 1)), z(__listed<3>(l, 2)) {}
  constexpr packed_vec(T x, T y, T z) : x(x), y(y), z(z) {}
  constexpr packed_vec(const vec<T, 3>& v) : x(v.x), y(v.y), z(v.z) {}
  template <class U>
  explicit constexpr packed_vec(const vec<U, 3>& v) : x(__to<T>(v.x)), y(__to<T>(v.y)), z(__to<T>(v.z)) {}
  __MT_PACKED_BODY(3)
};
template <class T>
struct packed_vec<T, 4> {
  T x, y, z, w;
  constexpr packed_vec(T s) : x(s), y(s), z(s), w(s) {}
  constexpr packed_vec(std::initializer_list<T> l) : x(__listed<4>(l, 0)), y(__listed<4>(l, 1)), z(__listed<4>(l, 2)), w(__listed<4>(l, 3)) {}
  constexpr packed_vec(T x, T y, T z, T w) : x(x), y(y), z(z), w(w) {}
  constexpr packed_vec(const vec<T, 4>& v) : x(v.x), y(v.y), z(v.z), w(v.w) {}
  template <class U>
  explicit constexpr packed_vec(const vec<U, 4>& v) : x(__to<T>(v.x)), y(__to<T>(v.y)), z(__to<T>(v.z)), w(__to<T>(v.w)) {}
  __MT_PACKED_BODY(4)
};

// Packed with packed, and packed with anything that becomes its vec: a scalar or a vec.
#define __MT_PACKED_BINARY(op, R)                                                                       \
  template <class T, int N>                                                                             \
  constexpr vec<R, N> operator op(const packed_vec<T, N>& a, const packed_vec<T, N>& b) {                             \
    return vec<T, N>(a) op vec<T, N>(b);                                                                \
  }                                                                                                     \
  template <class T, int N>                                                                             \
  constexpr vec<R, N> operator op(const packed_vec<T, N>& a, const type_identity_t<vec<T, N>>& b) {                   \
    return vec<T, N>(a) op b;                                                                           \
  }                                                                                                     \
  template <class T, int N>                                                                             \
  constexpr vec<R, N> operator op(const type_identity_t<vec<T, N>>& a, const packed_vec<T, N>& b) {                   \
    return a op vec<T, N>(b);                                                                           \
  }
__MT_PACKED_BINARY(+, T) __MT_PACKED_BINARY(-, T) __MT_PACKED_BINARY(*, T) __MT_PACKED_BINARY(/, T)
__MT_PACKED_BINARY(%, T) __MT_PACKED_BINARY(&, T) __MT_PACKED_BINARY(|, T) __MT_PACKED_BINARY(^, T)
__MT_PACKED_BINARY(<<, T) __MT_PACKED_BINARY(>>, T)
__MT_PACKED_BINARY(==, bool) __MT_PACKED_BINARY(!=, bool) __MT_PACKED_BINARY(<, bool)
__MT_PACKED_BINARY(<=, bool) __MT_PACKED_BINARY(>, bool) __MT_PACKED_BINARY(>=, bool)
#define __MT_PACKED_UNARY(op, R) \
  template <class T, int N>      \
  constexpr vec<R, N> operator op(const packed_vec<T, N>& a) { return op vec<T, N>(a); }
__MT_PACKED_UNARY(+, T) __MT_PACKED_UNARY(-, T) __MT_PACKED_UNARY(~, T) __MT_PACKED_UNARY(!, bool)
}  // namespace metal
