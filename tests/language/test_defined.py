"""What C++ leaves undefined and Metal does not: no store may vanish, whatever clang can tell of the values."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

import numpy as np
import pytest

from metalloid.errors import CompileError
from tests.engine.both import same
from tests.language.launch import HEAD, build, poisoned

X = np.array([1, -2, 3, 1 << 30, -(1 << 31), 77, 0], np.int32)
WIDE = X.astype(np.int64) * 0x1_0000_0001


def results(text: str, count: int = 1, x: np.ndarray = X, dtype=np.int32) -> np.ndarray:
    """What a kernel writes, `count` numbers a thread: the same on oracle and engine, and every one written."""
    out, other = (np.full((len(x), count), fill, dtype) for fill in (0x5A, 0x3C))
    first, second = (same(text, [o, x], len(x), len(x))[0] for o in (out, other))
    np.testing.assert_array_equal(first, second, err_msg="an element was not written")
    return first


def of(
    *expressions: str, before: str = "", x: np.ndarray = X, dtype=np.int32, kind: str = "int"
) -> np.ndarray:
    """The values of expressions in x[i], one row for each."""
    stores = "".join(f"out[i * {len(expressions)} + {n}] = {e};\n" for n, e in enumerate(expressions))
    body = f"{before}\nkernel void k(device {kind}* out, device const {kind}* x, uint i [[thread_position_in_grid]]) {{\n{stores}}}"
    return results(body, len(expressions), x, dtype).T


def test_a_constant_amount_is_taken_modulo_the_width():
    found = of(
        "x[i] << 35",
        "x[i] >> 33",
        "uint(x[i]) >> 36",
        "1u << 33",
        "1 << -1",
        "-1 >> 100",
        "x[i] << 32",
        "short(x[i]) << 34",
        "char(x[i]) >> 33",
    )
    narrow, tiny = X.astype(np.int16).astype(np.int32), X.astype(np.int8).astype(np.int32)
    expected = [X << 3, X >> 1, X.view(np.uint32) >> 4, 2, -(1 << 31), -1, X, narrow << 2, tiny >> 1]
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, np.broadcast_to(np.asarray(wanted).astype(np.int32), X.shape))


def test_64_bits_shift_modulo_64():
    found = of("x[i] << 67", "x[i] >> 65", "1l << 64", "x[i] << 35", x=WIDE, dtype=np.int64, kind="long")
    expected = [WIDE << 3, WIDE >> 1, np.ones_like(WIDE), WIDE << 35]
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize(
    "before, expression",
    [
        ("#define N 35", "x[i] << N"),
        ("#define SHIFT(a, n) ((a) << (n))", "SHIFT(x[i], 30 + 5)"),
        ("constant int N = 35;", "x[i] << N"),
        ("enum { N = 35 };", "x[i] << N"),
        ("template <int n> int f(int a) { return a << n; }", "f<35>(x[i])"),
        ("template <class T> T f(T a) { return a << sizeof(T) * 8 + 3; }", "f(x[i])"),
        ("int f(int a, int n) { return a << n; }", "f(x[i], 35)"),
        ("int f(int a, int n) { a <<= n; return a; }", "f(x[i], 35)"),
        ("int f(int a) { a <<= 35; return a; }", "f(x[i])"),
        ("int f(int a) { a <<= false ? 1 : 35; return a; }", "f(x[i])"),
        ("struct S { int a; int shifted(int n) const { return a << n; } };", "S{x[i]}.shifted(35)"),
        ("int f(int a) { auto g = [=](int n) { return a << n; }; return g(35); }", "f(x[i])"),
        ("int f(int a, bool b) { return b && a < 7 >> 1 ? a << 35 : a << 3; }", "f(x[i], true)"),
        (
            "template <class T> struct B { T v; }; int f(int a) { B<B<int>> b = {{a}}; return b.v.v << 35; }",
            "f(x[i])",
        ),
    ],
)
def test_however_the_amount_is_spelled(before, expression):
    np.testing.assert_array_equal(of(expression, before=before)[0], X << 3)


def test_shifts_in_an_unrolled_loop_go_past_the_width():
    text = """kernel void k(device uint* out, device const uint* x, uint i [[thread_position_in_grid]]) {
        uint all = 0;
        for (uint j = 29; j < 36; j++) all ^= x[i] << j;
        out[i] = all;
    }"""
    x = X.view(np.uint32)
    expected = np.bitwise_xor.reduce([x << (j % 32) for j in range(29, 36)])
    np.testing.assert_array_equal(results(text, x=x, dtype=np.uint32)[:, 0], expected)


def test_vectors_shift_modulo_their_elements():
    found = of("(int4(x[i]) << 35).y", "(x[i] >> int4(33)).z", "(char4(char(x[i])) << 9).x", "short((ushort2(x[i]) >> ushort2(17, 18)).y)", "f(x[i])",
               before="int f(int a) { int3 v = int3(a); v <<= 35; v.yz >>= 33; return v.y; }")  # fmt: skip
    tiny, narrow = X.astype(np.int8), X.astype(np.uint16)
    expected = [X << 3, X >> 1, tiny << 1, (narrow >> 2).astype(np.int16), (X << 3) >> 1]
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, wanted.astype(np.int32))


def test_a_division_by_a_constant_zero_is_zero():
    found = of("x[i] / 0", "x[i] % 0", "7 / 0", "7 % 0", "f<0>(x[i])", "g(x[i], 0)", "(int4(x[i]) / 0).w", "(int2(x[i]) % int2(0)).x", "int(uint(x[i]) / 0u)", "h(x[i])",
               before="template <int n> int f(int a) { return a / n; }\nint g(int a, int n) { return a % n; }\nint h(int a) { a /= 0; return a; }")  # fmt: skip
    np.testing.assert_array_equal(found, np.zeros_like(found))


def test_a_quotient_that_does_not_fit_is_the_dividend():
    low = "(-2147483647 - 1)"
    found = of(
        f"{low} / -1",
        f"{low} % -1",
        f"{low} / (-1)",
        "x[i] / -1",
        "x[i] % -1",
        f"(int2({low}) / -1).x",
        "int(uint(x[i]) / -1)",
    )
    negated = (-X.astype(np.int64)).astype(np.int32)
    expected = [X[4], 0, X[4], negated, 0, X[4], (X == -1)]
    for got, wanted in zip(found, expected, strict=True):
        np.testing.assert_array_equal(got, np.broadcast_to(wanted, X.shape))


def test_nothing_is_concluded_from_a_division():
    """Neither that the divisor is not zero, nor that its value is another."""
    text = """kernel void k(device int* out, device const int* x, uint i [[thread_position_in_grid]]) {
        int d = x[i] - 3, q = 100 / d;
        if (d == 0) q = 77;
        int e = x[i] > 2 ? 0 : 5, r = x[i] / e;
        int all = 0;
        for (int j = 0; j < 4; j++) all += 12 / j;
        out[3 * i] = q; out[3 * i + 1] = r + 100 * e; out[3 * i + 2] = all;
    }"""
    x = X[:4].astype(np.int64)
    expected = [[77 if a == 3 else int(100 / (a - 3)), 0 if a > 2 else int(a / 5) + 500, 22] for a in x]
    np.testing.assert_array_equal(results(text, 3, X[:4]), expected)


def test_quotient_and_remainder_by_the_same_zero_are_both_zero():
    text = """kernel void k(device int* out, device const int* x, uint i [[thread_position_in_grid]]) {
        int d = x[i];
        out[2 * i] = 100 / d;
        out[2 * i + 1] = 100 % d;
    }"""
    x = np.array([7, 0, -3, 200, 1], np.int32)
    np.testing.assert_array_equal(results(text, 2, x), [[14, 2], [0, 0], [-33, 1], [0, 100], [100, 0]])


@pytest.mark.parametrize("type", ["int", "uint", "short", "long"])
def test_quotient_and_remainder_share_one_division(type):
    """Rows and columns of an index: one division, and the remainder's zero."""
    text = f"""kernel void k(device int* out, device const int* x, uint i [[thread_position_in_grid]]) {{
        {type} a = {type}(x[2 * i]), b = {type}(x[2 * i + 1]);
        out[3 * i] = int(a / b); out[3 * i + 1] = int(a % b); out[3 * i + 2] = int(a / b * b + a % b); }}"""
    low = np.iinfo({"short": np.int16}.get(type, np.int32)).min
    pairs = [(a, b) for a in (0, 7, -7, 100, low, 12345) for b in (0, 1, -1, 2, -3, 7, low)]

    def wrapped(value: int, bits: int = 64 if type == "long" else 32) -> int:
        value &= 2**bits - 1
        return value - 2**bits if type != "uint" and value >> bits - 1 else value

    expected = []
    for a, b in pairs:
        a, b = (wrapped(v, 16) if type == "short" else wrapped(v) for v in (a, b))  # shorts divide as ints
        q = wrapped(abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)) if b else 0
        r = wrapped(a - q * b) if b else 0
        expected.append([v & 0xFFFFFFFF for v in (q, r, q * b + r)])
    found = results(text, 3, np.array(pairs, np.int32))
    np.testing.assert_array_equal(found, np.array(expected, np.uint32).view(np.int32))
    if type == "int":
        ir = build(text).ir
        assert [ir.count(f" {word} ") for word in ("sdiv", "srem", "select")] == [1, 0, 1]


