// Braces around the elements of a vector: `uint4 k = {a, b, c}` names them one by one, and the rest is zero.
//
// Only braces make an initializer_list, so parentheses still mean the constructors: uint4(a) is a in every element.
#pragma once
#include "traits.h"

namespace std {
template <class T>
class initializer_list {
  const T* first;
  size_t count;
  constexpr initializer_list(const T* first, size_t count) : first(first), count(count) {}

 public:
  using value_type = T;
  constexpr initializer_list() : first(nullptr), count(0) {}
  constexpr size_t size() const { return count; }
  constexpr const T* begin() const { return first; }
  constexpr const T* end() const { return first + count; }
};
}  // namespace std

extern "C" void __mt_excess_elements();  // a call that is left is refused by its name (examine.py)

namespace metal {
using std::initializer_list;

template <int N, class T>
constexpr T __listed(const std::initializer_list<T>& list, size_t i) {
  if (list.size() > N) __mt_excess_elements();
  return i < list.size() ? list.begin()[i] : T(0);
}
}  // namespace metal
