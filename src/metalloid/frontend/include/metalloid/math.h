// Metal's math and common functions: metal::precise, metal::fast, and metal's own by math mode.
//
// metal::__precise and metal::__fast have every function for every type; metal takes its own from one of them.
// metal::precise and metal::fast are of single precision (math_single.h).
// __METALLOID_MATH__: 0 safe, the precise ones; 1 relaxed, the fast ones but those that pick an argument honour NaN;
// 2 fast. The cores are functions of floats in namespace __mt_math, compiled the same way in every mode. 16-bit types
// compute in float and round once.
#pragma once
#include "math_atan.h"
#include "math_common.h"
#include "math_pow.h"
#include "math_trig.h"
#include "math_types.h"

#ifndef __METALLOID_MATH__
#define __METALLOID_MATH__ 2
#endif

// X(name, precise core, fast core, core for half)
#define __MT_MATH1(X)                                                                                      \
  X(acos, acos, acos, acos) X(acosh, acosh, acosh, acosh) X(asin, asin, asin, asin)                        \
  X(asinh, asinh, asinh, asinh) X(atan, atan, atan, atan) X(atanh, atanh, atanh, atanh)                    \
  X(ceil, ceil, ceil, ceil) X(cos, cos, cos_fast, cos_fast) X(cosh, cosh, cosh, cosh)                      \
  X(cospi, cospi, cospi, cospi) X(exp, exp, exp_fast, exp_fast) X(exp10, exp10, exp10, exp10)              \
  X(exp2, exp2, exp2, exp2) X(fabs, fabs, fabs, fabs) X(floor, floor, floor, floor)                        \
  X(fract, fract, fract, fract_half) X(log, log, log, log) X(log10, log10, log10, log10)                   \
  X(log2, log2, log2, log2) X(rint, rint, rint, rint) X(round, round, round, round)                        \
  X(rsqrt, rsqrt, rsqrt_fast, rsqrt) X(sin, sin, sin_fast, sin_fast) X(sinh, sinh, sinh, sinh)             \
  X(sinpi, sinpi, sinpi, sinpi) X(sqrt, sqrt, sqrt, sqrt) X(tan, tan, tan_fast, tan_fast)                  \
  X(tanh, tanh, tanh, tanh) X(tanpi, tanpi, tanpi, tanpi) X(trunc, trunc, trunc, trunc)                    \
  X(saturate, saturate, saturate, saturate) X(sign, sign, sign, sign)
#define __MT_MATH2(X)                                                                                      \
  X(atan2, atan2, atan2, atan2) X(copysign, copysign, copysign, copysign) X(divide, divide, divide, divide) \
  X(fdim, fdim, fdim, fdim) X(fmax, fmax, fmax_fast, fmax) X(fmin, fmin, fmin_fast, fmin)                  \
  X(fmod, fmod, fmod, fmod) X(pow, pow, pow, pow) X(powr, powr, powr, powr) X(step, step, step, step)
#define __MT_MATH3(X)                                                                                      \
  X(fma, fma, fma, fma_half) X(fmax3, fmax3, fmax3_fast, fmax3) X(fmin3, fmin3, fmin3_fast, fmin3)         \
  X(fmedian3, fmedian3, fmedian3_fast, fmedian3) X(mix, mix, mix, mix)                                     \
  X(smoothstep, smoothstep, smoothstep, smoothstep)
// These take integers as well.
#define __MT_EITHER2(X)                              \
  X(max, fmax, fmax_fast, fmax, either_t, integer_max) \
  X(min, fmin, fmin_fast, fmin, either_t, integer_min)
#define __MT_EITHER3(X)                                              \
  X(max3, fmax3, fmax3_fast, fmax3, either_t, integer_max3)          \
  X(min3, fmin3, fmin3_fast, fmin3, either_t, integer_min3)          \
  X(median3, fmedian3, fmedian3_fast, fmedian3, either_t, integer_median3) \
  X(clamp, clamp, clamp_fast, clamp, either_t, integer_clamp)

#define __MT_SPACE __precise
#define __MT_CORE(precise, fast) precise
#include "math_api.h"
#undef __MT_SPACE
#undef __MT_CORE

#define __MT_SPACE __fast
#define __MT_CORE(precise, fast) fast
#include "math_api.h"
#undef __MT_SPACE
#undef __MT_CORE

#define __MT_SPACE precise
#define __MT_ALL __precise
#include "math_single.h"
#undef __MT_SPACE
#undef __MT_ALL

#define __MT_SPACE fast
#define __MT_ALL __fast
#include "math_single.h"
#undef __MT_SPACE
#undef __MT_ALL

#if __METALLOID_MATH__ == 0
#define __MT_FUNCTIONS __precise
#else
#define __MT_FUNCTIONS __fast
#endif
#if __METALLOID_MATH__ == 2
#define __MT_CHOOSERS __fast
#else
#define __MT_CHOOSERS __precise
#endif

namespace metal {
#define __MT_USE(name, ...) using __MT_FUNCTIONS::name;
#define __MT_USE_CHOOSER(name, ...) using __MT_CHOOSERS::name;
__MT_MATH1(__MT_USE)
__MT_EITHER2(__MT_USE_CHOOSER)
__MT_EITHER3(__MT_USE_CHOOSER)
using __MT_CHOOSERS::fmax;
using __MT_CHOOSERS::fmax3;
using __MT_CHOOSERS::fmedian3;
using __MT_CHOOSERS::fmin;
using __MT_CHOOSERS::fmin3;
using __MT_FUNCTIONS::abs;
using __MT_FUNCTIONS::atan2;
using __MT_FUNCTIONS::copysign;
using __MT_FUNCTIONS::divide;
using __MT_FUNCTIONS::fdim;
using __MT_FUNCTIONS::fma;
using __MT_FUNCTIONS::fmod;
using __MT_FUNCTIONS::frexp;
using __MT_FUNCTIONS::ilogb;
using __MT_FUNCTIONS::ldexp;
using __MT_FUNCTIONS::mix;
using __MT_FUNCTIONS::modf;
using __MT_FUNCTIONS::nextafter;
using __MT_FUNCTIONS::pow;
using __MT_FUNCTIONS::powr;
using __MT_FUNCTIONS::sincos;
using __MT_FUNCTIONS::smoothstep;
using __MT_FUNCTIONS::step;
#undef __MT_USE
#undef __MT_USE_CHOOSER
}  // namespace metal
