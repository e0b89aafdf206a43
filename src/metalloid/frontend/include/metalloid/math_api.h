// Metal's math functions for every type. math.h includes this once for the precise and once for the fast ones, with
// __MT_SPACE the namespace and __MT_CORE(precise, fast) the choice between two functions of floats.
//
// float and half are plain functions, so that a user's own template never competes with them. Everything else that
// fits (bfloat, integers, mixed types, packed vectors) goes through one template per function, which converts the
// arguments to their common type R and calls the exact overload.

#define __MT_HERE(name) ::metal::__MT_SPACE::name
#define __MT_TO(R, x) ::__mt_math::to<R>(x)

#define __MT_API1(name, precise, fast, narrow)                                           \
  inline float name(float x) { return ::__mt_math::__MT_CORE(precise, fast)(x); }        \
  inline half name(half x) { return half(::__mt_math::narrow(float(x))); }               \
  template <class T, int N>                                                              \
  inline ::__mt_math::vec_real_t<T, N> name(vec<T, N> x);                                \
  template <class A, class R = ::__mt_math::real_t<A>>                                   \
  inline R name(A x) {                                                                   \
    if constexpr (::__mt_math::is_bfloat<R>()) return bfloat(__MT_HERE(name)(float(x))); \
    else return __MT_HERE(name)(__MT_TO(R, x));                                          \
  }                                                                                      \
  template <class T, int N>                                                              \
  inline ::__mt_math::vec_real_t<T, N> name(vec<T, N> x) {                               \
    return ::__mt_math::map<T, N>([](T a) -> T { return __MT_HERE(name)(a); }, x);       \
  }

// common: real_t or either_t; integral: what to call with two integers of type R.
#define __MT_API2_AS(name, precise, fast, narrow, common, integral)                                \
  inline float name(float x, float y) { return ::__mt_math::__MT_CORE(precise, fast)(x, y); }      \
  inline half name(half x, half y) { return half(::__mt_math::narrow(float(x), float(y))); }       \
  template <class T, int N>                                                                        \
  inline ::__mt_math::vec_##common<T, N> name(vec<T, N> x, vec<T, N> y);                           \
  template <class A, class B, class R = ::__mt_math::common<A, B>>                                 \
  inline R name(A x, B y) {                                                                        \
    if constexpr (::__mt_math::is_bfloat<R>()) return bfloat(__MT_HERE(name)(float(x), float(y))); \
    else if constexpr (__is_integral(R)) return ::__mt_math::integral(R(x), R(y));                 \
    else return __MT_HERE(name)(__MT_TO(R, x), __MT_TO(R, y));                                     \
  }                                                                                                \
  template <class T, int N>                                                                        \
  inline ::__mt_math::vec_##common<T, N> name(vec<T, N> x, vec<T, N> y) {                          \
    return ::__mt_math::map<T, N>([](T a, T b) -> T { return __MT_HERE(name)(a, b); }, x, y);      \
  }

#define __MT_API3_AS(name, precise, fast, narrow, common, integral)                                            \
  inline float name(float x, float y, float z) { return ::__mt_math::__MT_CORE(precise, fast)(x, y, z); }      \
  inline half name(half x, half y, half z) { return half(::__mt_math::narrow(float(x), float(y), float(z))); } \
  template <class T, int N>                                                                                    \
  inline ::__mt_math::vec_##common<T, N> name(vec<T, N> x, vec<T, N> y, vec<T, N> z);                          \
  template <class A, class B, class C, class R = ::__mt_math::common<A, B, C>>                                 \
  inline R name(A x, B y, C z) {                                                                               \
    if constexpr (::__mt_math::is_bfloat<R>()) return bfloat(__MT_HERE(name)(float(x), float(y), float(z)));   \
    else if constexpr (__is_integral(R)) return ::__mt_math::integral(R(x), R(y), R(z));                       \
    else return __MT_HERE(name)(__MT_TO(R, x), __MT_TO(R, y), __MT_TO(R, z));                                  \
  }                                                                                                            \
  template <class T, int N>                                                                                    \
  inline ::__mt_math::vec_##common<T, N> name(vec<T, N> x, vec<T, N> y, vec<T, N> z) {                         \
    return ::__mt_math::map<T, N>([](T a, T b, T c) -> T { return __MT_HERE(name)(a, b, c); }, x, y, z);       \
  }

#define __MT_API2(name, precise, fast, narrow) __MT_API2_AS(name, precise, fast, narrow, real_t, no_integers)
#define __MT_API3(name, precise, fast, narrow) __MT_API3_AS(name, precise, fast, narrow, real_t, no_integers)

