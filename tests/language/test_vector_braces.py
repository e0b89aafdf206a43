"""Braces around the elements of vectors, and what meets what in an operator: as clang has it for Metal's vectors."""

import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.language.launch import DTYPES, HEAD, NUMBERS, build, check, poisoned, run

WIDTHS = (2, 3, 4)
# Each makes a vector {T} of what stands in the braces {E}.
PLACES = (
    "[&] {{ {T} v = {{{E}}}; return v; }}()",
    "[&] {{ {T} v{{{E}}}; return v; }}()",
    "{T}{{{E}}}",
    "[&]() -> {T} {{ return {{{E}}}; }}()",
    "[&] {{ {T} v = {T}(a[3]); v = {{{E}}}; return v; }}()",
    "[&] {{ {T} v[2] = {{{{a[3]}}, {{{E}}}}}; return v[1]; }}()",
    "[&] {{ struct {{ {T} v; int n; }} s = {{{{{E}}}, 1}}; return s.v; }}()",
    "made<{T}>({E})",
)
PRELUDE = "template <class V, class... E> V made(E... e) { V v = {e...}; return v; }"


@pytest.mark.parametrize("kind", ["bool", *NUMBERS])
def test_missing_elements_are_zero(kind: str) -> None:
    a = np.array([1, 1, 1, 1] if kind == "bool" else [3, 1, 4, 5], DTYPES[kind])
    cases = []
    for width in WIDTHS:
        for count in range(1, width + 1):
            elements = ", ".join(f"a[{i}]" for i in range(count))
            value = [*a[:count], *[0] * (width - count)]
            type_ = f"{kind}{width}"
            cases += [(type_, place.format(T=type_, E=elements), value) for place in PLACES]
            cases.append((type_, f"{type_}({PLACES[0].format(T=f'packed_{type_}', E=elements)})", value))
        cases.append((f"{kind}{width}", f"[&] {{ {kind}{width} v = {{}}; return v; }}()", np.zeros(width)))
        # Only braces leave elements out.
        cases.append((f"{kind}{width}", f"{kind}{width}(a[0])", np.full(width, a[0])))
    check(cases, (f"device const {kind}* a", a), prelude=PRELUDE)


def test_elements_of_other_types_are_converted() -> None:
    check(
        [
            ("float4", "[&] { float4 v = {1, 2u, h, i}; return v; }()", [1, 2, 0.5, 7]),
            ("uint4", "[&] { uint4 v = {uint(i), 2, true}; return v; }()", [7, 2, 1, 0]),
            ("half3", "[&] { half3 v = {1, h}; return v; }()", [1, 0.5, 0]),
            ("float3", "[&] { float3 v = {float3(1, 2, 3)}; return v; }()", [1, 2, 3]),
            ("float2", "[&] { float2 v = {float4(1, 2, 3, 4).zw}; return v; }()", [3, 4]),
            ("float4", "[&] { float4 v = {float2(1, 2), 3, 4}; return v; }()", [1, 2, 3, 4]),
        ],
        ("constant int& i", np.array([7], np.int32)),
        ("constant half& h", np.array([0.5], np.float16)),
    )


def test_tables_in_constant_memory() -> None:
    body = """
constant uint4 table[3] = {{1, 2, 3}, {4}, {5, 6, 7, 8}};
constant int2 pair = {7};
struct Row { float3 v; float w; };
constant Row rows[2] = {{{1, 2}, 3}, {{4}, 5}};
kernel void k(device uint4* o, device float* f, uint i [[thread_position_in_grid]]) {
    o[i] = table[i] + uint4(pair.x, pair.y, 0, 0);
    f[i] = rows[i % 2].v.x + 10 * rows[i % 2].v.y + 100 * rows[i % 2].v.z + 1000 * rows[i % 2].w;
}
"""
    out, reals = poisoned((3, 4), np.uint32), poisoned(3, np.float32)
    run(body, out, reals, grid=3, threadgroup=3)
    assert out.tolist() == [[8, 2, 3, 0], [11, 0, 0, 0], [12, 6, 7, 8]]
    assert reals.tolist() == [3021, 5004, 3021]


def test_as_threefry_writes_its_keys() -> None:
    """The key schedule of a counter-based generator: three words and a zero that is never read."""
    body = """
kernel void k(device uint* o, constant uint2& key, uint i [[thread_position_in_grid]]) {
    uint4 ks = {key.x, key.y, key.x ^ key.y ^ 0x1BD11BDA};
    o[i] = ks[i % 3] + ks.w;
}
"""
    out = poisoned(6, np.uint32)
    run(body, out, np.array([5, 9], np.uint32), grid=6, threadgroup=6)
    assert out.tolist() == [5, 9, 5 ^ 9 ^ 0x1BD11BDA] * 2


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("float4 v = {x, x, x, x, x};", "more elements in braces than the vector has"),
        ("float2 v{x, x, x};", "more elements in braces than the vector has"),
        ("float4 v = {float2(x), x};", "a `float4` cannot be made from these arguments"),
        ("float4 v = float4(float2(x), x);", "a `float4` cannot be made from these arguments"),
        ("float4 v = float4(x, float2(x));", "a `float4` cannot be made from these arguments"),
        ("float4 v = float4(x, x, x);", "a `float4` cannot be made from these arguments"),
    ],
)
def test_what_does_not_fill_a_vector_is_refused(text: str, says: str) -> None:
    with pytest.raises(CompileError, match=says) as caught:
        build(f"kernel void k(device float* o, constant float& x) {{\n{text}\no[0] = v.x; o[1] = v.y; }}")
    assert caught.value.diagnostics[0].line == HEAD.count("\n") + 2


