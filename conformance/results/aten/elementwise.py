"""Functions of one element or two: through tables of offsets, as transposed arrays need, or in a line."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from conformance.results.aten.common import DTYPES, ROUNDING, case, numbers, per_element, there
from conformance.results.aten.functions import FUNCTIONS
from conformance.results.case import Array, Case, Output, Step, poisoned

COUNT = 203  # no multiple of anything
REAL = ("float", "half", "bfloat")


def cases() -> list[Case]:
    if not there():
        return []
    two = [
        case("binary", f"{op} {t}", partial(_binary, op, t)) for op, types in BINARY.items() for t in types
    ]
    one = [case("unary", f"{op} {t}", partial(_unary, op, t)) for op, types in UNARY.items() for t in types]
    return (
        two
        + one
        + [case("bitwise", f"{op} {t}", partial(_bitwise, op, t)) for op in BITWISE for t in INTEGERS]
    )


BINARY = {
    "fmax": REAL,
    "fmin": REAL,
    "copysign": (*REAL, "int", "long", "short", "char", "uchar", "bool"),
    "polar": ("float", "half"),
    "complex_mul": ("float", "half"),
    "complex_kernel": ("float", "half"),
    "nextafter_kernel": REAL,
}
_PAIRS_IN, _PAIRS_OUT = ("complex_mul",), ("polar", "complex_mul", "complex_kernel")


def _binary(op: str, type: str, rng: np.random.Generator) -> tuple[Step, Output]:
    """A matrix and the transpose of another, elements that are complex are two numbers."""
    rows, columns = 7, 29
    parts = 2 if op in _PAIRS_IN else 1
    one = numbers(rng, type, (rows, columns, parts))
    other = numbers(rng, type, (columns, rows, parts))
    result = "float" if op == "copysign" and type not in REAL else type
    out = poisoned((rows, columns, 2 if op in _PAIRS_OUT else 1), DTYPES[result])
    i, j = np.divmod(np.arange(rows * columns), columns)
    offsets = np.zeros((rows * columns, 4), np.uint32)
    offsets[:, 0] = (i * columns + j) * out.itemsize * out.shape[2]
    offsets[:, 1] = (i * columns + j) * one.itemsize * parts
    offsets[:, 2] = (j * rows + i) * other.itemsize * parts
    x, y = one.astype(np.float64), other.transpose(1, 0, 2).astype(np.float64)
    expected = _two(op, x, y, one, other.transpose(1, 0, 2))
    step = per_element("BinaryKernel.metal", f"{op}_{type}", rows * columns, one, other, out, offsets)
    exact = op in ("fmax", "fmin", "copysign", "complex_kernel", "nextafter_kernel")
    return step, Output("out", out, expected, 0.0 if exact else ROUNDING[type] * 2)


def _two(op: str, x: Array, y: Array, one: Array, other: Array) -> Array:
    if op == "nextafter_kernel":
        return np.nextafter(one, other)
    plain: dict[str, Callable[[], Any]] = {
        "fmax": lambda: np.fmax(x, y),
        "fmin": lambda: np.fmin(x, y),
        "copysign": lambda: np.copysign(x, y),
        "polar": lambda: np.concatenate([x * np.cos(y), x * np.sin(y)], 2),
        "complex_kernel": lambda: np.concatenate([x, y], 2),
        "complex_mul": lambda: _product(x, y),
    }
    return np.asarray(plain[op]())


def _product(x: Array, y: Array) -> Array:
    z = (x[..., 0] + 1j * x[..., 1]) * (y[..., 0] + 1j * y[..., 1])
    return np.stack([z.real, z.imag], -1)


# Name -> types; a pair is an input's and an output's. Those of templates are in files by their types.
UNARY = {
    "i0": (*REAL, "long", "uchar"),
    "i1": (*REAL, "int", "char"),
    "erfinv": (*REAL,),
    "exp": (*REAL, "int"),
    "tanh": (*REAL, "int"),
    "lgamma": (*REAL, "int"),
    "digamma": (*REAL,),
    "trigamma": (*REAL,),
}
_RANGES = {"erfinv": (-0.95, 0.95), "lgamma": (1, 20), "digamma": (1, 20), "trigamma": (1, 20)}


def _unary(op: str, type: str, rng: np.random.Generator) -> tuple[Step, Output]:
    result = type if type in REAL else "float"
    given = numbers(rng, type, COUNT, *_RANGES.get(op, (-3, 3)))
    out = poisoned(COUNT, DTYPES[result])
    if op in ("i0", "i1"):
        step = per_element("SpecialOps.metal", f"{op}_{type}_{result}", COUNT, given, out)
    elif op.endswith("gamma"):
        step = per_element(f"Gamma.mm {type} {result}", op, COUNT, given, out)
    else:
        step = per_element(f"UnaryConstants.h {result} {type}", f"{op}_kernel", COUNT, out, given)
    expected = FUNCTIONS[op](given.astype(np.float64))
    return step, Output("out", out, expected, ROUNDING[result] * (16 if result == "float" else 2))


BITWISE = ("and", "or", "xor", "lshift", "rshift")
INTEGERS = ("int int int", "long int long", "short uchar short")


def _bitwise(op: str, types: str, rng: np.random.Generator) -> tuple[Step, Output]:
    result, first, second = types.split()
    a, b = numbers(rng, first, COUNT, -100, 100), numbers(rng, second, COUNT, 0, 11)
    out = poisoned(COUNT, DTYPES[result])
    wide, by = a.astype(np.int64), b.astype(np.int64)
    found = {"and": wide & by, "or": wide | by, "xor": wide ^ by, "lshift": wide << by, "rshift": wide >> by}
    name = " ".join(("BitwiseOps.mm", result, first))
    step = per_element(name, f"bitwise_{op}_tensor", COUNT, np.uint32(COUNT).reshape(1), out, a, b)
    return step, Output("out", out, found[op].astype(out.dtype))
