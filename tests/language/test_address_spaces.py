"""Pointers and references into device, constant, threadgroup and thread memory."""
# ruff: noqa: E501  a row of a table is one line

import numpy as np

from tests.language.launch import check, poisoned, run


def test_overloads_and_templates_over_spaces() -> None:
    out = poisoned((5, 8))
    given = np.array([10, 20, 30, 40, 50], np.int32)
    run(
        """
constant int table[3] = {100, 200, 300};
int space(device int*) { return 1; }
int space(constant int*) { return 2; }
int space(threadgroup int*) { return 3; }
int space(thread int*) { return 4; }
int space(device const int& v) { return 10 + v; }
int space(constant int& v) { return 20 + v; }
int space(threadgroup const int& v) { return 30 + v; }
int space(thread const int& v) { return 40 + v; }
template <typename P> int second(P p) { return p[1]; }
template <typename T> T sum(const device T* p, int n) { T t = 0; while (n--) t += p[n]; return t; }
template <typename T> T sum(const threadgroup T* p, int n) {
  T t = 1000;
  for (int i = 0; i < n; i++) t += p[i];
  return t;
}
template <typename T> T sum(const thread T* p, int n) { T t = 2000; while (n--) t += *p++; return t; }
template <typename T> T sum(constant T* p, int n) { T t = 3000; for (; n; --n) t += p[n - 1]; return t; }
kernel void k(device int* o, device int* a, constant int* c, threadgroup int* t [[threadgroup(0)]],
              uint i [[thread_position_in_grid]]) {
  int mine[3] = {7, 8, 9};
  if (i == 0) { t[0] = 5; t[1] = 6; }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device int* r = o + 8 * i;
  r[0] = space(a) + 10 * space(c) + 100 * space(t) + 1000 * space(mine);
  r[1] = space(a[i]);
  r[2] = space(c[1]) + space(table[i % 3]);
  r[3] = space(t[1]) + 1000 * space(mine[2]);
  r[4] = second(a) + second(c) + second(t) + second(mine) + second(table);
  r[5] = sum(a, 3) + sum(c, 2);
  r[6] = sum(t, 2) + sum(mine, 3);
  r[7] = sum(table, 3) + sum(&mine[1], 1);
}""",
        *(out, given, np.array([3, 4], np.int32)),
        grid=5,
        threadgroup=5,
        threadgroup_memory={0: 16},
    )
    for i in range(5):
        expected = [
            4321,
            10 + given[i],
            24 + 20 + [100, 200, 300][i % 3],
            36 + 1000 * 49,
            20 + 4 + 6 + 8 + 200,
            60 + 3007,
            1011 + 2024,
            3600 + 2008,
        ]
        np.testing.assert_array_equal(out[i], expected)


def test_pointer_arithmetic_and_pointers_to_pointers() -> None:
    a = np.arange(20, dtype=np.float32)
    check(
        [
            ("float", "*(a + 3)", 3),
            ("float", "a[n]", 4),
            ("float", "*(n + a)", 4),
            ("float", "(a + 10)[-n]", 6),
            ("float", "[&] { device const float* p = a; p += n; p++; ++p; --p; return *p++ + *p; }()", 5 + 6),
            ("long", "(a + 7) - (a + 2)", 5),
            ("bool", "a + 1 > a", True),
            ("bool", "&a[2] == a + 2", True),
            ("bool", "a != nullptr", True),
            ("float", "((device const float2*)a)[n].y", 9),
            ("uint", "((device const uint*)a)[1]", 0x3F800000),
            ("uchar", "*((device const uchar*)(a + 1) + 3)", 0x3F),
            ("float", "[&] { device const float* p = a + 2; auto q = &p; *q += n; return **q; }()", 6),
            ("float", "[&] { device const float* p = a; device const float** q = &p; ++*q; return *p; }()", 1),
            ("float", "[&] { float x[3] = {1, 2, 3}; thread float* p = x; p[n % 3] = 9; return x[1]; }()", 9),
            ("float", "[&] { float x = 1; thread float& r = x; r += 2; return x; }()", 3),
            ("float", "[&] { device const float* rows[3] = {a, a + 5, a + 9}; return rows[n % 3][1]; }()", 6),
            ("float", "static_cast<device const float*>(v)[2]", 2),
            ("float", "reinterpret_cast<device const float4*>(a)[1].z", 6),
            ("float", "*const_cast<device float*>(a + 8)", 8),
            ("float", "row(m, 1)[2]", 12),
            ("float", "m[1][3]", 13),
            ("ulong", "sizeof(a)", 8),
        ],
        ("device const float* a", a),
        ("constant int& n", np.array([4], np.int32)),
        ("device const void* v", a),
        ("device const float* m_", a),
        prelude="device const float* row(device const float (*m)[10], int i) { return m[i]; }",
        setup="device const float (*m)[10] = (device const float (*)[10])m_;",
    )  # fmt: skip


