"""Sums, running sums, the largest, sorting, and what experts are routed by."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Case, Output, Size, Step, Work, poisoned, tolerance
from conformance.results.ggml.tensors import fields, launch, padded, powers, random_tensor, source, values

SUM_ROWS, COUNT_GROUPS = 1400, 1100  # function constants
WITH_NORM, EXPERTS, TOP = 1800, 1801, 1802
USED = 1900


def _sum(rng: np.random.Generator, size: Size) -> Work:
    n = {"small": 301, "large": 100_003}[size]
    x = random_tensor(rng, "f32", (n,)) + np.float32(1)
    out = poisoned(1)
    threads = min(powers(32, n, 1024), n)
    memory = padded(-(-threads // 32) * 4)
    step = launch("reduce", "kernel_op_sum_f32", ({"np": n}, x, out), (1, 1, 1), (threads, 1, 1), memory)
    return Work((step,), (Output("dst", out, values(x).sum(keepdims=True), tolerance(out)),))


def _sum_rows(rng: np.random.Generator, size: Size, mean: bool, wide: bool) -> Work:
    rows, columns = {"small": (2, 140), "large": (50, 4000)}[size]
    columns += not wide
    x = random_tensor(rng, "f32", (2, 2, rows, columns)) + np.float32(0.5)
    out = poisoned((2, 2, rows, 1))
    per_row = columns // 4 if wide else columns
    given = fields(x, dst=out, ne00=per_row, ne0=0 if wide else 1)
    step = launch(
        "reduce",
        f"kernel_sum_rows_f32_f32{'_4' if wide else ''}",
        (given, x, out),
        (rows, 2, 2),
        (min(powers(32, per_row, 1024), per_row), 1, 1),
        memory=128 * (4 if wide else 1),
        constants={SUM_ROWS: 11 if mean else 10},
    )
    total = values(x).sum(-1, keepdims=True)
    return Work((step,), (Output("dst", out, total / columns if mean else total, tolerance(out)),))


def _cumsum(rng: np.random.Generator, size: Size) -> Work:
    """Blocks first, then the sums of the blocks, then those are added to the blocks."""
    rows, columns, threads = {"small": (2, 150, 64), "large": (20, 5000, 1024)}[size]
    x = random_tensor(rng, "f32", (2, 1, rows, columns)) + np.float32(1)
    out = poisoned(x.shape)
    blocks = -(-columns // threads)
    sums = poisoned((2, 1, rows, blocks))
    between = {f"net{n}": v for n, v in enumerate((blocks, rows, 1, 2))}
    between |= {f"nbt{n}": v for n, v in enumerate(sums.strides[::-1])}
    step_1 = launch(
        "reduce",
        "kernel_cumsum_blk_f32",
        (fields(x, outb=True, **between), x, sums, out),
        (blocks * rows, 1, 2),
        (threads, 1, 1),
        memory=128,
    )
    step_2 = launch(
        "reduce",
        "kernel_cumsum_blk_f32",
        (fields(sums, outb=False, **between), sums, sums, sums),
        (rows, 1, 2),
        (threads, 1, 1),
        memory=128,
    )
    step_3 = launch(
        "reduce",
        "kernel_cumsum_add_f32",
        (fields(x, **between), sums, out),
        (blocks * rows, 1, 2),
        (threads, 1, 1),
    )
    expected = values(x).cumsum(-1)
    return Work((step_1, step_2, step_3), (Output("dst", out, expected, tolerance(out)),))


def _argmax(rng: np.random.Generator, size: Size, threads: int) -> Work:
    rows, columns = {"small": (3, 150), "large": (50, 4001)}[size]
    x = random_tensor(rng, "f32", (rows, columns))
    out = poisoned(rows, np.int32)
    given = fields(x)
    step = launch("misc", "kernel_argmax_f32", (given, x, out), (rows, 1, 1), (threads, 1, 1), memory=256)
    return Work((step,), (Output("dst", out, x.argmax(-1)),))


def _argsort(rng: np.random.Generator, size: Size, order: str) -> Work:
    """Sorted blocks, merged in pairs, from one buffer into the other and back."""
    rows, columns, threads = {"small": (2, 45, 16), "large": (10, 3000, 1024)}[size]
    x = random_tensor(rng, "f32", (1, 1, rows, columns))
    blocks = -(-columns // threads)
    here, there = poisoned((rows, columns), np.int32), poisoned((rows, columns), np.int32)
    given = fields(x, dst=x, top_k=threads)
    steps = [
        launch(
            "argsort",
            f"kernel_argsort_f32_i32_{order}",
            (given, x, here),
            (blocks * rows, 1, 1),
            (threads, 1, 1),
            memory=padded(4 * threads),
        )
    ]
    length = threads
    while length < columns:
        merging = fields(x, dst=x, top_k=columns, len=length)
        pairs = -(-columns // (2 * length))
        name = f"kernel_argsort_merge_f32_i32_{order}"
        steps.append(launch("argsort", name, (merging, x, here, there), (pairs * rows, 1, 1), (16, 1, 1)))
        here, there, length = there, here, 2 * length
    expected = np.argsort(x[0, 0] if order == "asc" else -x[0, 0], axis=-1, kind="stable")
    return Work(tuple(steps), (Output("dst", here, expected),))


def _top_k(rng: np.random.Generator, size: Size) -> Work:
    """By the histogram of the keys' bytes; in which order the indices come is left open."""
    rows, columns, k, threads = {"small": (1, 90, 11, 64), "large": (6, 9000, 100, 1024)}[size]
    x = random_tensor(rng, "f32", (1, 1, rows, columns))
    out = poisoned((rows, k), np.int32)
    step = Step(
        source("argsort"),
        "kernel_top_k_f32_i32",
        (fields(x, top_k=k), x, out),
        threadgroup=(threads, 1, 1),
        threadgroups=(rows, 1, 1),
        threadgroup_memory={0: 1024, 1: 16, 2: 16, 3: 16},
    )
    expected = np.sort(np.argsort(-x[0, 0], axis=-1)[:, :k], axis=-1)
    return Work((step,), (Output("indices", out, expected, look=partial(np.sort, axis=-1)),))


