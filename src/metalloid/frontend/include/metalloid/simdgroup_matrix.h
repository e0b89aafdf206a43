// simdgroup_matrix: 8x8, two neighbouring elements in each of 32 lanes.
#pragma once
#include "entry.h"
#include "simd.h"

namespace metal {
struct __pair32 {
  uint first, second;
};
}  // namespace metal
// The name of a space is a macro, so the names of its functions are pasted first.
#define __MT_MATRIX_MEMORY(S, N)                                                                              \
  __MT_CONVERGENT metal::__pair32 __mt_matrix_load_b32_##N(const S void* p, ulong stride, uint transpose);    \
  __MT_CONVERGENT uint __mt_matrix_load_b16_##N(const S void* p, ulong stride, uint transpose);               \
  __MT_CONVERGENT void __mt_matrix_store_b32_##N(S void* p, ulong stride, uint transpose, uint e0, uint e1);  \
  __MT_CONVERGENT void __mt_matrix_store_b16_##N(S void* p, ulong stride, uint transpose, ushort e0, ushort e1);
__MT_MATRIX_MEMORY(device, device)
__MT_MATRIX_MEMORY(threadgroup, threadgroup)
__MT_CONVERGENT metal::__pair32 __mt_matrix_multiply_accumulate(float a0, float a1, float b0, float b1, float c0,
                                                                float c1);

namespace metal {

template <class T, int C, int R>
struct simdgroup_matrix {
  static_assert(C == 8 && R == 8, "simdgroup_matrix is 8x8");
  static_assert(is_floating_point_v<T>, "simdgroup_matrix holds float, half or bfloat");
  using storage_type = vec<T, 2>;
  storage_type __elements;

  simdgroup_matrix() = default;
  explicit simdgroup_matrix(T diagonal) {
    uint lane = __mt::__mt_thread_index_in_simdgroup(0);
    uint row = (lane >> 4 & 1) * 4 + (lane >> 1 & 3), column = (lane >> 3 & 1) * 4 + (lane & 1) * 2;
    __elements = storage_type(row == column ? diagonal : T(0), row == column + 1 ? diagonal : T(0));
  }
  storage_type& thread_elements() { return __elements; }
  const storage_type& thread_elements() const { return __elements; }
};

#define __MT_MATRIX_ACCESS(S, N)                                                                            \
  template <class T>                                                                                        \
  inline void simdgroup_load(simdgroup_matrix<T, 8, 8>& d, const S T* src, ulong elements_per_row = 8,      \
                             ulong2 origin = ulong2(0), bool transpose = false) {                           \
    const S T* p = src + (transpose ? origin.x * elements_per_row + origin.y : origin.y * elements_per_row + origin.x); \
    if constexpr (sizeof(T) == 4) {                                                                         \
      __pair32 both = __mt_matrix_load_b32_##N(p, elements_per_row, transpose);                             \
      d.__elements = vec<T, 2>(__builtin_bit_cast(T, both.first), __builtin_bit_cast(T, both.second));      \
    } else {                                                                                                \
      uint both = __mt_matrix_load_b16_##N(p, elements_per_row, transpose);                                 \
      d.__elements = vec<T, 2>(__builtin_bit_cast(T, ushort(both)), __builtin_bit_cast(T, ushort(both >> 16))); \
    }                                                                                                       \
  }                                                                                                         \
  template <class T>                                                                                        \
  inline void simdgroup_store(const simdgroup_matrix<T, 8, 8>& a, S T* dst, ulong elements_per_row = 8,     \
                              ulong2 origin = ulong2(0), bool transpose = false) {                          \
    S T* p = dst + (transpose ? origin.x * elements_per_row + origin.y : origin.y * elements_per_row + origin.x); \
    if constexpr (sizeof(T) == 4)                                                                           \
      __mt_matrix_store_b32_##N(p, elements_per_row, transpose, __builtin_bit_cast(uint, a.__elements.x),   \
                                __builtin_bit_cast(uint, a.__elements.y));                                  \
    else                                                                                                    \
      __mt_matrix_store_b16_##N(p, elements_per_row, transpose, __builtin_bit_cast(ushort, a.__elements.x), \
                                __builtin_bit_cast(ushort, a.__elements.y));                                \
  }
__MT_MATRIX_ACCESS(device, device)
__MT_MATRIX_ACCESS(threadgroup, threadgroup)
// Constant memory is read like device memory.
template <class T>
inline void simdgroup_load(simdgroup_matrix<T, 8, 8>& d, constant T* src, ulong elements_per_row = 8,
                           ulong2 origin = ulong2(0), bool transpose = false) {
  simdgroup_load(d, (const device T*)src, elements_per_row, origin, transpose);
}

template <class T, int C, int R = C>
inline simdgroup_matrix<T, C, R> make_filled_simdgroup_matrix(T value) {
  simdgroup_matrix<T, C, R> d;
  d.__elements = vec<T, 2>(value);
  return d;
}
// Narrow elements are widened, summed in float and rounded once.
template <class D, class A, class B, class C>
inline void simdgroup_multiply_accumulate(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                                          const simdgroup_matrix<B, 8, 8>& b, const simdgroup_matrix<C, 8, 8>& c) {
  __pair32 both =
      __mt_matrix_multiply_accumulate(float(a.__elements.x), float(a.__elements.y), float(b.__elements.x),
                                      float(b.__elements.y), float(c.__elements.x), float(c.__elements.y));
  d.__elements = vec<D, 2>(D(__builtin_bit_cast(float, both.first)), D(__builtin_bit_cast(float, both.second)));
}
template <class D, class A, class B>
inline void simdgroup_multiply(simdgroup_matrix<D, 8, 8>& d, const simdgroup_matrix<A, 8, 8>& a,
                               const simdgroup_matrix<B, 8, 8>& b) {
  simdgroup_multiply_accumulate(d, a, b, make_filled_simdgroup_matrix<float, 8, 8>(0.0f));
}
template <class T>
inline simdgroup_matrix<T, 8, 8> operator*(const simdgroup_matrix<T, 8, 8>& a, const simdgroup_matrix<T, 8, 8>& b) {
  simdgroup_matrix<T, 8, 8> d;
  simdgroup_multiply(d, a, b);
  return d;
}
template <class T, int C = 8, int R = C>
inline simdgroup_matrix<T, C, R> make_diagonal_simdgroup_matrix(T value) {
  return simdgroup_matrix<T, C, R>(value);
}
}  // namespace metal

typedef metal::simdgroup_matrix<float, 8, 8> simdgroup_float8x8;
typedef metal::simdgroup_matrix<half, 8, 8> simdgroup_half8x8;
typedef metal::simdgroup_matrix<bfloat, 8, 8> simdgroup_bfloat8x8;
namespace metal {
using ::simdgroup_bfloat8x8;
using ::simdgroup_float8x8;
using ::simdgroup_half8x8;
}  // namespace metal
