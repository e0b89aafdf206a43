// SIMD-group and quad functions. Data moves as 16- and 32-bit pieces; arithmetic is typed.
#pragma once
#include "sync.h"
#include "types.h"

#define __MT_CONVERGENT extern "C" __attribute__((convergent, nothrow))

// ---- the intrinsics
#define __MT_MOVES(G, T, S)                                                     \
  __MT_CONVERGENT T __mt_##G##_broadcast_##S(T value, ushort lane);             \
  __MT_CONVERGENT T __mt_##G##_broadcast_first_##S(T value);                    \
  __MT_CONVERGENT T __mt_##G##_shuffle_##S(T value, ushort lane);               \
  __MT_CONVERGENT T __mt_##G##_shuffle_xor_##S(T value, ushort mask);           \
  __MT_CONVERGENT T __mt_##G##_shuffle_up_##S(T value, ushort delta);           \
  __MT_CONVERGENT T __mt_##G##_shuffle_down_##S(T value, ushort delta);         \
  __MT_CONVERGENT T __mt_##G##_shuffle_rotate_up_##S(T value, ushort delta);    \
  __MT_CONVERGENT T __mt_##G##_shuffle_rotate_down_##S(T value, ushort delta);  \
  __MT_CONVERGENT T __mt_##G##_shuffle_and_fill_up_##S(T value, T fill, ushort delta, ushort modulo); \
  __MT_CONVERGENT T __mt_##G##_shuffle_and_fill_down_##S(T value, T fill, ushort delta, ushort modulo);
#define __MT_REDUCTIONS(G, T, S)                                       \
  __MT_CONVERGENT T __mt_##G##_sum_##S(T value);                       \
  __MT_CONVERGENT T __mt_##G##_product_##S(T value);                   \
  __MT_CONVERGENT T __mt_##G##_min_##S(T value);                       \
  __MT_CONVERGENT T __mt_##G##_max_##S(T value);                       \
  __MT_CONVERGENT T __mt_##G##_prefix_inclusive_sum_##S(T value);      \
  __MT_CONVERGENT T __mt_##G##_prefix_exclusive_sum_##S(T value);      \
  __MT_CONVERGENT T __mt_##G##_prefix_inclusive_product_##S(T value);  \
  __MT_CONVERGENT T __mt_##G##_prefix_exclusive_product_##S(T value);
#define __MT_BITWISE(G, T, S)                       \
  __MT_CONVERGENT T __mt_##G##_and_##S(T value);    \
  __MT_CONVERGENT T __mt_##G##_or_##S(T value);     \
  __MT_CONVERGENT T __mt_##G##_xor_##S(T value);
#define __MT_GROUP(G)                                      \
  __MT_MOVES(G, ushort, i16)                               \
  __MT_MOVES(G, uint, i32)                                 \
  __MT_REDUCTIONS(G, float, f32)                           \
  __MT_REDUCTIONS(G, half, f16)                            \
  __MT_REDUCTIONS(G, int, i32)                             \
  __MT_REDUCTIONS(G, uint, u32)                            \
  __MT_REDUCTIONS(G, long, i64)                            \
  __MT_REDUCTIONS(G, ulong, u64)                           \
  __MT_BITWISE(G, uint, i32)                               \
  __MT_BITWISE(G, ulong, i64)                              \
  __MT_CONVERGENT bool __mt_##G##_all(bool value);         \
  __MT_CONVERGENT bool __mt_##G##_any(bool value);         \
  __MT_CONVERGENT ulong __mt_##G##_ballot(bool value);     \
  __MT_CONVERGENT ulong __mt_##G##_active_threads_mask();  \
  __MT_CONVERGENT bool __mt_##G##_is_first();
__MT_GROUP(simd)
__MT_GROUP(quad)

