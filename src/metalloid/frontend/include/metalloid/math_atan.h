// asin, acos, atan, atan2.
#pragma once
#include "math_bits.h"

__MT_STRICT_BEGIN
namespace __mt_math {

#define __MT_PIO2_HI 0x1.921fb6p+0f
#define __MT_PIO2_LO -0x1.777a5cp-25f
#define __MT_PI_HI 0x1.921fb6p+1f
#define __MT_PI_LO -0x1.777a5cp-24f

// asin(s) for z = s*s <= 1/4.
inline float asin_small(float s, float z) {
  float p = poly(z, 0x1.5555c8p-3f, 0x1.330204p-4f, 0x1.747bb8p-5f, 0x1.8c3e5p-6f, 0x1.595c6p-5f);
  return fused(s * z, p, s);
}
// Beyond 1/2, asin(a) = pi/2 - 2 asin(sqrt((1-a)/2)).
inline float asin(float x) {
  float a = absolute(x);
  bool big = a > 0.5f;
  float z = big ? 0.5f - 0.5f * a : a * a;
  float p = asin_small(big ? __builtin_elementwise_sqrt(z) : a, z);
  return with_sign(big ? fused(-2.0f, p, __MT_PIO2_HI) + __MT_PIO2_LO : p, x);
}
inline float acos(float x) {
  float a = absolute(x);
  bool big = a > 0.5f;
  float z = big ? 0.5f - 0.5f * a : a * a;
  float p = asin_small(big ? __builtin_elementwise_sqrt(z) : x, z);
  float far = x < 0 ? fused(-2.0f, p, __MT_PI_HI) + __MT_PI_LO : p + p;
  return big ? far : __MT_PIO2_HI - (p - __MT_PIO2_LO);
}

// atan(z) for 0 <= z <= 1.
inline float atan_small(float z) {
  float s = z * z;
  float p = poly(s, -0x1.55553ep-2f, 0x1.9991e4p-3f, -0x1.242086p-3f, 0x1.c08c4ep-4f, -0x1.58091cp-4f,
                 0x1.da2a0cp-5f, -0x1.fd7e04p-6f, 0x1.6424ap-7f, -0x1.d35952p-10f);
  return fused(z * s, p, z);
}
inline float atan(float x) {
  float a = absolute(x);
  bool big = a > 1.0f;
  float p = atan_small(big ? 1.0f / a : a);
  return with_sign(big ? __MT_PIO2_HI - (p - __MT_PIO2_LO) : p, x);
}
inline float atan2(float y, float x) {
  float ax = absolute(x), ay = absolute(y);
  bool steep = ay > ax;
  float large = steep ? ay : ax, small = steep ? ax : ay;
  float q = small / large;
  q = large == 0 ? 0.0f : small == __MT_INF ? 1.0f : q;
  float p = atan_small(q);
  p = steep ? __MT_PIO2_HI - (p - __MT_PIO2_LO) : p;
  p = int(bits(x)) < 0 ? __MT_PI_HI - (p - __MT_PI_LO) : p;
  return is_nan(x) || is_nan(y) ? __MT_NAN : with_sign(p, y);
}
}  // namespace __mt_math
__MT_STRICT_END