def test_constant_tables() -> None:
    check(
        [
            ("int", "primes[n]", 5),
            ("float", "grid[n][1]", 6),
            ("float3", "colours[n]", [0, 0, 1]),
            ("int", "points[n].y", 6),
            ("half", "nested[1].h[n]", 6),
            ("float", "inner::scale * inner::deep::more[n]", 15),
            ("int", "sizes[n] + Holder<int>::table[n]", 7 + 33),
            ("uchar", "bytes[n]", 255),
            ("char", "text[n]", ord("l")),
            ("int", "squares.v[n]", 4),
            ("int", "local(n)", 80),
            ("float", "*pick(n)", 6),
            ("int", "static_int + inline_int + int(sizeof(primes) / sizeof(primes[0]))", 1 + 2 + 4),
            ("ulong", "mask", 2**63 + 1),
        ],
        ("constant int& n", np.array([2], np.int32)),
        prelude="""
constant int primes[] = {2, 3, 5, 7};
constant constexpr static float grid[3][2] = {{1, 2}, {3, 4}, {5, 6}};
constant float3 colours[3] = {float3(1, 0, 0), {0, 1, 0}, float3(0, 0, 1)};
struct Point { int x, y; };
static constant Point points[] = {{1, 2}, {3, 4}, {5, 6}};
struct Nested { int a; half h[3]; };
constant Nested nested[2] = {{1, {1.h, 2.h, 3.h}}, {2, {4.h, 5.h, 6.h}}};
namespace inner {
constant float scale = 2.5;
namespace deep { constexpr constant float more[3] = {2, 4, 6}; }
}
static constexpr constant short sizes[3] = {5, 6, 7};
template <typename T> struct Holder { static constexpr constant T table[3] = {11, 22, 33}; };
const constant uchar bytes[] = {0, 1, 255};
constant char text[] = "hello";
struct Squares { int v[4]; };
constexpr Squares make() { Squares s{}; for (int i = 0; i < 4; i++) s.v[i] = i * i; return s; }
constant constexpr Squares squares = make();
int local(int n) { const int t[] = {60, 70, 80}; return t[n]; }
constant float* pick(int n) { return &grid[n][1]; }
constexpr static constant int static_int = 1;
inline constexpr constant int inline_int = 2;
constant ulong mask = (1ul << 63) | 1;
""",
    )


def test_const_and_volatile() -> None:
    out = poisoned(6)
    run(
        """
kernel void k(device volatile int* o, const device int* a, device const int* b, constant const int& c,
              volatile device int& last, uint i [[thread_position_in_grid]]) {
  const int x = a[i];
  int const y = b[i];
  device int const* const p = a + i;
  volatile int z = x;
  z += y;
  volatile threadgroup int t[5];
  t[i] = z;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  o[i] = t[4 - i] + *p + c;
  if (i == 3) last = 77;
}""",
        *(out, a := np.arange(5, dtype=np.int32), b := a * 10, np.array([1000], np.int32), out[5:]),
        grid=5,
        threadgroup=5,
    )
    np.testing.assert_array_equal(out, [*((a + b)[::-1] + a + 1000), 77])


