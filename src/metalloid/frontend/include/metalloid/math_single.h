// The functions of metal::precise and metal::fast. math.h includes this once for each, with __MT_SPACE the namespace
// and __MT_ALL the one that has its functions for every type.
//
// Metal has them for floats only, so a half or a bfloat becomes a float and the result is a float. (Apple's compiler
// makes of `1 / (1 + precise::exp(h))` a sum and a quotient of floats.)

namespace metal {
namespace __MT_SPACE {
#define __MT_SINGLE(name, ...)                                                                       \
  template <class... A>                                                                              \
  inline auto name(A... x)->decltype(__MT_ALL::name(::__mt_math::single(x)...)) {                    \
    return __MT_ALL::name(::__mt_math::single(x)...);                                                \
  }
// A plain function, so that a user's own template never competes with it.
#define __MT_SINGLE1(name, ...) \
  inline float name(float x) { return __MT_ALL::name(x); } \
  __MT_SINGLE(name)
#define __MT_SINGLE2(name, ...) \
  inline float name(float x, float y) { return __MT_ALL::name(x, y); } \
  __MT_SINGLE(name)
#define __MT_SINGLE3(name, ...) \
  inline float name(float x, float y, float z) { return __MT_ALL::name(x, y, z); } \
  __MT_SINGLE(name)
#define __MT_SINGLE_TWO_RESULTS(name)                                                    \
  template <class A, class B>                                                            \
  inline auto name(A x, B& second)->decltype(__MT_ALL::name(::__mt_math::single(x), second)) { \
    return __MT_ALL::name(::__mt_math::single(x), second);                               \
  }
__MT_MATH1(__MT_SINGLE1)
__MT_MATH2(__MT_SINGLE2)
__MT_MATH3(__MT_SINGLE3)
__MT_EITHER2(__MT_SINGLE2)
__MT_EITHER3(__MT_SINGLE3)
__MT_SINGLE1(abs)
__MT_SINGLE2(nextafter)
__MT_SINGLE(ldexp)
__MT_SINGLE(ilogb)
__MT_SINGLE_TWO_RESULTS(sincos)
__MT_SINGLE_TWO_RESULTS(modf)
__MT_SINGLE_TWO_RESULTS(frexp)
#undef __MT_SINGLE
#undef __MT_SINGLE1
#undef __MT_SINGLE2
#undef __MT_SINGLE3
#undef __MT_SINGLE_TWO_RESULTS
}  // namespace __MT_SPACE
}  // namespace metal
