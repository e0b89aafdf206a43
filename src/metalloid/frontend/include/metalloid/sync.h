// Barriers, fences and the enumerations they take.
#pragma once
#include "scalars.h"

extern "C" {
__attribute__((convergent, nothrow)) void __mt_threadgroup_barrier(uint flags);
__attribute__((convergent, nothrow)) void __mt_simdgroup_barrier(uint flags);
__attribute__((nothrow)) void __mt_fence(uint flags, uint order, uint scope);
}

namespace metal {

enum class mem_flags : uint {
  mem_none = 0,
  mem_device = 1,
  mem_threadgroup = 2,
  mem_texture = 4,
  mem_threadgroup_imageblock = 8,
  mem_object_data = 16,
  mem_device_and_threadgroup = 3,
};
constexpr mem_flags operator|(mem_flags a, mem_flags b) { return mem_flags(uint(a) | uint(b)); }
constexpr mem_flags operator&(mem_flags a, mem_flags b) { return mem_flags(uint(a) & uint(b)); }
constexpr mem_flags& operator|=(mem_flags& a, mem_flags b) { return a = a | b; }

enum thread_scope : uint {
  thread_scope_thread = 0,
  thread_scope_simdgroup = 1,
  thread_scope_threadgroup = 2,
  thread_scope_device = 3,
};

enum memory_order : int {
  memory_order_relaxed = 0,
  memory_order_acquire = 2,
  memory_order_release = 3,
  memory_order_acq_rel = 4,
  memory_order_seq_cst = 5,
};

inline void threadgroup_barrier(mem_flags flags) { __mt_threadgroup_barrier(uint(flags)); }
inline void threadgroup_barrier(mem_flags flags, memory_order) { __mt_threadgroup_barrier(uint(flags)); }
inline void threadgroup_barrier(mem_flags flags, thread_scope) { __mt_threadgroup_barrier(uint(flags)); }
inline void threadgroup_barrier(mem_flags flags, memory_order, thread_scope) { __mt_threadgroup_barrier(uint(flags)); }
inline void simdgroup_barrier(mem_flags flags) { __mt_simdgroup_barrier(uint(flags)); }
inline void simdgroup_barrier(mem_flags flags, memory_order) { __mt_simdgroup_barrier(uint(flags)); }
inline void simdgroup_barrier(mem_flags flags, thread_scope) { __mt_simdgroup_barrier(uint(flags)); }
inline void simdgroup_barrier(mem_flags flags, memory_order, thread_scope) { __mt_simdgroup_barrier(uint(flags)); }
inline void atomic_thread_fence(mem_flags flags, memory_order order, thread_scope scope = thread_scope_device) {
  __mt_fence(uint(flags), order, scope);
}
}  // namespace metal
