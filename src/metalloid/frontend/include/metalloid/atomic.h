// metal::atomic and the atomic_*_explicit functions. Metal's order is relaxed.
#pragma once
#include "sync.h"
#include "traits.h"

namespace metal {

template <class T>
struct atomic {
  using value_type = T;
  T __value;
  atomic() = default;
  atomic(const atomic&) = delete;
  atomic& operator=(const atomic&) = delete;
};

// An element of a metal::array: where it lies is known once everything is inlined.
template <class T>
struct __array_atomic : atomic<T> {};

// Values move as the integer of their size, so that floats and bools can be exchanged too.
template <int size>
struct __bits;
template <>
struct __bits<1> : type_identity<uchar> {};
template <>
struct __bits<4> : type_identity<uint> {};
template <>
struct __bits<8> : type_identity<ulong> {};
template <class T>
using __bits_t = typename __bits<sizeof(T)>::type;

// Metal knows one order for atomics; others are for fences. 64 bits have a minimum and a maximum, without a result.
#define __MT_RELAXED(order) \
  __attribute__((diagnose_if(order != memory_order_relaxed, "atomics are memory_order_relaxed", "error")))
// Compiled libraries may hold more: theirs say so.
template <class T>
struct __has_all_atomics {
  static constexpr bool value = sizeof(T) < 8;
};
#define __MT_WORD(T)                          \
  static_assert(__has_all_atomics<T>::value, \
                "an atomic of 64 bits has atomic_min_explicit and atomic_max_explicit only");

// Where an atomic lives is part of its type; each function comes once per space.
#define __MT_ATOMIC_LOAD(S, A)                                                                      \
  template <class T>                                                                             \
  inline T atomic_load_explicit(const volatile S A<T>* p, memory_order order) __MT_RELAXED(order) { \
    return __builtin_bit_cast(T, __atomic_load_n((S __bits_t<T>*)&p->__value, __ATOMIC_RELAXED)); \
  }
#define __MT_ATOMIC_STORE(S, A)                                                                     \
  template <class T>                                                                             \
  inline void atomic_store_explicit(volatile S A<T>* p, type_identity_t<T> value, memory_order order) \
      __MT_RELAXED(order) {                                                                      \
    __atomic_store_n((S __bits_t<T>*)&p->__value, __builtin_bit_cast(__bits_t<T>, value), __ATOMIC_RELAXED); \
  }                                                                                              \
  template <class T>                                                                             \
  inline void atomic_init(volatile S A<T>* p, type_identity_t<T> value) {                   \
    *(S T*)&p->__value = value;                                                                  \
  }                                                                                              \
  template <class T>                                                                             \
  inline T atomic_exchange_explicit(volatile S A<T>* p, type_identity_t<T> value, memory_order order) \
      __MT_RELAXED(order) {                                                                      \
    return __builtin_bit_cast(T, __atomic_exchange_n((S __bits_t<T>*)&p->__value,                \
                                                     __builtin_bit_cast(__bits_t<T>, value), __ATOMIC_RELAXED)); \
  }                                                                                              \
  template <class T>                                                                             \
  inline bool atomic_compare_exchange_weak_explicit(volatile S A<T>* p, T* expected,        \
                                                    type_identity_t<T> desired, memory_order done_order, memory_order else_order) \
      __MT_RELAXED(done_order) __MT_RELAXED(else_order) {                                        \
    __bits_t<T> seen = __builtin_bit_cast(__bits_t<T>, *expected);                               \
    bool done = __atomic_compare_exchange_n((S __bits_t<T>*)&p->__value, &seen,                  \
                                            __builtin_bit_cast(__bits_t<T>, desired), false,     \
                                            __ATOMIC_RELAXED, __ATOMIC_RELAXED);                 \
    *expected = __builtin_bit_cast(T, seen);                                                     \
    return done;                                                                                 \
  }
#define __MT_ATOMIC_MODIFY(S, A, name)                                                              \
  template <class T>                                                                             \
  inline T atomic_##name##_explicit(volatile S A<T>* p, type_identity_t<T> value, memory_order order) \
      __MT_RELAXED(order) {                                                                      \
    __MT_WORD(T)                                                                                 \
    return __atomic_##name((S T*)&p->__value, value, __ATOMIC_RELAXED);                          \
  }
#define __MT_ATOMIC_SPACE(S, A)                                                                     \
  __MT_ATOMIC_LOAD(S, A)                                                                            \
  __MT_ATOMIC_STORE(S, A)                                                                           \
  __MT_ATOMIC_MODIFY(S, A, fetch_add)                                                               \
  __MT_ATOMIC_MODIFY(S, A, fetch_sub)                                                               \
  __MT_ATOMIC_MODIFY(S, A, fetch_and)                                                               \
  __MT_ATOMIC_MODIFY(S, A, fetch_or)                                                                \
  __MT_ATOMIC_MODIFY(S, A, fetch_xor)                                                               \
  __MT_ATOMIC_MODIFY(S, A, fetch_min)                                                               \
  __MT_ATOMIC_MODIFY(S, A, fetch_max)                                                               \
  template <class T>                                                                             \
  inline void atomic_min_explicit(volatile S A<T>* p, type_identity_t<T> value, memory_order order) \
      __MT_RELAXED(order) {                                                                      \
    __atomic_fetch_min((S T*)&p->__value, value, __ATOMIC_RELAXED);                              \
  }                                                                                              \
  template <class T>                                                                             \
  inline void atomic_max_explicit(volatile S A<T>* p, type_identity_t<T> value, memory_order order) \
      __MT_RELAXED(order) {                                                                      \
    __atomic_fetch_max((S T*)&p->__value, value, __ATOMIC_RELAXED);                              \
  }
__MT_ATOMIC_SPACE(device, atomic)
__MT_ATOMIC_SPACE(threadgroup, atomic)
__MT_ATOMIC_SPACE(, __array_atomic)
}  // namespace metal

typedef metal::atomic<int> atomic_int;
typedef metal::atomic<uint> atomic_uint;
typedef metal::atomic<bool> atomic_bool;
typedef metal::atomic<float> atomic_float;
typedef metal::atomic<ulong> atomic_ulong;
typedef metal::atomic<long> atomic_long;
namespace metal {
using ::atomic_bool;
using ::atomic_float;
using ::atomic_int;
using ::atomic_long;
using ::atomic_uint;
using ::atomic_ulong;
}  // namespace metal
