// sin, cos, tan: x = q * pi/2 + r with |r| <= pi/4, then polynomials in r.
#pragma once
#include "math_exp.h"

__MT_STRICT_BEGIN
namespace __mt_math {

// r to about one ulp, and q modulo 4.
struct Quadrant {
  float r;
  int q;
};

#define __MT_PIO2_1 0x1.921fb6p+0f
#define __MT_PIO2_2 -0x1.777a5cp-25f
#define __MT_PIO2_3 -0x1.ee59dap-50f

// |x| < 2^17: pi/2 in three floats. The first subtraction is exact; the error of the second is kept, since
// everything but it may cancel.
inline Quadrant reduce_medium(float x) {
  Nearest n = nearest(x * 0x1.45f306p-1f);
  float r1 = fused(-n.value, __MT_PIO2_1, x);
  float p = n.value * __MT_PIO2_2;
  float p_lost = fused(n.value, __MT_PIO2_2, -p);
  float r2 = r1 - p;
  float back = r2 - r1;
  float lost = (r1 - (r2 - back)) - (p + back);
  float r = r2 + (lost - fused(n.value, __MT_PIO2_3, p_lost));
  return {n.integer == 0 ? x : r, n.integer};
}

inline uint word_at(int i, uint a, uint b, uint c, uint d, uint e) {
  return i == 0 ? a : i == 1 ? b : i == 2 ? c : i == 3 ? d : e;
}

// 2^17 <= |x| < infinity: 96 bits of 2/pi, those that decide x * 2/pi modulo 4, times the mantissa of x.
inline Quadrant reduce_large(float x) {
  uint u = bits(x);
  ulong mantissa = (u & 0x7fffff) | 0x800000;
  int offset = int(u >> 23 & 255) - 150 + 30;
  int i = offset >> 5, shift = offset & 31;
  uint w0 = word_at(i, 0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0);
  uint w1 = word_at(i, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599);
  uint w2 = word_at(i, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041);
  uint w3 = word_at(i, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab);
  ulong a = ((ulong(w0) << 32 | w1) << shift) >> 32;
  ulong b = ((ulong(w1) << 32 | w2) << shift) >> 32;
  ulong c = ((ulong(w2) << 32 | w3) << shift) >> 32;
  ulong turns = (mantissa * a << 32) + mantissa * b + (mantissa * c >> 32);  // quarter turns, 62 bits of fraction
  ulong q = (turns + (1ul << 61)) >> 62;
  long fraction = long(turns - (q << 62));
  float high = float(fraction);
  float low = float(fraction - long(high));
  float r = fused(high, 0x1.921fb6p-62f, fused(high, -0x1.777a5cp-87f, low * 0x1.921fb6p-62f));
  bool negative = x < 0;
  return {negative ? -r : r, negative ? -int(q) : int(q)};
}

inline Quadrant reduce(float x) {
  Quadrant k = reduce_medium(x);
  uint a = bits(absolute(x));
  if (a - 0x48000000u < 0x7f800000u - 0x48000000u) k = reduce_large(x);
  return k;
}
// Fast math stops caring beyond |x| = 2^22, but the result stays within [-1, 1].
inline Quadrant reduce_fast(float x) {
  Quadrant k = reduce_medium(x);
  return {limited(k.r, -0.79f, 0.79f), k.q};
}

inline float sin_of_reduced(float r) {
  float s = r * r;
  float p = poly(s, -0x1.555546p-3f, 0x1.110774p-7f, -0x1.9951e6p-13f);
  return s == 0 ? r : fused(r * s, p, r);
}
inline float cos_of_reduced(float r) {
  float s = r * r;
  float p = poly(s, 0x1.55554ap-5f, -0x1.6c0c1ap-10f, 0x1.99e0ecp-16f);
  return fused(s * s, p, fused(-0.5f, s, 1.0f));
}
inline float tan_of_reduced(float r) {
  float s = r * r;
  float p = poly(s, 0x1.5554dcp-2f, 0x1.112e4cp-3f, 0x1.b5790cp-5f, 0x1.90c5c6p-6f, 0x1.92737ep-9f, 0x1.347f42p-7f);
  return fused(r * s, p, r);
}

inline float sin_in(Quadrant k) {
  float v = k.q & 1 ? cos_of_reduced(k.r) : sin_of_reduced(k.r);
  return from_bits(bits(v) ^ uint(k.q & 2) << 30);
}
inline float cos_in(Quadrant k) { return sin_in({k.r, k.q + 1}); }
inline float tan_in(Quadrant k) {
  float t = tan_of_reduced(k.r);
  return k.q & 1 ? -1.0f / t : t;
}

inline float sin(float x) { return sin_in(reduce(x)); }
inline float cos(float x) { return cos_in(reduce(x)); }
inline float tan(float x) { return tan_in(reduce(x)); }
inline float sin_fast(float x) { return sin_in(reduce_fast(x)); }
inline float cos_fast(float x) { return cos_in(reduce_fast(x)); }
inline float tan_fast(float x) { return tan_in(reduce_fast(x)); }
inline float sincos(float x, float& cosine) {
  Quadrant k = reduce(x);
  cosine = cos_in(k);
  return sin_in(k);
}
inline float sincos_fast(float x, float& cosine) {
  Quadrant k = reduce_fast(x);
  cosine = cos_in(k);
  return sin_in(k);
}

// x * pi: the reduction is exact.
inline Quadrant reduce_pi(float x) {
  float y = fused(-2.0f, __builtin_elementwise_rint(0.5f * x), x);
  Nearest n = nearest(y + y);
  float r = fused(-0.5f, n.value, y);
  return {fused(r, 0x1.921fb6p+1f, r * -0x1.777a5cp-24f), n.integer};
}
inline float sinpi(float x) {
  float v = sin_in(reduce_pi(x));
  return v == 0 ? with_sign(0.0f, x) : v;
}
inline float cospi(float x) {
  float v = cos_in(reduce_pi(x));
  return v == 0 ? 0.0f : v;
}
inline float tanpi(float x) {  // +infinity at 1/2, -infinity at 3/2
  Quadrant k = reduce_pi(x);
  float v = tan_in(k);
  v = k.r == 0 && (k.q & 1) ? with_sign(__MT_INF, k.q & 2 ? -1.0f : 1.0f) : v;
  return v == 0 ? with_sign(0.0f, x) : v;
}
}  // namespace __mt_math
__MT_STRICT_END
