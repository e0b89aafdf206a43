"""Templates, lambdas and C++17, as kernels use them."""
# ruff: noqa: E501  a row of a table is one line

import numpy as np

from tests.language.launch import check, poisoned, run

N = ("constant int& n", np.array([3], np.int32))
A = ("device const float* a", np.array([2, 3, 5, 7, 11], np.float32))


def test_templates() -> None:
    check(
        [
            ("float", "add<float>(a[0], a[1])", 5),
            ("int", "add(n, 4)", 7),
            ("half", "add(1.5h, 2.h)", 3.5),
            ("int", "times<5>(n)", 15),
            ("int", "times(n)", 6),
            ("float", "total(a[0], a[1], a[2], n)", 13),
            ("int", "count<int, float, half>()", 3),
            ("int", "Kind<float>::value * 100 + Kind<half>::value * 10 + Kind<int*>::value", 123 + 0),
            ("float", "Box<float>{a[3]}.get()", 7),
            ("float", "(Wrap<Box, float>{{a[4]}}.inner.value)", 11),
            ("float", "apply<square>(a[1])", 9),
            ("float", "apply<twice<float>>(a[1])", 6),
            ("float", "reduce<Plus>(a, 5)", 28),
            ("float", "reduce<Times<float>>(a, 3)", 30),
            ("ulong", "(Matrix<float, 2, 3>::size)", 6),
            ("float", "(Matrix<float, 2, 3>{{{1, 2, 3}, {4, 5, 6}}}.at(1, n - 1))", 6),
            ("int", "fib<10>", 55),
            ("int", "Power<2, 7>::value", 128),
            ("float", "pick<true>(a[0], n)", 2),
            ("int", "pick<false>(a[0], n)", 3),
            ("int", "overload(n)", 1),
            ("int", "overload(a[0])", 2),
            ("int", "overload(float4(1))", 3),
            ("int", "overload(&a[0])", 4),
            ("int", "only_real(1.5f) + only_real(n)", 12),
            ("float", "First<float, int>{a[2], n}.x", 5),
            ("int", "sizeof_all<char, int, float4>::value", 21),
            ("float4", "splat<float4>(a[1])", [3, 3, 3, 3]),
            ("uint", "as<uint>(a[2])", 5),
            ("float", "defaulted(a[0]) + defaulted(a[0], 10.f)", 2 * 3 + 20),
            ("float", "nested::Outer<2>::Inner<3>::scale(a[0])", 12),
        ],
        *(N, A),
        prelude="""
template <typename T> T add(T x, T y) { return x + y; }
template <int K = 2> int times(int x) { return x * K; }
template <typename T> float total(T x) { return x; }
template <typename T, typename... R> float total(T x, R... rest) { return x + total(rest...); }
template <class... T> constexpr int count() { return sizeof...(T); }
template <typename T> struct Kind { static constexpr constant int value = 0; };
template <> struct Kind<float> { enum { value = 1 }; };
template <> struct Kind<half> { static constant constexpr int value = 2; };
template <typename T> struct Kind<T*> { static constexpr int value = 3; };
template <typename T> struct Box { T value; T get() const { return value; } };
template <template <typename> class C, typename T> struct Wrap { C<T> inner; };
float square(float x) { return x * x; }
template <typename T> T twice(T x) { return x + x; }
template <float (*F)(float)> float apply(float x) { return F(x); }
struct Plus { float operator()(float x, float y) const { return x + y; } static constexpr constant float start = 0; };
template <typename T> struct Times {
  static constexpr constant T start = 1;
  T operator()(T x, T y) thread const { return x * y; }
};
template <typename Op> float reduce(device const float* a, int n) {
  Op op;
  float r = Op::start;
  for (int i = 0; i < n; i++) r = op(r, a[i]);
  return r;
}
template <typename T, int R, int C> struct Matrix {
  T v[R][C];
  static constexpr constant ulong size = R * C;
  T at(int r, int c) const thread { return v[r][c]; }
};
template <int K> constexpr constant int fib = fib<K - 1> + fib<K - 2>;
template <> constexpr constant int fib<0> = 0;
template <> constexpr constant int fib<1> = 1;
template <int B, int E> struct Power { static constexpr constant int value = B * Power<B, E - 1>::value; };
template <int B> struct Power<B, 0> { static constexpr constant int value = 1; };
template <bool c> auto pick(float x, int y) { if constexpr (c) return x; else return y; }
int overload(int) { return 1; }
int overload(float) { return 2; }
template <typename T> int overload(vec<T, 4>) { return 3; }
template <typename T> int overload(device T*) { return 4; }
template <typename T, enable_if_t<is_floating_point_v<T>, bool> = true> int only_real(T) { return 10; }
template <typename T, typename = enable_if_t<is_integral_v<T>>, int = 0> int only_real(T) { return 2; }
template <typename T, typename U> struct First { T x; U y; };
template <typename... T> struct sizeof_all;
template <> struct sizeof_all<> { static constexpr constant int value = 0; };
template <typename T, typename... R> struct sizeof_all<T, R...> {
  static constexpr constant int value = int(sizeof(T)) + sizeof_all<R...>::value;
};
template <typename V> V splat(float x) { return V(x); }
template <typename To, typename From> To as(From x) { return static_cast<To>(x); }
template <typename T, typename U = T> T defaulted(T x, U y = U(3)) { return x * y; }
namespace nested {
template <int A> struct Outer { template <int B> struct Inner { static float scale(float x) { return x * A * B; } }; };
}
""",
    )


