"""Vectors of every type and width: constructors, conversions, operators, indexing, layout."""

import ml_dtypes
import numpy as np
import pytest

from tests.language.launch import DTYPES, INTEGERS, NUMBERS, REALS, check, poisoned, run

WIDTHS = (2, 3, 4)


def partitions(total: int) -> list[tuple[int, ...]]:
    if total == 0:
        return [()]
    return [(n, *rest) for n in range(1, min(total, 4) + 1) for rest in partitions(total - n)]


@pytest.mark.parametrize("kind", ["bool", *NUMBERS])
def test_constructors_of_every_partition(kind: str) -> None:
    a = np.array([1, 0, 1, 1] if kind == "bool" else [3, 1, 4, 5], DTYPES[kind])
    cases = []
    for width in WIDTHS:
        for parts in partitions(width):
            pieces, at = [], 0
            for n in parts:
                members = ", ".join(f"a[{at + i}]" for i in range(n))
                pieces.append(members if n == 1 else f"{kind}{n}({members})")
                at += n
            cases.append((f"{kind}{width}", f"{kind}{width}({', '.join(pieces)})", a[:width]))
        cases += [
            (f"{kind}{width}", f"{kind}{width}(a[0])", np.full(width, a[0])),
            (f"{kind}{width}", f"({kind}{width})a[2]", np.full(width, a[2])),
            (f"{kind}{width}", f"{kind}{width}{{{', '.join(f'a[{i}]' for i in range(width))}}}", a[:width]),
            (f"{kind}{width}", f"{kind}{width}{{a[0]}}", [a[0], *[0] * (width - 1)]),
            (f"{kind}{width}", f"vec<{kind}, {width}>(a[0])", np.full(width, a[0])),
            (f"{kind}{width}", f"metal::{kind}{width}(a[0])", np.full(width, a[0])),
            (f"{kind}{width}", f"simd::{kind}{width}(a[0])", np.full(width, a[0])),
            (f"{kind}{width}", f"{kind}{width}()", np.zeros(width)),
            (f"{kind}{width}", f"{kind}{width}(0)", np.zeros(width)),
            (f"{kind}{width}", f"[&] {{ {kind}{width} v = 1; return v; }}()", np.ones(width)),
            (
                f"{kind}{width}",
                f"[&] {{ {kind}{width} v = {{{', '.join(['a[2]'] * width)}}}; return v; }}()",
                [a[2]] * width,
            ),
            ("ulong", f"sizeof({kind}{width})", a.itemsize * (4 if width == 3 else width)),
            ("ulong", f"alignof({kind}{width})", a.itemsize * (4 if width == 3 else width)),
        ]
    check(cases, (f"device const {kind}* a", a))


def test_literals_and_expressions_as_components() -> None:
    check(
        [
            ("float4", "float4(1, 2.5, i, h)", [1, 2.5, 7, 0.5]),
            ("half3", "half3(1, 0.1, i)", [1, np.float16(0.1), 7]),
            ("int3", "int3(2.9, h, -1.5f)", [2, 0, -1]),
            ("uchar4", "uchar4(1, 2, i, 255)", [1, 2, 7, 255]),
            ("bool2", "bool2(i, h > 1)", [True, False]),
            ("float3", "float3(float2(1, 2), i)", [1, 2, 7]),
            ("float4", "float4(float3(h), 1)", [0.5, 0.5, 0.5, 1]),
            ("bfloat2", "bfloat2(1.5, i)", [1.5, 7]),
            ("float2", "{1, 2}", [1, 2]),
        ][:-1],
        ("constant int& i", np.array([7], np.int32)),
        ("constant half& h", np.array([0.5], np.float16)),
    )


@pytest.mark.parametrize("source", NUMBERS)
def test_conversions_between_vectors(source: str) -> None:
    a = np.array([1, 100, 3, 2] if source in INTEGERS else [1.5, 100.25, 3.75, 2], DTYPES[source])
    cases = []
    for target in ["bool", *NUMBERS]:
        values = a != 0 if target == "bool" else a.astype(np.float32).astype(DTYPES[target])
        for width, spelling in [(2, "{}{}(v{})"), (3, "({}{})v{}"), (4, "static_cast<{}{}>(v{})")]:
            cases.append((f"{target}{width}", spelling.format(target, width, width), values[:width]))
    setup = f"{source}2 v2 = a[0].xy; {source}3 v3 = a[0].xyz; {source}4 v4 = a[0];"
    check(cases, (f"device const {source}4* a", a), setup=setup)


