"""numeric_limits, array, uniform, macros, pragmas and the small things of the standard library."""
# ruff: noqa: E501  a row of a table is one line

import ml_dtypes
import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.language.launch import DTYPES, INTEGERS, REALS, build, check, poisoned, run

N = ("constant int& n", np.array([2], np.int32))


def test_numeric_limits() -> None:
    cases = []
    for kind in INTEGERS:
        info = np.iinfo(DTYPES[kind])
        limits = f"numeric_limits<{kind}>"
        cases += [
            (kind, f"{limits}::max()", info.max),
            (kind, f"metal::{limits}::min()", info.min),
            (kind, f"{limits}::lowest()", info.min),
            ("int", f"{limits}::digits + 0", info.bits - (info.min < 0)),
            ("bool", f"bool({limits}::is_signed)", info.min < 0),
            ("bool", f"{limits}::is_integer && {limits}::is_specialized", True),
        ]
    for kind in REALS:
        info = ml_dtypes.finfo(DTYPES[kind])
        limits = f"numeric_limits<{kind}>"
        cases += [
            (kind, f"{limits}::max()", info.max),
            (kind, f"{limits}::min()", info.smallest_normal),
            (kind, f"{limits}::lowest()", info.min),
            (kind, f"{limits}::epsilon()", info.eps),
            (kind, f"{limits}::denorm_min()", info.smallest_subnormal),
            (kind, f"{limits}::infinity()", np.inf),
            (kind, f"-{limits}::infinity()", -np.inf),
            (kind, f"{limits}::quiet_NaN()", np.nan),
            ("int", f"{limits}::digits + 0", info.nmant + 1),
            ("bool", f"bool({limits}::has_infinity)", True),
            ("bool", f"bool({limits}::is_integer)", False),
        ]
    cases += [
        ("bool", "numeric_limits<bool>::max()", True),
        ("bool", "numeric_limits<thing>::is_specialized", False),
    ]
    check([(k, f"[&] {{ {k} t = {t}; return t; }}()", v) for k, t, v in cases], prelude="struct thing {};")


MACROS = {
    "float": {
        "FLT_MAX": np.finfo(np.float32).max, "FLT_MIN": np.finfo(np.float32).tiny, "FLT_EPSILON": np.finfo(np.float32).eps,
        "M_PI_F": np.pi, "M_PI_2_F": np.pi / 2, "M_PI_4_F": np.pi / 4, "M_1_PI_F": 1 / np.pi, "M_2_PI_F": 2 / np.pi,
        "M_E_F": np.e, "M_LOG2E_F": 1 / np.log(2), "M_LOG10E_F": 1 / np.log(10), "M_LN2_F": np.log(2), "M_LN10_F": np.log(10),
        "M_SQRT2_F": np.sqrt(2), "M_SQRT1_2_F": np.sqrt(0.5), "M_2_SQRTPI_F": 2 / np.sqrt(np.pi), "INFINITY": np.inf,
        "-INFINITY": -np.inf, "NAN": np.nan, "MAXFLOAT": np.finfo(np.float32).max, "HUGE_VALF": np.inf,
    },
    "half": {
        "HALF_MAX": 65504, "HALF_MIN": np.finfo(np.float16).tiny, "HALF_EPSILON": np.finfo(np.float16).eps,
        "MAXHALF": 65504, "M_PI_H": np.float16(np.pi), "M_E_H": np.float16(np.e), "M_SQRT2_H": np.float16(np.sqrt(2)),
        "HUGE_VALH": np.inf,
    },
    "int": {
        "INT_MAX": 2**31 - 1, "INT_MIN": -(2**31), "SHRT_MAX": 32767, "SHRT_MIN": -32768, "CHAR_MAX": 127, "CHAR_MIN": -128,
        "UCHAR_MAX": 255, "USHRT_MAX": 65535, "CHAR_BIT": 8, "FLT_DIG": 6, "FLT_MANT_DIG": 24, "HALF_MANT_DIG": 11,
        "INT8_MAX": 127, "INT16_MIN": -32768, "__METAL__": 1,
    },
    "uint": {"UINT_MAX": 2**32 - 1},
    "long": {"LONG_MAX": 2**63 - 1, "LONG_MIN": -(2**63)},
    "ulong": {"ULONG_MAX": 2**64 - 1},
}  # fmt: skip


def test_macros() -> None:
    check([(kind, text, value) for kind, table in MACROS.items() for text, value in table.items()])


def test_versions_can_be_asked_for() -> None:
    body = """
#if __METAL_VERSION__ >= 310 && defined(__METAL_MACOS__)
#define KIND bfloat
#else
#define KIND half
#endif
#ifdef __METAL__
METAL_FUNC float f(float x) { return x + sizeof(KIND); }
#endif
#if !defined(__METAL_VERSION__) || __METAL_VERSION__ < 300
#error "too old"
#endif
kernel void k(device float* o) { o[0] = f(1) + (is_same_v<KIND, bfloat> ? 10 : 0); }
"""
    out = poisoned(1, np.float32)
    run(body, out)
    assert out[0] == 13


