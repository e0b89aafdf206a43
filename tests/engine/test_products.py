"""simdgroup_matrix products that are computed together: chains of them, operands of every kind, odd numbers."""

# ruff: noqa: E501  kernels are quoted as they are

from __future__ import annotations

from functools import partial

import numpy as np
import pytest

from metalloid.backends import interpret
from metalloid.backends.cpu import codegen
from metalloid.backends.cpu.build import cpu_program
from metalloid.errors import KernelFault
from tests.engine import matrix_programs
from tests.engine.both import LESSER, Endless, launch, program, scalar_ir
from tests.engine.both import same as compared

RNG = np.random.default_rng(7)
same = partial(compared, baseline=True)  # whose products are calls


def values(*shape: int) -> np.ndarray:
    return RNG.integers(-3, 4, shape).astype("float32")


def kernel(load: str, left: int, right: int, steps: int, type: str = "float", between: str = "") -> str:
    """out = 0.5 + a @ b of 8*left x 8*right, `steps` products deep, from threadgroup memory."""
    return f"""kernel void k(device const {type}* a, device const {type}* b, device float* out, constant uint& pitch,
            uint lane [[thread_index_in_simdgroup]]) {{
        threadgroup {type} s[{8 * left * 8 * steps}], t[{8 * steps * 8 * right}];
        for (uint n = lane; n < {64 * left * steps}; n += 32) s[n] = a[n];
        for (uint n = lane; n < {64 * right * steps}; n += 32) t[n] = b[n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        const short row = (lane / 4 & 4) + (lane / 2 & 3), column = (lane / 2 & 4) + (lane % 2) * 2;
        simdgroup_matrix<{type}, 8, 8> x[{left}], y[{right}];
        simdgroup_float8x8 c[{left}][{right}];
        for (int i = 0; i < {left}; ++i) for (int j = 0; j < {right}; ++j) c[i][j] = make_filled_simdgroup_matrix<float, 8>(0.5f);
        for (int k = 0; k < {8 * steps}; k += 8) {{
            {load}
            {between}
            for (int i = 0; i < {left}; ++i) for (int j = 0; j < {right}; ++j)
                simdgroup_multiply_accumulate(c[i][j], x[i], y[j], c[i][j]);
        }}
        for (int i = 0; i < {left}; ++i) for (int j = 0; j < {right}; ++j)
            simdgroup_store(c[i][j], out + i * 8 * {8 * right} + j * 8, {8 * right});
    }}"""


def loads(left: int, right: int, steps: int) -> dict[str, str]:
    """Ways to bring matrices in; the left one is 8*left rows of 8*steps, the right one 8*steps rows of 8*right."""
    deep, wide = 8 * steps, 8 * right
    each = f"for (int i = 0; i < {left}; ++i) ", f"for (int j = 0; j < {right}; ++j) "
    by_lane = (
        f"{each[0]}for (int e = 0; e < 2; ++e) x[i].thread_elements()[e] = s[(i * 8 + row) * {deep} + k + column + e];"
        f"{each[1]}for (int e = 0; e < 2; ++e) "
    )
    return {
        "rows": f"{each[0]}simdgroup_load(x[i], s + i * {8 * deep} + k, {deep});"
        f"{each[1]}simdgroup_load(y[j], t + k * {wide} + j * 8, {wide});",
        "a stride that is not known": f"{each[0]}simdgroup_load(x[i], s + i * {8 * deep} + k, pitch);"
        f"{each[1]}simdgroup_load(y[j], t + k * {wide} + j * 8, pitch / {deep} * {wide});",
        "lane by lane": by_lane + f"y[j].thread_elements()[e] = t[(k + row) * {wide} + j * 8 + column + e];",
        "computed": by_lane
        + f"y[j].thread_elements()[e] = t[(k + row) * {wide} + j * 8 + column + e] * decltype(t[0] + t[0])(2) - t[(k + row) * {wide} + j * 8 + column + e];",
    }


