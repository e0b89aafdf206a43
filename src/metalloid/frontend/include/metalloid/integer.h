// Metal's integer functions, 8 to 64 bits, scalar and vector. abs, min, max, clamp and their kin are in math.h.
#pragma once
#include "math.h"

namespace __mt_math {
template <class T>
using unsigned_of = metal::make_unsigned_t<T>;
template <class T>
constexpr int width_of() { return int(8 * sizeof(T)); }
// Twice as wide, for T up to 32 bits.
template <class T>
using double_of = conditional_t<__is_signed(T), long, ulong>;

template <class T>
constexpr T clz(T x) { return T(__builtin_clzg(unsigned_of<T>(x), width_of<T>())); }
template <class T>
constexpr T ctz(T x) { return T(__builtin_ctzg(unsigned_of<T>(x), width_of<T>())); }
template <class T>
constexpr T popcount(T x) { return T(__builtin_popcountg(unsigned_of<T>(x))); }
template <class T>
inline T reverse_bits(T x) { return T(__builtin_elementwise_bitreverse(unsigned_of<T>(x))); }

template <class T>
constexpr unsigned_of<T> absdiff(T x, T y) {
  using U = unsigned_of<T>;
  return x < y ? U(U(y) - U(x)) : U(U(x) - U(y));
}
template <class T>
inline T addsat(T x, T y) { return __builtin_elementwise_add_sat(x, y); }
template <class T>
inline T subsat(T x, T y) { return __builtin_elementwise_sub_sat(x, y); }
template <class T>
constexpr T hadd(T x, T y) { return T((x & y) + ((x ^ y) >> 1)); }
template <class T>
constexpr T rhadd(T x, T y) { return T((x | y) - ((x ^ y) >> 1)); }
template <class T>
constexpr T rotate(T x, T n) {
  using U = unsigned_of<T>;
  const int mask = width_of<T>() - 1, left = int(n) & mask, right = -int(n) & mask;
  return T(U(U(x) << left) | U(U(x) >> right));
}

// The high half of the product; 64 bits from four 32-bit products.
inline ulong mulhi_long(ulong x, ulong y) {
  ulong xl = uint(x), xh = x >> 32, yl = uint(y), yh = y >> 32;
  ulong middle = xh * yl + (xl * yl >> 32);
  ulong other = xl * yh + uint(middle);
  return xh * yh + (middle >> 32) + (other >> 32);
}
template <class T>
inline T mulhi(T x, T y) {
  if constexpr (sizeof(T) < 8) return T(double_of<T>(x) * double_of<T>(y) >> width_of<T>());
  else if constexpr (__is_unsigned(T)) return mulhi_long(x, y);
  else return T(mulhi_long(ulong(x), ulong(y)) - (x < 0 ? ulong(y) : 0) - (y < 0 ? ulong(x) : 0));
}
template <class T>
inline T madhi(T a, T b, T c) { return T(unsigned_of<T>(mulhi(a, b)) + unsigned_of<T>(c)); }

template <class T>
constexpr T largest() {
  return __is_signed(T) ? T(unsigned_of<T>(-1) >> 1) : T(-1);
}
template <class T>
inline T madsat(T a, T b, T c) {
  const T high = largest<T>(), low = T(~high);
  if constexpr (sizeof(T) < 8) {
    using D = double_of<T>;
    D sum = D(a) * D(b) + D(c);
    return T(integer_clamp(sum, D(__is_signed(T) ? low : T(0)), D(high)));
  } else if constexpr (__is_unsigned(T)) {
    ulong product = a * b, sum = product + c;
    return mulhi(a, b) != 0 || sum < product ? high : sum;
  } else {
    ulong product = ulong(a) * ulong(b), sum = product + ulong(c);
    long upper = mulhi(a, b) + (c < 0 ? -1 : 0) + (sum < product ? 1 : 0);
    return upper == long(sum) >> 63 ? long(sum) : upper < 0 ? low : high;
  }
}

// Defined for values of 24 bits only.
template <class T>
constexpr T mul24(T x, T y) { return T(uint(x) * uint(y)); }
template <class T>
constexpr T mad24(T x, T y, T z) { return T(uint(x) * uint(y) + uint(z)); }

template <class T>
constexpr T low_mask(uint count) {
  return count >= uint(width_of<T>()) ? T(-1) : T((unsigned_of<T>(1) << count) - 1);
}
template <class T>
constexpr T extract_bits(T x, uint offset, uint count) {
  const uint width = width_of<T>();
  if (count == 0 || offset >= width) return 0;
  count = count > width - offset ? width - offset : count;
  return T(T(unsigned_of<T>(x) << (width - offset - count)) >> (width - count));  // arithmetic for signed T
}
template <class T>
constexpr T insert_bits(T base, T insert, uint offset, uint count) {
  if (offset >= uint(width_of<T>())) return base;
  using U = unsigned_of<T>;
  U mask = U(U(low_mask<T>(count)) << offset);
  return T((U(base) & ~mask) | (U(U(insert) << offset) & mask));
}
// Only integers have an integer type in common.
template <int kind, class V, class... A>
struct common_integer {};
template <class V, class... A>
struct common_integer<1, V, A...> : metal::enable_if<__is_integral(typename V::value_type), V> {};
template <class V, class... A>
struct common_integer<3, V, A...> : integer_number<A...> {};
template <class V, class... A>
using common_integer_t = typename common_integer<kind_of<V, true, A...>(), V, A...>::type;
template <class... A>
using integer_t = common_integer_t<typename first_vector<A...>::type, A...>;
}  // namespace __mt_math

