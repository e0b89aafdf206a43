"""Matrices: constructors, columns, products, transpose, determinant, layout."""

from itertools import product

import numpy as np
import pytest

from tests.language.launch import DTYPES, REALS, check, poisoned, run

SHAPES = list(product((2, 3, 4), repeat=2))  # columns, rows


def columns(values: np.ndarray) -> list[list[float]]:
    return [list(column) for column in values]


@pytest.mark.parametrize("kind", REALS)
def test_constructors_and_columns(kind: str) -> None:
    a = np.array([2, 3, 5, 7, 1, 4, 6, 8, 9, 10, 12, 11, 13, 15, 14, 16], DTYPES[kind])
    cases = []
    for c, r in SHAPES if kind == "half" else [(2, 4), (3, 3), (4, 2)]:
        name, vector = f"{kind}{c}x{r}", f"{kind}{r}"
        scalars = ", ".join(f"a[{i}]" for i in range(c * r))
        vectors = ", ".join(f"{vector}({', '.join(f'a[{i * r + j}]' for j in range(r))})" for i in range(c))
        rows = a[: c * r].reshape(c, r)
        diagonal = np.zeros((c, r))
        np.fill_diagonal(diagonal, 3)
        padded = 4 if r == 3 else r
        cases += [("ulong", f"sizeof({name})", c * padded * a.itemsize)]
        cases += [("ulong", f"alignof({name})", padded * a.itemsize)]
        for i in range(c):
            cases += [
                (vector, f"{name}({scalars})[{i}]", rows[i]),
                (vector, f"{name}({vectors})[{i}]", rows[i]),
                (vector, f"{name}{{{vectors}}}[{i}]", rows[i]),
                (vector, f"{name}(a[1])[{i}]", diagonal[i]),
                (vector, f"{name}(a[1])[n + {i - 1}]", diagonal[i]),
                (kind, f"{name}({scalars})[{i}][n]", rows[i][1]),
                (kind, f"{name}({scalars})[{i}].y", rows[i][1]),
                (vector, f"matrix<{kind}, {c}, {r}>({name}({scalars}))[{i}]", rows[i]),
                (vector, f"[&] {{ {name} m({scalars}); m[{i}] *= 2; m[{i}].x = 1; return m[{i}]; }}()",
                 [1, *(rows[i][1:] * 2)]),
                (vector, f"metal::{name}({name}({scalars}))[{i}]", rows[i]),
            ]  # fmt: skip
    check(cases, (f"device const {kind}* a", a), ("constant int& n", np.array([1], np.int32)))


@pytest.mark.parametrize("kind", REALS)
def test_arithmetic(kind: str) -> None:
    values = np.array([2, 3, 5, 7, 1, 4, 6, 8, 9, 0, 2, 1, 3, 5, 4, 6], DTYPES[kind])
    given = (f"device const {kind}* a", values)
    cases, setup = [], ""
    for c, r in SHAPES if kind == "float" else [(2, 3), (3, 2), (4, 4)]:
        m = values[: c * r].reshape(c, r).astype(np.float32)
        name = f"m{c}{r}"
        setup += f"{kind}{c}x{r} {name}; for (int i = 0; i < {c * r}; i++) {name}[i / {r}][i % {r}] = a[i];\n"
        for i in range(c):
            cases += [
                (f"{kind}{r}", f"({name} + {name})[{i}]", m[i] * 2),
                (f"{kind}{r}", f"({name} - {name} * {kind}(3))[{i}]", m[i] - 3 * m[i]),
                (f"{kind}{r}", f"({kind}(2) * {name})[{i}]", m[i] * 2),
                (f"{kind}{r}", f"(-{name})[{i}]", -m[i]),
                (f"{kind}{r}", f"[&] {{ auto t = {name}; t += {name}; t *= 2; return t[{i}]; }}()", m[i] * 4),
            ]  # fmt: skip
        for i in range(r):
            cases.append((f"{kind}{c}", f"transpose({name})[{i}]", m[:, i]))
        v, w = values[1 : 1 + c].astype(np.float32), values[1 : 1 + r].astype(np.float32)
        right = f"{kind}{c}({', '.join(f'a[{i + 1}]' for i in range(c))})"
        left = f"{kind}{r}({', '.join(f'a[{i + 1}]' for i in range(r))})"
        cases.append((f"{kind}{r}", f"{name} * {right}", v @ m))
        cases.append((f"{kind}{c}", f"{left} * {name}", m @ w))
        other = values[: r * c].reshape(r, c).astype(np.float32)
        for i in range(r):  # (c columns, r rows) * (r columns, c rows)
            cases.append((f"{kind}{r}", f"({name} * m{r}{c})[{i}]", (other @ m)[i]))
    check(cases, given, setup=setup)