def test_divisions_that_the_user_guards_stay_guarded():
    """Against what our own guards do not mean; of those nothing is left, where nothing is known."""
    found = of("int(7u % (uint(x[i]) + 1u < 2u ? 1u : uint(x[i])))", "int(7u / (uint(x[i]) + 1u < 2u ? 1u : uint(x[i])))",
               "x[i] == 0 ? 0 : 7 / (uint(x[i]) + 1u < 2u ? 1 : x[i])", x=np.array([-1, 0, 1, 2, -2, 5], np.int32))  # fmt: skip
    np.testing.assert_array_equal(found, [[0, 0, 0, 1, 7, 2], [7, 7, 7, 3, 0, 1], [7, 0, 7, 3, -3, 1]])
    text = "kernel void k(device int* out, device const int* x, constant uint& n) { out[0] = x[0] / x[1]; out[1] = x[2] % x[3]; out[2] = uint(x[4]) / n; }"
    ir = build(text).ir
    assert [ir.count(f" {word} ") for word in ("sdiv", "srem", "udiv", "select", "icmp")] == [1, 1, 1, 0, 0]


def test_a_function_constant_can_be_the_amount_or_the_divisor():
    from metalloid.backends import interpret
    from metalloid.backends.base import Launch
    from metalloid.backends.cpu.build import cpu_program
    from metalloid.compile import scalar
    from metalloid.source import Source

    text = """constant int n [[function_constant(0)]]; constant int d [[function_constant(1)]];
    kernel void k(device int* out, device const int* x, uint i [[thread_position_in_grid]]) {
        out[2 * i] = x[i] << n; out[2 * i + 1] = x[i] % d; }"""
    ir, signature = scalar(Source(HEAD + text), "k", {"n": 35, "d": 0})
    for run in (lambda launch: interpret.run(ir, launch), cpu_program(ir, signature, 0).run):
        out = poisoned((len(X), 2))
        run(Launch((len(X), 1, 1), (len(X), 1, 1), {0: out, 1: X}, {}, {}, kernel="k"))
        np.testing.assert_array_equal(out, np.stack([X << 3, np.zeros_like(X)], 1))


