// metal::tensor: a view of memory with extents and strides. Seen by sources that include <metal_tensor>.
#pragma once
#include "library.h"

namespace metal {
namespace __tensors {

inline constexpr constant size_t dynamic_extent = size_t(-1);

template <class I, size_t... E>
struct extents {
  using index_type = I;
  using size_type = size_t;
  using rank_type = size_t;
  I __values[sizeof...(E) ? sizeof...(E) : 1];

  static constexpr rank_type rank() { return sizeof...(E); }
  static constexpr rank_type rank_dynamic() { return ((E == dynamic_extent) + ... + 0); }
  static constexpr size_t static_extent(rank_type r) {
    const size_t all[] = {E..., 0};
    return all[r];
  }
  constexpr extents() : __values{I(E == dynamic_extent ? 0 : E)...} {}
  // All extents, or only those that are not known before.
  template <class... A, class = enable_if_t<(sizeof...(A) > 0)>>
  constexpr extents(A... given) : __values{} {
    static_assert(sizeof...(A) == rank() || sizeof...(A) == rank_dynamic(), "one number for each dimension");
    const I numbers[] = {I(given)...};
    size_t next = 0;
    for (size_t r = 0; r < rank(); r++) {
      bool taken = sizeof...(A) == rank() || static_extent(r) == dynamic_extent;
      __values[r] = taken ? numbers[next++] : I(static_extent(r));
    }
  }
  constexpr I extent(rank_type r) const { return __values[r]; }
};

template <class I, size_t R, size_t... E>
struct __all_dynamic : __all_dynamic<I, R - 1, dynamic_extent, E...> {};
template <class I, size_t... E>
struct __all_dynamic<I, 0, E...> : type_identity<extents<I, E...>> {};
template <class I, size_t R>
using dextents = typename __all_dynamic<I, R>::type;

struct tensor_inline {};
struct tensor_handle {};
struct tensor_offset {};

template <class T, class E, class D = tensor_handle>
struct tensor {
  static_assert(__is_same(D, tensor_inline),
                "a tensor that the host binds (tensor_handle) is not supported yet: take a buffer, and make a "
                "tensor<..., tensor_inline> of it");
};

template <class T, class E>
struct tensor<T, E, tensor_inline> {
  using element_type = T;
  using value_type = remove_cvref_t<T>;
  using extents_type = E;
  using index_type = typename E::index_type;
  using size_type = size_t;
  using rank_type = size_t;
  using data_handle_type = T*;
  using strides_type = array<index_type, E::rank()>;

  T* __data;
  E __extents;
  strides_type __strides;

  tensor() = default;
  // Packed: the first dimension is the one whose elements lie side by side.
  constexpr tensor(T* data, const E& extents) : __data(data), __extents(extents), __strides{} {
    index_type stride = 1;
    for (size_t r = 0; r < E::rank(); r++) {
      __strides[r] = stride;
      stride *= extents.extent(r);
    }
  }
  template <class I>
  constexpr tensor(T* data, const E& extents, const array<I, E::rank()>& strides)
      : __data(data), __extents(extents), __strides{} {
    for (size_t r = 0; r < E::rank(); r++) __strides[r] = strides[r];
  }

  static constexpr size_t get_rank() { return E::rank(); }
  static constexpr size_t get_static_extent(size_t r) { return E::static_extent(r); }
  constexpr index_type get_extent(size_t r) const { return __extents.extent(r); }
  constexpr index_type get_stride(size_t r) const { return __strides[r]; }
  constexpr const E& get_extents() const { return __extents; }
  constexpr T* get_data_handle() const { return __data; }

  template <class... I>
  constexpr T& at(I... indices) const {
    static_assert(sizeof...(I) == E::rank(), "one index for each dimension");
    const long numbers[] = {long(indices)...};
    long offset = 0;
    for (size_t r = 0; r < E::rank(); r++) offset += numbers[r] * __strides[r];
    return __data[offset];
  }
  constexpr T& operator[](const array<index_type, E::rank()>& indices) const {
    long offset = 0;
    for (size_t r = 0; r < E::rank(); r++) offset += long(indices[r]) * __strides[r];
    return __data[offset];
  }

  // From an origin on: to the end of the tensor, or of a size of its own, never past the end.
  template <size_t... S, class... I>
  constexpr auto slice(I... origin) const {
    static_assert(sizeof...(I) == E::rank(), "one number for each dimension");
    static_assert(sizeof...(S) == 0 || sizeof...(S) == E::rank(), "one size for each dimension");
    using sizes = conditional_t<sizeof...(S) == 0, dextents<index_type, E::rank()>, extents<index_type, S...>>;
    tensor<T, sizes, tensor_inline> part;
    const long numbers[] = {long(origin)...};
    long offset = 0;
    for (size_t r = 0; r < E::rank(); r++) {
      long left = long(get_extent(r)) - numbers[r];
      size_t wanted = sizes::static_extent(r);
      long size = wanted == dynamic_extent || long(wanted) > left ? left : long(wanted);
      part.__extents.__values[r] = index_type(size > 0 ? size : 0);
      part.__strides[r] = __strides[r];
      offset += numbers[r] * __strides[r];
    }
    part.__data = __data + offset;
    return part;
  }
};
template <class T, class E>
tensor(T*, E) -> tensor<T, E, tensor_inline>;
template <class T, class E, class I, size_t R>
tensor(T*, E, array<I, R>) -> tensor<T, E, tensor_inline>;

template <class T>
struct __is_tensor : false_type {};
template <class T, class E, class D>
struct __is_tensor<tensor<T, E, D>> : true_type {};
template <class T>
inline constexpr constant bool is_tensor_v = __is_tensor<remove_cvref_t<T>>::value;

// Who carries an operation out together.
template <size_t N>
struct execution_simdgroups {
  static constexpr size_t size() { return N; }
};
using execution_simdgroup = execution_simdgroups<1>;
}  // namespace __tensors
}  // namespace metal
