// metal::matrix: columns of vectors, as Metal lays them out.
#pragma once
#include "packed.h"

namespace metal {

template <class T, int C, int R>
struct matrix {
  vec<T, R> columns[C];
  using value_type = T;

  matrix() = default;
  explicit constexpr matrix(T diagonal) : columns{} {
    for (int i = 0; i < (C < R ? C : R); i++) columns[i][i] = diagonal;
  }
  // Not variadic: the columns may be braced lists, which have no type to deduce.
  template <int N = C, class = enable_if_t<N == 2>>
  constexpr matrix(vec<T, R> a, vec<T, R> b) : columns{a, b} {}
  template <int N = C, class = enable_if_t<N == 3>>
  constexpr matrix(vec<T, R> a, vec<T, R> b, vec<T, R> c) : columns{a, b, c} {}
  template <int N = C, class = enable_if_t<N == 4>>
  constexpr matrix(vec<T, R> a, vec<T, R> b, vec<T, R> c, vec<T, R> d) : columns{a, b, c, d} {}
  template <class... S, class = enable_if_t<sizeof...(S) == C * R - 2>, class = void>
  constexpr matrix(T first, T second, S... rest) : columns{} {
    const T all[] = {first, second, T(rest)...};
    for (int i = 0; i < C * R; i++) columns[i / R][i % R] = all[i];
  }
  template <class U>
  explicit constexpr matrix(const matrix<U, C, R>& m) : columns{} {
    for (int i = 0; i < C; i++) columns[i] = vec<T, R>(m.columns[i]);
  }

  constexpr vec<T, R>& operator[](size_t i) { return columns[i]; }
  constexpr const vec<T, R>& operator[](size_t i) const { return columns[i]; }

#define __MT_MATRIX_EACH(op)                                              \
  friend constexpr matrix operator op(const matrix& a, const matrix& b) { \
    matrix r = a;                                                         \
    for (int i = 0; i < C; i++) r.columns[i] op##= b.columns[i];          \
    return r;                                                             \
  }                                                                       \
  constexpr matrix& operator op##=(const matrix& b) { return *this = *this op b; }
  __MT_MATRIX_EACH(+)
  __MT_MATRIX_EACH(-)
  friend constexpr matrix operator-(const matrix& a) {
    matrix r = a;
    for (int i = 0; i < C; i++) r.columns[i] = -a.columns[i];
    return r;
  }
  friend constexpr matrix operator*(const matrix& a, T s) {
    matrix r = a;
    for (int i = 0; i < C; i++) r.columns[i] *= s;
    return r;
  }
  friend constexpr matrix operator*(T s, const matrix& a) { return a * s; }
  friend constexpr matrix operator/(const matrix& a, T s) {
    matrix r = a;
    for (int i = 0; i < C; i++) r.columns[i] /= s;
    return r;
  }
  constexpr matrix& operator*=(T s) { return *this = *this * s; }
  constexpr matrix& operator*=(const matrix<T, C, C>& b) { return *this = *this * b; }
  friend constexpr vec<T, R> operator*(const matrix& a, vec<T, C> v) {
    vec<T, R> r = a.columns[0] * v[0];
    for (int i = 1; i < C; i++) r += a.columns[i] * v[i];
    return r;
  }
  friend constexpr vec<T, C> operator*(vec<T, R> v, const matrix& a) {
    vec<T, C> r(T(0));
    for (int i = 0; i < C; i++)
      for (int j = 0; j < R; j++) r[i] += v[j] * a.columns[i][j];
    return r;
  }
  friend constexpr bool operator==(const matrix& a, const matrix& b) {
    bool same = true;
    for (int i = 0; i < C; i++)
      for (int j = 0; j < R; j++) same = same && a.columns[i][j] == b.columns[i][j];
    return same;
  }
  friend constexpr bool operator!=(const matrix& a, const matrix& b) { return !(a == b); }
};

template <class T, int K, int R, int C>
constexpr matrix<T, C, R> operator*(const matrix<T, K, R>& a, const matrix<T, C, K>& b) {
  matrix<T, C, R> r;
  for (int i = 0; i < C; i++) r.columns[i] = a * b.columns[i];
  return r;
}

template <class T, int C, int R>
constexpr matrix<T, R, C> transpose(const matrix<T, C, R>& m) {
  matrix<T, R, C> r;
  for (int i = 0; i < C; i++)
    for (int j = 0; j < R; j++) r.columns[j][i] = m.columns[i][j];
  return r;
}

template <class T>
constexpr T determinant(const matrix<T, 2, 2>& m) {
  return m[0].x * m[1].y - m[1].x * m[0].y;
}
template <class T>
constexpr T determinant(const matrix<T, 3, 3>& m) {
  return m[0].x * (m[1].y * m[2].z - m[2].y * m[1].z) - m[1].x * (m[0].y * m[2].z - m[2].y * m[0].z) +
         m[2].x * (m[0].y * m[1].z - m[1].y * m[0].z);
}
template <class T>
constexpr T determinant(const matrix<T, 4, 4>& m) {
  T r = T(0);
  for (int skip = 0; skip < 4; skip++) {
    matrix<T, 3, 3> minor;
    for (int i = 0, c = 0; i < 4; i++) {
      if (i == skip) continue;
      minor.columns[c++] = vec<T, 3>(m[i].y, m[i].z, m[i].w);
    }
    T term = m[skip].x * determinant(minor);
    r = skip % 2 ? T(r - term) : T(r + term);
  }
  return r;
}
}  // namespace metal
