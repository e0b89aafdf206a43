"""Scalars: sizes, literals, conversions, promotions, operators, as_type."""

import ml_dtypes
import numpy as np
import pytest

from tests.language.launch import DTYPES, INTEGERS, NUMBERS, REALS, check, poisoned, run

SIZES = {
    "bool": 1, "char": 1, "uchar": 1, "short": 2, "ushort": 2, "int": 4, "uint": 4, "long": 8, "ulong": 8,
    "half": 2, "bfloat": 2, "float": 4, "size_t": 8, "ptrdiff_t": 8, "int8_t": 1, "uint8_t": 1,
    "int16_t": 2, "uint16_t": 2, "int32_t": 4, "uint32_t": 4, "int64_t": 8, "uint64_t": 8,
    "unsigned char": 1, "signed char": 1, "unsigned": 4, "unsigned int": 4, "unsigned short": 2,
    "unsigned long": 8, "long int": 8, "short int": 2, "intptr_t": 8, "uintptr_t": 8, "metal::uint": 4,
    "metal::half": 2, "metal::uint8_t": 1,
}  # fmt: skip


def test_sizes_and_alignments() -> None:
    check(
        [("ulong", f"sizeof({name})", size) for name, size in SIZES.items()]
        + [("ulong", f"alignof({name})", size) for name, size in SIZES.items()]
    )


def test_names_of_one_type() -> None:
    same = {
        "size_t": "ulong", "ptrdiff_t": "long", "int32_t": "int", "uint32_t": "uint", "int64_t": "long",
        "uint64_t": "ulong", "uint16_t": "ushort", "int16_t": "short", "uint8_t": "uchar",
        "unsigned": "uint", "unsigned char": "uchar", "metal::half": "half", "metal::bfloat": "bfloat",
    }  # fmt: skip
    check([("bool", f"is_same_v<{a}, {b}>", True) for a, b in same.items()])


def test_constants_out_of_range_become_the_nearest_integer() -> None:
    check(
        [
            ("uint", "uint(-3.0f)", 0),
            ("uint", "uint(half(-3.0h))", 0),
            ("int", "int(1e20f)", 2**31 - 1),
            ("int", "int(bfloat(-1e30f))", -(2**31)),
            ("ushort", "ushort(70000.0f)", 65535),
            ("char", "char(INFINITY)", 127),
            ("uint", "uint(NAN)", 0),
        ]
    )


def test_literals() -> None:
    bf = ml_dtypes.bfloat16
    check(
        [
            ("float", "1.0", 1.0),
            ("float", "0.1", np.float32(0.1)),
            ("float", "1.5e-3", np.float32(1.5e-3)),
            ("float", "1e2", 100),
            ("float", ".5", 0.5),
            ("float", "2.", 2),
            ("float", "1.0f", 1),
            ("float", "0.1F", np.float32(0.1)),
            ("float", "0x1p3", 8),
            ("float", "0x1.8p-1f", 0.75),
            ("float", "1e-45", np.float32(1e-45)),
            ("half", "1.0h", 1),
            ("half", "2.5H", 2.5),
            ("half", "0.1h", np.float16(0.1)),
            ("half", "1e-3h", np.float16(1e-3)),
            ("half", "-65504.0h", -65504),
            ("half", "1.00048828125000001h", 1 + 2**-10),  # above a tie that a float would round it to
            ("half", "1.00048828124999999h", 1),
            ("half", "0x1.002001p0h", 1 + 2**-10),
            ("bfloat", "1.0039062500001bf", 1 + 2**-7),
            ("bfloat", "1bf", 1),
            ("bfloat", "1.0bf", 1),
            ("bfloat", "0.3bf", bf(0.3)),
            ("bfloat", "2.5BF", 2.5),
            ("bfloat", "1e30bf", bf(1e30)),
            ("int", "7", 7),
            ("uint", "1u", 1),
            ("uint", "4000000000U", 4000000000),
            ("long", "5l", 5),
            ("ulong", "1ul", 1),
            ("ulong", "18446744073709551615UL", 2**64 - 1),
            ("long", "4000000000", 4000000000),
            ("int", "0x7f", 127),
            ("uint", "0xffffffff", 2**32 - 1),
            ("int", "017", 15),
            ("int", "0b1011", 11),
            ("int", "1'000'000", 1000000),
            ("char", "'a'", 97),
            ("char", "'\\n'", 10),
            ("char", "'\\x7f'", 127),
            ("bool", "true", True),
            ("bool", "false", False),
        ]
    )


def converted(kind: str, values: np.ndarray) -> np.ndarray:
    """Metal's conversion: integers wrap; reals to integers stop at the ends; NaN is 0."""
    source, target = values.dtype, np.dtype(DTYPES[kind])
    if kind == "bool":
        return values != 0
    if kind in REALS:
        with np.errstate(over="ignore"):
            return values.astype(target)
    if source.kind in "iub":
        return values.astype(target)
    limits = np.iinfo(target)
    exact = [int(min(max(float(v), limits.min), limits.max)) if v == v else 0 for v in values]
    return np.array(exact, target)


