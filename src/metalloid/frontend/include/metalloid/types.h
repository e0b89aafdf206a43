// All value types, and their short names: float4, packed_half3, float4x4, ...
#pragma once
#include "vec.h"
#include "packed.h"
#include "matrix.h"

// MSL knows these names without `metal::`, and with it.
#define __MT_NAMES(T)                      \
  typedef metal::vec<T, 2> T##2;           \
  typedef metal::vec<T, 3> T##3;           \
  typedef metal::vec<T, 4> T##4;           \
  typedef metal::packed_vec<T, 2> packed_##T##2; \
  typedef metal::packed_vec<T, 3> packed_##T##3; \
  typedef metal::packed_vec<T, 4> packed_##T##4; \
  namespace metal {                        \
  using ::T##2;                            \
  using ::T##3;                            \
  using ::T##4;                            \
  using ::packed_##T##2;                   \
  using ::packed_##T##3;                   \
  using ::packed_##T##4;                   \
  }                                        \
  namespace simd {                         \
  using ::T##2;                            \
  using ::T##3;                            \
  using ::T##4;                            \
  using ::packed_##T##2;                   \
  using ::packed_##T##3;                   \
  using ::packed_##T##4;                   \
  }                                        \
  typedef T##2 simd_##T##2, vector_##T##2; \
  typedef T##3 simd_##T##3, vector_##T##3; \
  typedef T##4 simd_##T##4, vector_##T##4;
__MT_NAMES(bool)
__MT_NAMES(char)
__MT_NAMES(uchar)
__MT_NAMES(short)
__MT_NAMES(ushort)
__MT_NAMES(int)
__MT_NAMES(uint)
__MT_NAMES(long)
__MT_NAMES(ulong)
__MT_NAMES(half)
__MT_NAMES(bfloat)
__MT_NAMES(float)

#define __MT_MATRIX_NAME(T, C, R)               \
  typedef metal::matrix<T, C, R> T##C##x##R;    \
  typedef T##C##x##R simd_##T##C##x##R, matrix_##T##C##x##R; \
  namespace metal {                             \
  using ::T##C##x##R;                           \
  }                                             \
  namespace simd {                              \
  using ::T##C##x##R;                           \
  }
#define __MT_MATRIX_NAMES(T)                                                          \
  __MT_MATRIX_NAME(T, 2, 2) __MT_MATRIX_NAME(T, 2, 3) __MT_MATRIX_NAME(T, 2, 4)       \
  __MT_MATRIX_NAME(T, 3, 2) __MT_MATRIX_NAME(T, 3, 3) __MT_MATRIX_NAME(T, 3, 4)       \
  __MT_MATRIX_NAME(T, 4, 2) __MT_MATRIX_NAME(T, 4, 3) __MT_MATRIX_NAME(T, 4, 4)
__MT_MATRIX_NAMES(half)
__MT_MATRIX_NAMES(bfloat)
__MT_MATRIX_NAMES(float)

namespace metal {
template <class T, class U>
constexpr T __as_type(const U& value) {
  static_assert(sizeof(T) == sizeof(U), "as_type needs two types of the same size");
  return __builtin_bit_cast(T, value);
}
// Address spaces fall away by the copy.
template <class T, class U>
constexpr T as_type(const U& value) {
  return __as_type<T>(value);
}
}  // namespace metal
using metal::as_type;
