// Metal's geometric functions on float and half vectors. They compute in float; half results are rounded once.
#pragma once
#include "math.h"

__MT_STRICT_BEGIN
namespace __mt_math {
template <class T, int N>
inline float dot(vec<T, N> a, vec<T, N> b) {
  float s = fused(float(a.y), float(b.y), float(a.x) * float(b.x));
  if constexpr (N > 2) s = fused(float(a.z), float(b.z), s);
  if constexpr (N > 3) s = fused(float(a.w), float(b.w), s);
  return s;
}
template <class T, int N>
inline vec<float, N> widened(vec<T, N> v) { return vec<float, N>(v); }
template <class T, int N>
inline float largest_of(vec<T, N> v) {
  float m = fmax(absolute(float(v.x)), absolute(float(v.y)));
  if constexpr (N > 2) m = fmax(m, absolute(float(v.z)));
  if constexpr (N > 3) m = fmax(m, absolute(float(v.w)));
  return m;
}
// A power of two that brings the largest component near 1, so that squares neither overflow nor vanish.
inline float size_factor(float largest) {
  int e = int(bits(largest) >> 23) - 127;
  e = e > 126 ? 126 : e < -126 ? -126 : e;
  return power_of_two(-e);
}
template <int N>
inline float length(vec<float, N> v) {
  float m = largest_of(v), k = size_factor(m);
  vec<float, N> s = v * vec<float, N>(k);
  float r = sqrt(dot(s, s)) / k;
  return m == __MT_INF ? m : r;
}
template <int N>
inline float length_fast(vec<float, N> v) { return sqrt(dot(v, v)); }
// A vector of length 0 stays as it is.
template <int N>
inline vec<float, N> normalize(vec<float, N> v) {
  vec<float, N> s = v * vec<float, N>(size_factor(largest_of(v)));
  float d = dot(s, s);
  return d == 0 ? v : s * vec<float, N>(rsqrt(d));
}
template <int N>
inline vec<float, N> normalize_fast(vec<float, N> v) {
  float d = dot(v, v);
  return d == 0 ? v : v * vec<float, N>(rsqrt_fast(d));
}
template <class T, int N>
inline vec<float, N> reflect(vec<T, N> i, vec<T, N> n) {
  float k = -2.0f * dot(n, i);
  return map<float, N>([=](float p, float q) { return fused(k, q, p); }, widened(i), widened(n));
}
template <class T, int N>
inline vec<float, N> refract(vec<T, N> i, vec<T, N> n, float eta) {
  float d = dot(n, i);
  float k = 1.0f - eta * eta * (1.0f - d * d);
  float along = fused(eta, d, sqrt(k < 0 ? 0.0f : k));
  return map<float, N>([=](float p, float q) { return k < 0 ? 0.0f : eta * p - along * q; }, widened(i), widened(n));
}
template <class T>
inline float turn(T a, T b, T c, T d) {  // a*b - c*d with one error term kept
  float p = float(c) * float(d);
  float lost = fused(-float(c), float(d), p);
  return fused(float(a), float(b), -p) + lost;
}
}  // namespace __mt_math
__MT_STRICT_END

namespace metal {
#define __MT_LENGTHS(space, suffix)                                                                                        \
  namespace space {                                                                                                        \
  template <class T, int N>                                                                                                \
  inline ::__mt_math::real_only<T> length(vec<T, N> x) { return T(::__mt_math::length##suffix(::__mt_math::widened(x))); } \
  template <class T, int N>                                                                                                \
  inline ::__mt_math::real_only<T> distance(vec<T, N> x, vec<T, N> y) {                                                    \
    return T(::__mt_math::length##suffix(::__mt_math::widened(x) - ::__mt_math::widened(y)));                              \
  }                                                                                                                        \
  template <class T, int N>                                                                                                \
  inline ::__mt_math::vec_real_t<T, N> normalize(vec<T, N> x) {                                                            \
    return vec<T, N>(::__mt_math::normalize##suffix(::__mt_math::widened(x)));                                             \
  }                                                                                                                        \
  template <class T, int N>                                                                                                \
  inline ::__mt_math::real_only<T> length(packed_vec<T, N> x) { return ::metal::space::length(vec<T, N>(x)); }             \
  template <class T, int N>                                                                                                \
  inline ::__mt_math::vec_real_t<T, N> normalize(packed_vec<T, N> x) { return ::metal::space::normalize(vec<T, N>(x)); }   \
  template <class A, class B, class V = ::__mt_math::real_t<A, B>>                                                         \
  inline typename V::value_type distance(A x, B y) {                                                                       \
    return ::metal::space::distance(::__mt_math::to<V>(x), ::__mt_math::to<V>(y));                                         \
  }                                                                                                                        \
  }
__MT_LENGTHS(__precise, )
__MT_LENGTHS(__fast, _fast)
namespace precise {
using __precise::distance;
using __precise::length;
using __precise::normalize;
}  // namespace precise
namespace fast {
using __fast::distance;
using __fast::length;
using __fast::normalize;
}  // namespace fast
#undef __MT_LENGTHS
using __MT_FUNCTIONS::distance;
using __MT_FUNCTIONS::length;
using __MT_FUNCTIONS::normalize;

template <class A, class B, class V = ::__mt_math::real_t<A, B>>
inline typename V::value_type dot(A x, B y) {
  return typename V::value_type(::__mt_math::dot(::__mt_math::to<V>(x), ::__mt_math::to<V>(y)));
}
template <class A, class V = ::__mt_math::real_t<A>>
inline typename V::value_type length_squared(A x) {
  return ::metal::dot(x, x);
}
template <class A, class B, class V = ::__mt_math::real_t<A, B>>
inline typename V::value_type distance_squared(A x, B y) {
  auto d = ::__mt_math::widened(::__mt_math::to<V>(x)) - ::__mt_math::widened(::__mt_math::to<V>(y));
  return typename V::value_type(::__mt_math::dot(d, d));
}
template <class T>
inline ::__mt_math::vec_real_t<T, 3> cross(vec<T, 3> x, vec<T, 3> y) {
  return vec<T, 3>(T(::__mt_math::turn(x.y, y.z, x.z, y.y)), T(::__mt_math::turn(x.z, y.x, x.x, y.z)),
                   T(::__mt_math::turn(x.x, y.y, x.y, y.x)));
}
template <class A, class B, class V = ::__mt_math::real_t<A, B>>
inline ::metal::enable_if_t<__is_same(V, vec<typename V::value_type, 3>), V> cross(A x, B y) {
  return ::metal::cross(::__mt_math::to<V>(x), ::__mt_math::to<V>(y));
}
template <class T, int N>
inline ::__mt_math::vec_real_t<T, N> faceforward(vec<T, N> n, vec<T, N> i, vec<T, N> reference) {
  return ::__mt_math::dot(reference, i) < 0 ? n : -n;
}
template <class T, int N>
inline ::__mt_math::vec_real_t<T, N> reflect(vec<T, N> i, vec<T, N> n) {
  return vec<T, N>(::__mt_math::reflect(i, n));
}
template <class T, int N, class E>
inline ::__mt_math::vec_real_t<T, N> refract(vec<T, N> i, vec<T, N> n, E eta) {
  return vec<T, N>(::__mt_math::refract(i, n, float(eta)));
}
}  // namespace metal