VALUES = {
    **{kind: [0, 1, 2, 100, np.iinfo(DTYPES[kind]).max, np.iinfo(DTYPES[kind]).min] for kind in INTEGERS},
    **{kind: [0, 1, -0.75, 2.5, 100.25, -7.9] for kind in REALS},
    "bool": [True, False, True, True, False, True],
}


def representable(target: str, values: np.ndarray) -> list[int]:
    """Which values have a meaning in the target: a negative real has none in an unsigned type."""
    unsigned = target in INTEGERS and np.dtype(DTYPES[target]).kind == "u"
    return [i for i, v in enumerate(values) if not (unsigned and values.dtype.kind not in "iub" and v <= -1)]


@pytest.mark.parametrize("source", ["bool", *NUMBERS])
def test_every_conversion_in_every_spelling(source: str) -> None:
    values = np.array(VALUES[source], DTYPES[source])
    cases = []
    for target in ["bool", *NUMBERS]:
        expected = converted(target, values)
        for i in representable(target, values):
            spellings = (f"({target})a[{i}]", f"{target}(a[{i}])", f"static_cast<{target}>(a[{i}])")
            cases.append((target, spellings[i % 3], expected[i]))
        if {source, target} != {"half", "bfloat"}:  # between these two Metal asks for a cast
            cases.append((target, f"[&] {{ {target} t = a[3]; return t; }}()", expected[3]))
    check(cases, (f"device const {source}* a", values))


def test_promotions() -> None:
    a = np.array([-3], np.int8)
    check(
        [
            ("int", "c[0] + c[0]", -6),
            ("int", "c[0] * us", -9),
            ("int", "uc + uc", 500),
            ("int", "us << 2", 12),
            ("int", "-uc", -250),
            ("int", "~uc", ~250),
            ("int", "true + true", 2),
            ("uint", "c[0] + 1u", 2**32 - 2),
            ("long", "c[0] + 1l", -2),
            ("ulong", "c[0] + 1ul", 2**64 - 2),
            ("long", "5u + c[0] * 1l", 2),
            ("float", "c[0] + 0.5", -2.5),
            ("float", "h + 0.5", 2.0),
            ("float", "h * 1.0f", 1.5),
            ("half", "h + h", 3),
            ("half", "h + 1", 2.5),
            ("half", "h * c[0]", -4.5),
            ("half", "h + 1h", 2.5),
            ("half", "-h", -1.5),
            ("bfloat", "b * b", 6.25),
            ("bfloat", "b + 1", 3.5),
            ("float", "b + 1.0f", 3.5),
            ("float", "b + 1.0", 3.5),
            ("float", "c[0] / 2.0", -1.5),
            ("int", "c[0] / 2", -1),
            ("int", "c[0] % 2", -1),
            ("bool", "h < 2", True),
            ("bool", "b == 2.5bf", True),
            ("bool", "!c[0]", False),
            ("bool", "c[0] && h", True),
            ("float", "uc > 3 ? h : 2.0f", 1.5),
            ("uint", "uc > 300 ? 1 : 2u", 2),
        ],
        ("device const char* c", a),
        ("device const uchar& uc", np.array([250], np.uint8)),
        ("constant ushort& us", np.array([3], np.uint16)),
        ("device const half& h", np.array([1.5], np.float16)),
        ("device const bfloat& b", np.array([2.5], ml_dtypes.bfloat16)),
    )


def test_half_and_bfloat_round_after_every_operation() -> None:
    h = np.array([2048, 1, 0.1, 3], np.float16)
    b = np.array([256, 1, 0.1, 3], ml_dtypes.bfloat16)
    check(
        [
            ("half", "h[0] + h[1]", 2048),
            ("half", "h[2] * h[3]", h[2] * h[3]),
            ("half", "h[1] / h[3]", h[1] / h[3]),
            ("bfloat", "b[0] + b[1]", 256),
            ("bfloat", "b[2] * b[3]", b[2] * b[3]),
            ("bfloat", "b[1] / b[3]", b[1] / b[3]),
            ("bfloat", "bfloat(half(b[2]))", ml_dtypes.bfloat16(np.float32(np.float16(b[2])))),
            ("half", "half(b[2])", np.float16(b[2])),
            ("half", "(half)b[2]", np.float16(b[2])),
            ("bfloat", "static_cast<bfloat>(h[2])", ml_dtypes.bfloat16(np.float32(h[2]))),
        ],
        ("device const half* h", h),
        ("device const bfloat* b", b),
    )