@pytest.mark.parametrize(("math", "fast"), [("safe", 0), ("relaxed", 0), ("fast", 1)])
def test_fast_math_can_be_asked_for(math: str, fast: int) -> None:
    """As in any clang: -ffast-math defines __FAST_MATH__, and nothing else does."""
    body = """
#ifdef __FAST_MATH__
constant int mode = __FAST_MATH__;
#else
constant int mode = 0;
#endif
kernel void k(device int* o) { o[0] = mode; o[1] = __FINITE_MATH_ONLY__; }
"""
    out = poisoned(2)
    run(body, out, math=math)
    assert out.tolist() == [fast, fast]


def test_a_define_of_the_users_wins() -> None:
    out = poisoned(1)
    run(
        "kernel void k(device int* o) { o[0] = __FAST_MATH__; }",
        out,
        math="safe",
        defines={"__FAST_MATH__": "7"},
    )
    assert out[0] == 7


def test_what_every_clang_defines() -> None:
    body = """
#if !defined(__clang__) || __CHAR_BIT__ != 8 || __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__ || __SIZEOF_POINTER__ != 8
#error "not what clang says"
#endif
#if __INT_MAX__ != INT_MAX || __LONG_MAX__ != LONG_MAX || __SIZEOF_LONG__ != 8 || !defined(__FLT_MAX__)
#error "not what clang says"
#endif
kernel void k(device float* o) { o[0] = __FLT_MAX__; o[1] = __FLT_EPSILON__; }
"""
    out = poisoned(2, np.float32)
    run(body, out)
    assert out.tolist() == [np.finfo(np.float32).max, np.finfo(np.float32).eps]


def test_array() -> None:
    check(
        [
            ("float", "[&] { array<float, 4> a = {1, 2, 3, 4}; a[n] = 9; return a[0] + a[2]; }()", 10),
            ("ulong", "[&] { array<half, 7> a; return a.size() + sizeof(a); }()", 21),
            (
                "int",
                "[&] { metal::array<int2, 2> a = {{int2(1, 2), int2(3, 4)}}; return a[1].y + a[n - 2].x; }()",
                5,
            ),
            ("int", "[&] { array<array<int, 2>, 2> a = {{{{1, 2}}, {{3, 4}}}}; return a[n - 1][0]; }()", 3),
            ("int", "[&] { array<int, 3> a = {3, 4, 5}, b = a; b[0] = 0; return a[0] * 10 + b[1]; }()", 34),
            (
                "int",
                "[&] { array<int, 3> a{}; for (auto& x : a) x += 2; int t = 0; for (auto x : a) t += x; return t; }()",
                6,
            ),
            ("int", "table[n] + sum(table)", 5 + 10),
            (
                "bool",
                "[&] { const array<int, 3> a = {1, 2, 3}; return a.size() == 3 && !a.empty(); }()",
                True,
            ),
        ],
        N,
        prelude="""
constant array<int, 3> table = {2, 3, 5};
template <ulong M> int sum(constant array<int, M>& a) { int t = 0; for (uint i = 0; i < M; i++) t += a[i]; return t; }
""",
    )


def test_arrays_in_buffers_and_threadgroup_memory() -> None:
    out = poisoned((3, 4))
    run(
        """
kernel void k(device array<int, 4>* o, constant array<int, 4>& a, uint i [[thread_position_in_grid]]) {
  threadgroup array<int, 4> s[3];
  s[i] = a;
  s[i][i] = -1;
  o[i] = s[i];
  o[i][3] += i;
}""",
        *(out, np.array([5, 6, 7, 8], np.int32)),
        grid=3,
        threadgroup=3,
    )
    np.testing.assert_array_equal(out, [[-1, 6, 7, 8], [5, -1, 7, 9], [5, 6, -1, 10]])