def check(text, left, right, steps, type="float32", turned=False):
    rng = np.random.default_rng(left * 100 + right * 10 + steps)
    a, b = (
        rng.integers(-4, 5, shape).astype(type) for shape in ((8 * left, 8 * steps), (8 * steps, 8 * right))
    )
    out = np.full((8 * left, 8 * right), np.nan, "float32")
    given = [a, np.ascontiguousarray(b.T) if turned else b, out, np.array([8 * steps], "uint32")]
    got = same(text, given, 32, 32)[2]
    np.testing.assert_array_equal(got, a.astype("float32") @ b.astype("float32") + np.float32(0.5))


@pytest.mark.parametrize("type", ["float", "half"])
@pytest.mark.parametrize("way", ["rows", "a stride that is not known", "lane by lane", "computed"])
def test_matrices_come_from_anywhere(way, type):
    left, right, steps = 2, 3, 2
    check(kernel(loads(left, right, steps)[way], left, right, steps, type), left, right, steps,
          "float32" if type == "float" else "float16")  # fmt: skip


@pytest.mark.parametrize("type", ["float", "half"])
@pytest.mark.parametrize("right", [2, 5])
def test_a_matrix_that_lies_the_other_way_round(right, type):
    left, steps = 2, 2
    deep = 8 * steps
    ways = (
        f"simdgroup_load(y[j], t + j * {8 * deep} + k, {deep}, 0, true);",
        f"for (int e = 0; e < 2; ++e) y[j].thread_elements()[e] = t[(j * 8 + column + e) * {deep} + k + row];",
    )
    for way in ways:
        text = kernel(
            f"for (int i = 0; i < {left}; ++i) simdgroup_load(x[i], s + i * {8 * deep} + k, {deep});"
            f"for (int j = 0; j < {right}; ++j) {way}", left, right, steps, type)  # fmt: skip
        check(text, left, right, steps, "float32" if type == "float" else "float16", turned=True)


def test_memory_that_changes_before_the_product():
    """What was loaded counts, not what is there when the products are computed."""
    left, right, steps = 2, 2, 2
    change = f"for (int n = 0; n < {2 * left}; ++n) s[(lane + 32 * n) / 8 * {8 * steps} + k + lane % 8] = -7;"
    check(kernel(loads(left, right, steps)["rows"], left, right, steps, between=change), left, right, steps)


def test_results_between_products():
    """A sum that is looked at on the way, and products whose operands are results."""
    text = """kernel void k(device const float* a, device float* out, device float* seen, uint lane [[thread_index_in_simdgroup]]) {
        simdgroup_float8x8 x[4], c[2][2], d[2][2];
        for (int i = 0; i < 4; ++i) simdgroup_load(x[i], a + 64 * i, 8);
        for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) {
            simdgroup_multiply(c[i][j], x[i], x[j + 2]);
            simdgroup_multiply_accumulate(c[i][j], x[j], x[i + 2], c[i][j]);
        }
        seen[lane] = c[1][0].thread_elements()[1];
        for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) {
            simdgroup_multiply_accumulate(c[i][j], x[j], x[i], c[i][j]);
            simdgroup_multiply(d[i][j], c[i][j], x[3]);
            simdgroup_store(d[i][j], out + i * 128 + j * 64, 8);
        }
    }"""
    a = values(4, 8, 8)
    got = same(text, [a, np.full((2, 2, 8, 8), np.nan, "float32"), np.zeros(32, "float32")], 32, 32)
    for i in (0, 1):
        for j in (0, 1):
            sums = a[i] @ a[j + 2] + a[j] @ a[i + 2] + a[j] @ a[i]
            np.testing.assert_array_equal(got[1][i, j], sums @ a[3])


