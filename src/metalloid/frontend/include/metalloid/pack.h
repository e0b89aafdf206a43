// Packed colours and normals: between floats in [-1, 1] or [0, 1] and small integers side by side in a word.
#pragma once
#include "math.h"

__MT_STRICT_BEGIN
namespace __mt_math {
// The first component is in the lowest bits. NaN becomes 0.
inline uint to_unorm(float x, uint largest) { return uint(rint(clamp(x, 0.0f, 1.0f) * float(largest))); }
inline uint to_snorm(float x, int bits) {
  float c = x != x ? 0.0f : clamp(x, -1.0f, 1.0f);
  return uint(int(rint(c * float((1 << (bits - 1)) - 1)))) & ((1u << bits) - 1);
}
inline float from_unorm(uint word, int shift, int bits) {
  uint largest = (1u << bits) - 1;
  return float(word >> shift & largest) / float(largest);
}
inline float from_snorm(uint word, int shift, int bits) {
  int v = int(word << (32 - shift - bits)) >> (32 - bits);
  float r = float(v) / float((1 << (bits - 1)) - 1);
  return r < -1.0f ? -1.0f : r;
}
inline float to_srgb(float x) {
  float c = clamp(x, 0.0f, 1.0f);
  return c < 0.0031308f ? 12.92f * c : 1.055f * pow(c, 1.0f / 2.4f) - 0.055f;
}
inline float from_srgb(float c) { return c <= 0.04045f ? c / 12.92f : pow((c + 0.055f) / 1.055f, 2.4f); }

inline uint pack_unorm4x8(vec<float, 4> v) {
  return to_unorm(v.x, 255) | to_unorm(v.y, 255) << 8 | to_unorm(v.z, 255) << 16 | to_unorm(v.w, 255) << 24;
}
inline uint pack_snorm4x8(vec<float, 4> v) {
  return to_snorm(v.x, 8) | to_snorm(v.y, 8) << 8 | to_snorm(v.z, 8) << 16 | to_snorm(v.w, 8) << 24;
}
inline uint pack_srgb_unorm4x8(vec<float, 4> v) {
  return pack_unorm4x8(vec<float, 4>(to_srgb(v.x), to_srgb(v.y), to_srgb(v.z), v.w));
}
inline uint pack_unorm2x16(vec<float, 2> v) { return to_unorm(v.x, 65535) | to_unorm(v.y, 65535) << 16; }
inline uint pack_snorm2x16(vec<float, 2> v) { return to_snorm(v.x, 16) | to_snorm(v.y, 16) << 16; }
inline uint pack_unorm10a2(vec<float, 4> v) {
  return to_unorm(v.x, 1023) | to_unorm(v.y, 1023) << 10 | to_unorm(v.z, 1023) << 20 | to_unorm(v.w, 3) << 30;
}
// Red in the highest bits, as in the pixel format of the same name.
inline ushort pack_unorm565(vec<float, 3> v) {
  return ushort(to_unorm(v.x, 31) << 11 | to_unorm(v.y, 63) << 5 | to_unorm(v.z, 31));
}

inline vec<float, 4> unpack_unorm4x8(uint w) {
  return vec<float, 4>(from_unorm(w, 0, 8), from_unorm(w, 8, 8), from_unorm(w, 16, 8), from_unorm(w, 24, 8));
}
inline vec<float, 4> unpack_snorm4x8(uint w) {
  return vec<float, 4>(from_snorm(w, 0, 8), from_snorm(w, 8, 8), from_snorm(w, 16, 8), from_snorm(w, 24, 8));
}
inline vec<float, 4> unpack_unorm4x8_srgb(uint w) {
  vec<float, 4> v = unpack_unorm4x8(w);
  return vec<float, 4>(from_srgb(v.x), from_srgb(v.y), from_srgb(v.z), v.w);
}
inline vec<float, 2> unpack_unorm2x16(uint w) { return vec<float, 2>(from_unorm(w, 0, 16), from_unorm(w, 16, 16)); }
inline vec<float, 2> unpack_snorm2x16(uint w) { return vec<float, 2>(from_snorm(w, 0, 16), from_snorm(w, 16, 16)); }
inline vec<float, 4> unpack_unorm10a2(uint w) {
  return vec<float, 4>(from_unorm(w, 0, 10), from_unorm(w, 10, 10), from_unorm(w, 20, 10), from_unorm(w, 30, 2));
}
inline vec<float, 3> unpack_unorm565(uint w) {
  return vec<float, 3>(from_unorm(w, 11, 5), from_unorm(w, 5, 6), from_unorm(w, 0, 5));
}
}  // namespace __mt_math
__MT_STRICT_END

namespace metal {
#define __MT_PACK(name, core, Word, N)                                                                           \
  inline Word pack_float_to_##name(vec<float, N> x) { return ::__mt_math::pack_##core(x); }                      \
  inline Word pack_half_to_##name(vec<half, N> x) { return ::__mt_math::pack_##core(vec<float, N>(x)); }
#define __MT_UNPACK(name, Word, N)                                                                               \
  inline vec<float, N> unpack_##name##_to_float(Word x) { return ::__mt_math::unpack_##name(x); }                \
  inline vec<half, N> unpack_##name##_to_half(Word x) { return vec<half, N>(::__mt_math::unpack_##name(x)); }
__MT_PACK(unorm4x8, unorm4x8, uint, 4)
__MT_PACK(snorm4x8, snorm4x8, uint, 4)
__MT_PACK(srgb_unorm4x8, srgb_unorm4x8, uint, 4)
__MT_PACK(unorm2x16, unorm2x16, uint, 2)
__MT_PACK(snorm2x16, snorm2x16, uint, 2)
__MT_PACK(unorm10a2, unorm10a2, uint, 4)
__MT_PACK(unorm565, unorm565, ushort, 3)
__MT_UNPACK(unorm4x8, uint, 4)
__MT_UNPACK(snorm4x8, uint, 4)
__MT_UNPACK(unorm4x8_srgb, uint, 4)
__MT_UNPACK(unorm2x16, uint, 2)
__MT_UNPACK(snorm2x16, uint, 2)
__MT_UNPACK(unorm10a2, uint, 4)
__MT_UNPACK(unorm565, ushort, 3)
#undef __MT_PACK
#undef __MT_UNPACK
}  // namespace metal
