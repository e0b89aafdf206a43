"""Matrix times vector and matrix, over every type of matrix; the same with one matrix per expert."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned, tolerance
from conformance.results.ggml.tensors import (
    BFLOAT,
    DTYPES,
    block_of,
    data,
    fields,
    launch,
    nb,
    padded,
    random_tensor,
    values,
)

GROUPS, ACROSS, BATCHES, REPEAT_2, REPEAT_3, SPLIT = 600, 601, 602, 603, 604, 605  # function constants
MM_INPUT, MM_OUTPUT, MM_BATCHES, MM_LAST, MM_R2, MM_R3, MM_AMAX = range(700, 707)


@dataclass(frozen=True)
class Plan:
    """How ggml launches matrix times vector for a type: rows per SIMD-group, SIMD-groups, memory."""

    rows: int
    groups: int
    memory: int = 0
    split: bool = False  # lanes share rows when a row has few blocks


PLANS = {
    "q1_0": Plan(8, 2), "q2_0": Plan(8, 2), "q4_0": Plan(4, 2), "q4_1": Plan(4, 2), "q5_0": Plan(4, 2),
    "q5_1": Plan(4, 2), "q8_0": Plan(2, 4, 256), "mxfp4": Plan(2, 2, 128), "q2_K": Plan(4, 2),
    "q3_K": Plan(2, 2), "q4_K": Plan(2, 2), "q5_K": Plan(1, 2), "q6_K": Plan(2, 2),
    "iq1_s": Plan(8, 2, split=True), "iq1_m": Plan(8, 2, split=True),
    "iq2_xxs": Plan(8, 2, 256 * 8 + 128, split=True), "iq2_xs": Plan(8, 2, 512 * 8 + 128, split=True),
    "iq2_s": Plan(8, 2, split=True), "iq3_xxs": Plan(8, 2, 256 * 4 + 128, split=True),
    "iq3_s": Plan(8, 2, 512 * 4, split=True), "iq4_nl": Plan(2, 2, 128), "iq4_xs": Plan(2, 2, 128),
    "tq2_0": Plan(4, 2),
}  # fmt: skip
SUMS = 4.0  # a product of two vectors adds some hundred terms


def _plan(type: str, columns: int) -> tuple[Plan, str]:
    """The plan, and what it adds to the kernel's name."""
    if type in PLANS:
        return PLANS[type], ""
    if columns < 32:
        return Plan(32, 1), "_short"
    return Plan(2, min(4, -(-columns // 128)), 256), "_4" if columns % 4 == 0 else ""


def _groups_across(type: str, rows: int, plan: Plan) -> int:
    per_group = plan.rows if type in DTYPES or type == "q8_0" else plan.rows * plan.groups
    return -(-rows // per_group)


def _inner(type: str, size: Size) -> int:
    """A number of columns that holds whole blocks, 256 or so."""
    if type in DTYPES:
        return {"small": 132, "large": 1024}[size]
    return max(256, block_of(type)[0]) * {"small": 1, "large": 4}[size]


def _product(a: Array, b: Array) -> Array:
    """Rows of `a` times rows of `b`, the batches of `a` repeated."""
    repeated = np.repeat(a, b.shape[1] // a.shape[1], axis=1)
    repeated = np.repeat(repeated, b.shape[0] // a.shape[0], axis=0)
    return np.asarray(b @ repeated.swapaxes(-1, -2))


def _mul_mv(
    rng: np.random.Generator, size: Size, type: str, second: str = "f32", columns: int | None = None
) -> Work:
    columns = columns or _inner(type, size)
    plan, suffix = _plan(type, columns)
    rows = plan.rows * plan.groups * {"small": 1, "large": 20}[size]
    matrix = random_tensor(rng, type, (1, 1, rows, columns))
    vectors = random_tensor(rng, second, (1, 2, {"small": 1, "large": 3}[size], columns))
    out = poisoned((1, 2, vectors.shape[2], rows))
    given = fields(matrix, vectors, out, nr0=plan.rows, r2=2, r3=1)
    step = launch(
        "mul_mv",
        f"kernel_mul_mv_{type}_{second}{suffix}",
        (given, data(matrix), vectors, out),
        (_groups_across(type, rows, plan), vectors.shape[2], 2),
        (32, plan.groups, 1),
        memory=plan.memory,
        constants={GROUPS: plan.groups, BATCHES: 2, REPEAT_2: 2, REPEAT_3: 1, SPLIT: plan.split},
    )
    expected = _product(values(matrix), values(vectors))
    if type == second != "f32":
        expected += _rounding_of_last_products(matrix, vectors)
    return Work((step,), (Output("dst", out, expected, _sums(type, out)),))


def _sums(type: str, out: Array) -> float:
    """Hundreds of terms are added; tq2_0's kernel weighs whole bytes, and what is too much cancels."""
    return tolerance(out, 64 if type == "tq2_0" else SUMS)


def _rounding_of_last_products(matrix: Array, vectors: Array) -> Array:
    """Columns beyond the last 32 are multiplied in the matrix's own type, not in float."""
    whole = matrix.shape[-1] // 32 * 32
    a, b = matrix[:, :, None, :, whole:], vectors[:, :, :, None, whole:]
    return np.asarray((values(a * b) - values(a) * values(b)).sum(-1))


def _mul_mv_ext(rng: np.random.Generator, size: Size, type: str, per_group: int) -> Work:
    """A few vectors at once, each row of the matrix read by part of a SIMD-group."""
    columns = _inner(type, size) if type not in DTYPES else {"small": 128, "large": 1024}[size]
    groups, across = 2, 8
    rows_per_group = 32 // across * groups
    rows = rows_per_group * {"small": 1, "large": 10}[size] + 1
    count = per_group
    matrix = random_tensor(rng, type, (1, 1, rows, columns))
    vectors = random_tensor(rng, "f32", (1, 2, count, columns))
    out = poisoned((1, 2, count, rows))
    given = fields(matrix, vectors, out, r2=2, r3=1)
    step = launch(
        "mul_mv",
        f"kernel_mul_mv_ext_{type}_f32_r1_{per_group}",
        (given, data(matrix), vectors, out),
        (-(-rows // rows_per_group), 1, 2),
        (32, groups, 1),
        constants={GROUPS: groups, ACROSS: across, BATCHES: 2, REPEAT_2: 2, REPEAT_3: 1},
    )
    expected = _product(values(matrix), values(vectors))
    return Work((step,), (Output("dst", out, expected, tolerance(out, SUMS)),))


def _mul_mv_id(rng: np.random.Generator, size: Size, type: str) -> Work:
    columns = _inner(type, size)
    plan, suffix = _plan(type, columns)
    experts, used, tokens = {"small": (3, 2, 1), "large": (8, 4, 16)}[size]
    rows = plan.rows * plan.groups
    matrices = random_tensor(rng, type, (experts, rows, columns))
    vectors = random_tensor(rng, "f32", (tokens, used, columns))
    ids = np.stack([rng.permutation(experts)[:used] for _ in range(tokens)]).astype(np.int32)
    out = poisoned((tokens, used, rows))
    given = fields(matrices, vectors, out, nei0=used, nei1=tokens, nbi1=4 * used, nr0=plan.rows, nb1=4 * rows)
    step = launch(
        "mul_mv",
        f"kernel_mul_mv_id_{type}_f32{suffix}",
        (given, data(matrices), vectors, out, ids),
        (_groups_across(type, rows, plan), 1, used * tokens),
        (32, plan.groups, 1),
        memory=plan.memory or 16,
        constants={GROUPS: plan.groups, BATCHES: 1, REPEAT_2: 1, REPEAT_3: 1, SPLIT: plan.split},
    )
    expected = np.einsum("turc,tuc->tur", values(matrices)[ids], values(vectors))
    return Work((step,), (Output("dst", out, expected, _sums(type, out)),))


def _rounded(type: str, numbers: Array) -> Array:
    """Tiles lie in threadgroup memory in half precision, or as bfloat."""
    return numbers.astype(BFLOAT if type == "bf16" else np.float16).astype(np.float64)


def _mm_columns(type: str, size: Size) -> int:
    if type in DTYPES:
        return {"small": 72, "large": 520}[size]
    return _inner(type, size)


def _mul_mm(
    rng: np.random.Generator, size: Size, type: str, second: str = "f32", whole: bool = False
) -> Work:
    """`whole` takes sizes that fill the tiles, and so the kernel that stores without looking."""
    columns = 64 if whole else _mm_columns(type, size)
    rows, count = (64, 32) if whole else {"small": (37, 19), "large": (150, 70)}[size]
    batches = 1 if size == "small" and not whole else 2
    matrix = random_tensor(rng, type, (1, 1, rows, columns))
    others = random_tensor(rng, second, (1, batches, count, columns))
    out = poisoned((1, batches, count, rows))
    given = fields(matrix, others, out, r2=batches, r3=1)
    step = launch(
        "mul_mm",
        f"kernel_mul_mm_{type}_{second}",
        (given, data(matrix), others, out),
        (-(-count // 32), -(-rows // 64), batches),
        (32, 4, 1),
        memory=6144 if whole else 8192,
        constants={
            MM_INPUT: columns % 32 != 0, MM_OUTPUT: not whole, MM_BATCHES: batches, MM_LAST: 1,
            MM_R2: batches, MM_R3: 1,
        },
    )  # fmt: skip
    expected = _product(_rounded(type, values(matrix)), _rounded(type, values(others)))
    return Work((step,), (Output("dst", out, expected, tolerance(out, SUMS)),))


def _mul_mm_id(rng: np.random.Generator, size: Size, type: str, amax: bool = False) -> Work:
    """First which tokens go to which expert; then one product per expert over its tokens."""
    columns = _mm_columns(type, size)
    experts, used, tokens, rows = {"small": (3, 2, 9, 20), "large": (8, 4, 70, 100)}[size]
    matrices = random_tensor(rng, type, (experts, rows, columns))
    vectors = random_tensor(rng, "f32", (tokens, used, columns))
    ids = np.stack([rng.permutation(experts)[:used] for _ in range(tokens)]).astype(np.int32)
    out = poisoned((tokens, used, rows))
    counts, places = poisoned(experts, np.int32), poisoned((experts, tokens), np.int32)
    unused = np.zeros(264, np.float32)
    sort = {
        "ne02": experts, "ne10": columns, "ne11": used, "nb11": nb(vectors)[1], "nb12": nb(vectors)[2],
        "ne21": tokens, "ne20": used, "nb21": 4 * used,
    }  # fmt: skip
    step_1 = launch(
        "mul_mm",
        f"kernel_mul_mm_id_map0_ne20_{used}",
        (sort, ids, counts, places),
        (1, 1, 1),
        (experts, 1, 1),
        memory=padded(experts * used * 2),
    )
    given = fields(matrices, vectors, out, ne20=used, ne21=tokens, r2=1, r3=1)
    step_2 = launch(
        "mul_mm",
        f"kernel_mul_mm_id_{type}_f32",
        (given, data(matrices), vectors, counts, places, out, unused),
        (-(-tokens // 32), -(-rows // 64), experts),
        (128, 1, 1),
        memory=8192,
        constants={MM_INPUT: columns % 32 != 0, MM_AMAX: amax},
    )
    expected = np.einsum(
        "turc,tuc->tur", _rounded(type, values(matrices))[ids], _rounded(type, values(vectors))
    )
    return Work((step_1, step_2), (Output("dst", out, expected, tolerance(out, SUMS)),))


EXTENDED = "f32 f16 bf16 q1_0 q2_0 q4_0 q4_1 q5_0 q5_1 q8_0 mxfp4 iq4_nl q4_K q5_K q6_K q2_K q3_K".split()


def cases() -> list[Case]:
    def case(family: str, name: str, make: Any) -> Case:
        return Case("ggml", family, name, make)

    types = ("f32", "f16", "bf16", *PLANS)
    made = [case("mul_mv", f"{type} x f32", partial(_mul_mv, type=type)) for type in types]
    for type, second, columns in (
        ("f16", "f16", 132),
        ("bf16", "bf16", 132),
        ("f32", "bf16", 132),
        ("f32", "f32", 133),
        ("f16", "f32", 133),
        ("bf16", "f32", 133),
        ("f32", "f32", 21),
        ("f16", "f32", 21),
    ):
        make = partial(_mul_mv, type=type, second=second, columns=columns)
        made.append(case("mul_mv", f"{type} x {second}, {columns} columns", make))
    for n, type in enumerate(EXTENDED):
        per_group = n % 4 + 2
        make = partial(_mul_mv_ext, type=type, per_group=per_group)
        made.append(case("mul_mv_ext", f"{type}, {per_group} vectors", make))
    made += [case("mul_mv_id", type, partial(_mul_mv_id, type=type)) for type in types]
    made += [case("mul_mm", f"{type} x f32", partial(_mul_mm, type=type)) for type in types]
    made += [
        case("mul_mm", f"{type} x f16", partial(_mul_mm, type=type, second="f16"))
        for type in ("f32", "f16", "q4_0", "q8_0", "q4_K", "q6_K")
    ]
    made += [
        case("mul_mm", f"{type} x f32, whole tiles", partial(_mul_mm, type=type, whole=True))
        for type in ("f32", "f16", "q8_0")
    ]
    made += [
        case("mul_mm_id", type, partial(_mul_mm_id, type=type))
        for type in ("f32", "f16", "bf16", "q4_0", "q8_0", "q4_K")
    ]
    return made