def test_bit_fields_are_shifted_as_they_are_written():
    before = "struct S { uint low : 5; uint high : 27; };\nint f(int a, int n) { S s = {uint(a), 1}; s.low <<= n; s.high = s.low << 35; return s.low + s.high; }"
    low = (X << 1) & 31
    np.testing.assert_array_equal(of("f(x[i], 1)", before=before)[0], low + (low << 3))


def test_a_narrow_bit_field_is_an_int():
    """The guards took it for what it is declared as: 9u / -2 is 0, and 9 / -2 is -4."""
    before = """struct S { uint low : 5, high : 20; ulong far : 40;
      int half_of(int d) { low = low + 1; return low / d; } };
    int g(int a, S s) { a /= s.low; return a; }
    S made(int a) { S s = {uint(a), 3, 1ul << 34}; return s; }
    """
    low, n = np.arange(1, 31), "int(i >> 10)"
    for d in (-2, 3):
        by = f"(int(i >> 10) + {d})"
        found = of(
            f"made(x[i]).low / {by}",
            f"(made(x[i]).low) % {by}",
            f"7 * made(x[i]).low / {by}",
            f"(-77 - {n}) / made(x[i]).low",
            f"{by} * 100 % (made(x[i]).low)",
            f"made(x[i]).low << 27 + {n} >> {n} + 27",
            f"made(x[i]).half_of({by})",
            f"g({by} * 50, made(x[i]))",
            "int(made(x[i]).far / ulong(made(x[i]).low))",
            before=before,
            x=low.astype(np.int32),
        )
        quotients = [low / d, 7 * low / d, -77 / low, (low + 1) / d, d * 50 / low]
        first, third, fourth, seventh, eighth = map(np.trunc, quotients)
        fifth, sixth = np.fmod(d * 100, low), np.where(low > 15, low - 32, low)
        expected = [first, np.fmod(low, d), third, fourth, fifth, sixth, seventh, eighth]
        np.testing.assert_array_equal(found[:-1], expected)
        np.testing.assert_array_equal(found[-1], ((1 << 34) // low).astype(np.int32))


def test_a_bit_field_assigned_by_a_constant_out_of_range_is_refused():
    body = "struct S { uint low : 5; };\nkernel void k(device uint* out) {\n  S s = {3};\n  s.low <<= 40;\n  out[0] = s.low;\n}"
    with pytest.raises(CompileError) as caught:
        build(body)
    problem = caught.value.diagnostics[0]
    assert (problem.line, problem.column, problem.rule) == (6, 9, "M621")
    assert "modulo" in problem.hint


@pytest.mark.parametrize("expression, told", [("1 << 40", "shift count 40"), ("7 / 0", "division by zero")])
def test_a_constant_expression_must_be_one_in_cpp_too(expression, told):
    with pytest.raises(CompileError, match=told):
        build(f"kernel void k(device int* out) {{ constexpr int n = {expression}; out[0] = n; }}")


def test_columns_stay_those_of_the_text():
    body = "kernel void k(device int* out, int n [[buffer(1)]]) {\n  out[n / n] = (n << n) + (n >> n) + missing;\n}"
    with pytest.raises(CompileError) as caught:
        build(body.replace("int n", "constant int& n"))
    assert (caught.value.diagnostics[0].line, caught.value.diagnostics[0].column) == (4, 38)


@pytest.mark.parametrize(
    "body",
    [
        "int y; out[i] = 9; if (y > 3) out[i] = 4; else if (y < -3) out[i] = 5; out[i] += x[i];",
        "int n; out[i] = 9; for (int j = 0; j < n; j++) out[i] += 1; out[i] += x[i];",
        "int3 v; out[i] = 9 + v.y + x[i];",
        "float4x4 m; out[i] = 9 + int(m[2][3]) + x[i];",
        "int sum; for (int j = 0; j < 3; j++) sum += 3; out[i] = sum + x[i];",
        "int a[16]; a[i] = x[i]; out[i] = 9 + a[15] + x[i];",
        "out[i] = 9; int y = nothing(x[i]); out[i] += x[i]; if (x[i] == 12345) out[i] = y;",
    ],
)
def test_what_was_never_given_a_value_takes_nothing_along(body):
    text = f"""int nothing(int a) {{ if (a > 1000000000) return 5; }}
    kernel void k(device int* out, device const int* x, uint i [[thread_position_in_grid]]) {{ {body} }}"""
    np.testing.assert_array_equal(results(text)[:, 0], X + 9)


def test_the_end_of_a_function_without_return_is_its_end():
    """Not the beginning of another, and not the end of the kernel."""
    text = """int nothing(int a) { }
    int choice(int a) { switch (a & 1) { case 0: return 5; case 1: return 6; } }
    kernel void k(device int* out, device const int* x, uint i [[thread_position_in_grid]]) {
        out[2 * i] = 9;
        int y = nothing(x[i]);
        out[2 * i] = x[i];
        out[2 * i + 1] = choice(x[i]);
    }"""
    np.testing.assert_array_equal(results(text, 2), np.stack([X, 5 + (X & 1)], 1))


def test_a_loop_without_end_stays_one():
    text = "kernel void k(device int* out, device const int* x) { out[0] = 1; if (x[0] == 7) { while (true) {} } out[0] = x[0]; }"
    assert "unreachable" not in build(text).ir
    x, out = np.array([5], np.int32), poisoned(1)
    np.testing.assert_array_equal(same(text, [out, x], 1, 1)[0], x)
    forever = build("kernel void k(device int* out) { out[0] = 1; while (true) {} }").ir
    assert "br label" in forever
    assert "store i32 1" in forever


def test_signed_sums_of_constants_wrap():
    found = of("2147483647 + 1", "-(-2147483647 - 1)", "abs(-2147483647 - 1)", "65536 * 65536", "-1 << 3")
    np.testing.assert_array_equal(found, [[v] * len(X) for v in (-(1 << 31), -(1 << 31), -(1 << 31), 0, -8)])


def test_the_library_takes_constants_out_of_range():
    found = of("extract_bits(x[i], 40u, 3u)", "extract_bits(x[i], 30u, 9u)", "insert_bits(x[i], 7, 40u, 2u)", "insert_bits(x[i], 7, 0u, 32u)",
               "rotate(x[i], 35)", "rotate(5, 32)", "clz(0)", "ctz(0)", "int(ldexp(float(x[i]), 2000))", "int(ldexp(1.0f, -2147483647))")  # fmt: skip
    u = X.view(np.uint32)
    rotated = ((u << 3) | (u >> 29)).view(np.int32)
    far = np.where(X > 0, 2147483647, np.where(X < 0, -(1 << 31), 0))
    for got, wanted in zip(found, [0, X >> 30, X, 7, rotated, 5, 32, 32, far, 0], strict=True):
        np.testing.assert_array_equal(got, np.broadcast_to(wanted, X.shape))


@pytest.mark.parametrize("access", ["*p = 4", "out[i] = *p"])
def test_a_null_pointer_is_a_fault(access):
    from metalloid.errors import KernelFault

    text = f"""kernel void k(device int* out, device const int* x, uint i [[thread_position_in_grid]]) {{
        device int* p = nullptr; if (x[i] == 3) {access}; else out[i] = 1; }}"""
    with pytest.raises(KernelFault, match=r"M10[12]"):
        same(text, [poisoned(len(X)), X], len(X), len(X))
    np.testing.assert_array_equal(same(text, [poisoned(len(X)), 0 * X], len(X), len(X))[0], 1)


def test_a_compiler_that_takes_too_long_is_not_asked_again_without_guards(monkeypatch):
    """What it would then make of the operators is not what was written."""
    from metalloid.frontend import clang

    asked = []

    def slow(arguments, text, *more):
        if "__mt::by()" not in text:
            asked.append(text)
            return run(arguments, text, *more)
        return clang.Result("", "error: the compiler gave up", True, stopped=True)

    run = clang.run
    monkeypatch.setattr(clang, "run", slow)
    with pytest.raises(CompileError, match="gave up"):
        build("#define N n\nkernel void k(device int* out, constant int& n) { out[0] = out[1] << N; }")
    assert [text[:5] for text in asked if "out[1] << N" in text] == ["#line"]  # the preprocessor's