@pytest.mark.parametrize("kind", INTEGERS)
def test_integer_arithmetic_wraps(kind: str) -> None:
    dtype = np.dtype(DTYPES[kind])
    info = np.iinfo(dtype)
    a = np.array([info.max, info.min, 13, 5, 7, 1], dtype)
    wide = [int(v) for v in a]
    bits = dtype.itemsize * 8

    def wrap(value: int) -> int:
        value &= 2**bits - 1
        return value - 2**bits if dtype.kind == "i" and value >> (bits - 1) else value

    names = {
        "+": int.__add__,
        "-": int.__sub__,
        "*": int.__mul__,
        "&": int.__and__,
        "|": int.__or__,
        "^": int.__xor__,
    }
    cases = [
        (kind, f"{kind}(a[{i}] {op} a[{j}])", wrap(function(wide[i], wide[j])))
        for op, function in names.items()
        for i, j in [(0, 5), (1, 2), (2, 3), (0, 1)]
    ]
    cases += [
        (kind, f"{kind}(a[2] / a[3])", 2),
        (kind, f"{kind}(a[2] % a[3])", 3),
        (kind, f"{kind}(a[0] >> a[3])", wide[0] >> 5),
        (kind, f"{kind}(a[1] >> a[5])", wide[1] >> 1),
        (kind, f"{kind}(a[2] << a[5])", 26),
        (kind, f"{kind}(~a[2])", wrap(~13)),
        (kind, f"{kind}(-a[2])", wrap(-13)),
        ("bool", "a[0] > a[1]", True),
        ("bool", "a[2] <= a[3]", False),
    ]
    setup = f"{kind} i = a[2], was = i++, then = ++i; i += a[3]; i <<= 1; i ^= a[4]; i %= a[2]; i--;"
    after = 13 + 2 + 5
    after = (after * 2 ^ 7) % 13 - 1
    cases += [(kind, "was", 13), (kind, "then", 15), (kind, "i", after)]
    check(cases, (f"device const {kind}* a", a), setup=setup)


def test_as_type_on_scalars() -> None:
    f = np.array([1.5, -2.25, np.nan, 3e-40], np.float32)
    h = np.array([1.5, -2.25], np.float16)
    b = np.array([1.5], ml_dtypes.bfloat16)
    u = np.array([0x3FC00000, 0xC0100000], np.uint32)
    check(
        [
            ("uint", "as_type<uint>(f[0])", f.view(np.uint32)[0]),
            ("int", "as_type<int>(f[1])", f.view(np.int32)[1]),
            ("uint", "as_type<uint>(f[3])", f.view(np.uint32)[3]),
            ("float", "as_type<float>(u[0])", 1.5),
            ("float", "as_type<float>(u[1])", -2.25),
            ("ushort", "as_type<ushort>(h[1])", h.view(np.uint16)[1]),
            ("half", "as_type<half>(ushort(0x3e00))", 1.5),
            ("bfloat", "as_type<bfloat>((ushort)0x3fc0)", 1.5),
            ("ushort", "as_type<ushort>(b[0])", b.view(np.uint16)[0]),
            ("half2", "as_type<half2>(u[0])", u[:1].view(np.float16)),
            ("ushort2", "as_type<ushort2>(u[1])", u[1:].view(np.uint16)),
            ("uchar4", "as_type<uchar4>(f[0])", f[:1].view(np.uint8)),
            ("char4", "as_type<char4>(u[1])", u[1:].view(np.int8)),
            ("float2", "as_type<float2>(ulong(u[0]) | ulong(u[1]) << 32)", [1.5, -2.25]),
            ("ulong", "as_type<ulong>(float2(1.5, -2.25))", u.view(np.uint64)[0]),
            ("uint4", "as_type<uint4>(float4(f[0], f[1], 0, 1))", [*f.view(np.uint32)[:2], 0, 0x3F800000]),
            ("int3", "as_type<int3>(float3(f[0], f[1], -1))", [*f.view(np.int32)[:2], -0x40800000]),
            ("float4", "as_type<float4>(half8_(h[0], h[1]))", np.tile(h, 4).view(np.float32)),
            ("uint", "as_type<uint>(half2(h[0], h[1]))", h.view(np.uint32)[0]),
            ("char", "as_type<char>(uchar(200))", -56),
            ("long", "as_type<long>(ulong(1) << 63)", -(2**63)),
        ],
        ("device const float* f", f),
        ("device const half* h", h),
        ("device const bfloat* b", b),
        ("device const uint* u", u),
        prelude="struct half8 { half4 a, b; };\n"
        "half8 half8_(half a, half b) { half4 v(a, b, a, b); return {v, v}; }",
    )


def test_control_flow() -> None:
    out = poisoned(7)
    run(
        """
kernel void k(device int* o, uint i [[thread_position_in_grid]]) {
  int sum = 0;
  for (int j = 0; j < 20; j++) {
    if (j == 3) continue;
    if (j > int(i) + 5) break;
    sum += j;
  }
  do { sum -= 2; } while (sum > 11);
  switch (i) {
    case 0: sum += 100; break;
    case 1:
    case 2: sum += 200; [[fallthrough]];
    case 3: sum += 300; break;
    default: sum += 400;
  }
  while (true) { if (sum % 7 == 0) break; ++sum; }
  o[i] = sum;
}""",
        out,
        grid=7,
        threadgroup=4,
    )
    expected = []
    for i in range(7):
        total = sum(j for j in range(i + 6) if j != 3)
        total -= 2
        while total > 11:
            total -= 2
        total += {0: 100, 1: 500, 2: 500, 3: 300}.get(i, 400)
        expected.append(total + -total % 7)
    np.testing.assert_array_equal(out, expected)