namespace metal {

// ---- moving data: a value of any trivially copyable type goes piece by piece
#define __MT_PIECEWISE(name, call32, call16, ...)                        \
  template <class T>                                                     \
  inline remove_cvref_t<T> __VA_ARGS__ {                                 \
    using V = remove_cvref_t<T>;                                         \
    if constexpr (sizeof(V) % 4 == 0) {                                  \
      struct pieces {                                                    \
        uint piece[sizeof(V) / 4];                                       \
      };                                                                 \
      pieces p = __builtin_bit_cast(pieces, V(value));                   \
      __MT_FILL_PIECES                                                   \
      for (uint i = 0; i < sizeof(V) / 4; i++) p.piece[i] = call32;      \
      return __builtin_bit_cast(V, p);                                   \
    } else if constexpr (sizeof(V) % 2 == 0) {                           \
      struct pieces {                                                    \
        ushort piece[sizeof(V) / 2];                                     \
      };                                                                 \
      pieces p = __builtin_bit_cast(pieces, V(value));                   \
      __MT_FILL_PIECES                                                   \
      for (uint i = 0; i < sizeof(V) / 2; i++) p.piece[i] = call16;      \
      return __builtin_bit_cast(V, p);                                   \
    } else {                                                             \
      struct pieces {                                                    \
        uchar piece[sizeof(V)];                                          \
      };                                                                 \
      pieces p = __builtin_bit_cast(pieces, V(value));                   \
      __MT_FILL_PIECES                                                   \
      for (uint i = 0; i < sizeof(V); i++) p.piece[i] = uchar(call16);   \
      return __builtin_bit_cast(V, p);                                   \
    }                                                                    \
  }
#define __MT_FILL_PIECES
#define __MT_MOVE(G, name)                                                                          \
  __MT_PIECEWISE(name, __mt_##G##_##name##_i32(p.piece[i], n), __mt_##G##_##name##_i16(p.piece[i], n), \
                 G##_##name(const T& value, ushort n))
#define __MT_MOVE_GROUP(G)                                                                          \
  __MT_MOVE(G, broadcast)                                                                           \
  __MT_MOVE(G, shuffle)                                                                             \
  __MT_MOVE(G, shuffle_xor)                                                                         \
  __MT_MOVE(G, shuffle_up)                                                                          \
  __MT_MOVE(G, shuffle_down)                                                                        \
  __MT_MOVE(G, shuffle_rotate_up)                                                                   \
  __MT_MOVE(G, shuffle_rotate_down)                                                                 \
  __MT_PIECEWISE(broadcast_first, __mt_##G##_broadcast_first_i32(p.piece[i]),                       \
                 __mt_##G##_broadcast_first_i16(p.piece[i]), G##_broadcast_first(const T& value))
__MT_MOVE_GROUP(simd)
__MT_MOVE_GROUP(quad)
#undef __MT_FILL_PIECES
#define __MT_FILL_PIECES pieces f = __builtin_bit_cast(pieces, V(fill));
#define __MT_FILL(G, name, width)                                                                   \
  __MT_PIECEWISE(name, __mt_##G##_##name##_i32(p.piece[i], f.piece[i], n, modulo),                  \
                 __mt_##G##_##name##_i16(p.piece[i], f.piece[i], n, modulo),                        \
                 G##_##name(const T& value, const type_identity_t<T>& fill, ushort n, ushort modulo = width))
__MT_FILL(simd, shuffle_and_fill_up, 32)
__MT_FILL(simd, shuffle_and_fill_down, 32)
__MT_FILL(quad, shuffle_and_fill_up, 4)
__MT_FILL(quad, shuffle_and_fill_down, 4)

// ---- arithmetic: narrow types are computed in the next wider one the intrinsics have
template <class T>
struct __simd_wide : type_identity<conditional_t<is_signed_v<T>, int, uint>> {};
template <>
struct __simd_wide<float> : type_identity<float> {};
template <>
struct __simd_wide<half> : type_identity<half> {};
template <>
struct __simd_wide<bfloat> : type_identity<float> {};
template <>
struct __simd_wide<long> : type_identity<long> {};
template <>
struct __simd_wide<ulong> : type_identity<ulong> {};

#define __MT_REDUCE(G, name)                                                             \
  inline float __##G##_##name(float value) { return __mt_##G##_##name##_f32(value); }    \
  inline half __##G##_##name(half value) { return __mt_##G##_##name##_f16(value); }      \
  inline int __##G##_##name(int value) { return __mt_##G##_##name##_i32(value); }        \
  inline uint __##G##_##name(uint value) { return __mt_##G##_##name##_u32(value); }      \
  inline long __##G##_##name(long value) { return __mt_##G##_##name##_i64(value); }      \
  inline ulong __##G##_##name(ulong value) { return __mt_##G##_##name##_u64(value); }    \
  __MT_REDUCE_LIFT(G, name)
#define __MT_REDUCE_BITS(G, name)                                                        \
  inline int __##G##_##name(int value) { return int(__mt_##G##_##name##_i32(uint(value))); } \
  inline uint __##G##_##name(uint value) { return __mt_##G##_##name##_i32(value); }      \
  inline long __##G##_##name(long value) { return long(__mt_##G##_##name##_i64(ulong(value))); } \
  inline ulong __##G##_##name(ulong value) { return __mt_##G##_##name##_i64(value); }    \
  inline float __##G##_##name(float value) {                                             \
    return __builtin_bit_cast(float, __mt_##G##_##name##_i32(__builtin_bit_cast(uint, value))); \
  }                                                                                      \
  inline half __##G##_##name(half value) {                                               \
    return __builtin_bit_cast(half, ushort(__mt_##G##_##name##_i32(__builtin_bit_cast(ushort, value)))); \
  }                                                                                      \
  __MT_REDUCE_LIFT(G, name)
#define __MT_REDUCE_LIFT(G, name)                                                        \
  template <class T, class = enable_if_t<is_arithmetic_v<T>>>                            \
  inline T G##_##name(T value) {                                                         \
    return T(__##G##_##name(typename __simd_wide<T>::type(value)));                      \
  }                                                                                      \
  template <class T, int N>                                                              \
  inline vec<T, N> G##_##name(vec<T, N> value) {                                         \
    for (int i = 0; i < N; i++) value[i] = G##_##name(T(value[i]));                      \
    return value;                                                                        \
  }
#define __MT_REDUCE_GROUP(G)              \
  __MT_REDUCE(G, sum)                     \
  __MT_REDUCE(G, product)                 \
  __MT_REDUCE(G, min)                     \
  __MT_REDUCE(G, max)                     \
  __MT_REDUCE(G, prefix_inclusive_sum)    \
  __MT_REDUCE(G, prefix_exclusive_sum)    \
  __MT_REDUCE(G, prefix_inclusive_product) \
  __MT_REDUCE(G, prefix_exclusive_product) \
  __MT_REDUCE_BITS(G, and)                \
  __MT_REDUCE_BITS(G, or)                 \
  __MT_REDUCE_BITS(G, xor)
__MT_REDUCE_GROUP(simd)
__MT_REDUCE_GROUP(quad)

// ---- votes
template <class I>
struct __vote {
  using vote_t = I;
  I bits;
  __vote() = default;
  explicit constexpr __vote(I v) : bits(v) {}
  explicit constexpr operator I() const { return bits; }
  constexpr bool all() const { return bits == I(~I(0)); }
  constexpr bool any() const { return bits != 0; }
  constexpr bool none() const { return bits == 0; }
};
struct simd_vote : __vote<ulong> {
  using __vote<ulong>::__vote;
  constexpr bool all() const { return (bits & 0xffffffffu) == 0xffffffffu; }
};
struct quad_vote : __vote<uint> {
  using __vote<uint>::__vote;
  constexpr bool all() const { return (bits & 15u) == 15u; }
};
inline bool simd_all(bool value) { return __mt_simd_all(value); }
inline bool simd_any(bool value) { return __mt_simd_any(value); }
inline bool simd_is_first() { return __mt_simd_is_first(); }
inline bool simd_is_helper_thread() { return false; }
inline simd_vote simd_ballot(bool value) { return simd_vote(__mt_simd_ballot(value)); }
inline simd_vote simd_active_threads_mask() { return simd_vote(__mt_simd_active_threads_mask()); }
inline bool quad_all(bool value) { return __mt_quad_all(value); }
inline bool quad_any(bool value) { return __mt_quad_any(value); }
inline bool quad_is_first() { return __mt_quad_is_first(); }
inline bool quad_is_helper_thread() { return false; }
inline quad_vote quad_ballot(bool value) { return quad_vote(uint(__mt_quad_ballot(value))); }
inline quad_vote quad_active_threads_mask() { return quad_vote(uint(__mt_quad_active_threads_mask())); }
}  // namespace metal
