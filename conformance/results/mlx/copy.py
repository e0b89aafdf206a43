"""Copies and casts: scalars, vectors, strided sources, strided sources and targets, and offsets known on the device."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned
from conformance.results.mlx import host
from conformance.results.mlx.host import View
from conformance.results.mlx.templates import launch

HEADER = "copy.h"
SHAPES = {"nd1": (45,), "nd2": (11, 9), "nd3": (3, 10, 7), "": (3, 5, 4, 8), "large": (2, 3, 5, 8)}
CASTS = (
    ("float", "half"), ("float", "bfloat16_t"), ("half", "float"), ("bfloat16_t", "float"), ("bfloat16_t", "half"),
    ("float", "int32_t"), ("int32_t", "float"), ("int64_t", "int32_t"), ("uint8_t", "int64_t"), ("float", "bool"),
    ("bool", "float"), ("float", "complex64_t"), ("complex64_t", "float"), ("int8_t", "uint16_t"), ("half", "bool"),
    ("uint64_t", "half"), ("int16_t", "bfloat16_t"), ("uint32_t", "uint8_t"), ("complex64_t", "bool"),
)  # fmt: skip
SAME = ("float", "bfloat16_t", "uint8_t", "int64_t", "complex64_t", "bool")


def _cast(array: Array, type: str) -> Array:
    """As Metal converts: to the nearest for floats, towards zero for integers, the real part of complex numbers."""
    dtype = host.TYPES[type]
    if dtype.kind == "b":
        return np.asarray(array != 0)
    if array.dtype.kind == "c" and dtype.kind != "c":
        array = array.real
    if array.dtype.name == "bfloat16" or dtype.name == "bfloat16":
        array = array.astype(np.float32)
    return array.astype(dtype)


def _source(rng: np.random.Generator, type: str, target: str, shape: tuple[int, ...]) -> Array:
    """No negative floats for unsigned targets, where the conversion is not defined; some zeros for bool."""
    low = 0 if target.startswith("u") else -100
    array = host.random(rng, type, shape, low, 100)
    if target == "bool":
        array.reshape(-1)[::3] = 0
    return array


def _vector(rng: np.random.Generator, size: Size, type: str, target: str, form: str) -> Work:
    """`s`: one number everywhere; `v`: all of them. A 2: sizes of 64 bits. n: as many per thread as fill 8 bytes."""
    count = {"small": 280 if "2" in form else 283, "large": 70056}[size]
    x = _source(rng, type, target, (1 if form[0] == "s" else count,))
    out = poisoned(count, host.TYPES[target])
    work = host.work_per_thread(target) if "1" not in form else 1
    grid, group = host.folded(count, work) if "2" in form else host.line(count, work)
    parameters = (type, target, *([1] if "1" in form else []))
    step = launch(
        HEADER, f"copy_{form[0]}{'2' * ('2' in form)}", parameters, (x, out, count), group, grid=grid
    )
    return Work((step,), (Output("out", out, np.broadcast_to(_cast(x, target), (count,)), ulps=0),))


def _general(rng: np.random.Generator, size: Size, type: str, target: str, form: str, axes: str) -> Work:
    """From a view, turned round or reversed, to a whole array (g), or to a view (gg) at offsets (gg_dynamic)."""
    shape = SHAPES[axes]
    shape = (shape[0] * (1 if size == "small" else 5), *shape[1:])
    source = _view(_source(rng, type, target, shape[::-1]), form)
    if form == "g":
        out = View(poisoned(shape, host.TYPES[target]), shape, (1,))
    else:
        room = poisoned((*shape[:-1], 2 * shape[-1] + 3), host.TYPES[target])
        out = host.spaced(room)
        out = View(room, shape, out.strides, 3 if form == "gg_dynamic" else 0)
    offsets = (source.offset, out.offset) if form == "gg_dynamic" else ()
    work, places = {"": (4, "int"), "large": (2, "int64_t")}.get(axes, (1, "int"))
    general = axes in ("", "large")
    arguments: tuple[Any, ...] = (source.memory, out.memory)
    arguments += (host.ints(shape),) if general else ()
    arguments += (host.longs(source.strides), *([host.longs(out.strides)] if form != "g" else []))
    arguments += (len(shape),) if general else ()
    grid, group = host.plane(shape, work)
    step = launch(
        HEADER,
        f"copy_{form}{'' if general else '_' + axes}",
        (type, target, *([work] if general else []), places),
        (*arguments, *offsets),
        group,
        grid=grid,
    )
    return Work((step,), _outputs(out, _cast(source.array, target), form))


def _view(memory: Array, form: str) -> View:
    return host.reversed_(np.ascontiguousarray(memory.T)) if form == "gg_dynamic" else host.transposed(memory)


def _outputs(out: View, expected: Array, form: str) -> tuple[Output, ...]:
    """The elements, and that the gaps between them are as they were."""
    if form == "g":
        return (Output("out", out.memory, expected, ulps=0),)
    left = out.memory.copy()
    View(left, out.shape, out.strides, out.offset).array[...] = expected
    return (Output("out", out.memory, left, ulps=0),)


def cases() -> list[Case]:
    made = []
    for n, (type, target) in enumerate(CASTS):
        for form in (("v", "v1", "s")[n % 3], ("v2", "s2", "v")[n % 3]):
            name = f"{type} to {target} {form}"
            made.append(Case("mlx", "copy", name, partial(_vector, type=type, target=target, form=form)))
    for n, form in enumerate(("g", "gg", "gg_dynamic")):
        for m, axes in enumerate(SHAPES):
            pairs = [(SAME[(n + m) % 6],) * 2, CASTS[(4 * n + 3 * m) % len(CASTS)]]
            for type, target in pairs:
                name = f"{type} to {target} {form} {axes or 'nd4'}"
                made.append(
                    Case(
                        "mlx", "copy", name, partial(_general, type=type, target=target, form=form, axes=axes)
                    )
                )
    return made
