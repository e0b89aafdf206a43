"""Functions of one array: contiguous with one or several elements per thread, 64-bit sizes, and strided."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from math import erf
from typing import Any

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Work, poisoned
from conformance.results.mlx import host
from conformance.results.mlx.templates import launch

HEADER = "unary.h"


@dataclass(frozen=True)
class Function:
    """What it computes, from which numbers, and within how many float32 ulps of the largest result."""

    of: Callable[[Any], Any]
    low: float = -4
    high: float = 4
    ulps: float = 4
    times: int = 1  # it is rounded to the type on the way


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


def _erfinv(x: Array) -> Array:
    """By Newton's method on erf, from Winitzki's guess."""
    a = 0.147
    part = np.log(1 - x * x) / 2 + 2 / (np.pi * a)
    y = np.copysign(np.sqrt(np.sqrt(part**2 - np.log(1 - x * x) / a) - part), x)
    for _ in range(4):
        y = y - (_erf(y) - x) / (2 / np.sqrt(np.pi) * np.exp(-y * y))
    return np.asarray(y)


def _erf(x: Array) -> Array:
    return np.asarray(np.vectorize(erf, otypes=[np.float64])(x))


REAL = {
    "Abs": Function(np.abs, ulps=0),
    "ArcCos": Function(np.arccos, -1, 1),
    "ArcCosh": Function(np.arccosh, 1, 9),
    "ArcSin": Function(np.arcsin, -1, 1),
    "ArcSinh": Function(np.arcsinh),
    "ArcTan": Function(np.arctan),
    "ArcTanh": Function(np.arctanh, -0.9, 0.9),
    "Ceil": Function(np.ceil, ulps=0),
    "Cos": Function(np.cos, -30, 30),
    "Cosh": Function(np.cosh),
    "Erf": Function(_erf, ulps=8),
    "ErfInv": Function(_erfinv, -0.95, 0.95),
    "Exp": Function(np.exp),
    "Expm1": Function(
        np.expm1, ulps=90
    ),  # it leaves out the low half of log(2): see docs/found-in-the-wild.md
    "Floor": Function(np.floor, ulps=0),
    "Log": Function(np.log, 0.01, 50),
    "Log10": Function(np.log10, 0.01, 50),
    "Log1p": Function(np.log1p, -0.9, 50),
    "Log2": Function(np.log2, 0.01, 50),
    "Negative": Function(np.negative, ulps=0),
    "Round": Function(np.rint, ulps=0),
    "Rsqrt": Function(lambda x: 1 / np.sqrt(x), 0.01, 50),
    "Sigmoid": Function(_sigmoid, times=3),
    "Sign": Function(np.sign, ulps=0),
    "Sin": Function(np.sin, -30, 30),
    "Sinh": Function(np.sinh),
    "Sqrt": Function(np.sqrt, 0, 50),
    "Square": Function(np.square),
    "Tan": Function(np.tan, -1.4, 1.4),
    "Tanh": Function(np.tanh),
}
COMPLEX = {
    "Abs": Function(lambda z: np.abs(z).astype(np.complex128)),
    "ArcCos": Function(np.arccos, 0.1, 0.8, 16),
    "ArcSin": Function(np.arcsin, 0.1, 0.8, 32),  # MLX's formula cancels where the imaginary part is small
    "ArcTan": Function(np.arctan, 0.1, 0.8, 16),
    "Conjugate": Function(np.conjugate, ulps=0),
    "Cos": Function(np.cos, ulps=8),
    "Cosh": Function(np.cosh, ulps=8),
    "Exp": Function(np.exp, ulps=8),
    "Log": Function(np.log, ulps=8),
    "Log10": Function(np.log10, ulps=8),
    "Log1p": Function(np.log1p, 0.1, 3, 8),
    "Log2": Function(np.log2, ulps=8),
    "Negative": Function(np.negative, ulps=0),
    "Round": Function(lambda z: np.rint(z.real) + 1j * np.rint(z.imag), ulps=0),
    "Rsqrt": Function(lambda z: 1 / np.sqrt(z), 0.2, 4, 8),
    "Sign": Function(lambda z: z / np.abs(z), ulps=8),
    "Sin": Function(np.sin, ulps=8),
    "Sinh": Function(np.sinh, ulps=8),
    "Sqrt": Function(np.sqrt, 0.5, 4, 8),  # the root of |z| - x has no digits where y is small beside x
    "Square": Function(np.square, ulps=8),
    "Tan": Function(np.tan, 0.1, 1.2, 32),
    "Tanh": Function(np.tanh, 0.1, 1.2, 32),
}
WHOLE = {
    "Abs": np.abs,
    "Negative": np.negative,
    "Sign": np.sign,
    "Square": np.square,
    "BitwiseInvert": np.invert,
}
FORMS = ("v", "vn", "v2", "g 2-D", "gn4 3-D", "g 4-D")


def _work(
    rng: np.random.Generator,
    size: Size,
    op: str,
    type: str,
    out_type: str,
    form: str,
    function: Function,
) -> Work:
    if form.startswith("g"):
        return _strided(rng, size, op, type, out_type, form, function)
    count = {"small": 259, "large": 70007}[size]
    x = host.random(rng, type, (count,), function.low, function.high)
    out = poisoned(count, host.TYPES[out_type])
    work = 1 if form == "v" else host.work_per_thread(type)
    if form == "v2":
        count -= count % (7 * work)
        x, out = x[:count].copy(), out[:count].copy()
        grid, group = host.folded(count, work)
    else:
        grid, group = host.line(count, work)
    parameters = (type, out_type, op, 1) if form == "v" else (type, out_type, op)
    template = "unary_v2" if form == "v2" else "unary_v"
    step = launch(HEADER, template, parameters, (x, out, count), group, grid=grid)
    return Work((step,), (_output(out, x, function),))


def _strided(
    rng: np.random.Generator, size: Size, op: str, type: str, out_type: str, form: str, function: Function
) -> Work:
    """One element per thread with 32-bit places; four with 64-bit ones."""
    scale = 1 if size == "small" else 5
    dims = {"g 2-D": (13, 7), "gn4 3-D": (5, 6, 3), "g 4-D": (3, 5, 2, 3)}[form]
    memory = host.random(
        rng, type, (dims[0] * scale, *dims[1:-1], dims[-1] * scale), function.low, function.high
    )
    view = host.transposed(memory)
    work, places = (4, "int64_t") if "n4" in form else (1, "int")
    out = poisoned(view.shape, host.TYPES[out_type])
    grid, group = host.plane(view.shape, work)
    arguments = (memory, out, host.ints(view.shape), host.longs(view.strides), host.ints((len(dims),)))
    step = launch(HEADER, "unary_g", (type, out_type, op, work, places), arguments, group, grid=grid)
    return Work((step,), (_output(out, view.array, function),))


def _output(out: Array, x: Array, function: Function) -> Output:
    """Operations of one element have one order: the engine gives the oracle's bits."""
    with np.errstate(over="ignore"):
        expected = function.of(host.double(x))
    allowed = host.rounding(out, function.ulps, function.times) if function.ulps else 0.0
    return Output("out", out, expected, allowed, ulps=0)