def test_uniform_and_traits() -> None:
    check(
        [
            ("int", "[&] { uniform<int> u = n; return int(u) + make_uniform(3); }()", 5),
            ("int", "[&] { uniform<uint> u = make_uniform(4u); int t = 0; for (uniform<uint> i = 0u; i < u; i = i + 1u) t += i; return t; }()", 6),
            ("bool", "is_same_v<remove_cv_t<const int>, int> && is_same<int, int>::value", True),
            ("bool", "is_floating_point_v<half> && is_floating_point<bfloat>::value && !is_floating_point_v<int>", True),
            ("bool", "is_integral_v<ushort> && is_unsigned_v<uchar> && is_signed_v<int> && is_arithmetic_v<half>", True),
            ("bool", "is_pointer_v<device int*> && is_enum_v<mem_flags> && is_vector_v<float3> && is_void_v<void>", True),
            ("bool", "is_convertible_v<int, float> && is_base_of_v<A, B> && is_const_v<const A>", True),
            ("bool", "is_same_v<conditional_t<(sizeof(int) > 2), half, float>, half>", True),
            ("bool", "is_same_v<make_unsigned_t<int>, uint> && is_same_v<decay_t<const int&>, int>", True),
            ("bool", "is_same_v<common_type_t<int, float>, float> && is_same_v<underlying_type_t<E>, uchar>", True),
            ("bool", "is_same_v<common_type_t<float, float>, float> && is_same_v<common_type_t<const int&, int>, int>", True),
            ("bool", "is_same_v<common_type_t<char, char, half>, half> && is_same_v<common_type_t<const uint>, uint>", True),
            ("int", "sum_of(n, 40)", 42),
            ("bool", "is_floating_point_v<device half> && is_arithmetic_v<const device float> && is_scalar_v<threadgroup bfloat>", True),
            ("bool", "is_trivial_v<A> && !is_trivial_v<Set> && is_trivially_copyable_v<Set>", True),
            ("bool", "is_same_v<vec_element_, half>", True),
            ("int", "from_sequence(make_index_sequence<4>{})", 6),
            ("int", "integral_constant<int, 7>::value + true_type::value", 8),
        ],
        N,
        prelude="""
struct A {}; struct B : A {}; struct Set { int a = 3; };
template <class T, class U> common_type_t<T, U> sum_of(T a, U b) { return a + b; }
enum class E : uchar { a };
using vec_element_ = remove_reference_t<decltype(half4()[0])>;
template <size_t... i> int from_sequence(index_sequence<i...>) { return (int(i) + ...); }
""",
    )  # fmt: skip


UNROLLS = ["#pragma unroll", "#pragma unroll(4)", "#pragma unroll 4", "#pragma clang loop unroll(full)", "#pragma clang loop unroll(disable)", "#pragma clang loop unroll_count(TWO)", "#pragma nounroll", "#pragma unroll(TWO)", "#pragma unroll(TWO * 2)", "#pragma unroll(N)", '_Pragma("unroll")', '_Pragma("clang loop unroll(full)")', "UNROLL", "#pragma unroll(half_of(8))", "#pragma clang loop vectorize(enable)", "#pragma mark - somewhere", "#pragma METAL internals : enable"]  # fmt: skip


@pytest.mark.parametrize("pragma", UNROLLS)
def test_pragmas(pragma: str) -> None:
    body = f"""
#define TWO 2
#define half_of(x) (x / 2)
#define UNROLL _Pragma("clang loop unroll(full)")
template <int N> int sum(device const int* a) {{
  int t = 0;
  {pragma}
  for (int i = 0; i < N; i++) t += a[i];
  return t;
}}
kernel void k(device int* o, device const int* a) {{ o[0] = sum<7>(a); }}"""
    if "mark" in pragma or "METAL" in pragma:
        body = body.replace(f"  {pragma}\n", "").replace("template", f"{pragma}\ntemplate", 1)
    out = poisoned(1)
    run(body, out, np.arange(1, 9, dtype=np.int32))
    assert out[0] == 28


def test_line_directives_move_messages() -> None:
    body = '#line 100 "other.metal"\nkernel void k(device int* o) {\n  o[0] = missing;\n}'
    with pytest.raises(CompileError) as caught:
        build(body)
    assert (caught.value.diagnostics[0].file, caught.value.diagnostics[0].line) == ("other.metal", 101)
    assert build(body.replace("missing", "__LINE__")).signature.line == 100
    out = poisoned(1)
    run(body.replace("missing", "__LINE__"), out)
    assert out[0] == 101


def test_assert_is_accepted() -> None:
    out = poisoned(1)
    run("#include <metal_assert>\nkernel void k(device int* o) { assert(o[0] == 77); o[0] = 1; }", out)
    assert out[0] == 1


def test_names_that_metal_leaves_to_its_users() -> None:
    """Each may be defined by a kernel's author, who says `using namespace metal` too."""
    names = "erf erfc lgamma log1p expm1 hypot cbrt sigmoid gelu swap lerp square norm reduce hash inverse identity copied launch".split()
    lines = "".join(f"float {name}(float x) {{ return x * {n}; }}\n" for n, name in enumerate(names, 1))
    swap = "template <typename T> void swap(thread T& a, thread T& b) { T c = a; a = b; b = c; }\n"
    stores = "".join(f"o[{n}] = {name}(a);" for n, name in enumerate(names))
    body = f"{lines}{swap}kernel void k(device float* o) {{ float a = 2, b = 3; swap(a, b); {stores} }}"
    out = poisoned(len(names), np.float32)
    run(body, out)
    np.testing.assert_array_equal(out, 3 * np.arange(1, len(names) + 1))


def test_defines_from_outside() -> None:
    out = poisoned(2, np.float32)
    body = "kernel void k(device T* o) { o[0] = SCALE * 2; \n#ifdef FLAG\n o[1] = 7;\n#endif\n}"
    run(body, out, defines={"T": "float", "SCALE": "1.5", "FLAG": "1"})
    np.testing.assert_array_equal(out, [3, 7])
