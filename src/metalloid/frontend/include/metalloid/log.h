// os_log: a format and its arguments, one intrinsic call each.
#pragma once
#include "types.h"

extern "C" {
__attribute__((nothrow)) void __mt_log_begin(constant char* format, uint level);
__attribute__((nothrow)) void __mt_log_i32(int value);
__attribute__((nothrow)) void __mt_log_i64(long value);
__attribute__((nothrow)) void __mt_log_f32(float value);
__attribute__((nothrow)) void __mt_log_end();
}

namespace metal {

enum log_type { log_type_default, log_type_debug, log_type_info, log_type_error, log_type_fault };

template <class T>
inline void __log_argument(T value) {
  if constexpr (is_floating_point_v<T>)
    __mt_log_f32(float(value));
  else if constexpr (__is_pointer(T))
    __mt_log_i64(long(value));
  else if constexpr (sizeof(T) == 8)
    __mt_log_i64(long(value));
  else
    __mt_log_i32(int(value));
}
template <class T, int N>
inline void __log_argument(vec<T, N> value) {
  for (int i = 0; i < N; i++) __log_argument(T(value[i]));
}

struct os_log {
  constexpr os_log() = default;
  constexpr os_log(const char*, const char*) {}
  template <class... A>
  void log_with_type(log_type type, const char* format, A... arguments) const {
    __mt_log_begin((constant char*)format, uint(type));
    (__log_argument(arguments), ...);
    __mt_log_end();
  }
#define __MT_LOG(name, type)                             \
  template <class... A>                                  \
  void name(const char* format, A... arguments) const {  \
    log_with_type(type, format, arguments...);           \
  }
  __MT_LOG(log, log_type_default)
  __MT_LOG(log_debug, log_type_debug)
  __MT_LOG(log_info, log_type_info)
  __MT_LOG(log_error, log_type_error)
  __MT_LOG(log_fault, log_type_fault)
};
constant os_log os_log_default{};

template <class... A>
inline void printf(const char* format, A... arguments) {
  os_log().log(format, arguments...);
}
}  // namespace metal
