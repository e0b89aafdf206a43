"""Gather and scatter, along an axis too, masked assignment, and slices that are updated with an operator.

The kernels of gather and scatter are texts that the host fills in; here by `filled`, from the header that holds them.
"""

from __future__ import annotations

import re
from functools import cache, partial
from itertools import product
from typing import Any

import numpy as np

from conformance.mlx_headers import KERNELS, include_folder
from conformance.results.case import Argument, Array, Case, Output, Size, Step, Work, poisoned
from conformance.results.mlx import host
from conformance.results.mlx.templates import launch, up
from metalloid.source import Source

INDEX = {
    "int32_t": np.int32,
    "uint32_t": np.uint32,
    "int64_t": np.int64,
    "uint8_t": np.uint8,
    "int16_t": np.int16,
}
KINDS = (
    ("float", "int32_t"), ("bfloat16_t", "uint32_t"), ("int64_t", "int64_t"), ("bool", "uint8_t"),
    ("complex64_t", "int16_t"), ("half", "int32_t"),
)  # fmt: skip
SCATTERS = (
    ("float", "Sum"), ("int32_t", "Max"), ("half", "Sum"), ("uint8_t", "Min"), ("bfloat16_t", "Prod"),
    ("float", "Prod"), ("int16_t", "Sum"), ("float", "None"), ("int8_t", "None"), ("float", "Max"),
)  # fmt: skip
UPDATES: dict[str, Any] = {"Sum": np.add, "Prod": np.multiply, "Max": np.maximum, "Min": np.minimum}


@cache
def filled(pattern: str, header: str, type: str, index: str, *rest: Any) -> tuple[Source, str]:
    """The source of a gather or scatter kernel for so many index arrays, and its name."""
    text = (include_folder() / "mlx/backend/metal/jit/indexing.h").read_text(encoding="utf-8")
    texts = dict(re.findall(r'(\w+) = R"\((.*?)\)"', text, re.DOTALL))
    before, count, after = rest
    declared = "\n".join(f"const device {index}* idx{i} [[buffer({20 + i})]]," for i in range(count))
    listed = ", ".join(f"idx{i}" for i in range(count))
    body = texts[pattern].format("_x", type, index, *before, count, declared, listed, *after)
    includes = ("utils.h", "reduce_utils.h", header) if "scatter" in header else ("utils.h", header)
    head = "".join(f'#include "{KERNELS}/{part}"\n' for part in includes)
    found = re.search(r"void (\w+)\(", body)
    assert found is not None
    return Source(head + body, name=header, include=(include_folder(),), math="safe"), found.group(1)


def _indices(
    rng: np.random.Generator, index: str, length: int, shape: tuple[int, ...], distinct: bool = False
) -> Array:
    """Signed ones count from the end too."""
    if distinct:
        picked = rng.permutation(length)[: int(np.prod(shape))].reshape(shape)
    else:
        picked = rng.integers(0, length, shape)
    if not index.startswith("u"):
        picked = picked - length * (rng.random(shape) < 0.4)
    return np.asarray(picked).astype(INDEX[index])


