"""Sums, products, extremes, and, or: of all, of rows, of columns, each with the kernel the host picks by size."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Step, Triple, Work, poisoned, summed
from conformance.results.mlx import host
from conformance.results.mlx.templates import launch, up

HEADER = "reduce.h"
READS = WRITES = 4
BLOCKS = 32  # of rows, that the two-pass column kernels split the reduction into


@dataclass(frozen=True)
class Operator:
    struct: str
    of: Callable[..., Any]


OPERATORS = {
    "sum": Operator("Sum", np.sum),
    "prod": Operator("Prod", np.prod),
    "min": Operator("Min", np.min),
    "max": Operator("Max", np.max),
    "and": Operator("And", np.all),
    "or": Operator("Or", np.any),
}


def types(op: str, type: str) -> tuple[str, str, str]:
    """What a kernel reads, what it writes, and its operator: sums of unsigned numbers are those of signed ones."""
    if op in ("and", "or"):
        size = host.TYPES[type].itemsize
        return ("bool" if size == 1 else f"int{8 * size}_t"), "bool", f"{OPERATORS[op].struct}<bool>"
    if op in ("sum", "prod"):
        type = type.replace("uint", "int")
    return type, type, f"{OPERATORS[op].struct}<{type}>"


def numbers(rng: np.random.Generator, op: str, type: str, shape: tuple[int, ...], length: int) -> Array:
    """Products stay near 1, and few of the truths are false (or true)."""
    if op in ("and", "or"):
        rare = rng.random(shape) < 0.7 / length
        return np.asarray(rare if op == "or" else ~rare).astype(host.TYPES[type])
    if op == "prod" and "int" not in type:
        return factors(rng, type, shape)
    return host.random(rng, type, shape)


def factors(rng: np.random.Generator, type: str, shape: tuple[int, ...]) -> Array:
    """Of 16 bits: powers of two, whose products are exact; those of others would drift off by their number."""
    dtype = host.TYPES[type]
    if dtype.itemsize == 2:
        return rng.choice([0.5, 1, 1, 2, -1], shape).astype(dtype)
    near = rng.uniform(0.97, 1.04, shape)
    return np.asarray(near + 1j * rng.uniform(-0.05, 0.05, shape) if dtype.kind == "c" else near).astype(
        dtype
    )


def output(op: str, out: Array, x: Array, axes: tuple[int, ...], shape: tuple[int, ...]) -> Output:
    """Integers wrap; sums of floats drift with their length, and are rounded to the type at each step."""
    length = int(np.prod([x.shape[a] for a in axes]))
    with np.errstate(over="ignore"):
        if x.dtype.kind in "iu" and op in ("sum", "prod"):
            total = OPERATORS[op].of(x.astype(x.dtype), axis=axes, dtype=x.dtype)
        else:
            total = OPERATORS[op].of(host.double(x), axis=axes)
    expected = np.asarray(total).reshape(shape)
    expected = expected.view(out.dtype) if expected.dtype.kind in "iu" and op in ("sum", "prod") else expected
    if x.dtype.kind in "iub" or op not in ("sum", "prod"):
        return Output("out", out, expected, ulps=0)
    return Output("out", out, expected, host.rounding(out, 1, 1 + int(length**0.5)), ulps=summed(length))


def _all(rng: np.random.Generator, size: Size, op: str, type: str, count: int) -> Work:
    """One threadgroup up to 4096 elements; beyond, 128 of them and one for what they found."""
    if size == "large":
        count = 9 * count + 5
    x = numbers(rng, op, type, (count,), count)
    read, written, operator = types(op, type)
    out = poisoned(1, host.TYPES[written])
    result = output(op, out, x, (0,), (1,))
    if count <= READS * 1024:
        threads = up(up(count, READS), 32) * 32
        step = _all_step(read, written, operator, (x, out, count, count), threads, 1)
        return Work((step,), (result,))
    rows = 32 * READS
    each = up(count, rows)
    between = poisoned(rows, host.TYPES[written])
    threads = up(min(up(each, READS), 1024), 32) * 32
    first = _all_step(read, written, operator, (x, between, count, each), threads, rows)
    second = _all_step(written, written, operator, (between, out, rows, rows), 32, 1)
    return Work((first, second), (result,))


def _all_step(
    read: str, written: str, operator: str, arguments: tuple[Any, ...], threads: int, rows: int
) -> Step:
    group = (threads, 1, 1)
    return launch(HEADER, "all_reduce", (read, written, operator), arguments, group, grid=(threads, rows, 1))


def _row_threads(size: int) -> int:
    if size <= 512:
        return 32
    return 128 if size <= 1024 else min(1024, up(up(size, READS), 32) * 32)


def _shapes(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[Array, Array, int]:
    return host.ints(shape), host.longs(strides), len(shape)


def _rows(
    rng: np.random.Generator, size: Size, op: str, type: str, shape: tuple[int, ...], axes: tuple[int, ...]
) -> Work:
    """Over the last axis, and perhaps others."""
    if size == "large":
        shape = (3 * shape[0], *shape[1:])
    x = numbers(rng, op, type, shape, int(np.prod([shape[a] for a in axes])))
    read, written, operator = types(op, type)
    kept = [a for a in range(x.ndim) if a not in axes]
    others = [a for a in axes if a != x.ndim - 1]
    steps = [s // x.itemsize for s in x.strides]
    row, outs = shape[-1], int(np.prod([shape[a] for a in kept]))
    reductions = int(np.prod([shape[a] for a in others]))
    out = poisoned(outs, host.TYPES[written])
    if row > 64 and not others and outs >= 32:
        threads = min(_row_threads(row), 512 if x.itemsize == 8 else 1024)
        step = launch(HEADER, "row_reduce_simple", (read, written, operator), (x, out, row, outs), (threads, 1, 1),
                      grid=(threads, up(outs, WRITES), 1))  # fmt: skip
        return Work((step,), (output(op, out, x, axes, (outs,)),))
    kept_places = _shapes(tuple(shape[a] for a in kept), tuple(steps[a] for a in kept))
    other_places = _shapes(tuple(shape[a] for a in others), tuple(steps[a] for a in others))
    arguments = (x, out, row, reductions, *kept_places, *other_places)
    grid, group = _row_sizes(row, reductions, outs)
    template = "row_reduce_small" if row <= 64 else "row_reduce_looped"
    parameters = (read, written, operator, "int", 1 if len(others) <= 1 else 5)
    step = launch(HEADER, template, parameters, arguments, group, grid=grid)
    return Work((step,), (output(op, out, x, axes, (outs,)),))


def _row_sizes(row: int, reductions: int, outs: int) -> tuple[Triple, Triple]:
    """A thread per result, or a SIMD-group, or a threadgroup."""
    if row > 64:
        return (_row_threads(row), outs, 1), (_row_threads(row), 1, 1)
    if (reductions < 32 and row <= 8) or reductions <= 8:
        return host.line(outs)
    return (32, outs, 1), (32, 1, 1)


def _columns(
    rng: np.random.Generator, size: Size, op: str, type: str, shape: tuple[int, ...], axes: tuple[int, ...]
) -> Work:
    """Over axes in front of the last ones; the last of them is the column."""
    if size == "large":
        shape = (*shape[:-1], shape[-1] * 2 + 1)
    length = int(np.prod([shape[a] for a in axes]))
    x = numbers(rng, op, type, shape, length)
    steps = [s // x.itemsize for s in x.strides]
    column = axes[-1]
    stride, rows = steps[column], shape[column]
    kept = [a for a in range(column) if a not in axes]
    outs = int(np.prod([shape[a] for a in kept])) * stride
    read, written, operator = types(op, type)
    out = poisoned(outs, host.TYPES[written])
    places = (*_shapes(tuple(shape[a] for a in kept), tuple(steps[a] for a in kept)),
              *_shapes(tuple(shape[a] for a in axes), tuple(steps[a] for a in axes)), length // rows)  # fmt: skip
    parameters = (read, written, operator, "int", 1 if len(axes) <= 1 else 5)
    pick = (
        _small
        if length < 32
        else _long
        if stride < 32 and length >= 1024
        else _two
        if length > 256
        else _looped
    )
    made = pick(parameters, (x, out, rows, stride, *places), outs, stride, length)
    return Work(made, (output(op, out, x, axes, (outs,)),))


def _small(parameters: Any, arguments: Any, outs: int, stride: int, length: int) -> tuple[Step, ...]:
    """Four columns per thread, up to eight threads per column."""
    across = min(up(stride, 4), 32)
    group = (across, min(8, length), 1)
    groups = (up(up(stride, 4), across), outs // stride, 1)
    return (launch(HEADER, "col_reduce_small", parameters, arguments, group, groups),)


def _looped(parameters: Any, arguments: Any, outs: int, stride: int, length: int) -> tuple[Step, ...]:
    """Tiles of 32 by 32. The columns that one launch covers start at an offset."""
    grid = (256 * up(stride, 32), outs // stride, 1)
    return (
        launch(HEADER, "col_reduce_looped", (*parameters, 32, 32), (*arguments, 0), (256, 1, 1), grid=grid),
    )


def _second_pass(parameters: Any, between: Array, out: Array, outs: int, blocks: int) -> Step:
    _, written, operator, *_ = parameters
    nothing = _shapes((), ())
    arguments = (between, out, blocks, outs, *nothing, host.ints((blocks,)), host.longs((outs,)), 1, 1)
    (step,) = _looped((written, written, operator, "int", 1), arguments, outs, outs, blocks)
    return step


def _two(parameters: Any, arguments: Any, outs: int, stride: int, length: int) -> tuple[Step, ...]:
    between = poisoned((BLOCKS, outs), arguments[1].dtype)
    first = (arguments[0], between, *arguments[2:], 0, outs // stride)
    grid = (256 * up(stride, 32), outs // stride * BLOCKS, 1)
    step = launch(HEADER, "col_reduce_2pass", (*parameters, 32, 32), first, (256, 1, 1), grid=grid)
    return step, _second_pass(parameters, between, arguments[1], outs, BLOCKS)


def _long(parameters: Any, arguments: Any, outs: int, stride: int, length: int) -> tuple[Step, ...]:
    between = poisoned((BLOCKS, outs), arguments[1].dtype)
    first = (arguments[0], between, *arguments[2:], outs)
    group = (stride, min(32, up(length, BLOCKS)), 1)
    groups = (outs // stride, 1, BLOCKS)
    step = launch(HEADER, "col_reduce_longcolumn", parameters, first, group, groups)
    return step, _second_pass(parameters, between, arguments[1], outs, BLOCKS)


def _init(rng: np.random.Generator, size: Size, op: str, type: str) -> Work:
    """What a reduction of nothing gives."""
    count = {"small": 37, "large": 2000}[size]
    _, written, operator = types(op, type)
    out = poisoned(count, host.TYPES[written])
    limits = np.iinfo(out.dtype) if out.dtype.kind in "iu" else None
    least, most = (limits.min, limits.max) if limits else (-np.inf, np.inf)
    value = {"sum": 0, "prod": 1, "min": most, "max": least, "and": True, "or": False}[op]
    grid, group = host.line(count)
    step = launch(HEADER, "init_reduce", (written, operator), (out,), group, grid=grid)
    return Work((step,), (Output("out", out, np.full(count, value), ulps=0),))


# Shapes and axes, by the kernel that the host takes for them.
ROWS = (
    ((7, 5), (1,)), ((33, 64), (1,)), ((3, 4, 7), (0, 2)), ((40, 5, 9), (0, 2)), ((9, 2, 5, 6), (0, 2, 3)),
    ((35, 70), (1,)), ((34, 600), (1,)), ((3, 130), (1,)), ((2, 3, 1100), (0, 2)), ((2, 3, 2, 90), (0, 2, 3)),
)  # fmt: skip
COLUMNS = (
    ((2, 256), (0,)), ((16, 100), (0,)), ((3, 4, 7, 5), (0, 2)), ((5, 3), (0,)), ((2, 9, 33), (1,)),
    ((40, 35), (0,)), ((3, 50, 70), (1,)), ((7, 2, 9, 33), (0, 2)),
    ((300, 40), (0,)), ((2, 260, 33), (1,)), ((1030, 5), (0,)), ((11, 2, 97, 3), (0, 2)),
)  # fmt: skip
KINDS = (
    ("sum", "float"), ("sum", "half"), ("sum", "bfloat16_t"), ("sum", "int32_t"), ("sum", "uint8_t"),
    ("sum", "int64_t"), ("sum", "complex64_t"), ("prod", "float"), ("prod", "int16_t"), ("prod", "bfloat16_t"),
    ("min", "float"), ("min", "bfloat16_t"), ("min", "int8_t"), ("min", "uint64_t"), ("max", "half"),
    ("max", "uint32_t"), ("max", "int64_t"), ("max", "float"), ("and", "bool"), ("and", "int32_t"), ("or", "int64_t"),
    ("or", "uint8_t"), ("prod", "complex64_t"), ("max", "complex64_t"),
)  # fmt: skip


def cases() -> list[Case]:
    def case(family: str, name: str, make: Any) -> Case:
        return Case("mlx", family, name, make)

    made = []
    for n, (op, type) in enumerate(KINDS):
        for count in ((5, 333, 4097)[n % 3], (130, 1000, 5000)[n % 3]):
            made.append(
                case("reduce all", f"{op} {type} {count}", partial(_all, op=op, type=type, count=count))
            )
    made += [case("reduce init", f"{op} {type}", partial(_init, op=op, type=type)) for op, type in KINDS[::2]]
    for n, (shape, axes) in enumerate(ROWS):
        for m in range(5):
            op, type = KINDS[(3 * n + 5 * m) % len(KINDS)]
            name = f"{op} {type} {'x'.join(map(str, shape))} over {axes}"
            made.append(case("reduce rows", name, partial(_rows, op=op, type=type, shape=shape, axes=axes)))
    for n, (shape, axes) in enumerate(COLUMNS):
        for m in range(6):
            op, type = KINDS[(5 * n + 4 * m) % len(KINDS)] if m else ("sum", "float")
            name = f"{op} {type} {'x'.join(map(str, shape))} over {axes}"
            make = partial(_columns, op=op, type=type, shape=shape, axes=axes)
            if name not in {c.name for c in made}:
                made.append(case("reduce columns", name, make))
    return made