@pytest.mark.parametrize("offset", [0, 1])
def test_a_matrix_at_the_end_of_its_buffer(offset):
    """Inside to the last element; one further is a fault, in tiles as elsewhere."""
    text = """kernel void k(device const float* a, device const float* b, device float* out, constant uint& at) {
        simdgroup_float8x8 x[2], y[2], c[2][2];
        for (int i = 0; i < 2; ++i) simdgroup_load(x[i], a + 64 * i + at, 8);
        for (int i = 0; i < 2; ++i) simdgroup_load(y[i], b + 64 * i, 8);
        for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) {
            simdgroup_multiply(c[i][j], x[i], y[j]);
            simdgroup_store(c[i][j], out + i * 128 + j * 64, 8);
        }
    }"""
    a, b = values(2, 8, 8), values(2, 8, 8)
    arguments = [a, b, np.full((2, 2, 8, 8), np.nan, "float32"), np.array([offset], "uint32")]
    if offset:
        with pytest.raises(KernelFault, match="M101"):
            program(text, "k").run(launch(arguments, 32, 32))
        return
    got = same(text, arguments, 32, 32)[2]
    np.testing.assert_allclose(got, np.einsum("irk,jkc->ijrc", a, b), rtol=1e-5)


# ---- sums that live across barriers ---------------------------------------------------------------------------

LOOP = """kernel void k(device const float* a, device float* out, device float* more, constant uint& rounds,
        uint t [[thread_index_in_threadgroup]], uint lane [[thread_index_in_simdgroup]], uint g [[simdgroup_index_in_threadgroup]]) {{
    threadgroup float s[256];
    simdgroup_float8x8 x[2], y[2], c[2][2], d[2][2];
    for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) {{
        c[i][j] = make_filled_simdgroup_matrix<float, 8>(1 + g);
        d[i][j] = make_filled_simdgroup_matrix<float, 8>(i - j);
    }}
    for (uint k = 0; k < rounds; ++k) {{
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (uint n = t; n < 256; n += 64) s[n] = a[k * 256 + n];
        threadgroup_barrier(mem_flags::mem_threadgroup);
        for (int i = 0; i < 2; ++i) {{
            simdgroup_load(x[i], s + 64 * i, 8);
            simdgroup_load(y[i], s + 128 + 64 * i, 8);
        }}
        {body}
    }}
    for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j) {{
        simdgroup_store(c[i][j], out + g * 256 + i * 128 + j * 64, 8);
        simdgroup_store(d[i][j], more + g * 256 + i * 128 + j * 64, 8);
    }}
}}"""
EACH = "for (int i = 0; i < 2; ++i) for (int j = 0; j < 2; ++j)"
BODIES = {
    "in place": f"{EACH} simdgroup_multiply_accumulate(c[i][j], x[i], y[j], c[i][j]);",
    "the old sum is looked at later": f"""
        simdgroup_float8x8 p[2][2];
        {EACH} simdgroup_multiply_accumulate(p[i][j], x[i], y[j], c[i][j]);
        threadgroup_barrier(mem_flags::mem_threadgroup);
        {EACH} {{
            simdgroup_multiply_accumulate(d[i][j], x[j], y[i], c[i][j]);
            c[i][j] = p[i][j];
        }}""",
    "one sum, several times": f"""
        simdgroup_float8x8 p[2][2];
        for (uint r = 0; r <= k % 3; ++r) {{
            threadgroup_barrier(mem_flags::mem_threadgroup);
            {EACH} simdgroup_multiply_accumulate(p[i][j], x[i], y[j], c[i][j]);
        }}
        {EACH} c[i][j] = p[i][j];""",
    "two that change places": f"""
        {EACH} {{
            simdgroup_float8x8 p;
            simdgroup_multiply_accumulate(p, x[i], y[j], c[i][j]);
            simdgroup_multiply_accumulate(c[i][j], x[j], y[i], d[i][j]);
            d[i][j] = p;
        }}""",
    "only now and then": f"""
        if (k % 2) {{ {EACH} simdgroup_multiply_accumulate(c[i][j], x[i], y[j], c[i][j]); }}
        else {{ {EACH} c[i][j].thread_elements()[k / 2 % 2] += float(lane); }}""",
}  # fmt: skip