namespace metal {
#define __MT_INTEGER1(name)                                                                        \
  template <class A, class R = ::__mt_math::integer_t<A>>                                          \
  inline R name(A x) {                                                                             \
    if constexpr (__is_integral(R)) return ::__mt_math::name(R(x));                                \
    else return ::__mt_math::map_each([](auto a) { return ::__mt_math::name(a); }, R(x));          \
  }
#define __MT_INTEGER2(name)                                                                        \
  template <class A, class B, class R = ::__mt_math::integer_t<A, B>>                              \
  inline auto name(A x, B y) {                                                                     \
    if constexpr (__is_integral(R)) return ::__mt_math::name(R(x), R(y));                          \
    else return ::__mt_math::map_each([](auto a, auto b) { return ::__mt_math::name(a, b); },      \
                                      ::__mt_math::to<R>(x), ::__mt_math::to<R>(y));               \
  }
#define __MT_INTEGER3(name)                                                                                     \
  template <class A, class B, class C, class R = ::__mt_math::integer_t<A, B, C>>                               \
  inline R name(A x, B y, C z) {                                                                                \
    if constexpr (__is_integral(R)) return ::__mt_math::name(R(x), R(y), R(z));                                 \
    else return ::__mt_math::map_each([](auto a, auto b, auto c) { return ::__mt_math::name(a, b, c); },        \
                                      ::__mt_math::to<R>(x), ::__mt_math::to<R>(y), ::__mt_math::to<R>(z));     \
  }
__MT_INTEGER1(clz)
__MT_INTEGER1(ctz)
__MT_INTEGER1(popcount)
__MT_INTEGER1(reverse_bits)
__MT_INTEGER2(absdiff)
__MT_INTEGER2(addsat)
__MT_INTEGER2(subsat)
__MT_INTEGER2(hadd)
__MT_INTEGER2(rhadd)
__MT_INTEGER2(rotate)
__MT_INTEGER2(mulhi)
__MT_INTEGER2(mul24)
__MT_INTEGER3(madhi)
__MT_INTEGER3(madsat)
__MT_INTEGER3(mad24)

template <class A, class R = ::__mt_math::integer_t<A>>
inline R extract_bits(A x, uint offset, uint bits) {
  if constexpr (__is_integral(R)) return ::__mt_math::extract_bits(R(x), offset, bits);
  else return ::__mt_math::map_each([=](auto a) { return ::__mt_math::extract_bits(a, offset, bits); }, R(x));
}
template <class A, class B, class R = ::__mt_math::integer_t<A, B>>
inline R insert_bits(A base, B insert, uint offset, uint bits) {
  if constexpr (__is_integral(R)) return ::__mt_math::insert_bits(R(base), R(insert), offset, bits);
  else return ::__mt_math::map_each([=](auto a, auto b) { return ::__mt_math::insert_bits(a, b, offset, bits); },
                                    ::__mt_math::to<R>(base), ::__mt_math::to<R>(insert));
}
#undef __MT_INTEGER1
#undef __MT_INTEGER2
#undef __MT_INTEGER3
}  // namespace metal
