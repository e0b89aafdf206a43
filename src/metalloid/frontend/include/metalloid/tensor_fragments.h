// Products of tensors, carried out by the 32 lanes of a SIMD-group: 16x16 fragments, eight elements in each lane.
//
// Lane L = b4 b3 b2 b1 b0 (bits) holds rows b4b2b1 and b4b2b1 + 8 of a fragment, columns b3 b0 00 to b3 b0 11: element
// i is row `(i >> 2) * 8 + b4b2b1`, column `b3 b0 (i & 3)`. Kernels rely on this map (MLX's address elements by it).
// With the columns of each row taken as pairs, the fragment is four matrices of 8x8 in the layout of simdgroup_matrix,
// whose columns are those with bit 1 clear, and those with bit 1 set; so products are products of simdgroup_matrix.
#pragma once
#include "simdgroup_matrix.h"

namespace metal {
namespace __tensors {

constexpr constant int __side = 16;  // of a fragment
constexpr constant int __held = 8;   // elements of it in a lane
constexpr constant int __most = 2048;  // elements of a sum in a lane: 256 x 256 in one SIMD-group

inline uint __lane() { return __mt::__mt_thread_index_in_simdgroup(0); }
inline constexpr int __fragments(int size) { return (size + __side - 1) / __side; }
inline int __lane_row(uint lane) { return (lane >> 2 & 4) | (lane >> 1 & 3); }
inline int __lane_column(uint lane) { return (lane & 8) | (lane & 1) << 2; }

// Where the elements of a matrix of rows x columns are, whose fragments are dealt to several SIMD-groups in runs.
struct __place {
  int rows, columns, groups;
  constexpr int across() const { return __fragments(columns); }
  constexpr int fragments() const { return __fragments(rows) * across(); }
  constexpr int each() const { return (fragments() + groups - 1) / groups; }
  constexpr int capacity() const { return each() * __held; }
  int first() const {
    return groups == 1 ? 0 : int(__mt::__mt_simdgroup_index_in_threadgroup(0)) % groups * each();
  }
};
// Where those of one lane are. The lane is asked for once: each time it is asked counts.
struct __seat {
  __place place;
  int first, top, left;
  __seat(const __place& p) : place(p), first(p.first()) {
    uint lane = __lane();
    top = __lane_row(lane), left = __lane_column(lane);
  }
  int row(int i) const { return (first + i / __held) / place.across() * __side + (i % __held >> 2) * 8 + top; }
  int column(int i) const { return (first + i / __held) % place.across() * __side + left + (i & 3); }
  bool holds(int i) const { return row(i) < place.rows && column(i) < place.columns; }
};

// ---- elements on the move, all of 32 bits
template <class T>
inline T __exchanged(T value, ushort mask) {
  return __builtin_bit_cast(T, __mt_simd_shuffle_xor_i32(__builtin_bit_cast(uint, value), mask));
}
inline int __of_lane(int value, ushort lane) { return int(__mt_simd_shuffle_i32(uint(value), lane)); }
// Bit `bit` of an element's number changes places with the bit `mask` of the lane's.
template <class T>
inline void __swap_with_lane(T* v, int bit, ushort mask) {
  bool high = __lane() & mask;
#pragma unroll
  for (int i = 0; i < __held; i++) {
    if (i & bit) continue;
    T other = __exchanged(high ? v[i] : v[i | bit], mask);
    v[i] = high ? other : v[i];
    v[i | bit] = high ? v[i | bit] : other;
  }
}
// Two bits of the lane's number change places.
template <class T>
inline void __swap_lanes(T* v, ushort one, ushort other) {
  bool same = bool(__lane() & one) == bool(__lane() & other);
#pragma unroll
  for (int i = 0; i < __held; i++) {
    T moved = __exchanged(v[i], ushort(one | other));
    v[i] = same ? v[i] : moved;
  }
}
template <class T>
inline void __transpose(T* v) {
  __swap_with_lane(v, 4, 8);
  __swap_with_lane(v, 2, 4);
  __swap_with_lane(v, 1, 2);
  __swap_lanes(v, 16, 1);
}
// As a right operand a lane holds rows b4 b2 0 b1 and b4 b2 1 b1 instead: the order in which the left one's columns are.
inline int __right_row(uint lane, int i) { return (lane >> 1 & 8) | (lane & 4) | (i >> 1 & 2) | (lane >> 1 & 1); }
template <class T>
inline void __as_right(T* v) {
  __swap_with_lane(v, 4, 4);
  __swap_lanes(v, 16, 4);
}

// ---- products
inline void __multiply(float* c, const float* a, const float* b) {
#pragma unroll
  for (int half_ = 0; half_ < 2; half_++) {
#pragma unroll
    for (int at = 0; at < __held; at += 2) {
      const float* left = a + (at & 4) + half_ * 2;
      const float* right = b + half_ * 4 + (at & 2);
      __pair32 both = __mt_matrix_multiply_accumulate(left[0], left[1], right[0], right[1], c[at], c[at + 1]);
      c[at] = __builtin_bit_cast(float, both.first);
      c[at + 1] = __builtin_bit_cast(float, both.second);
    }
  }
}
// Integers are exact, and wrap.
inline void __multiply(int* c, const int* a, const int* b) {
  uint lane = __lane();
#pragma unroll
  for (int k = 0; k < __side; k++) {
    ushort of_left = (lane & 22) | (k & 8) | (k >> 2 & 1), of_right = (lane & 9) | (k << 1 & 16) | (k & 4) | (k << 1 & 2);
    int left[2], right[4];
#pragma unroll
    for (int i = 0; i < 2; i++) left[i] = __of_lane(a[i * 4 + (k & 3)], of_left);
#pragma unroll
    for (int i = 0; i < 4; i++) right[i] = __of_lane(b[(k << 1 & 4) + i], of_right);
#pragma unroll
    for (int i = 0; i < __held; i++) c[i] = int(uint(c[i]) + uint(left[i >> 2]) * uint(right[i & 3]));
  }
}

// ---- where operands come from: `left` and `right` give the fragment at a row and a column of fragments
// A matrix in memory; elements outside of it are zero. A lane whose element is outside reads the first one and forgets it:
// a branch for each element would be most of the code.
template <class P>
struct __in_memory {
  P data;
  int width, height;  // elements in the direction of each stride
  long across, down;
  bool transposed;
  static constexpr bool registers = false;
  template <class S>
  inline S at(int row, int column) const {
    int x = transposed ? row : column, y = transposed ? column : row;
    bool inside = x < width && y < height;
    S found = S(data[inside ? x * across + y * down : 0]);
    return inside ? found : S(0);
  }
  inline bool empty() const { return width <= 0 || height <= 0; }
  template <class S>
  static inline void clear(S* to) {
#pragma unroll
    for (int i = 0; i < __held; i++) to[i] = S(0);
  }
  template <class S>
  inline void left(S* to, int down_, int across_) const {
    uint lane = __lane();
    if (empty()) return clear(to);
#pragma unroll
    for (int i = 0; i < __held; i++)
      to[i] = at<S>(down_ * __side + (i >> 2) * 8 + __lane_row(lane), across_ * __side + __lane_column(lane) + (i & 3));
  }
  template <class S>
  inline void right(S* to, int down_, int across_) const {
    uint lane = __lane();
    if (empty()) return clear(to);
#pragma unroll
    for (int i = 0; i < __held; i++)
      to[i] = at<S>(down_ * __side + __right_row(lane, i), across_ * __side + __lane_column(lane) + (i & 3));
  }
};
// All that a lane holds, from memory.
template <class T, class P>
inline void __fill(T* elements, __in_memory<P> from, const __place& place) {
  __seat seat(place);
  from.width = from.width < place.columns ? from.width : place.columns;
  from.height = from.height < place.rows ? from.height : place.rows;
  bool empty = from.empty();
#pragma unroll
  for (int i = 0; i < place.capacity(); i++) elements[i] = empty ? T(0) : from.template at<T>(seat.row(i), seat.column(i));
}
// A matrix in the lanes' registers, held by one SIMD-group.
template <class P>
struct __in_lanes {
  P elements;
  __place place;  // as it is held
  bool transposed;
  static constexpr bool registers = true;
  template <class S>
  inline void left(S* to, int down_, int across_) const {
    int first = (transposed ? across_ * place.across() + down_ : down_ * place.across() + across_) * __held;
    bool whole = place.rows % __side == 0 && place.columns % __side == 0;
    __seat seat(place);
#pragma unroll
    for (int i = 0; i < __held; i++) to[i] = whole || seat.holds(first + i) ? S(elements[first + i]) : S(0);
    if (transposed) __transpose(to);
  }
  template <class S>
  inline void right(S* to, int down_, int across_) const {
    left(to, down_, across_);
    __as_right(to);
  }
};

// One row of fragments of C, or one fragment where several SIMD-groups share them, times a column of B.
template <class S, class A, class B>
inline void __step(S* sum, const A& a, const B& b, const __place& c, int first, int k) {
  S left[__held], right[__held];
#pragma unroll
  for (int f = 0; f < c.each(); f++) {
    int fragment = first + f, down = fragment / c.across(), across = fragment % c.across();
    if (fragment >= c.fragments()) break;
    if (c.groups > 1 || across == 0) a.left(left, down, k);
    b.right(right, k, across);
    __multiply(sum + f * __held, left, right);
  }
}
// C = A * B, or C + A * B; sums are float where C is real, int where it is not. C lies in the lanes as `c` says.
template <class T, class A, class B, class S>
inline void __run(T* elements, const A& a, const B& b, const __place& c, int k, bool accumulate, S*) {
  S sum[__most];
  int first = c.first();
#pragma unroll
  for (int i = 0; i < c.capacity(); i++) sum[i] = accumulate ? S(elements[i]) : S(0);
  if constexpr (A::registers || B::registers) {
#pragma unroll
    for (int at = 0; at < __fragments(k); at++) __step(sum, a, b, c, first, at);
  } else {
#pragma nounroll
    for (int at = 0; at < __fragments(k); at++) __step(sum, a, b, c, first, at);
  }
#pragma unroll
  for (int i = 0; i < c.capacity(); i++) elements[i] = T(sum[i]);
}
}  // namespace __tensors
}  // namespace metal
