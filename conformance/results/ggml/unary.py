"""Elementwise functions: one kernel, the function chosen by a constant; and the gated ones (x*f(y))."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import erf

import numpy as np

from conformance.results.case import Array, Case, Output, Size, Step, Work, poisoned, tolerance
from conformance.results.ggml.tensors import DTYPES, fields, source, values

OP, CONTIGUOUS = 1200, 1201  # function constants

_erf = np.vectorize(erf)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x))


def gelu(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * x * (1 + 0.044715 * x * x))))


def gelu_erf(x: Array) -> Array:
    return np.asarray(0.5 * x * (1 + _erf(x / np.sqrt(2))))


def gelu_quick(x: Array) -> Array:
    return x * sigmoid(1.702 * x)


def silu(x: Array) -> Array:
    return x * sigmoid(x)


SLOPE, SCALE, BIAS, VALUE, LOW, HIGH = 0.125, 1.75, -0.5, 0.25, -0.75, 1.25


def xielu(x: Array) -> Array:
    negative = (np.exp(np.minimum(x, VALUE)) - 1 - x) * SLOPE + BIAS * x
    return np.where(x > 0, SCALE * x * x + BIAS * x, negative)


# name: (the constant's value, the function, what the inputs are made of)
FUNCTIONS: dict[str, tuple[int, Callable[[Array], Array]]] = {
    "scale": (10, lambda x: SCALE * x + BIAS),
    "fill": (11, lambda x: np.full_like(x, VALUE)),
    "clamp": (12, lambda x: np.clip(x, LOW, HIGH)),
    "sqr": (13, np.square),
    "sqrt": (14, lambda x: np.sqrt(x)),
    "sin": (15, np.sin),
    "cos": (16, np.cos),
    "log": (17, np.log),
    "leaky_relu": (18, lambda x: np.where(x > 0, x, SLOPE * x)),
    "tanh": (100, np.tanh),
    "relu": (101, lambda x: np.maximum(x, 0)),
    "sigmoid": (102, sigmoid),
    "gelu": (103, gelu),
    "gelu_erf": (104, gelu_erf),
    "gelu_quick": (105, gelu_quick),
    "silu": (106, silu),
    "elu": (107, lambda x: np.where(x > 0, x, np.exp(x) - 1)),
    "neg": (108, np.negative),
    "abs": (109, np.abs),
    "sgn": (110, np.sign),
    "step": (111, lambda x: (x > 0).astype(x.dtype)),
    "hardswish": (112, lambda x: x * np.clip(x / 6 + 0.5, 0, 1)),
    "hardsigmoid": (113, lambda x: np.clip(x / 6 + 0.5, 0, 1)),
    "exp": (114, np.exp),
    "softplus": (115, lambda x: np.where(x > 20, x, np.log1p(np.exp(x)))),
    "expm1": (116, np.expm1),
    "floor": (117, np.floor),
    "ceil": (118, np.ceil),
    "round": (119, lambda x: np.trunc(x + np.copysign(0.5, x))),
    "trunc": (120, np.trunc),
    "xielu": (121, xielu),
}
POSITIVE = {"sqrt", "log"}
# ggml computes erf by a formula whose own error is 1.5e-7; expm1 as exp(x) - 1.
LOOSER = {"gelu_erf": 2.0, "expm1": 2.0}


def _unary(rng: np.random.Generator, size: Size, name: str, kernel: str) -> Work:
    """Rows with gaps between them, unless `_4` or the contiguous form asks for none."""
    number, function = FUNCTIONS[name]
    dtype = DTYPES[kernel.split("_")[2]]
    width = 4 if kernel.endswith("_4") else 1
    columns = {"small": 20, "large": 1000}[size] if width == 4 else {"small": 37, "large": 1003}[size]
    rows = {"small": 3, "large": 129}[size]
    numbers = rng.standard_normal((2, 2, rows, columns + 3 * width)) * 3
    whole = np.clip(numbers, -9, 9).astype(dtype)  # the exponential of 9 fits a half
    if name in POSITIVE:
        whole = np.abs(whole) + dtype.type(0.01)
    x = whole[..., :columns]
    y = poisoned(x.shape, dtype)
    across = columns // width
    arguments = fields(
        x, dst=y, ne00=across, ne0=across, slope=SLOPE, scale=SCALE, bias=BIAS, val=VALUE, min=LOW, max=HIGH
    )
    threads = min(across, 256)
    step = Step(
        source("unary"),
        kernel,
        (arguments, whole, y),
        threadgroup=(threads, 1, 1),
        threadgroups=(-(-across // threads) * rows, 2, 2),
        constants={OP: number, CONTIGUOUS: False},
    )
    expected = function(values(x))
    return Work((step,), (Output("dst", y, expected, tolerance(y, LOOSER.get(name, 1.0))),))


def _contiguous(rng: np.random.Generator, size: Size) -> Work:
    x = rng.standard_normal({"small": 131, "large": 100_003}[size]).astype(np.float32)
    y = poisoned(x.shape)
    arguments = fields(x, dst=y, slope=0, scale=0, bias=0, val=0, min=0, max=0)
    step = Step(
        source("unary"),
        "kernel_unary_f32_f32",
        (arguments, x, y),
        threadgroup=(1, 1, 1),
        threadgroups=(x.size, 1, 1),
        constants={OP: FUNCTIONS["silu"][0], CONTIGUOUS: True},
    )
    return Work((step,), (Output("dst", y, silu(values(x)), tolerance(y)),))


ALPHA, LIMIT = 1.702, 1.5


def _swiglu_oai(x: Array, y: Array) -> Array:
    x, y = np.minimum(x, LIMIT), np.clip(y, -LIMIT, LIMIT)
    return np.asarray(x * sigmoid(ALPHA * x) * (1 + y))


GATED: dict[str, Callable[[Array, Array], Array]] = {
    "reglu": lambda x, y: np.maximum(x, 0) * y,
    "geglu": lambda x, y: gelu(x) * y,
    "swiglu": lambda x, y: silu(x) * y,
    "swiglu_oai": _swiglu_oai,
    "swiglu_clamp": lambda x, y: silu(np.minimum(x, LIMIT)) * np.clip(y, -LIMIT, LIMIT),
    "geglu_erf": lambda x, y: gelu_erf(x) * y,
    "geglu_quick": lambda x, y: gelu_quick(x) * y,
}


def _gated(rng: np.random.Generator, size: Size, name: str, type: str, split: bool) -> Work:
    """Both halves in one tensor, or (`split`) each in its own."""
    rows, columns = {"small": (5, 37), "large": (65, 1001)}[size]
    both = rng.standard_normal((rows, 2 * columns)).astype(DTYPES[type])
    x, y = both[:, :columns], both[:, columns:]
    out = poisoned((rows, columns), both.dtype)
    if split:
        a, b = np.ascontiguousarray(x), np.ascontiguousarray(y)
        given = fields(a, b, out, i00=0, i10=0, alpha=ALPHA, limit=LIMIT)
    else:
        a = b = both
        given = fields(a, b, out, i00=0, i10=columns, alpha=ALPHA, limit=LIMIT)
    threads = max(1, min(1024, a.shape[-1] // 2))
    step = Step(
        source("unary"),
        f"kernel_{name}_{type}",
        (given, a, b, out),
        threadgroup=(threads, 1, 1),
        threadgroups=(rows, 1, 1),
    )
    return Work((step,), (Output("dst", out, GATED[name](values(x), values(y)), tolerance(out)),))


def _silu_back(rng: np.random.Generator, size: Size) -> Work:
    n = {"small": 300, "large": 100_000}[size]
    dy, x = rng.standard_normal((2, n)).astype(np.float32)
    dx = poisoned(n)
    s = sigmoid(values(x))
    step = Step(
        source("unary"),
        "kernel_silu_back_f32",
        ({"ne": n}, dy, x, dx),
        threadgroup=(256, 1, 1),
        threadgroups=(-(-n // 256), 1, 1),
    )
    expected = values(dy) * s * (1 + values(x) * (1 - s))
    return Work((step,), (Output("dx", dx, expected, tolerance(dx)),))


def cases() -> list[Case]:
    made = [
        Case("ggml", "unary", f"{name} {kernel[13:]}", partial(_unary, name=name, kernel=kernel))
        for name in FUNCTIONS
        for kernel in (("kernel_unary_f32_f32_4", "kernel_unary_f16_f16") if FUNCTIONS[name][0] % 2 else
                       ("kernel_unary_f32_f32", "kernel_unary_f16_f16_4"))
    ]  # fmt: skip
    made.append(Case("ggml", "unary", "silu contiguous", _contiguous))
    made.append(Case("ggml", "unary", "silu_back", _silu_back))
    for name in GATED:
        made.append(Case("ggml", "glu", f"{name} f32", partial(_gated, name=name, type="f32", split=True)))
        made.append(Case("ggml", "glu", f"{name} f16", partial(_gated, name=name, type="f16", split=False)))
    return made
