// MetalPerformancePrimitives: matmul2d and cooperative tensors. Seen by sources that include its header.
#pragma once
#include "tensor.h"
#include "tensor_fragments.h"

namespace metal {
namespace __tensors {

// A matrix of rows x columns whose elements are shared out over the lanes of `groups` SIMD-groups.
template <class T, int Rows, int Columns, int Groups>
struct cooperative_tensor {
  using element_type = T;
  using value_type = T;
  using index_type = int;
  using extents_type = extents<int, size_t(Columns), size_t(Rows)>;
  static constexpr __place __layout() { return {Rows, Columns, Groups}; }
  static constexpr ushort get_capacity() { return __layout().capacity(); }
  static constexpr size_t get_rank() { return 2; }
  static constexpr int get_extent(size_t r) { return r == 0 ? Columns : Rows; }

  T __elements[get_capacity()];

  cooperative_tensor() = default;
  constexpr T& operator[](size_t i) { return __elements[i]; }
  constexpr const T& operator[](size_t i) const { return __elements[i]; }
  T* begin() { return __elements; }
  T* end() { return __elements + get_capacity(); }
  bool is_valid_element(size_t i) const { return __seat(__layout()).holds(int(i)); }
  bool get_mask(size_t i) const { return is_valid_element(i); }
  array<int, 2> get_multidimensional_index(size_t i) const {
    __seat seat(__layout());
    return {{seat.column(int(i)), seat.row(int(i))}};
  }

  // Elements outside of the tensor are read as zero, and not written.
  template <class U, class E>
  void load(const tensor<U, E, tensor_inline>& from) {
    __in_memory<U*> matrix{from.__data, int(from.get_extent(0)), int(from.get_extent(1)), long(from.get_stride(0)),
                           long(from.get_stride(1)), false};
    __fill(__elements, matrix, __layout());
  }
  template <class U, class E>
  void store(const tensor<U, E, tensor_inline>& to) const {
    __seat seat(__layout());
#pragma unroll
    for (int i = 0; i < get_capacity(); i++) {
      int x = seat.column(i), y = seat.row(i);
      if (seat.holds(i) && x < to.get_extent(0) && y < to.get_extent(1))
        to.at(x, y) = typename tensor<U, E, tensor_inline>::value_type(__elements[i]);
    }
  }
};
template <class T>
struct __is_cooperative : false_type {};
template <class T, int R, int C, int G>
struct __is_cooperative<cooperative_tensor<T, R, C, G>> : true_type {};
template <class T>
inline constexpr constant bool is_cooperative_tensor_v = __is_cooperative<remove_cvref_t<T>>::value;

// Sizes and modes, as one number where they are an argument of a template: C++17 takes no classes there.
struct matmul2d_descriptor {
  enum class mode { multiply, multiply_accumulate };
  int m, n, k;
  bool transpose_left, transpose_right, relaxed_precision;
  mode matmul_mode;

  constexpr matmul2d_descriptor(int m_, int n_, int k_ = int(dynamic_extent), bool left = false, bool right = false,
                                bool relaxed = false, mode mode_ = mode::multiply)
      : m(m_), n(n_), k(k_), transpose_left(left), transpose_right(right), relaxed_precision(relaxed),
        matmul_mode(mode_) {}
  constexpr operator ulong() const {
    ulong flags = ulong(transpose_left) | ulong(transpose_right) << 1 | ulong(matmul_mode) << 2;
    return flags | ulong(m & 0xffff) << 3 | ulong(n & 0xffff) << 19 | ulong(k > 0 ? k & 0xfffffff : 0) << 35;
  }
};

// An operand of a product, wherever it lies; `k` cuts it off in the direction that is summed over.
template <class U, class E>
inline auto __operand(const tensor<U, E, tensor_inline>& t, bool transposed, bool k_first, int k) {
  int width = t.get_extent(0), height = t.get_extent(1);
  int& summed = k_first ? width : height;
  summed = summed < k ? summed : k;
  return __in_memory<U*>{t.__data, width, height, long(t.get_stride(0)), long(t.get_stride(1)), transposed};
}
template <class T, int R, int C, int G>
inline auto __operand(const cooperative_tensor<T, R, C, G>& t, bool transposed, bool, int) {
  static_assert(G == 1, "a cooperative tensor can be an operand of one SIMD-group alone");
  return __in_lanes<const T*>{t.__elements, t.__layout(), transposed};
}
template <class U, class E>
inline int __summed(const tensor<U, E, tensor_inline>& t, bool k_first) {
  return t.get_extent(k_first ? 0 : 1);
}
template <class T, int R, int C, int G>
inline int __summed(const cooperative_tensor<T, R, C, G>&, bool k_first) {
  return k_first ? C : R;
}

// A product of these sizes and modes. It is not inlined before it is simplified: else clang would unroll each of a
// kernel's hundred products, all in one function.
#pragma clang attribute __inlined.pop
template <class Op, class A, class B, class C>
inline void __product(const A& a, const B& b, C& c) {
  using sum = conditional_t<is_floating_point_v<typename C::value_type>, float, int>;
  int summed = __summed(a, !Op::left_turned), other = __summed(b, Op::right_turned);
  summed = summed < other ? summed : other;
  if (Op::k > 0 && Op::k < summed) summed = Op::k;
  constexpr bool held = is_cooperative_tensor_v<A> || is_cooperative_tensor_v<B>;
  __run(c.__elements, __operand(a, Op::left_turned, !Op::left_turned, summed),
        __operand(b, Op::right_turned, Op::right_turned, summed), c.__layout(), held ? Op::k : summed, Op::adds,
        (sum*)nullptr);
}
#pragma clang attribute __inlined.push(__attribute__((always_inline)), apply_to = function)

template <ulong D, class Scope>
struct matmul2d {
  static constexpr int m = D >> 3 & 0xffff, n = D >> 19 & 0xffff, k = D >> 35;  // k is 0 where the operands say it
  static constexpr bool left_turned = D & 1, right_turned = D & 2, adds = D & 4;
  static constexpr int groups = Scope::size();

  template <class A, class B, class C>
  static auto get_left_input_cooperative_tensor() {
    static_assert(k > 0, "a cooperative tensor as an operand needs a descriptor with a size for k");
    return cooperative_tensor<remove_cvref_t<A>, left_turned ? k : m, left_turned ? m : k, groups>();
  }
  template <class A, class B, class C>
  static auto get_right_input_cooperative_tensor() {
    static_assert(k > 0, "a cooperative tensor as an operand needs a descriptor with a size for k");
    return cooperative_tensor<remove_cvref_t<B>, right_turned ? n : k, right_turned ? k : n, groups>();
  }
  template <class A, class B, class C>
  static auto get_destination_cooperative_tensor() {
    return cooperative_tensor<remove_cvref_t<C>, m, n, groups>();
  }

  template <class A, class B, class T, int G>
  static void run(const A& a, const B& b, cooperative_tensor<T, m, n, G>& c) {
    __product<matmul2d>(a, b, c);
  }
  template <class A, class B, class U, class E>
  static void run(const A& a, const B& b, const tensor<U, E, tensor_inline>& c) {
    auto held = get_destination_cooperative_tensor<A, B, U>();
    if (adds) held.load(c);
    run(a, b, held);
    held.store(c);
  }
};
}  // namespace __tensors
}  // namespace metal
