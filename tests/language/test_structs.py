"""Structs, methods, operators, inheritance, unions, enums, namespaces, aliases."""
# ruff: noqa: E501  a row of a table is one line

import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.language.launch import build, check, poisoned, run

N = ("constant int& n", np.array([3], np.int32))
A = ("device const float* a", np.array([2, 3, 5, 7, 11], np.float32))


def test_structs() -> None:
    check(
        [
            ("float", "Complex(a[0], a[1]).norm()", 13),
            ("float", "(Complex(1, 2) * Complex(a[0], a[1])).re", 2 - 6),
            ("float", "(Complex(1, 2) + 3.0f).im", 2),
            ("bool", "Complex(1, 2) == Complex(1, 2)", True),
            ("float", "[&] { Complex c(1, 2); c += Complex(a[0], 0); c[1] = 9; return c.re * c[1]; }()", 27),
            ("float", "float(Complex(a[2], 1))", 5),
            ("float", "(-Complex(1, 2)).im", -2),
            ("int", "[&] { Counter c; ++c; c++; c.add(n).add(1); return c.value; }()", 10 + 2 + 4),
            ("int", "Counter::made + Counter{5}.value", 105),
            ("int", "Derived{}.area() + Derived{}.base_value()", 12 + 7),
            ("int", "[&] { Derived d; d.w = n; Base& b = d; return b.w * 10 + d.area(); }()", 30 + 12),
            ("float", "[&] { Nested x{}; x.inner.v[1] = a[1]; x.list[n - 1].v[0] = 4; return x.inner.v[1] + x.list[2].v[0] + x.other; }()", 9),
            ("ulong", "sizeof(Nested)", 2 * 4 + 3 * 8 + 4),
            ("float", "[&] { Init i; return i.x + i.y[1]; }()", 1.5 + 3),
            ("float", "Init{.x = a[0]}.x", 2),
            ("uint", "[&] { Bits b; b.low = 5; b.high = 9; b.flag = true; return b.low + 10u * b.high + 100u * b.flag; }()", 195),
            ("float", "[&] { struct Local { float v; float twice() const { return v * 2; } } l{a[0]}; return l.twice(); }()", 4),
            ("float", "Functor{a[1]}(a[2])", 15),
            ("int", "friendly(Secret(n))", 3),
            ("float", "(Complex(3, 4) << 2).re", 12),
        ],
        *(N, A),
        prelude="""
struct Complex {
  float re, im;
  Complex() = default;
  constexpr Complex(float re, float im = 0) : re(re), im(im) {}
  float norm() const thread { return re * re + im * im; }
  float norm() const device { return re * re + im * im; }
  constexpr Complex operator-() const { return {-re, -im}; }
  thread Complex& operator+=(Complex o) thread { re += o.re; im += o.im; return *this; }
  thread float& operator[](int i) thread { return i ? im : re; }
  explicit operator float() const { return re; }
};
Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
constexpr Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }
constexpr bool operator==(Complex a, Complex b) { return a.re == b.re && a.im == b.im; }
Complex operator<<(Complex c, int n) { return {c.re * (1 << n), c.im}; }
struct Counter {
  int value = 10;
  static constexpr constant int made = 100;
  Counter() {}
  Counter(int v) : value{v} {}
  thread Counter& operator++() thread { ++value; return *this; }
  Counter operator++(int) thread { Counter old = *this; ++value; return old; }
  thread Counter& add(int n) thread { value += n; return *this; }
};
struct Base { int w = 3, h = 4; int area() const { return -1; } int base_value() const { return w + h; } };
struct Mixin { int extra = 0; };
struct Derived : public Base, Mixin { int area() const { return w * h - extra; } };
struct Nested { struct Inner { float v[2]; } inner; Inner list[3]; float other = 2; };
struct Init { float x = 1.5; float y[2] = {2, 3}; };
struct Bits { uint low : 4; uint high : 6; bool flag : 1; };
class Functor { public: Functor(float k) : k_(k) {} float operator()(float x) const { return k_ * x; } private: float k_; };
class Secret { int v; public: explicit Secret(int v) : v(v) {} friend int friendly(Secret s) { return s.v; } };
""",
    )  # fmt: skip