def test_lambdas() -> None:
    check(
        [
            ("float", "[](float x) { return x + 1; }(a[0])", 3),
            ("float", "[=]() { return a[1] + n; }()", 6),
            ("int", "[&] { int t = 0; auto bump = [&t](int by) { t += by; }; bump(n); bump(4); return t; }()", 7),
            ("int", "[&] { int t = 1; auto f = [t]() mutable { return ++t; }; f(); return f() * 10 + t; }()", 31),
            ("float", "each(a, 5, [](float x, float y) { return x * y; })", 2310),
            ("float", "each(a, n, [n](float x, float y) { return max(x, y) + n - n; })", 5),
            ("float", "[&] { auto g = [](auto x, auto y) { return x * y; }; return g(a[0], 2) + g(n, 3); }()", 13),
            ("int", "[&] { const auto f = [k = n * 2](int x) -> int { return x + k; }; return f(1); }()", 7),
            ("float", "compose([](float x) { return x * 2; }, [](float x) { return x + 1; })(a[0])", 6),
            ("float", "[&] { float s[3]; auto put = [&](int i) { s[i] = a[i] * 2; }; for (int i = 0; i < 3; i++) put(i); return s[0] + s[2]; }()", 14),
        ],
        *(N, A),
        prelude="""
template <typename F> float each(device const float* a, int n, F f) {
  float r = a[0];
  for (int i = 1; i < n; i++) r = f(r, a[i]);
  return r;
}
template <typename F, typename G> auto compose(F f, G g) { return [=](float x) { return f(g(x)); }; }
""",
    )  # fmt: skip


def test_cpp17() -> None:
    check(
        [
            ("float", "[&] { auto [x, y] = Pair{a[1], n}; return x * y; }()", 9),
            ("int", "[&] { int t[3] = {1, 2, 3}; auto [x, y, z] = t; return x + 10 * y + 100 * z; }()", 321),
            ("int", "[&] { Pair p{1, 2}; auto& [x, y] = p; y += n; return p.y; }()", 5),
            ("int", "sum(1, n, 5, 7)", 16),
            ("bool", "all_of(n > 1, n > 2)", True),
            ("int", "(joined<1, 2, 3>())", 123),
            ("float", "by_type(1.0f) + by_type(n) + by_type(1.0h)", 1 + 20 + 300),
            ("int", "[&] { if (int m = n * 2; m > 5) return m; else return -m; }()", 6),
            ("int", "[&] { switch (int m = n; m) { case 3: return 30; default: return m; } }()", 30),
            ("int", "factorial(n) + factorial(4)", 30),
            ("int", "Deduced(n, a[0]).x", 3),
            ("float", "Deduced{n, a[0]}.y", 2),
            ("int", "shared_value + Config::size", 5 + 64),
            ("int", "a::b::c::deep(n)", 300),
            ("int", "[&] { int v[4] = {1, 2, 3, 4}; int t = 0; for (auto& x : v) { x *= 2; t += x; } return t; }()", 20),
            ("float", "[&] { array<float, 3> v = {{1, 2, 3}}; float t = 0; for (auto x : v) t += x; return t; }()", 6),
            ("int", "unused(1)", 1),
            ("int", "[&] { constexpr int m = 4 * 5; int v[m] = {}; return int(sizeof(v)) + v[n]; }()", 80),
            ("uint", "0b1010u | 0x1'0u", 26),
            ("int", "late(n)", 4),
        ],
        *(N, A),
        prelude="""
static_assert(sizeof(float3) == 16, "float3 is padded");
static_assert(sizeof(packed_float3) == 12);
struct Pair { float x; int y; };
template <typename... T> int sum(T... x) { return (x + ...); }
template <typename... T> bool all_of(T... x) { return (... && x); }
template <int... d> int joined() { int r = 0; ((r = r * 10 + d), ...); return r; }
template <typename T> float by_type(T) {
  if constexpr (is_same_v<T, float>) return 1;
  else if constexpr (is_integral_v<T>) return 20;
  else return 300;
}
constexpr int factorial(int n) { int r = 1; while (n > 1) r *= n--; return r; }
static_assert(factorial(5) == 120, "at compile time too");
template <typename X, typename Y> struct Deduced { X x; Y y; Deduced(X x, Y y) : x(x), y(y) {} };
inline constexpr constant int shared_value = 5;
struct Config { static inline constexpr int constant size = 64; };
namespace a::b::c { int deep(int x) { return x * 100; } }
[[maybe_unused]] static int unused([[maybe_unused]] int x) { return 1; }
auto late(int x) -> int { return x + 1; }
""",
    )  # fmt: skip


def test_kernel_templates_with_every_kind_of_parameter() -> None:
    out = poisoned(5, np.float32)
    body = """
struct Doubling { template <typename T> T operator()(T x) const { return x * 2; } };
float minus(float x) { return -x; }
template <typename T, int N, bool flag, typename Op, float (*F)(float)>
kernel void k_(device float* o, device const T* a, uint i [[thread_position_in_grid]]) {
  o[i] = F(Op()(a[i])) + (flag ? N : 0);
}
template [[host_name("k")]] kernel void k_<half, 7, true, Doubling, minus>(device float*, device const half*, uint);
template [[host_name("plain")]] kernel void k_<float, 1 + 2, (3 > 4), Doubling, minus>(
    device float* o, device const float* a, uint i [[thread_position_in_grid]]);
"""
    given = np.arange(5, dtype=np.float16)
    run(body, out, given, grid=5, threadgroup=2)
    np.testing.assert_array_equal(out, -2 * given.astype(np.float32) + 7)
    out = poisoned(5, np.float32)
    run(body, out, given.astype(np.float32), grid=5, threadgroup=2, kernel="plain")
    np.testing.assert_array_equal(out, -2 * given.astype(np.float32))