namespace metal {
namespace __MT_SPACE {
// The bfloats that a rounded float would get wrong. They come first, so that vectors find them, and are templates,
// so that MLX may declare plain functions of bfloats beside them.
template <int = 0>
inline bfloat fma(bfloat x, bfloat y, bfloat z) {
  return bfloat(::__mt_math::fma_bfloat(float(x), float(y), float(z)));
}
template <int = 0>
inline bfloat fract(bfloat x) { return bfloat(::__mt_math::fract_bfloat(float(x))); }

__MT_MATH1(__MT_API1)
__MT_MATH2(__MT_API2)
__MT_MATH3(__MT_API3)
__MT_EITHER2(__MT_API2_AS)
__MT_EITHER3(__MT_API3_AS)

inline float abs(float x) { return __builtin_elementwise_abs(x); }
inline half abs(half x) { return half(__builtin_elementwise_abs(float(x))); }
template <class T, int N>
inline vec<T, N> abs(vec<T, N> x);
template <class A, class R = ::__mt_math::either_t<A>>
inline R abs(A x) {
  if constexpr (::__mt_math::is_bfloat<R>()) return bfloat(__builtin_elementwise_abs(float(x)));
  else if constexpr (__is_integral(R)) return ::__mt_math::integer_abs(x);
  else return __MT_HERE(abs)(__MT_TO(R, x));
}
template <class T, int N>
inline vec<T, N> abs(vec<T, N> x) {
  return ::__mt_math::map<T, N>([](T a) -> T { return __MT_HERE(abs)(a); }, x);
}

// 16-bit neighbours are not the float's neighbours.
inline float nextafter(float x, float y) { return ::__mt_math::nextafter(x, y); }
inline half nextafter(half x, half y) { return ::__mt_math::nextafter16(x, y); }
template <class T, int N>
inline ::__mt_math::vec_real_t<T, N> nextafter(vec<T, N> x, vec<T, N> y);
template <class A, class B, class R = ::__mt_math::real_t<A, B>>
inline R nextafter(A x, B y) {
  if constexpr (::__mt_math::is_bfloat<R>()) return ::__mt_math::nextafter16(__MT_TO(R, x), __MT_TO(R, y));
  else return __MT_HERE(nextafter)(__MT_TO(R, x), __MT_TO(R, y));
}
template <class T, int N>
inline ::__mt_math::vec_real_t<T, N> nextafter(vec<T, N> x, vec<T, N> y) {
  return ::__mt_math::map<T, N>([](T a, T b) -> T { return __MT_HERE(nextafter)(a, b); }, x, y);
}

// With a second result, or an integer beside the float.
template <class A, class B, class R = ::__mt_math::real_number_t<A>>
inline R sincos(A x, B& cosine) {
  float c, s = ::__mt_math::__MT_CORE(sincos, sincos_fast)(float(x), c);
  cosine = ::__mt_math::number_to<B>(c);
  return ::__mt_math::number_to<R>(s);
}
template <class A, class B, class R = ::__mt_math::real_number_t<A>>
inline R modf(A x, B& whole) {
  float w, f = ::__mt_math::modf(float(x), w);
  whole = ::__mt_math::number_to<B>(w);
  return ::__mt_math::number_to<R>(f);
}
template <class A, class R = ::__mt_math::real_number_t<A>>
inline R frexp(A x, int& exponent) {
  return ::__mt_math::number_to<R>(::__mt_math::frexp(float(x), exponent));
}
template <class A, class R = ::__mt_math::real_number_t<A>>
inline R ldexp(A x, int k) {
  return ::__mt_math::number_to<R>(::__mt_math::ldexp(float(x), k));
}
template <class A, class = ::__mt_math::real_number_t<A>>
inline int ilogb(A x) {
  return ::__mt_math::ilogb(float(x));
}

#define __MT_API_TWO_RESULTS(name, Second)                         \
  template <class T, int N>                                        \
  inline vec<T, N> name(vec<T, N> x, vec<Second, N>& second) {     \
    vec<T, N> first;                                               \
    first.x = __MT_HERE(name)(x.x, second.x);                      \
    first.y = __MT_HERE(name)(x.y, second.y);                      \
    if constexpr (N > 2) first.z = __MT_HERE(name)(x.z, second.z); \
    if constexpr (N > 3) first.w = __MT_HERE(name)(x.w, second.w); \
    return first;                                                  \
  }
__MT_API_TWO_RESULTS(sincos, T)
__MT_API_TWO_RESULTS(modf, T)
__MT_API_TWO_RESULTS(frexp, int)
template <class T, int N>
inline vec<T, N> ldexp(vec<T, N> x, vec<int, N> k) {
  return ::__mt_math::map<T, N>([](T a, int b) -> T { return __MT_HERE(ldexp)(a, b); }, x, k);
}
template <class T, int N>
inline vec<T, N> ldexp(vec<T, N> x, int k) {
  return __MT_HERE(ldexp)(x, vec<int, N>(k));
}
template <class T, int N>
inline vec<int, N> ilogb(vec<T, N> x) {
  return ::__mt_math::map<int, N>([](T a) -> int { return __MT_HERE(ilogb)(a); }, x);
}
}  // namespace __MT_SPACE
}  // namespace metal

#undef __MT_API1
#undef __MT_API2
#undef __MT_API2_AS
#undef __MT_API3
#undef __MT_API3_AS
#undef __MT_API_TWO_RESULTS
#undef __MT_HERE
#undef __MT_TO