def test_determinant_and_square_products() -> None:
    rng = np.random.default_rng(1)
    cases, arrays = [], []
    for n in (2, 3, 4):
        m = rng.integers(-3, 4, (n, n)).astype(np.float32)
        arrays.append((f"device const float* m{n}_", m))
        cases.append(("float", f"determinant(m{n})", round(np.linalg.det(m.astype(np.float64)))))
        cases.append(("half", f"determinant(half{n}x{n}(m{n}))", round(np.linalg.det(m.astype(np.float64)))))
        cases.append((f"float{n}", f"(m{n} * m{n})[1]", (m @ m)[1]))
        cases.append((f"float{n}", f"[&] {{ auto t = m{n}; t *= m{n}; return t[0]; }}()", (m @ m)[0]))
        cases.append(("bool", f"m{n} == m{n}", True))
        cases.append(("bool", f"m{n} != m{n} * 2", True))
    fill = "float{0}x{0} m{0}; for (int i = 0; i < {0} * {0}; i++) m{0}[i / {0}][i % {0}] = m{0}_[i];\n"
    setup = "".join(fill.format(n) for n in (2, 3, 4))
    check(cases, *arrays, setup=setup)


def test_matrices_in_memory() -> None:
    m = np.arange(1, 17, dtype=np.float32).reshape(4, 4)
    points = np.arange(20, dtype=np.float32).reshape(5, 4)
    out = poisoned((5, 4), np.float32)
    t = poisoned((4, 4), np.float32)
    run(
        """
constant float2x2 turn = float2x2(float2(0, 1), float2(-1, 0));
struct Camera { float4x4 view; float3x3 normal; };
kernel void k(constant Camera& camera, device const float4* p, device float4* o, device float4x4& t,
              uint i [[thread_position_in_grid]]) {
  threadgroup float4x4 shared;
  if (i == 0) {
    shared = camera.view; shared[2] += 1;
    t = transpose(camera.view); t[0][3] = camera.normal[2][1];
  }
  threadgroup_barrier(mem_flags::mem_threadgroup);
  float4 v = shared * p[i];
  v.xy = turn * v.xy;
  o[i] = v;
}""",
        *(np.concatenate([m.ravel(), np.arange(12, dtype=np.float32)]), points, out, t),
        grid=5,
        threadgroup=5,
    )
    changed = m.copy()
    changed[2] += 1
    v = points @ changed
    np.testing.assert_array_equal(out, np.stack([-v[:, 1], v[:, 0], v[:, 2], v[:, 3]], 1))
    expected = m.T.copy()
    expected[0][3] = 9
    np.testing.assert_array_equal(t, expected)


def test_braces_and_packed_columns() -> None:
    check(
        [
            ("float2", "[&] { float2x2 m = {{1, 2}, {3, p.z}}; return m[1]; }()", [3, 7]),
            (
                "half3",
                "[&] { half2x3 m{{1, 2, 3}, half3(4, 5, 6)}; m[1].xy = m[0].yz; return m[1]; }()",
                [2, 3, 6],
            ),
            ("float3", "float3x3(p, p, p)[n]", [2, 5, 7]),
            ("float4", "float4x4({1, 2, 3, 4}, {5, 6, 7, 8}, 1, 2)[n]", [5, 6, 7, 8]),
            (
                "float2",
                "[&] { float2x2 m[2] = {float2x2(1), float2x2(2)}; return (m[n] * m[n])[1]; }()",
                [0, 4],
            ),
        ],
        ("device const packed_float3& p_", np.array([2, 5, 7], np.float32)),
        ("constant int& n", np.array([1], np.int32)),
        setup="packed_float3 p = p_;",
    )


def test_names() -> None:
    names = ["simd_float4x4", "matrix_float3x3", "simd::float2x3", "metal::half4x2", "simd_half2x2"]
    plain = ["float4x4", "float3x3", "float2x3", "half4x2", "half2x2"]
    check([("bool", f"is_same_v<{a}, {b}>", True) for a, b in zip(names, plain, strict=True)])
