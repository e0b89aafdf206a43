// From the host's side into a kernel: arguments made of intrinsics, and a record of their types.
#pragma once
#include "types.h"

extern "C" {
__attribute__((const, nothrow)) device void* __mt_buffer(uint index);
__attribute__((const, nothrow)) threadgroup void* __mt_threadgroup(uint index);
}

namespace __mt {
using namespace metal;

// The front end wraps what is cast from half to bfloat or back; clang has no such conversion.
template <class T>
constexpr auto widened(const T& value) {
  if constexpr (is_same_v<remove_cvref_t<T>, half> || is_same_v<remove_cvref_t<T>, bfloat>)
    return float(value);
  else
    return remove_cvref_t<T>(value);
}

// ... and the two sides of `c ? a : b` that lie in different address spaces.
template <class T>
constexpr remove_cvref_t<T> copied(const T& value) {
  return value;
}

// How each parameter is fed. `get<P>()` makes a value of the parameter's own type.
template <class P>
struct memory;
template <class T>
struct memory<device T*> {
  static device T* at(device void* p) { return (device T*)p; }
};
template <class T>
struct memory<constant T*> {
  static constant T* at(device void* p) { return (constant T*)p; }
};
template <class T>
struct memory<device T&> {
  static device T& at(device void* p) { return *(device T*)p; }
};
template <class T>
struct memory<constant T&> {
  static constant T& at(device void* p) { return *(constant T*)p; }
};
template <class T>
struct memory<threadgroup T*> {
  static threadgroup T* at(threadgroup void* p) { return (threadgroup T*)p; }
};
template <class T>
struct memory<threadgroup T&> {
  static threadgroup T& at(threadgroup void* p) { return *(threadgroup T*)p; }
};

template <uint index, bool present = true>
struct buffer {
  static constexpr int kind = 0, number = index, there = present;
  template <class P>
  static P get() {
    return memory<P>::at(present ? __mt_buffer(index) : (device void*)nullptr);
  }
};
template <uint index, bool present = true>
struct local {
  static constexpr int kind = 1, number = index, there = present;
  template <class P>
  static P get() {
    return memory<P>::at(__mt_threadgroup(index));
  }
};

#define __MT_POSITION(name)                                                      \
  extern "C" __attribute__((const, nothrow)) uint __mt_##name(uint axis);        \
  struct name {                                                                  \
    static constexpr int kind = 2, number = -1, there = 1;                       \
    template <class P>                                                           \
    static P get() {                                                             \
      return make(static_cast<remove_cvref_t<P>*>(nullptr));                     \
    }                                                                            \
    template <class T>                                                           \
    static T make(T*) { return T(__mt_##name(0)); }                              \
    template <class T>                                                           \
    static vec<T, 2> make(vec<T, 2>*) { return {T(__mt_##name(0)), T(__mt_##name(1))}; } \
    template <class T>                                                           \
    static vec<T, 3> make(vec<T, 3>*) {                                          \
      return {T(__mt_##name(0)), T(__mt_##name(1)), T(__mt_##name(2))};          \
    }                                                                            \
  };
__MT_POSITION(thread_position_in_grid)
__MT_POSITION(thread_position_in_threadgroup)
__MT_POSITION(threadgroup_position_in_grid)
__MT_POSITION(threads_per_grid)
__MT_POSITION(threads_per_threadgroup)
__MT_POSITION(dispatch_threads_per_threadgroup)
__MT_POSITION(threadgroups_per_grid)
__MT_POSITION(grid_origin)
__MT_POSITION(grid_size)
__MT_POSITION(thread_index_in_threadgroup)
__MT_POSITION(thread_index_in_simdgroup)
__MT_POSITION(simdgroup_index_in_threadgroup)
__MT_POSITION(simdgroups_per_threadgroup)
__MT_POSITION(dispatch_simdgroups_per_threadgroup)
__MT_POSITION(threads_per_simdgroup)
__MT_POSITION(thread_index_in_quadgroup)
__MT_POSITION(quadgroup_index_in_threadgroup)
__MT_POSITION(quadgroups_per_threadgroup)
__MT_POSITION(dispatch_quadgroups_per_threadgroup)

// A parameter's type as debug info can tell it: space, qualifiers, element.
template <int space, bool is_const, bool is_reference, bool present, int index, class Element>
struct parameter {
  Element element;  // a member, so that clang describes it in full
};
template <int space, bool is_const, bool is_reference, bool present, int index>
struct parameter<space, is_const, is_reference, present, index, void>
    : parameter<space, is_const, is_reference, present, index, uchar> {};
template <class P, class A>
struct described {
  using type = parameter<3, false, false, true, -1, remove_cvref_t<P>>;
};
#define __MT_DESCRIBED(space, qualifier, mark, is_reference)                                          \
  template <class T, class A>                                                                        \
  struct described<qualifier T mark, A>                                                              \
      : type_identity<parameter<space, __is_const(T), is_reference, A::there, A::number, remove_cv_t<T>>> {};
__MT_DESCRIBED(0, device, *, false)
__MT_DESCRIBED(0, device, &, true)
__MT_DESCRIBED(1, constant, *, false)
__MT_DESCRIBED(1, constant, &, true)
__MT_DESCRIBED(2, threadgroup, *, false)
__MT_DESCRIBED(2, threadgroup, &, true)

template <class... D>
struct signature {};
template <class First, class... Rest>
struct signature<First, Rest...> {
  First first;
  signature<Rest...> rest;
};

template <int threads>
struct thread_limit {};

template <class... A>
struct launch {
  template <class R, class... P>
  static inline __attribute__((always_inline)) void run(R (*kernel)(P...)) {
    static_assert(sizeof...(A) == sizeof...(P), "the kernel's parameters were not understood");
    kernel(A::template get<P>()...);
  }
  // A pointer, for types that cannot be made without arguments; sizeof, so that they are complete.
  template <class R, class... P, class S = signature<typename described<P, A>::type...>, size_t = sizeof(S)>
  static S* describe(R (*)(P...));
};
}  // namespace __mt