def test_methods_on_every_address_space() -> None:
    out = poisoned((5, 6))
    table = np.arange(8, dtype=np.int32)
    run(
        """
struct Row {
  int v[4];
  int sum() const device { int t = 0; for (int i = 0; i < 4; i++) t += v[i]; return t; }
  int sum() const threadgroup { int t = 0; for (int i = 0; i < 4; i++) t += v[i]; return t; }
  int sum() const thread { int t = 0; for (int i = 0; i < 4; i++) t += v[i]; return t; }
  int sum() const constant { int t = 0; for (int i = 0; i < 4; i++) t += v[i]; return t; }
  device int& at(int i) device { return v[i]; }
  thread int& at(int i) thread { return v[i]; }
  const device int* begin() const device { return v; }
  void set(int i, int x) threadgroup { v[i] = x; }
  void set(int i, int x) device { v[i] = x; }
  threadgroup int* from(int i) threadgroup { return v + i; }
};
constant Row fixed = {{1, 2, 3, 4}};
int first(threadgroup int* p) { return *p; }
kernel void k(device int* o, device Row* rows, constant Row& c, uint i [[thread_position_in_grid]]) {
  threadgroup Row shared;
  if (i == 0) { shared = rows[0]; shared.set(3, 30); rows[1].set(0, 40); rows[1].at(1) = 50; }
  threadgroup_barrier(mem_flags::mem_device | mem_flags::mem_threadgroup);
  Row mine = rows[1];
  mine.at(2) += i;
  device int* r = o + 6 * i;
  r[0] = rows[1].sum();
  r[1] = shared.sum();
  r[2] = mine.sum();
  r[3] = c.sum() + fixed.sum();
  r[4] = *rows[1].begin() + rows[1].at(1);
  r[5] = first(shared.from(2)) + shared.from(1)[2];
}""",
        *(out, table, np.array([5, 6, 7, 8], np.int32)),
        grid=5,
        threadgroup=5,
    )
    expected = [[40 + 50 + 6 + 7, 0 + 1 + 2 + 30, 103 + i, 26 + 10, 90, 2 + 30] for i in range(5)]
    np.testing.assert_array_equal(out, expected)


def test_methods_that_differ_by_space_are_refused_not_confused() -> None:
    body = """struct S { int v;
  int where() const device { return 1; }
  int where() const threadgroup { return 2; } };
kernel void k(device int* o, device S* s) { o[0] = s->where(); }"""
    with pytest.raises(CompileError) as caught:
        build(body)
    assert "where" in str(caught.value) and caught.value.diagnostics[0].line == 5


def test_unions_and_enums() -> None:
    check(
        [
            ("uint", "[&] { union { float f; uint u; } c; c.f = a[0]; return c.u; }()", 0x40000000),
            ("ushort", "[&] { Word w; w.all = 0x12345678; return w.half_[1]; }()", 0x1234),
            ("uchar", "[&] { Word w; w.all = 0x12345678; return w.bytes.x; }()", 0x78),
            ("ulong", "sizeof(Tagged)", 8),
            ("float", "[&] { Tagged t; t.kind = Tagged::real; t.f = a[1]; return t.kind == 1 ? t.f : -1; }()", 3),
            ("int", "Red + Blue * 10 + int(Shape::square) * 100", 0 + 20 + 700),
            ("ulong", "sizeof(Small) * 10 + sizeof(Shape)", 14),
            ("bool", "Shape(n + 4) == Shape::square", True),
            ("uchar", "uchar(Small::b)", 201),
            ("int", "[&] { switch (Shape(7)) { case Shape::square: return 1; case Shape::circle: return 2; } return 3; }()", 1),
            ("int", "flags(Flag::x | Flag::z)", 5),
            ("int", "Anonymous1 + Inner::value", 41 + 9),
            ("int", "int(Colour::Green)", 1),
        ],
        *(N, A),
        prelude="""
union Word { uint all; ushort half_[2]; uchar4 bytes; };
struct Tagged { enum Kind : uint { integer, real } kind; union { int i; float f; }; };
enum Colour { Red, Green, Blue };
enum class Shape { circle = 3, square = 7 };
enum class Small : uchar { a = 200, b };
enum class Flag : uint { x = 1, y = 2, z = 4 };
constexpr Flag operator|(Flag a, Flag b) { return Flag(uint(a) | uint(b)); }
int flags(Flag f) { return int(f); }
enum { Anonymous0 = 40, Anonymous1 };
struct Inner { enum { value = 9 }; };
""",
    )  # fmt: skip