def _steps(array: Array) -> tuple[int, ...]:
    return tuple(s // array.itemsize for s in array.strides)


def _gather(
    rng: np.random.Generator, size: Size, type: str, index: str, axes: tuple[int, ...], at: tuple[int, ...]
) -> Work:
    """From an array of three axes: indices along `axes`, of the shape `at`, whole slices along the others."""
    shape = (7, 5, 6) if size == "small" else (40, 31, 20)
    at = at if size == "small" else tuple(5 * n for n in at)
    x = host.random(rng, type, shape)
    slices = tuple(1 if a in axes else n for a, n in enumerate(shape))
    picks = [_indices(rng, index, shape[a], at) for a in axes]
    source, name = filled("gather_kernels", "indexing/gather.h", type, index, (), len(axes), (len(at), "int"))
    out = poisoned((*at, *slices), x.dtype)
    each = int(np.prod(slices))
    first = at[0] if at else 1
    grid = (first, int(np.prod(at)) // first if len(at) > 1 else 1, each)
    count = len(axes)
    arguments: tuple[Argument, ...] = (
        x, out, host.ints(shape), host.longs(_steps(x)), 3, host.ints(slices), host.ints(axes),
        host.ints(at * count), host.longs(sum((_steps(p) for p in picks), ())), np.ones(count, np.bool_), len(at),
        *picks,
    )  # fmt: skip
    step = Step(source, name, arguments, host.block(*grid), grid=grid)
    expected = np.empty_like(out)
    for place in product(*map(range, at)):
        where = [slice(None)] * 3
        for a, p in zip(axes, picks, strict=True):
            one = int(p[place]) % shape[a]
            where[a] = slice(one, one + 1)
        expected[place] = x[tuple(where)]
    return Work((step,), (Output("out", out, expected, ulps=0),))


def _scatter(
    rng: np.random.Generator, size: Size, type: str, index: str, op: str, axes: tuple[int, ...], at: tuple[int, ...],
    work: int,
) -> Work:  # fmt: skip
    """Into an array of three axes. Numbers are small and whole (powers of two for products): no order matters."""
    shape = (7, 6, 8) if size == "small" else (40, 32, 20)
    out = _small_numbers(rng, type, op, shape)
    slices = tuple(1 if a in axes else n for a, n in enumerate(shape))
    picks = [_indices(rng, index, shape[a], at, distinct=op == "None") for a in axes]
    updates = _small_numbers(rng, type, op, (*at, *slices))
    operator = "None" if op == "None" else f"{op}<{type}>"
    source, name = filled(
        "scatter_kernels", "indexing/scatter.h", type, index, (operator,), len(axes), ("true", work, "int")
    )
    each, many, count = int(np.prod(slices)), int(np.prod(at)), len(axes)
    expected = out.copy()
    for place in product(*map(range, at)):
        where = tuple(
            slice(one := int(picks[axes.index(a)][place]) % shape[a], one + 1) if a in axes else slice(None)
            for a in range(3)
        )
        expected[where] = updates[place] if op == "None" else UPDATES[op](expected[where], updates[place])
    arguments: tuple[Argument, ...] = (
        updates, out, host.ints(updates.shape), host.longs(_steps(updates)), updates.ndim, each, host.ints(shape),
        host.longs(_steps(out)), 3, host.ints(axes), host.ints(at * count),
        host.longs(sum((_steps(p) for p in picks), ())), np.ones(count, np.bool_), len(at), many, *picks,
    )  # fmt: skip
    grid = (each, up(many, work), 1)
    return Work(
        (Step(source, name, arguments, host.block(*grid), grid=grid),),
        (Output("out", out, expected, ulps=0),),
    )


def _small_numbers(rng: np.random.Generator, type: str, op: str, shape: tuple[int, ...]) -> Array:
    low = 0 if type.startswith("u") else -4
    numbers = rng.integers(low, 5, shape) if op != "Prod" else rng.choice([1, 2, 1, 1], shape)
    return numbers.astype(host.TYPES[type])


def _along(
    rng: np.random.Generator, size: Size, type: str, index: str, axis: int, whole: tuple[bool, bool]
) -> Work:
    """take_along_axis; `whole` says whether the array and the indices lie row after row, or the other way round."""
    shape = (4, 6, 5) if size == "small" else (13, 40, 21)
    length = 9
    picked = tuple(length if a == axis else n for a, n in enumerate(shape))
    x, idx = host.random(rng, type, shape), _indices(rng, index, shape[axis], picked)
    placed = [np.asarray(v if c else np.asfortranarray(v)) for v, c in zip((x, idx), whole, strict=True)]
    memory = [np.ascontiguousarray(v if c else v.T) for v, c in zip(placed, whole, strict=True)]
    out = poisoned(picked, x.dtype)
    step = _axis_step("gather_axis", (type, index, "int", *whole), memory, out, picked, axis, shape[axis],
                      [_steps(v) for v in placed])  # fmt: skip
    positive = idx.astype(np.int64) % shape[axis]
    return Work((step,), (Output("out", out, np.take_along_axis(x, positive, axis), ulps=0),))


def _axis_step(
    template: str, parameters: tuple[Any, ...], memory: list[Array], out: Array, picked: tuple[int, ...], axis: int,
    length: int, steps: list[tuple[int, ...]],
) -> Step:  # fmt: skip
    def others(numbers: tuple[int, ...]) -> tuple[int, ...]:
        return numbers[:axis] + numbers[axis + 1 :]

    grid = (int(np.prod(picked[axis + 1 :])), picked[axis], int(np.prod(picked[:axis])))
    arguments: tuple[Argument, ...] = (
        *memory, out, host.ints(others(picked)), host.longs(others(steps[0])), host.longs(others(steps[1])),
        len(picked) - 1, axis, length, steps[0][axis], steps[1][axis],
    )  # fmt: skip
    header = f"indexing/{template}.h"
    return launch(header, template, parameters, arguments, host.block(*grid), grid=grid)


def _put_along(
    rng: np.random.Generator, size: Size, type: str, index: str, op: str, axis: int, whole: tuple[bool, bool]
) -> Work:
    """put_along_axis, or the sum of what is put to one place."""
    shape = (4, 6, 8) if size == "small" else (13, 40, 20)
    length = 3
    picked = tuple(length if a == axis else n for a, n in enumerate(shape))
    out = _small_numbers(rng, type, op, shape)
    order = rng.random(shape).argsort(axis).take(range(length), axis) if op == "None" else None
    idx = order.astype(INDEX[index]) if order is not None else _indices(rng, index, shape[axis], picked)
    updates = _small_numbers(rng, type, op, picked)
    placed = [
        np.asarray(v if c else np.asfortranarray(v)) for v, c in zip((updates, idx), whole, strict=True)
    ]
    memory = [np.ascontiguousarray(v if c else v.T) for v, c in zip(placed, whole, strict=True)]
    expected = out.copy()
    for place in product(*map(range, picked)):
        target = tuple(int(idx[place]) % shape[axis] if a == axis else p for a, p in enumerate(place))
        one = updates[place]
        expected[target] = one if op == "None" else UPDATES[op](expected[target], one)
    operator = "None" if op == "None" else f"{op}<{type}>"
    step = _axis_step("scatter_axis", (type, index, "int", operator, *whole), memory, out, picked, axis, shape[axis],
                      [_steps(v) for v in placed])  # fmt: skip
    return Work((step,), (Output("out", out, expected, ulps=0),))


def _front(rng: np.random.Generator, size: Size, type: str, index: str, columns: int, places: str) -> Work:
    """Whole rows."""
    rows, count = {"small": (11, 13), "large": (300, 200)}[size]
    x, idx = host.random(rng, type, (rows, columns)), _indices(rng, index, rows, (count,))
    out = poisoned((count, columns), x.dtype)
    work = 2 if columns > 8 and x.itemsize < 4 else 1
    grid = (up(columns, work), count, 1)
    arguments = (x, idx, out, columns, rows)
    parameters = (type, index, places, work)
    step = launch(
        "indexing/gather_front.h", "gather_front", parameters, arguments, host.block(*grid), grid=grid
    )
    return Work((step,), (Output("out", out, x[idx.astype(np.int64) % rows], ulps=0),))


def _masked(rng: np.random.Generator, size: Size, type: str, whole: bool) -> Work:
    """The n-th place that is set gets the n-th number of its batch; the last places find none left."""
    batches, each = {"small": (3, 50), "large": (5, 3000)}[size]
    mask = host.random(rng, "bool", (batches, each))
    offsets = (np.cumsum(mask, -1) - mask).astype(np.uint32)
    few = int(mask.sum(-1).min()) - 2
    source = host.random(rng, type, (batches, few))
    memory = source if whole else np.ascontiguousarray(source.T)
    out = host.random(rng, type, mask.shape)
    expected = out.copy()
    for b in range(batches):
        places = np.flatnonzero(mask[b])[:few]
        expected[b, places] = source[b, : len(places)]
    strides = (few, 1) if whole else (1, batches)
    arguments = (mask, offsets, memory, out, host.ints((batches, few)), host.longs(strides), 2, few, each)
    grid, group = host.line(mask.size)
    step = launch(
        "indexing/masked_scatter.h", "masked_assign_impl", (type, whole), arguments, group, grid=grid
    )
    return Work((step,), (Output("out", out, expected, ulps=0),))


def _slice(
    rng: np.random.Generator, size: Size, type: str, op: str, axes: int, work: int, scalar: bool
) -> Work:
    """Every second row of an array, from an offset, combined with an update of its own strides, or one number."""
    shape = ((12,), (5, 8), (3, 4, 8), (2, 3, 2, 8))[axes - 1]
    shape = (shape[0] * (1 if size == "small" else 6), *shape[1:])
    out = host.random(rng, type, (2 * shape[0] + 1, *shape[1:]))
    updates = host.random(rng, type, (1,) if scalar else shape[::-1])
    steps = _steps(out)
    strides, offset = (2 * steps[0], *steps[1:]), steps[0]
    given = (0,) * axes if scalar else _steps(updates.T)
    expected = out.copy()
    target = expected[1::2]
    with np.errstate(over="ignore"):
        target[...] = UPDATES[op](target, updates[0] if scalar else updates.T)
    parameters = (type, "int", f"{op}<{type}>", False, False, scalar, work, axes if axes < 4 else 0)
    arguments = (
        updates,
        out,
        host.ints(shape),
        host.longs(given),
        axes,
        int(np.prod(shape)),
        host.longs(strides),
        offset,
    )
    grid, group = host.plane(shape, work)
    step = launch("indexing/scatter.h", "slice_update_op_impl", parameters, arguments, group, grid=grid)
    exact = op in ("Max", "Min") or "int" in type
    return Work((step,), (Output("out", out, expected, 0.0 if exact else host.rounding(out), ulps=0),))


def _whole_slice(rng: np.random.Generator, size: Size, type: str, op: str, work: int, scalar: bool) -> Work:
    """A contiguous part of an array."""
    count = {"small": 96, "large": 6000}[size]
    out, updates = host.random(rng, type, (count + 20,)), host.random(rng, type, (1 if scalar else count,))
    expected = out.copy()
    expected[9 : 9 + count] = UPDATES[op](expected[9 : 9 + count], updates)
    parameters = (type, "int", f"{op}<{type}>", True, True, scalar, work, 1)
    arguments = (updates, out, host.ints((count,)), host.longs((1,)), 1, count, host.longs((1,)), 9)
    grid, group = host.line(count, work)
    step = launch("indexing/scatter.h", "slice_update_op_impl", parameters, arguments, group, grid=grid)
    exact = op in ("Max", "Min") or "int" in type
    return Work((step,), (Output("out", out, expected, 0.0 if exact else host.rounding(out), ulps=0),))


def cases() -> list[Case]:
    def case(family: str, name: str, make: Any) -> Case:
        return Case("mlx", family, name, make)

    made = []
    gathers = (
        ((0,), (4,)),
        ((1,), (2, 3)),
        ((2,), ()),
        ((0, 2), (5,)),
        ((0, 1), (2, 3)),
        ((0, 1, 2), (3, 2, 2)),
    )
    for n, (axes, at) in enumerate(gathers):
        for type, index in (KINDS[n], KINDS[(n + 2) % 6]):
            name = f"gather {type} {index} {axes} {at}"
            made.append(case("gather", name, partial(_gather, type=type, index=index, axes=axes, at=at)))
    for n, (type, op) in enumerate(SCATTERS):
        axes, at = (((0,), (5,)), ((1,), (3, 2)), ((0, 2), (4,)))[n % 3]
        index = ("int32_t", "uint32_t", "int64_t")[n % 3]
        work = 1 if len(at) < 2 else 4
        name = f"scatter {op} {type} {index} {axes} {at}"
        make = partial(_scatter, type=type, index=index, op=op, axes=axes, at=at, work=work)
        made.append(case("scatter", name, make))
    for n, whole in enumerate(((True, True), (True, False), (False, True), (False, False))):
        for m, (type, index) in enumerate((KINDS[n], KINDS[(n + 3) % 6])):
            axis = (n + m) % 3
            name = f"gather_axis {type} {index} {axis} {whole}"
            made.append(case("gather", name, partial(_along, type=type, index=index, axis=axis, whole=whole)))
        for m, (type, op) in enumerate((SCATTERS[(2 * n) % 8], ("float", "None"))):
            axis = (n + m + 1) % 3
            name = f"scatter_axis {op} {type} {axis} {whole}"
            make = partial(_put_along, type=type, index="int32_t", op=op, axis=axis, whole=whole)
            made.append(case("scatter", name, make))
    for n, (type, index) in enumerate(KINDS[:4]):
        columns, places = (7, 33, 10, 64)[n], ("int", "int64_t")[n % 2]
        make = partial(_front, type=type, index=index, columns=columns, places=places)
        made.append(case("gather", f"gather_front {type} {columns}", make))
    for n, type in enumerate(("float", "bfloat16_t", "int32_t", "int8_t")):
        made.append(case("scatter", f"masked_assign {type}", partial(_masked, type=type, whole=n % 2 == 0)))
    for n, (type, op) in enumerate(
        (("float", "Sum"), ("half", "Max"), ("int32_t", "Prod"), ("uint8_t", "Min"))
    ):
        for scalar in (False, True):
            name = f"slice_update {op} {type} {n + 1} axes{' scalar' * scalar}"
            make = partial(_slice, type=type, op=op, axes=n + 1, work=(1, 2, 4, 1)[n], scalar=scalar)
            made.append(case("scatter", name, make))
            name = f"slice_update {op} {type} contiguous{' scalar' * scalar}"
            made.append(case("scatter", name, partial(_whole_slice, type=type, op=op, work=4, scalar=scalar)))
    return made