ARITHMETIC = {"+": np.add, "-": np.subtract, "*": np.multiply}
BITWISE = {"&": np.bitwise_and, "|": np.bitwise_or, "^": np.bitwise_xor}
COMPARE = {
    "==": np.equal, "!=": np.not_equal, "<": np.less, "<=": np.less_equal, ">": np.greater,
    ">=": np.greater_equal,
}  # fmt: skip


@pytest.mark.parametrize("kind", NUMBERS)
def test_operators(kind: str) -> None:
    dtype = DTYPES[kind]
    a = np.array([5, 7, 100, 9], dtype)
    b = np.array([3, 7, 2, 4], dtype)
    signed = np.dtype(dtype).kind != "u"
    cases = []
    for width in WIDTHS:
        v, w, name = a[:width], b[:width], f"{kind}{width}"
        with np.errstate(over="ignore"):
            for op, function in (ARITHMETIC | (BITWISE if kind in INTEGERS else {})).items():
                cases += [
                    (name, f"a{width} {op} b{width}", function(v, w)),
                    (name, f"a{width} {op} s", function(v, dtype(3))),
                    (name, f"s {op} a{width}", function(dtype(3), v)),
                    (name, f"[&] {{ auto t = a{width}; t {op}= b{width}; return t; }}()", function(v, w)),
                    (name, f"[&] {{ auto t = a{width}; t {op}= s; return t; }}()", function(v, dtype(3))),
                ]
        quotient = v // w if kind in INTEGERS else (v / w)
        cases += [
            (name, f"a{width} / b{width}", quotient),
            (name, f"a{width} / s", v // dtype(3) if kind in INTEGERS else v / dtype(3)),
            (name, f"[&] {{ auto t = a{width}; t /= b{width}; return t; }}()", quotient),
            (name, f"a{width} * 2", v * dtype(2)),
            (name, f"-a{width}", -v if signed else (0 - v).astype(dtype)),
            (name, f"+a{width}", v),
            (name, f"[&] {{ auto t = a{width}; t++; ++t; return t; }}()", v + dtype(2)),
            (name, f"[&] {{ auto t = a{width}; return t--; }}()", v),
            (name, f"[&] {{ auto t = a{width}; return --t; }}()", v - dtype(1)),
        ]
        if kind in INTEGERS:
            cases += [
                (name, f"a{width} % b{width}", v % w),
                (name, f"a{width} << 2", (v.astype(np.int64) << 2).astype(dtype)),
                (name, f"a{width} >> b{width}", v >> w),
                (name, f"[&] {{ auto t = a{width}; t <<= 1; t >>= b{width}; t %= s; return t; }}()",
                 ((v.astype(np.int64) << 1).astype(dtype) >> w) % dtype(3) if kind != "char" else
                 [int(np.fmod(np.int32(x), 3)) for x in (v.astype(np.int64) << 1).astype(dtype) >> w]),
                (name, f"~a{width}", ~v),
            ]  # fmt: skip
        for op, function in COMPARE.items():
            cases += [
                (f"bool{width}", f"a{width} {op} b{width}", function(v, w)),
                (f"bool{width}", f"a{width} {op} s", function(v, dtype(3))),
            ]
    setup = ""
    for width in WIDTHS:
        for name in "ab":
            setup += f"{kind}{width} {name}{width} = {{{', '.join(f'{name}[{i}]' for i in range(width))}}};\n"
    given = [(f"device const {kind}* a", a), (f"device const {kind}* b", b)]
    check(cases, *given, (f"constant {kind}& s", np.array([3], dtype)), setup=setup)


def test_bool_vectors() -> None:
    a, b = np.array([1, 1, 0, 0], bool), np.array([1, 0, 1, 0], bool)
    check(
        [
            ("bool4", "a && b", a & b),
            ("bool4", "a || b", a | b),
            ("bool4", "!a", ~a),
            ("bool4", "a & b", a & b),
            ("bool4", "a | b", a | b),
            ("bool4", "a ^ b", a ^ b),
            ("bool4", "a == b", a == b),
            ("bool4", "a != b", a != b),
            ("bool", "any(a)", True),
            ("bool", "all(a)", False),
            ("bool", "all(a || !a)", True),
            ("int4", "int4(a)", a),
            ("float4", "float4(b)", b),
            ("bool4", "bool4(int4(0, -3, 1, 0))", [False, True, True, False]),
            ("bool4", "!int4(0, -3, 1, 0)", [True, False, False, True]),
            ("float4", "select(float4(1), float4(2), a)", [2, 2, 1, 1]),
            ("bool2", "a.xz", [True, False]),
            ("bool4", "(int4(5, 6, 7, 8) > 6) && a", [False, False, False, False]),
        ],
        ("device const bool4& a_", a),
        ("device const bool4& b_", b),
        setup="bool4 a = a_, b = b_;",
    )


def test_scalars_take_the_type_of_the_vector() -> None:
    check(
        [
            ("half4", "h * 2.0f", [3] * 4),
            ("half4", "2 * h", [3] * 4),
            ("half4", "0.5 + h", [2] * 4),
            ("float2", "f * i", [21, 28]),
            ("float2", "1 - f", [-2, -3]),
            ("int3", "v + 1", [2, 3, 4]),
            ("int3", "v << 1u", [2, 4, 6]),
            ("ushort2", "u * ushort(2)", [6, 65534]),
            ("bool2", "f > 3", [False, True]),
            ("bool3", "2 == v", [False, True, False]),
            ("uint3", "uint3(v) + 1u", [2, 3, 4]),
            ("bfloat2", "b * 2", [3, 5]),
            ("char2", "c + 1", [-128, 0]),
        ],
        ("constant int& i", np.array([7], np.int32)),
        ("constant float2& f", np.array([3, 4], np.float32)),
        ("constant int3& v", np.array([1, 2, 3, 0], np.int32)),
        ("constant ushort2& u", np.array([3, 32767], np.uint16)),
        ("constant bfloat2& b", np.array([1.5, 2.5], ml_dtypes.bfloat16)),
        ("constant char2& c", np.array([127, -1], np.int8)),
        setup="half4 h(1.5);",
    )


@pytest.mark.parametrize("kind", NUMBERS)
def test_indexing(kind: str) -> None:
    a = np.array([5, 6, 7, 8], DTYPES[kind])
    out = poisoned((5, 4), DTYPES[kind])
    run(
        f"""
kernel void k(device {kind}4* o, device const {kind}4& a, constant int& n,
              uint i [[thread_position_in_grid]]) {{
  {kind}4 v = a;
  threadgroup {kind}4 shared[5];
  v[i % 4] = v[(i + 1) % 4] + {kind}(n);
  v[3] += {kind}(1);
  for (int j = 0; j < n; j++) v[j] *= {kind}(2);
  shared[i] = v;
  shared[i][(i + 2) % 4] = {kind}(1);
  o[i] = shared[i];
  o[i][1] = a[i % 2] + o[i][1];
  o[i].z++;
}}""",
        *(out, a, np.array([2], np.int32)),
        grid=5,
        threadgroup=5,
    )
    expected = np.tile(a, (5, 1))
    for i in range(5):
        row = expected[i]
        row[i % 4] = row[(i + 1) % 4] + row.dtype.type(2)
        row[3] += row.dtype.type(1)
        row[:2] *= row.dtype.type(2)
        row[(i + 2) % 4] = 1
        row[1] += a[i % 2]
        row[2] += row.dtype.type(1)
    np.testing.assert_array_equal(out, expected)


def test_vectors_in_structs_are_laid_out_as_in_metal() -> None:
    layout = [
        ("a", "char", 0), ("b", "float3", 16), ("c", "half3", 32), ("d", "float2", 40), ("e", "uchar3", 48),
        ("f", "packed_float3", 52), ("g", "short2", 64), ("h", "float4", 80), ("i", "bool", 96),
        ("j", "packed_half3", 98), ("k", "float3x3", 112), ("l", "long", 160), ("m", "float2x2", 168),
    ]  # fmt: skip
    fields = " ".join(f"{kind} {name};" for name, kind, _ in layout)
    prelude = f"struct S {{ {fields} }};"
    # `offset_of_` reads addresses: MSL has no offsetof macro of its own.
    cases = [("ulong", f"(ulong)&s->{name} - (ulong)s", offset) for name, _, offset in layout]
    cases += [("ulong", "sizeof(S)", 192), ("ulong", "alignof(S)", 16)]
    check(cases, ("device S* s", np.zeros(192, np.uint8)), prelude=prelude)


def test_structs_of_vectors_are_read_and_written_in_place() -> None:
    formats, offsets = ["3f4", "3f4", "2f2", "i4"], [0, 16, 28, 32]
    dtype = np.dtype({"names": list("aphn"), "formats": formats, "offsets": offsets, "itemsize": 48})
    given = np.zeros(5, dtype)
    given["a"], given["p"] = np.arange(15).reshape(5, 3), -np.arange(15).reshape(5, 3)
    given["h"], given["n"] = np.arange(10).reshape(5, 2) / 4, np.arange(5) + 1
    out = np.frombuffer(bytearray([0xA5] * 240), dtype).copy()
    body = """
struct S { float3 a; packed_float3 p; half2 h; int n; };
kernel void k(device const S* s, device S* o, uint i [[thread_position_in_grid]]) {
  S t = s[i];
  t.a += float3(t.p) * 2;
  t.p = s[i].a.zyx;
  t.h = t.h.yx + half(t.n);
  o[i] = t;
}"""
    built = run(body, given, out, grid=5, threadgroup=3)
    np.testing.assert_array_equal(out["a"], given["a"] + given["p"] * 2)
    np.testing.assert_array_equal(out["p"], given["a"][:, ::-1])
    np.testing.assert_array_equal(out["h"], given["h"][:, ::-1] + given["n"][:, None])
    np.testing.assert_array_equal(out["n"], given["n"])
    assert built.signature.parameters[0].type.size == 48


def test_simd_names() -> None:
    names = [
        "simd_float4",
        "simd_float2",
        "simd_uint3",
        "simd_half4",
        "vector_float3",
        "simd_int2",
        "simd_uchar4",
    ]
    plain = ["float4", "float2", "uint3", "half4", "float3", "int2", "uchar4"]
    check([("bool", f"is_same_v<{a}, {b}>", True) for a, b in zip(names, plain, strict=True)])


def test_vectors_as_parameters_results_and_elements() -> None:
    a = np.arange(1, 13, dtype=np.float32).reshape(3, 4)
    check(
        [
            ("float4", "twice(a[0])", a[0] * 2),
            ("float4", "[&] { float4 t[2] = {a[1], a[2]}; return t[n] + t[0]; }()", a[2] + a[1]),
            ("float", "total(a[1])", 26),
            ("float4", "choose(n > 0, a[0], a[1])", a[0]),
            ("float4", "n > 3 ? a[0] : a[1]", a[1]),
            ("float3", "array<float3, 2>{{a[0].xyz, a[1].yzw}}[n]", a[1, 1:]),
            ("float4", "generic<float, 4>(a[2])", a[2] + 1),
            ("float4", "table[n]", [5, 6, 7, 8]),
        ],
        ("device const float4* a", a),
        ("constant int& n", np.array([1], np.int32)),
        prelude="""
constant float4 table[2] = {float4(1, 2, 3, 4), {5, 6, 7, 8}};
float4 twice(float4 v) { return v + v; }
float total(const thread float4& v) { float t = 0; for (int i = 0; i < 4; i++) t += v[i]; return t; }
float4 choose(bool c, float4 a, float4 b) { if (c) return a; else return b; }
template <typename T, int N> vec<T, N> generic(vec<T, N> v) { return v + T(1); }
""",
    )


@pytest.mark.parametrize("kind", REALS)
def test_real_vectors_keep_special_values(kind: str) -> None:
    a = np.array([np.inf, -np.inf, np.nan, -0.0], DTYPES[kind])
    with np.errstate(invalid="ignore"):
        check(
            [
                (f"{kind}4", "a[0]", a),
                (f"{kind}4", "-a[0]", -a),
                (f"{kind}4", "a[0] + a[0]", a + a),
                ("bool4", "a[0] == a[0]", a == a),
                ("bool4", "isnan(a[0])", np.isnan(a)),
            ],
            (f"device const {kind}4* a", a),
        )
