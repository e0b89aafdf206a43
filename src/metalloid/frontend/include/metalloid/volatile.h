// Vectors in `volatile` memory on either side of an operator: read once, then what any vector is. Only for what is
// volatile: `const vec&` never takes such a vector, so nothing here competes with the operators of others. What changes
// a vector, or has one side, is a member (vec.h): clang cannot take a swizzle in a template for an operand of others.
#pragma once
#include "vec.h"

namespace metal {
template <class V>
struct __vec_of {};
template <class T, int N>
struct __vec_of<vec<T, N>> : type_identity<vec<T, N>> {};
template <class V, class = enable_if_t<__is_volatile(V)>>
using __read_vec = typename __vec_of<remove_cvref_t<V>>::type;

#define __MT_BINARY(op)                                                                             \
  template <class V, class B, class R = __read_vec<V>>                                              \
  constexpr auto operator op(V& a, const B& b) -> decltype(R(a) op b) { return R(a) op b; }         \
  template <class A, class V, class R = __read_vec<V>, class = enable_if_t<!__is_volatile(A)>>      \
  constexpr auto operator op(const A& a, V& b) -> decltype(a op R(b)) { return a op R(b); }
__MT_BINARY(+) __MT_BINARY(-) __MT_BINARY(*) __MT_BINARY(/) __MT_BINARY(%)
__MT_BINARY(&) __MT_BINARY(|) __MT_BINARY(^) __MT_BINARY(<<) __MT_BINARY(>>)
__MT_BINARY(==) __MT_BINARY(!=) __MT_BINARY(<) __MT_BINARY(<=) __MT_BINARY(>) __MT_BINARY(>=)
__MT_BINARY(&&) __MT_BINARY(||)
#undef __MT_BINARY
}  // namespace metal
