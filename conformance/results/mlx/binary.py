"""Functions of two arrays, with one result or two (DivMod): scalars, vectors, 64-bit sizes, strides of 1 to 4 axes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned
from conformance.results.mlx import host
from conformance.results.mlx.host import View
from conformance.results.mlx.templates import launch

ONE, TWO = "binary.h", "binary_two.h"
FORMS = ("ss", "sv", "vs", "vv", "sv2", "vs2", "vv2", "g_nd1", "g_nd2", "g_nd3", "g", "g large")


@dataclass(frozen=True)
class Function:
    """What it computes, from which numbers (left, right), and within how many float32 ulps."""

    of: Callable[[Any, Any], Any]
    left: tuple[float, float] = (-4, 4)
    right: tuple[float, float] = (-4, 4)
    ulps: float = 4
    times: int = 1  # it is rounded to the type on the way


def _power(x: Array, y: Array) -> Array:
    """Of integers: by repeated squaring, with wrap-around; 0 where the exponent is negative."""
    result, base = np.ones_like(x), x.copy()
    left = np.where(y < 0, 0, y)
    with np.errstate(over="ignore"):
        while left.any():
            result = np.where(left & 1, result * base, result).astype(x.dtype)
            base = (base * base).astype(x.dtype)
            left = left >> 1
    return np.where(y < 0, 0, result).astype(x.dtype)


REAL = {
    "Add": Function(np.add),
    "ArcTan2": Function(np.arctan2),
    "Divide": Function(np.divide, right=(0.5, 4)),
    "FloorDivide": Function(np.floor_divide, right=(0.5, 4), ulps=0),
    "LogAddExp": Function(np.logaddexp, times=3),
    "Maximum": Function(np.maximum, ulps=0),
    "Minimum": Function(np.minimum, ulps=0),
    "Multiply": Function(np.multiply),
    "Power": Function(np.power, left=(0.1, 3), right=(-2, 2), ulps=16),
    "Remainder": Function(np.remainder, right=(0.5, 4)),
    "Subtract": Function(np.subtract),
}
WHOLE: dict[str, Callable[[Any, Any], Any]] = {
    "Add": np.add,
    "FloorDivide": np.floor_divide,
    "Maximum": np.maximum,
    "Minimum": np.minimum,
    "Multiply": np.multiply,
    "Power": _power,
    "Remainder": np.remainder,
    "Subtract": np.subtract,
    "BitwiseAnd": np.bitwise_and,
    "BitwiseOr": np.bitwise_or,
    "BitwiseXor": np.bitwise_xor,
    "LeftShift": np.left_shift,
    "RightShift": np.right_shift,
}
TESTS: dict[str, Callable[[Any, Any], Any]] = {
    "Equal": np.equal,
    "Greater": np.greater,
    "GreaterEqual": np.greater_equal,
    "Less": np.less,
    "LessEqual": np.less_equal,
    "NaNEqual": lambda x, y: (x == y) | (np.isnan(x) & np.isnan(y)),
    "NotEqual": np.not_equal,
}
COMPLEX = {
    "Add": Function(np.add),
    "Divide": Function(np.divide, right=(0.5, 4), ulps=16),
    "LogAddExp": Function(lambda x, y: np.log(np.exp(x) + np.exp(y)), (0.2, 1), (0.2, 1), 16),
    "Multiply": Function(np.multiply, ulps=8),
    "Power": Function(np.power, (0.3, 2), (-1, 1), 64),
    "Subtract": Function(np.subtract),
}


def _numbers(
    rng: np.random.Generator, type: str, shape: tuple[int, ...], op: str, right: bool, f: Function
) -> Array:
    array = host.random(rng, type, shape, *(f.right if right else f.left))
    kind = array.dtype.kind
    if right and kind in "iu":
        if op in ("FloorDivide", "Remainder", "DivMod"):
            array[array == 0] = 3
        elif "Shift" in op:
            array = (array & (8 * array.dtype.itemsize - 1)).astype(array.dtype)
        elif op == "Power":
            array = (array % 7).astype(array.dtype)
    elif kind == "f" and op == "NaNEqual":
        array.reshape(-1)[::5] = np.nan
    elif op in ("Equal", "NotEqual", "GreaterEqual", "LessEqual") and kind in "fV":
        array = np.rint(array).astype(array.dtype)  # so that some are the same
    return array


def _work(
    rng: np.random.Generator,
    size: Size,
    op: str,
    type: str,
    out_type: str,
    form: str,
    function: Function,
    two: bool,
) -> Work:
    numbers = partial(_numbers, rng, type, op=op, f=function)
    if form.startswith("g"):
        a, b = _views(numbers, form, 1 if size == "small" else 4)
    else:
        count = (
            1 if form == "ss" else {"small": 7 * 8 * 5 + (3 if "2" not in form else 0), "large": 70056}[size]
        )
        lengths = [1 if letter == "s" else count for letter in form[:2]]
        x, y = numbers((lengths[0],), right=False), numbers((lengths[1],), right=True)
        a, b = View(x, x.shape, (1,)), View(y, y.shape, (1,))
    shape = a.shape if form.startswith("g") else (max(a.shape[0], b.shape[0]),)
    outs = [poisoned(shape, host.TYPES[out_type]) for _ in range(1 + two)]
    parameters, extra, grid, group = _launch(form, type, a, b, shape)
    step = launch(
        TWO if two else ONE,
        f"binary_{form.split()[0]}",
        (type, out_type, op, *parameters),
        (a.memory, b.memory, *outs, *extra),
        group,
        grid=grid,
    )
    return Work((step,), tuple(_outputs(outs, a.array, b.array, function)))


def _views(numbers: Callable[..., Array], form: str, scale: int) -> tuple[View, View]:
    """The left array has its axes turned round, the right one gaps or broadcast axes."""
    shape = {
        "g_nd1": (45,),
        "g_nd2": (11, 9),
        "g_nd3": (3, 10, 7),
        "g": (3, 5, 4, 3),
        "g large": (3, 2, 5, 6),
    }[form]
    shape = (shape[0] * scale, *shape[1:])
    if form == "g_nd1":
        return host.spaced(numbers((2 * shape[0],), right=False)), host.spaced(
            numbers((3 * shape[0],), right=True), 3
        )
    a = host.transposed(numbers(shape[::-1], right=False))
    if form in ("g_nd2", "g"):
        return a, host.spaced(numbers((*shape[:-1], 2 * shape[-1]), right=True))
    return a, host.broadcast(numbers((shape[0], *[1] * (len(shape) - 2), shape[-1]), right=True), shape)


def _launch(
    form: str, type: str, a: View, b: View, shape: tuple[int, ...]
) -> tuple[tuple[Any, ...], Any, Any, Any]:
    """Template arguments, arguments behind the arrays, grid and threadgroup."""
    if form == "ss":
        return (), (), *host.line(1)
    if not form.startswith("g"):
        work = host.work_per_thread(type)
        sizes = host.folded(shape[0], work) if form.endswith("2") else host.line(shape[0], work)
        return (), (shape[0],), *sizes
    steps = (host.longs(a.strides), host.longs(b.strides))
    if form.startswith("g_nd"):
        return ("int",), steps, *host.plane(shape)
    work, places = (4, "int64_t") if form == "g large" else (2, "int")
    return (work, places), (host.ints(shape), *steps, len(shape)), *host.plane(shape, work)


def _outputs(outs: list[Array], a: Array, b: Array, function: Function) -> list[Output]:
    with np.errstate(all="ignore"):
        results = function.of(host.double(a), host.double(b))
    results = results if isinstance(results, tuple) else (results,)
    if function.of in (np.floor_divide, np.divmod) and a.dtype.kind not in "iu":
        # The quotient is of the type, too: 4.99 is 5 in bfloat16, and then rounded down.
        quotient = (host.double(a) / host.double(b)).astype(a.dtype)
        results = (np.floor(host.double(quotient)), *results[1:])
    allowed = [host.rounding(out, function.ulps, function.times) if function.ulps else 0.0 for out in outs]
    return [
        Output(f"out {n}", o, r, t, ulps=0)
        for n, (o, r, t) in enumerate(zip(outs, results, allowed, strict=True))
    ]


def cases(turn: int = 0) -> list[Case]:
    """Each function in some types, in one of the forms; `turn` takes later ones, which are other kernels."""

    def case(op: str, type: str, out_type: str, form: str, function: Function, two: bool = False) -> Case:
        make = partial(_work, op=op, type=type, out_type=out_type, form=form, function=function, two=two)
        return Case("mlx", "binary two" if two else "binary", f"{op} {type} {form}", make)

    made = []
    for n, (op, function) in enumerate(REAL.items()):
        for m, type in enumerate(host.FLOATS):
            made.append(case(op, type, type, FORMS[(n + 4 * m + turn) % 12], function))
    for n, (op, of) in enumerate(WHOLE.items()):
        for m, type in enumerate(host.INTEGERS[n % 3 :: 3]):
            made.append(case(op, type, type, FORMS[(n + 5 * m + turn) % 12], Function(of, ulps=0)))
    for n, (op, of) in enumerate(TESTS.items()):
        types = ("float", "half", "int8_t", "uint64_t") if op != "NaNEqual" else ("float", "half")
        for m, type in enumerate(types):
            made.append(case(op, type, "bool", FORMS[(n + 5 * m + turn) % 12], Function(of, ulps=0)))
    for n, (op, function) in enumerate(COMPLEX.items()):
        made.append(case(op, "complex64_t", "complex64_t", FORMS[(5 * n + 3 + turn) % 12], function))
    for op, logical in (("LogicalAnd", np.logical_and), ("LogicalOr", np.logical_or)):
        made += [case(op, "bool", "bool", form, Function(logical, ulps=0)) for form in ("vv", "g_nd2", "sv2")]
    divmod_ = Function(np.divmod, right=(0.5, 4))
    for n, form in enumerate(FORMS):
        made.append(case("DivMod", "float", "float", form, divmod_, two=True))
        type = (*host.INTEGERS, "half", "bfloat16_t")[n % 10]
        exact = Function(np.divmod, right=(0.5, 4), ulps=0 if "int" in type else 4)
        made.append(case("DivMod", type, type, form, exact, two=True))
    return made
