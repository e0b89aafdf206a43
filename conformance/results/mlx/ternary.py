"""Select: both operands whole or one of them a scalar, 64-bit sizes, strides of 1 to 4 axes."""

from __future__ import annotations

from functools import partial

import numpy as np

from conformance.results.case import Case, Output, Size, Work, poisoned
from conformance.results.mlx import host
from conformance.results.mlx.host import View
from conformance.results.mlx.templates import launch

HEADER = "ternary.h"
SHAPES = {"g_nd1": (45,), "g_nd2": (11, 9), "g_nd3": (3, 10, 7), "g": (3, 5, 4, 3), "g large": (3, 2, 5, 6)}


def _contiguous(
    rng: np.random.Generator, size: Size, type: str, form: str, scalars: tuple[bool, bool]
) -> Work:
    """`form` v: an element per thread; vn: several; v2: several, with a size of 64 bits."""
    count = {"small": 280 if form == "v2" else 283, "large": 70056}[size]
    mask = host.random(rng, "bool", (count,))
    x, y = (host.random(rng, type, (1 if scalar else count,)) for scalar in scalars)
    out = poisoned(count, host.TYPES[type])
    work = 1 if form == "v" else host.work_per_thread(type)
    grid, group = host.folded(count, work) if form == "v2" else host.line(count, work)
    parameters = (type, "Select", *scalars, *([1] if form == "v" else []))
    template = "ternary_v2" if form == "v2" else "ternary_v"
    step = launch(HEADER, template, parameters, (mask, x, y, out, count), group, grid=grid)
    return Work((step,), (Output("out", out, np.where(mask, x, y), ulps=0),))


def _strided(rng: np.random.Generator, size: Size, type: str, form: str) -> Work:
    """The condition is broadcast along the last axis, the first operand turned round, the second one spaced."""
    shape = SHAPES[form]
    shape = (shape[0] * (1 if size == "small" else 5), *shape[1:])
    mask = host.broadcast(host.random(rng, "bool", (*shape[:-1], 1)), shape)
    if len(shape) == 1:
        mask = host.spaced(host.random(rng, "bool", (4 * shape[0],)), 4)
        x = View(memory := host.random(rng, type, shape), shape, (1,))
        assert memory.size
    else:
        x = host.transposed(host.random(rng, type, shape[::-1]))
    y = host.spaced(host.random(rng, type, (*shape[:-1], 2 * shape[-1])))
    out = poisoned(shape, host.TYPES[type])
    steps = [host.longs(v.strides) for v in (mask, x, y)]
    work, places = {"g": (2, "int"), "g large": (4, "int64_t")}.get(form, (1, "int"))
    sizes = [host.ints(shape)] if form.startswith("g") and "nd" not in form else []
    count = [len(shape)] if sizes else []
    grid, group = host.plane(shape, work)
    step = launch(
        HEADER,
        f"ternary_{form.split()[0]}",
        (type, "Select", *([work] if sizes else []), places),
        (mask.memory, x.memory, y.memory, out, *sizes, *steps, *count),
        group,
        grid=grid,
    )
    return Work((step,), (Output("out", out, np.where(mask.array, x.array, y.array), ulps=0),))


def cases() -> list[Case]:
    made = []
    types = ("float", "bfloat16_t", "int8_t", "int64_t", "complex64_t", "bool", "half", "uint32_t")
    whole = [(form, s) for form in ("v", "vn", "v2") for s in ((False, False), (True, False), (False, True))]
    for n, (form, scalars) in enumerate(whole):
        for type in (types[n % 8], types[(n + 3) % 8]):
            name = f"{type} {form}{' scalar x' * scalars[0]}{' scalar y' * scalars[1]}"
            make = partial(_contiguous, type=type, form=form, scalars=scalars)
            made.append(Case("mlx", "ternary", name, make))
    for n, form in enumerate(SHAPES):
        for type in (types[n], types[(n + 4) % 8]):
            made.append(Case("mlx", "ternary", f"{type} {form}", partial(_strided, type=type, form=form)))
    return made