def test_threadgroup_variables_in_every_shape() -> None:
    out = poisoned((4, 8), np.float32)
    run(
        """
struct Tile { float v[4]; int n; };
template <typename T, int N> struct Shared {
  T data[N];
  threadgroup T& at(int i) threadgroup { return data[i]; }
};
template <int N> float through(threadgroup float (&own)[N], uint i) {
  own[i] = i * N;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  return own[N - 1 - i];
}
void fill(threadgroup float (&t)[4], uint i) { t[i] = i + 0.5; }
void fill(threadgroup Tile& t, uint i) { t.v[i] = i * 2; if (i == 0) t.n = 9; }
kernel void k(device float* o, threadgroup float4* host [[threadgroup(1)]],
              threadgroup Tile& tile [[threadgroup(0)]], uint i [[thread_position_in_threadgroup]]) {
  threadgroup float a[4], b[4][2];
  threadgroup float one;
  threadgroup Tile s;
  threadgroup half4 h;
  threadgroup Shared<float, 4> wrapped;
  threadgroup atomic_int count;
  fill(a, i);
  b[i][0] = i; b[i][1] = -float(i);
  if (i == 0) { one = 42; h = half4(1, 2, 3, 4); atomic_store_explicit(&count, 0, memory_order_relaxed); }
  fill(s, i);
  wrapped.data[i] = i * 100;
  host[i] = float4(i);
  tile.v[i] = i + 10;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  atomic_fetch_add_explicit(&count, 2, memory_order_relaxed);
  threadgroup_barrier(mem_flags::mem_threadgroup);
  device float* r = o + 8 * i;
  r[0] = a[3 - i];
  r[1] = b[3 - i][0] + b[i][1] + one;
  r[2] = s.v[3 - i] + s.n;
  r[3] = float(h[i]) + host[3 - i].z;
  r[4] = wrapped.at(3 - i);
  threadgroup float own4[4], own5[5];
  own5[4] = 0;
  r[5] = through<4>(own4, i) + 1000 * through<5>(own5, i);
  r[6] = tile.v[3 - i];
  r[7] = atomic_load_explicit(&count, memory_order_relaxed);
}""",
        out,
        grid=4,
        threadgroup=4,
        threadgroup_memory={0: 32, 1: 64},
    )
    for i in range(4):
        j = 3 - i
        expected = [
            j + 0.5,
            j - i + 42,
            2 * j + 9,
            i + 1 + j,
            100 * j,
            4 * j + 1000 * 5 * (4 - i if i > 0 else 0),
            j + 10,
            8,
        ]
        np.testing.assert_array_equal(out[i], expected)


def test_argument_buffers() -> None:
    a = np.arange(6, dtype=np.float32)
    b = np.arange(6, dtype=np.int32) * 10
    out = poisoned(6, np.float32)
    base = 0x10_0000_0000
    arguments = np.array([base, base + 0x1000, 0, base + 0x2000, 3, base], np.uint64)
    arguments.view(np.float32)[4] = 2.5
    body = """
struct Inner { device float* out [[id(4)]]; int count [[id(5)]]; device const float* again [[id(6)]]; };
struct Arguments {
  device const float* a [[id(0)]];
  constant int* b [[id(1)]];
  float scale [[id(2)]];
  Inner inner [[id(3)]];
};
kernel void k(constant Arguments& args [[buffer(2)]], uint i [[thread_position_in_grid]]) {
  args.inner.out[i] = args.a[i] * args.scale + args.b[i] + args.inner.count + args.inner.again[0];
}"""
    resources = [(base, a), (base + 0x1000, b), (base + 0x2000, out)]
    built = run(body, {2: arguments}, grid=6, threadgroup=4, resources=resources)
    np.testing.assert_array_equal(out, a * 2.5 + b + 3)
    kind = built.signature.parameters[0].type
    assert [(f.name, f.offset) for f in kind.fields] == [("a", 0), ("b", 8), ("scale", 16), ("inner", 24)]