ARITHMETIC = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")
COMPARISONS = ("==", "!=", "<", "<=", ">", ">=", "&&", "||")


def refused(lines: list[str], arguments: str) -> list[str]:
    """What is said of each line; every one must be refused, where it stands."""
    body = "\n".join(lines)
    with pytest.raises(CompileError) as caught:
        build(f"kernel void k({arguments}) {{\n{body}\n}}")
    found = {d.line - HEAD.count("\n") - 2: d for d in caught.value.diagnostics}
    assert sorted(found) == list(range(len(lines)))
    assert all(d.rule == "M605" and d.hint for d in found.values())
    return [found[i].message for i in range(len(lines))]


@pytest.mark.parametrize(
    ("one", "other"), [("int2", "uint2"), ("uint4", "int4"), ("short3", "int3"), ("long2", "ulong2")]
)
def test_vectors_of_two_types_do_not_meet(one: str, other: str) -> None:
    """Apple's compiler: implicit conversions between vector types are not permitted."""
    arguments = f"device {one}* p, device {other}* q"
    sentence = "Metal does not convert vectors by itself, and these are"
    for lines in (
        [f"p[0] = p[0] {op} q[0];" for op in ARITHMETIC],
        [f"bool r{i} = all(p[0] {op} q[0]);" for i, op in enumerate(COMPARISONS[:6])],
    ):
        assert refused(lines, arguments) == [f"{sentence} `{one}` and `{other}`"] * len(lines)
    lines = [f"p[0] {op}= q[0];" for op in ARITHMETIC]
    assert refused(lines, arguments) == [f"{sentence} `{other}` and `{one}`"] * len(lines)


@pytest.mark.parametrize(("one", "other"), [("float2", "int2"), ("half4", "float4"), ("bool2", "int2")])
def test_nor_do_they_become_each_other(one: str, other: str) -> None:
    arguments = f"device {one}* p, device {other}* q, constant bool& c"
    said = refused(
        [f"{one} v = q[0];", "p[0] = q[0];", "p[0] = c ? p[0] : q[0];", "p[0] = p[0] + q[0];"], arguments
    )
    assert all(f"`{one}`" in message and f"`{other}`" in message for message in said)


def test_a_real_number_does_not_meet_integers() -> None:
    """Apple's compiler refuses it too; the number would lose its fraction."""
    says = "a vector of integers and a floating-point number do not meet in an operator"
    for arguments in ("device int2* p, constant float& x", "device uchar4* p, constant half& x"):
        for lines in (
            [f"p[0] = p[0] {op} x;" for op in ("+", "-", "*", "/")],
            [f"p[0] = x {op} p[0];" for op in ("+", "-", "*", "/")],
            [f"p[0] {op}= x;" for op in ("+", "-", "*", "/")],
            [f"bool r{i} = any(p[0] {op} x);" for i, op in enumerate(COMPARISONS)],
        ):
            assert refused(lines, arguments) == [says] * len(lines)


def test_numbers_of_other_types_become_elements() -> None:
    check(
        [
            ("float2", "f * 2", [3, 5]),
            ("float2", "1u + f", [2.5, 3.5]),
            ("half2", "h * 2.0f", [3, 5]),
            ("half2", "h + i", [8.5, 9.5]),
            ("int2", "n * 3u", [-3, 6]),
            ("int2", "n << char(2)", [-4, 8]),
            ("bool2", "n < 1L", [True, False]),
            ("float2", "[&] { float2 v = f; v *= 2; v -= i; return v; }()", [-4, -2]),
            ("int2", "[&] { int2 v = n; v += uchar(4); v %= 3; return v; }()", [0, 0]),
            ("int2", "[&] { int2 v = 2.75f; return v; }()", [2, 2]),
        ],
        ("constant int& i", np.array([7], np.int32)),
        ("constant float2& f", np.array([1.5, 2.5], np.float32)),
        ("constant half2& h", np.array([1.5, 2.5], np.float16)),
        ("constant int2& n", np.array([-1, 2], np.int32)),
    )


def test_a_vector_is_no_condition() -> None:
    with pytest.raises(
        CompileError, match=r"this condition is a `bool2`, and one bool is expected(.|\n)*all"
    ):
        build("kernel void k(device int2* p) { if (p[0] == p[1]) p[2] = 1; }")