def _to_fp8(x: Array) -> Array:
    """The nearest of the 127 magnitudes of e4m3, even where two are as near; the largest beyond."""
    codes = np.arange(127)
    exponents, mantissas = codes >> 3, codes & 7
    magnitudes = np.where(exponents == 0, mantissas / 512, (1 + mantissas / 8) * 2.0 ** (exponents - 7))
    distance = np.abs(np.abs(x)[..., None] - magnitudes)
    nearest = distance + np.where(codes % 2, 1e-12, 0) * (distance > 0)
    return np.asarray(nearest.argmin(-1) | (np.signbit(x) << 7))


def _from_fp8(codes: Array) -> Array:
    low = (codes & 127).astype(np.int64)
    magnitude = np.where(low >> 3 == 0, (low & 7) / 512, (1 + (low & 7) / 8) * 2.0 ** ((low >> 3) - 7))
    return np.where(low == 127, np.nan, magnitude) * np.where(codes & 128, -1, 1)


def cases(turn: int = 0) -> list[Case]:
    """Each function in each type, in one of the forms; `turn` takes later ones, which are other kernels."""

    def case(name: str, *arguments: Any) -> Case:
        op, type, out_type, form, function = arguments
        make = partial(_work, op=op, type=type, out_type=out_type, form=form, function=function)
        return Case("mlx", "unary", f"{name} {form}", make)

    made = []
    for n, (op, function) in enumerate(REAL.items()):
        for m, type in enumerate(host.FLOATS):
            made.append(case(f"{op} {type}", op, type, type, FORMS[(n + 2 * m + turn) % 6], function))
    for n, (op, function) in enumerate(COMPLEX.items()):
        made.append(
            case(f"{op} complex64", op, "complex64_t", "complex64_t", FORMS[(n + turn) % 6], function)
        )
    for n, op in enumerate(WHOLE):
        for m, type in enumerate(host.SIGNED[n % 2 :: 2] + host.UNSIGNED[(n + 1) % 2 :: 2]):
            if op == "Sign" and type.startswith("u") and type != "uint32_t":
                continue
            made.append(
                case(f"{op} {type}", op, type, type, FORMS[(n + m + turn) % 6], Function(WHOLE[op], ulps=0))
            )
    made.append(case("LogicalNot bool", "LogicalNot", "bool", "bool", "vn", Function(np.logical_not, ulps=0)))
    made.append(case("Real", "Real", "complex64_t", "float", "v", Function(np.real, ulps=0)))
    made.append(case("Imag", "Imag", "complex64_t", "float", "g 2-D", Function(np.imag, ulps=0)))
    for type in host.FLOATS:
        made.append(case(f"ToFP8 {type}", "ToFP8", type, "uint8_t", "vn", Function(_to_fp8, -500, 500, 0)))
        made.append(case(f"FromFP8 {type}", "FromFP8", "uint8_t", type, "v", Function(_from_fp8, ulps=0)))
    return made