def test_an_array_of_pointers_in_an_argument_buffer() -> None:
    a, b = np.arange(5, dtype=np.int32), np.arange(5, dtype=np.int32) * 7
    out = poisoned(5)
    base = 0x20_0000_0000
    run(
        """
struct Table { array<device const int*, 2> rows; device int* plain[1]; };
kernel void k(device Table* t [[buffer(0)]], uint i [[thread_position_in_grid]]) {
  t->plain[0][i] = t->rows[i % 2][i];
}""",
        {0: np.array([base, base + 0x100, base + 0x200], np.uint64)},
        grid=5,
        threadgroup=5,
        resources=[(base, a), (base + 0x100, b), (base + 0x200, out)],
    )
    np.testing.assert_array_equal(out, [a[0], b[1], a[2], b[3], a[4]])


def test_threadgroup_variables_of_classes_with_constructors() -> None:
    out = poisoned(6, np.float32)
    run(
        """
struct Complex { float re, im; constexpr Complex() : re(0), im(0) {} Complex(float r) : re(r), im(1) {} };
template <typename T> [[kernel]] void spread(device float* o, uint i [[thread_position_in_grid]]) {
  threadgroup T s[6];
  alignas(16) threadgroup float a[6];
  s[i] = T(float(i));
  a[i] = i * 10;
  threadgroup_barrier(mem_flags::mem_threadgroup);
  o[i] = s[5 - i].re + s[i].im * 100 + a[5 - i];
}
template [[host_name("k")]] [[kernel]] void spread<Complex>(device float*, uint);""",
        out,
        grid=6,
        threadgroup=6,
    )
    np.testing.assert_array_equal(out, np.arange(6)[::-1] * 11 + 100)


def test_array_parameters_and_coherent_memory() -> None:
    check(
        [
            ("float", "rows(m, m, t)", 6 + 2 + 40),
            ("float", "flat(m[1], a)", 7 + 3),
            ("float", "by_reference(m)", 8),
        ],
        ("device coherent(device) const float* a", np.array([2, 3, 5], np.float32)),
        ("coherent(device) device float* b", np.array([40], np.float32)),
        setup="float m[2][4] = {{1, 2, 3, 4}, {5, 6, 7, 8}}; threadgroup float t[2][4]; t[1][1] = b[0];",
        prelude="""
float rows(thread float (*m)[4], const thread float n[2][4], threadgroup float t[2][4]) { return m[1][1] + n[0][1] + t[1][1]; }
float flat(thread float v[4], device const float w[3]) { return v[2] + w[1]; }
template <int R, int C> float by_reference(const thread float (&m)[R][C]) { return m[R - 1][C - 1]; }
""",
    )


def test_texts_lie_in_constant_memory() -> None:
    out = poisoned(3, np.int32)
    run(
        """
constant char* constant names[2] = {"abc", "de" "f"};
struct Named { constant char* text; int n; };
static int length_of(constant char* s) { int n = 0; while (s[n]) n++; return n; }
static constant char* answer(bool yes) { return yes ? "yes" : "no"; }
kernel void k(device int* o, uint i [[thread_position_in_grid]]) {
  constant char* s = "hello";
  if (i == 1) s = "other";
  Named named = {"x", 7};
  o[i] = s[i] + 1000 * names[i & 1][i] + length_of(answer(i == 2)) + length_of("four") * named.n + named.text[0];
}""",
        *(out,),
        grid=3,
    )
    firsts, seconds = (ord(c) for c in "htl"), (ord(c) for c in "aec")
    expected = [
        a + 1000 * b + (2, 2, 3)[i] + 28 + ord("x")
        for i, (a, b) in enumerate(zip(firsts, seconds, strict=True))
    ]
    np.testing.assert_array_equal(out, expected)
