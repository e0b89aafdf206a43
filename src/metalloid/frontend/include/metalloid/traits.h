// Type traits: metal::is_same, enable_if, conditional and their kin.
#pragma once
#include "scalars.h"

namespace metal {

template <class T, T v>
struct integral_constant {
  static constexpr constant T value = v;
  using value_type = T;
  using type = integral_constant;
  constexpr operator T() const { return v; }
  constexpr T operator()() const { return v; }
};
template <bool b>
using bool_constant = integral_constant<bool, b>;
using true_type = bool_constant<true>;
using false_type = bool_constant<false>;

template <bool b, class T = void>
struct enable_if {};
template <class T>
struct enable_if<true, T> {
  using type = T;
};
template <bool b, class T = void>
using enable_if_t = typename enable_if<b, T>::type;

template <bool b, class T, class F>
struct conditional {
  using type = T;
};
template <class T, class F>
struct conditional<false, T, F> {
  using type = F;
};
template <bool b, class T, class F>
using conditional_t = typename conditional<b, T, F>::type;

template <class T>
struct type_identity {
  using type = T;
};
template <class T>
using type_identity_t = typename type_identity<T>::type;

// Qualifiers: `T device` and the other spaces count as qualifiers of T and are removed with const.
template <class T>
struct remove_reference : type_identity<T> {};
template <class T>
struct remove_reference<T&> : type_identity<T> {};
template <class T>
struct remove_reference<T&&> : type_identity<T> {};
template <class T>
using remove_reference_t = typename remove_reference<T>::type;

template <class T>
struct remove_addrspace : type_identity<T> {};
template <class T>
struct remove_addrspace<device T> : type_identity<T> {};
template <class T>
struct remove_addrspace<threadgroup T> : type_identity<T> {};
template <class T>
struct remove_addrspace<__attribute__((opencl_global_device)) T> : type_identity<T> {};
template <class T>
using remove_addrspace_t = typename remove_addrspace<T>::type;

template <class T>
using remove_const_t = __remove_const(T);
template <class T>
using remove_volatile_t = __remove_volatile(T);
template <class T>
using remove_cv_t = __remove_cv(T);
template <class T>
struct remove_const : type_identity<remove_const_t<T>> {};
template <class T>
struct remove_volatile : type_identity<remove_volatile_t<T>> {};
template <class T>
struct remove_cv : type_identity<remove_cv_t<T>> {};
template <class T>
using remove_cvref_t = remove_addrspace_t<remove_cv_t<remove_reference_t<T>>>;
template <class T>
struct remove_cvref : type_identity<remove_cvref_t<T>> {};

template <class T>
struct remove_pointer : type_identity<T> {};
template <class T>
struct remove_pointer<T*> : type_identity<T> {};
template <class T>
struct remove_pointer<T* const> : type_identity<T> {};
template <class T>
using remove_pointer_t = typename remove_pointer<T>::type;
template <class T>
struct remove_extent : type_identity<T> {};
template <class T, size_t n>
struct remove_extent<T[n]> : type_identity<T> {};
template <class T>
struct remove_extent<T[]> : type_identity<T> {};
template <class T>
using remove_extent_t = typename remove_extent<T>::type;
template <class T>
struct add_const : type_identity<const T> {};
template <class T>
using add_const_t = const T;
template <class T>
using add_pointer_t = remove_reference_t<T>*;
template <class T>
using decay_t = __decay(T);
template <class T>
struct decay : type_identity<decay_t<T>> {};

#define __MT_TRAIT(name, value_expression)                       \
  template <class T>                                             \
  struct name : bool_constant<(value_expression)> {};            \
  template <class T>                                             \
  inline constexpr constant bool name##_v = (value_expression);

#define __MT_IS(A, B) __is_same(remove_addrspace_t<remove_cv_t<A>>, B)

__MT_TRAIT(is_const, __is_const(T))
__MT_TRAIT(is_volatile, __is_volatile(T))
__MT_TRAIT(is_void, __is_void(T))
__MT_TRAIT(is_integral, __is_integral(remove_addrspace_t<remove_cv_t<T>>))
__MT_TRAIT(is_floating_point, __MT_IS(T, float) || __MT_IS(T, half) || __MT_IS(T, bfloat))
__MT_TRAIT(is_arithmetic, (is_integral_v<T> || is_floating_point_v<T>))
__MT_TRAIT(is_scalar, (is_arithmetic_v<T> || __is_enum(T) || __is_pointer(T)))
__MT_TRAIT(is_signed, (is_floating_point_v<T> || __is_signed(T)))
__MT_TRAIT(is_unsigned, __is_unsigned(T))
__MT_TRAIT(is_enum, __is_enum(T))
__MT_TRAIT(is_union, __is_union(T))
__MT_TRAIT(is_class, __is_class(T))
__MT_TRAIT(is_array, __is_array(T))
__MT_TRAIT(is_pointer, __is_pointer(T))
__MT_TRAIT(is_reference, __is_reference(T))
__MT_TRAIT(is_lvalue_reference, __is_lvalue_reference(T))
__MT_TRAIT(is_rvalue_reference, __is_rvalue_reference(T))
__MT_TRAIT(is_function, __is_function(T))
__MT_TRAIT(is_standard_layout, __is_standard_layout(T))
__MT_TRAIT(is_trivial, __is_trivial(T))
__MT_TRAIT(is_trivially_copyable, __is_trivially_copyable(T))

template <class A, class B>
struct is_same : bool_constant<__is_same(A, B)> {};
template <class A, class B>
inline constexpr constant bool is_same_v = __is_same(A, B);
template <class A, class B>
struct is_convertible : bool_constant<__is_convertible(A, B)> {};
template <class A, class B>
inline constexpr constant bool is_convertible_v = __is_convertible(A, B);
template <class A, class B>
struct is_base_of : bool_constant<__is_base_of(A, B)> {};
template <class A, class B>
inline constexpr constant bool is_base_of_v = __is_base_of(A, B);
template <class T, class... A>
struct is_constructible : bool_constant<__is_constructible(T, A...)> {};
template <class T, class... A>
inline constexpr constant bool is_constructible_v = __is_constructible(T, A...);

template <class T>
using underlying_type_t = __underlying_type(T);
template <class T>
struct underlying_type : type_identity<__underlying_type(T)> {};

template <class... B>
struct conjunction : bool_constant<(B::value && ...)> {};
template <class... B>
struct disjunction : bool_constant<(B::value || ...)> {};
template <class B>
struct negation : bool_constant<!B::value> {};
// The names behind them, which published sources use too.
template <class... B>
struct _conjunction : conjunction<B...> {};
template <class... B>
struct _disjunction : disjunction<B...> {};
template <class B>
struct _negation : negation<B> {};
template <class... B>
inline constexpr constant bool conjunction_v = (B::value && ...);
template <class... B>
inline constexpr constant bool disjunction_v = (B::value || ...);
template <class B>
inline constexpr constant bool negation_v = !B::value;

template <class T>
struct make_unsigned : type_identity<__make_unsigned(T)> {};
template <class T>
struct make_signed : type_identity<__make_signed(T)> {};
template <class T>
using make_unsigned_t = typename make_unsigned<T>::type;
template <class T>
using make_signed_t = typename make_signed<T>::type;

template <class T>
T&& declval() noexcept;
template <class T>
constexpr remove_reference_t<T>&& move(T&& t) noexcept {
  return static_cast<remove_reference_t<T>&&>(t);
}
template <class T>
constexpr T&& forward(remove_reference_t<T>& t) noexcept {
  return static_cast<T&&>(t);
}
template <class T>
constexpr T&& forward(remove_reference_t<T>&& t) noexcept {
  return static_cast<T&&>(t);
}

template <class F, class... A>
struct invoke_result : type_identity<decltype(declval<F>()(declval<A>()...))> {};
template <class F, class... A>
using invoke_result_t = typename invoke_result<F, A...>::type;

template <class... T>
struct common_type;
template <class... T>
using common_type_t = typename common_type<T...>::type;
template <class A>
struct common_type<A> : type_identity<decay_t<A>> {};
template <class A, class B>
struct common_type<A, B> : type_identity<decay_t<decltype(true ? declval<A>() : declval<B>())>> {};
template <class A, class B, class... C>
struct common_type<A, B, C...> : common_type<common_type_t<A, B>, C...> {};

// integer_sequence, and index lists for expanding vectors into scalars.
template <class T, T... i>
struct integer_sequence {
  static constexpr size_t size() { return sizeof...(i); }
};
template <size_t... i>
using index_sequence = integer_sequence<size_t, i...>;
template <class T, T n>
using make_integer_sequence = __make_integer_seq<integer_sequence, T, n>;
template <size_t n>
using make_index_sequence = make_integer_sequence<size_t, n>;
}  // namespace metal