def test_aliases_and_namespaces() -> None:
    check(
        [
            ("float", "Real(n)", 3),
            ("half3", "Triple<half>(1)", [1, 1, 1]),
            ("float", "one::two::f(n) + one::f(n)", 103 + 13),
            ("float", "hidden(n)", 6),
            ("float", "o2::f(n)", 103),
            ("int", "::outside(n) + shadow::outside(n)", 4 + 5),
            ("float", "[&] { using namespace one; return f(n); }()", 13),
            ("float", "[&] { using one::two::g; return g(n); }()", 1003),
            ("int", "call(n)", 30),
            ("int", "library::v2::version + library::version", 4),
        ],
        N,
        prelude="""
using Real = float;
typedef vec<float, 4> Quad;
template <typename T> using Triple = vec<T, 3>;
namespace one {
float f(float x) { return x + 10; }
namespace two { float f(float x) { return x + 100; } float g(float x) { return x + 1000; } }
}
namespace { float hidden(float x) { return x * 2; } }
namespace o2 = one::two;
int outside(int x) { return x + 1; }
namespace shadow { int outside(int x) { return x + 2; } }
typedef int (Function)(int);
int ten(int x) { return x * 10; }
template <Function* F> int through(int x) { return F(x); }
int call(int x) { return through<ten>(x); }
namespace library { inline namespace v2 { constant int version = 2; } }
""",
    )


def test_kernels_in_namespaces() -> None:
    body = """
namespace outer {
constant float scale = 3;
float helper(float x) { return x * scale; }
kernel void k(device float* o, uint i [[thread_position_in_grid]]) { o[i] = helper(i); }
namespace inner { [[kernel]] void deep(device float* o, uint i [[thread_position_in_grid]]) { o[i] = helper(i) + 1; } }
template <typename T> kernel void t(device T* o, uint i [[thread_position_in_grid]]) { o[i] = T(i) + T(scale); }
template [[host_name("t_half")]] kernel void t<half>(device half*, uint);
}
namespace other { template <typename T> kernel void t(device T* o, constant T& n, uint i [[thread_position_in_grid]]) { o[i] = n; } }
template [[host_name("t_other")]] kernel void other::t<int>(device int*, constant int&, uint);
template [[host_name("t_int")]] kernel void outer::t<int>(device int*, uint);
namespace { kernel void hidden(device float* o, uint i [[thread_position_in_grid]]) { o[i] = -float(i); } }
"""
    expected = {
        "k": (np.float32, np.arange(5) * 3),
        "deep": (np.float32, np.arange(5) * 3 + 1),
        "t_half": (np.float16, np.arange(5) + 3),
        "t_int": (np.int32, np.arange(5) + 3),
        "hidden": (np.float32, -np.arange(5)),
    }
    out = poisoned(5)
    run(body, out, np.array([8], np.int32), grid=5, threadgroup=3, kernel="t_other")
    assert (out == 8).all()
    for name, (dtype, values) in expected.items():
        out = poisoned(5, dtype)
        run(body, out, grid=5, threadgroup=3, kernel=name)
        np.testing.assert_array_equal(out, values)


def test_recursion_without_an_end_is_refused() -> None:
    body = """int down(int n) { return n + down(n - 1); }
kernel void k(device int* o) { o[0] = down(o[0]); }"""
    with pytest.raises(CompileError, match="M614 this function calls itself on every way"):
        build(body)