def _topk_moe(rng: np.random.Generator, size: Size, experts: int, norm: bool) -> Work:
    tokens, k = {"small": (2, 6), "large": (64, 8)}[size]
    logits = random_tensor(rng, "f32", (tokens, experts))
    weights, ids = poisoned((tokens, k)), poisoned((tokens, k), np.int32)
    given = {"ne01": tokens, "nb01": 4 * experts, "nb1_ids": 4 * k, "clamp": 1e-6, "scale": 1.5}
    step = launch(
        "argsort",
        "kernel_topk_moe_f32",
        (given, logits, weights, ids),
        (tokens, 1, 1),
        (32, 1, 1),
        constants={WITH_NORM: norm, EXPERTS: experts, TOP: k},
    )
    exact = np.exp(values(logits) - values(logits).max(-1, keepdims=True))
    shares = exact / exact.sum(-1, keepdims=True)
    chosen = np.argsort(-shares, axis=-1, kind="stable")[:, :k]
    picked = np.take_along_axis(shares, chosen, -1)
    if norm:
        picked = picked / picked.sum(-1, keepdims=True)
    return Work(
        (step,), (Output("weights", weights, picked * 1.5, tolerance(weights)), Output("ids", ids, chosen))
    )


def _moe_reduce(rng: np.random.Generator, size: Size) -> Work:
    tokens, used, columns = {"small": (3, 4, 70), "large": (40, 8, 1000)}[size]
    experts = random_tensor(rng, "f32", (tokens, used, columns))
    weights = random_tensor(rng, "f32", (tokens, used))
    out = poisoned((tokens, columns))
    threads = 256
    step = launch(
        "argsort",
        "kernel_moe_reduce_f32",
        ({"ne00": columns, "ne02": tokens}, experts, weights, out),
        (tokens, -(-columns // threads), 1),
        (threads, 1, 1),
        constants={USED: used},
    )
    expected = np.einsum("tec,te->tc", values(experts), values(weights))
    return Work((step,), (Output("dst", out, expected, tolerance(out)),))


def _count_equal(rng: np.random.Generator, size: Size) -> Work:
    """The counter is cleared by one kernel and added to, atomically, by another."""
    rows, columns, groups = {"small": (5, 70, 2), "large": (50, 1000, 4)}[size]
    a, b = (rng.integers(0, 3, (2, 1, rows, columns), np.int32) for _ in range(2))
    out = poisoned(1, np.int64)
    clear = launch("misc", "kernel_memset_i64", ({"val": 0}, out), (1, 1, 1), (1, 1, 1))
    step = launch(
        "misc",
        "kernel_count_equal_i32",
        (fields(a, b), a, b, out),
        (rows, 1, 2),
        (32 * groups, 1, 1),
        memory=padded(4 * groups),
        constants={COUNT_GROUPS: groups},
    )
    return Work((clear, step), (Output("dst", out, np.array([(a == b).sum()])),))


def cases() -> list[Case]:
    def case(family: str, name: str, make: Any) -> Case:
        return Case("ggml", family, name, make)

    made = [case("reductions", "sum", _sum)]
    for mean in (False, True):
        for wide in (False, True):
            name = f"{'mean' if mean else 'sum_rows'}{' x4' if wide else ''}"
            made.append(case("reductions", name, partial(_sum_rows, mean=mean, wide=wide)))
    made.append(case("reductions", "cumsum", _cumsum))
    made.append(case("reductions", "count_equal", _count_equal))
    made += [case("argsort", f"argmax {t} threads", partial(_argmax, threads=t)) for t in (32, 128)]
    made += [case("argsort", f"argsort {order}", partial(_argsort, order=order)) for order in ("asc", "desc")]
    made.append(case("argsort", "top_k", _top_k))
    made.append(case("moe", "topk_moe 40 experts", partial(_topk_moe, experts=40, norm=True)))
    made.append(case("moe", "topk_moe 128 experts", partial(_topk_moe, experts=128, norm=False)))
    made.append(case("moe", "moe_reduce", _moe_reduce))
    return made
