"""Sorting and argsorting: a block per row, strided rows, several blocks that are merged; and binary search."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Step, Work, poisoned
from conformance.results.mlx import host
from conformance.results.mlx.templates import launch, up

HEADER = "sort.h"
PER_THREAD = 4


def _threads(length: int) -> int:
    """Of a block: as many as hold the row with four elements each, from 32 to 512."""
    return next((n for n in (32, 64, 128, 256) if n * PER_THREAD >= length), 512)


def _distinct(rng: np.random.Generator, type: str, rows: int, length: int) -> Array:
    """Each row in a random order; numbers that the type holds exactly (half: up to 4096 of them), so that none are
    equal."""
    order = np.stack([rng.permutation(length) for _ in range(rows)])
    shift = 0 if type.startswith("u") else length // 2
    return (order - shift).astype(host.TYPES[type])


def _block(rng: np.random.Generator, size: Size, type: str, length: int, arg: bool, layout: str) -> Work:
    """`layout`: rows, columns (the sorted axis has the largest stride), or an axis between two others."""
    rows = 3 if size == "small" else 17
    x = _distinct(rng, type, rows * 2, length)
    threads = _threads(length)
    written = "uint32_t" if arg else type
    parameters = (type, written, arg, threads, PER_THREAD)
    groups = (1, 2 * rows, 1)
    sorted_ = (np.argsort if arg else np.sort)(
        x.astype(np.float64) if x.dtype.kind not in "iu" else x, axis=-1
    )
    if layout == "rows":
        out = poisoned(x.shape, host.TYPES[written])
        arguments: tuple[Any, ...] = (x, out, length, 1, 1, length, length)
        expected = sorted_
    elif layout == "columns":
        x = np.ascontiguousarray(x.T)
        out = poisoned(x.shape, host.TYPES[written])
        arguments = (x, out, length, 2 * rows, 2 * rows, 1, 1)
        expected = sorted_.T
    else:
        x = np.ascontiguousarray(x.reshape(rows, 2, length).transpose(0, 2, 1))
        out = poisoned(x.shape, host.TYPES[written])
        steps = host.longs((2 * length, 1))
        arguments = (x, out, length, 2, 2, 2, host.ints((rows, 2)), steps, steps.copy())
        expected = sorted_.reshape(rows, 2, length).transpose(0, 2, 1)
    template = "block_sort_nc" if layout == "between" else "block_sort"
    step = launch(HEADER, template, parameters, arguments, (threads, 1, 1), groups)
    return Work((step,), (Output("out", out, expected, ulps=0),))


def _blocks(rng: np.random.Generator, size: Size, type: str, length: int) -> Work:
    """Sorted blocks, then pairs of runs merged until one is left, from one pair of buffers into the other."""
    threads, rows = (32, 2) if size == "small" else (256 if host.TYPES[type].itemsize == 8 else 512, 3)
    length = length if size == "small" else min(16 * length, 4096 if type == "half" else 1 << 16)
    x = _distinct(rng, type, rows, length)
    count = up(length, threads * PER_THREAD)
    parameters = (type, "uint32_t", True, threads, PER_THREAD)
    here = poisoned(x.shape, x.dtype), poisoned(x.shape, np.uint32)
    there = poisoned(x.shape, x.dtype), poisoned(x.shape, np.uint32)
    places = poisoned((rows, count + 1), np.uint32)
    group, groups = (threads, 1, 1), (count, rows, 1)
    first = (x, *here, length, 1, 1, host.ints((rows,)), host.longs((length,)))
    steps: list[Step] = [launch(HEADER, "mb_block_sort", parameters, first, group, groups)]
    tiles = 2
    while tiles // 2 < count:
        search = (places, *here, length, tiles, count)
        each = (min(count + 1, 1024), 1, 1)
        steps.append(launch(HEADER, "mb_block_partition", parameters, search, each, (1, rows, 1)))
        merge = (places, *here, *there, length, tiles, count)
        steps.append(launch(HEADER, "mb_block_merge", parameters, merge, group, groups))
        here, there, tiles = there, here, 2 * tiles
    order = np.argsort(x.astype(np.float64) if x.dtype.kind not in "iu" else x, axis=-1)
    values = np.take_along_axis(x, order, -1)
    return Work(
        tuple(steps), (Output("values", here[0], values, ulps=0), Output("order", here[1], order, ulps=0))
    )


def _nan(rng: np.random.Generator, size: Size, type: str) -> Work:
    """NaNs come last; so do infinities before them."""
    length = {"small": 77, "large": 801}[size]
    x = _distinct(rng, type, 2, length)
    x[:, ::9] = np.nan
    x[:, 1] = np.inf
    out = poisoned(x.shape, x.dtype)
    threads = _threads(length)
    arguments = (x, out, length, 1, 1, length, length)
    step = launch(
        HEADER, "block_sort", (type, type, False, threads, PER_THREAD), arguments, (threads, 1, 1), (1, 2, 1)
    )
    return Work((step,), (Output("out", out, np.sort(host.double(x), -1), ulps=0),))


def _search(rng: np.random.Generator, size: Size, type: str, right: bool, stride: int) -> Work:
    """Where numbers belong in a sorted row of every `stride`th element."""
    length, count = {"small": (61, 100), "large": (5003, 3000)}[size]
    numbers = np.sort(host.double(host.random(rng, type, (length,), -9, 9))).astype(host.TYPES[type])
    a = poisoned(length * stride, numbers.dtype)
    a[::stride] = numbers
    v = host.random(rng, type, (count,), -10, 10)
    v[::3] = rng.choice(numbers, v[::3].shape)
    out = poisoned(count, np.uint32)
    grid, group = host.line(count)
    step = launch(
        "searchsorted.h", "searchsorted", (type, right), (a, v, out, length, stride), group, grid=grid
    )
    expected = np.searchsorted(host.double(numbers), host.double(v), "right" if right else "left")
    return Work((step,), (Output("out", out, expected, ulps=0),))


def cases() -> list[Case]:
    made = []
    types = ("float", "half", "bfloat16_t", "int8_t", "uint16_t", "int32_t", "int64_t", "uint64_t")
    for n, type in enumerate(types):
        for m, layout in enumerate(("rows", "columns", "between")):
            length = ((5, 130, 61), (33, 100, 17), (127, 64, 90))[m][n % 3]
            arg = (n + m) % 2 == 0
            name = f"{'argsort' if arg else 'sort'} {type} {length} {layout}"
            made.append(
                Case("mlx", "sort", name, partial(_block, type=type, length=length, arg=arg, layout=layout))
            )
    for type, length in (
        ("float", 300),
        ("int32_t", 129),
        ("int64_t", 515),
        ("half", 400),
        ("uint32_t", 257),
    ):
        made.append(
            Case("mlx", "sort", f"blocks {type} {length}", partial(_blocks, type=type, length=length))
        )
    made += [Case("mlx", "sort", f"NaN {type}", partial(_nan, type=type)) for type in ("float", "half")]
    for n, type in enumerate(("float", "half", "bfloat16_t", "int8_t", "uint32_t", "int64_t")):
        for right in (False, True):
            name = f"{type} {'right' if right else 'left'}"
            made.append(
                Case("mlx", "searchsorted", name, partial(_search, type=type, right=right, stride=1 + n % 3))
            )
    return made