@pytest.mark.parametrize("rounds", [0, 1, 5])
@pytest.mark.parametrize("body", list(BODIES))
def test_sums_that_live_across_barriers(body, rounds):
    arguments = [values(8, 256), *(np.full((2, 2, 2, 8, 8), np.nan, "float32") for _ in range(2))]
    got = same(LOOP.format(body=BODIES[body]), [*arguments, np.array([rounds], "uint32")], 64, 64)
    if body == "in place":
        a = arguments[0].reshape(8, 2, 2, 8, 8)[:rounds]
        sums = np.einsum("kirx,kjxc->ijrc", a[:, 0], a[:, 1])
        np.testing.assert_array_equal(got[1], sums[None] + np.arange(1, 3).reshape(2, 1, 1, 1, 1))


@pytest.mark.parametrize("level", LESSER)
def test_on_lesser_processors(level):
    """Registers of one sum, and products one by one: the same results."""
    text = LOOP.format(body=BODIES["in place"])
    ir, signature = scalar_ir(text, "k")
    arrays = [
        values(4, 256),
        *(np.full((2, 2, 2, 8, 8), np.nan, "float32") for _ in range(2)),
        np.array([4], "uint32"),
    ]
    expected = [a.copy() for a in arrays]
    interpret.run(ir, launch(expected, 64, 64))
    for patience in (None, Endless()):
        got = [a.copy() for a in arrays]
        cpu_program(ir, signature, target=codegen.limited(level), patience=patience).run(launch(got, 64, 64))
        for a, b in zip(expected, got, strict=True):
            np.testing.assert_array_equal(b, a)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(24))
def test_programs_at_random(seed):
    a = np.random.default_rng(seed).integers(-3, 4, 256).astype("float32") / 8
    for rounds in (0, 1, 3):
        out = np.full(1024, np.nan, "float32")
        same(matrix_programs.program(seed), [a, out, np.array([rounds], "uint32")], 64, 64)


EITHER = """kernel void k(device float* a, device float* b, device float* out, constant uint& at, constant long& stride) {
    device float* p = at & 1024 ? b : a;
    simdgroup_float8x8 x[2], c[2];
    for (int i = 0; i < 2; ++i) simdgroup_load(x[i], p + 64 * i + (at & 1023), ulong(stride), ulong2(0), i == 1);
    for (int i = 0; i < 2; ++i) simdgroup_multiply(c[i], x[i], x[1 - i]);
    for (int i = 0; i < 2; ++i) simdgroup_store(c[i], out + 64 * i, 8);
    simdgroup_store(c[0], p + 128, 8);
}"""


@pytest.mark.parametrize("at", [0, 1024, 1025, 1028])
def test_matrices_of_either_of_two_buffers(at):
    a, b, out = values(4, 8, 8), values(4, 8, 8), np.full((2, 8, 8), np.nan, "float32")
    arguments = [a, b, out, np.array([at], "uint32"), np.array([8], "int64")]
    got = same(EITHER, arguments, 32, 32)
    start = at & 1023
    x, y = (b if at & 1024 else a).reshape(-1)[start : start + 128].reshape(2, 8, 8)
    np.testing.assert_array_equal(got[2], [x @ y.T, y.T @ x])
    np.testing.assert_array_equal(got[1 if at & 1024 else 0][2], x @ y.T)


@pytest.mark.parametrize(("at", "stride"), [(150, 8), (1024, 9), (1024, -8), (1030, (1 << 64) // 28 + 1)])
@pytest.mark.parametrize("pointer", ["at & 1024 ? b : a", "b"])
def test_rows_outside_are_reported_wherever_they_are(at, stride, pointer):
    """A distance between rows that wraps round has its corners inside, and everything else outside."""
    text = EITHER.replace("at & 1024 ? b : a", pointer)
    arguments = [values(2, 8, 8), values(2, 8, 8), np.full((2, 8, 8), np.nan, "float32")]
    with pytest.raises(KernelFault, match=r"M10[15]"):
        program(text, "k").run(
            launch([*arguments, np.array([at], "uint32"), np.array([stride], "int64")], 32, 32)
        )
