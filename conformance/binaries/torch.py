"""Launches of PyTorch's kernels from the library inside `libtorch_cpu.dylib`, held against torch on the CPU.

Functions of one and of two arrays, in several forms and types each: the reference is torch's own function in double
precision (or of the same integers), the kernel's result one rounding to its type and a few of float32 away.
"""

from __future__ import annotations

import time
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any

import ml_dtypes
import numpy as np

from conformance.binaries import fused
from conformance.binaries.lines import Found
from conformance.packages import TORCH, fetch
from conformance.results.case import Output, poisoned
from conformance.results.judge import error_of
from metalloid.source import Binary

COUNT = 203  # elements: no multiple of what a thread or a SIMD-group takes
DTYPES: dict[str, Any] = {
    "float": np.dtype(np.float32),
    "half": np.dtype(np.float16),
    "bfloat": np.dtype(ml_dtypes.bfloat16),
    "int": np.dtype(np.int32),
    "long": np.dtype(np.int64),
    "short": np.dtype(np.int16),
    "char": np.dtype(np.int8),
    "uchar": np.dtype(np.uint8),
    "bool": np.dtype(np.bool_),
}
# Of the largest magnitude: half a rounding to the type and four of float32.
ROUNDING = {"float": 6e-7, "half": 6e-4, "bfloat": 4.5e-3}
REAL = ("float", "half", "bfloat")
INTEGERS = ("long", "int", "short", "char", "uchar")


@dataclass(frozen=True)
class Function:
    """How torch spells it, from which numbers, and how many times the usual error its own algorithm makes."""

    of: str
    low: float = -3
    high: float = 3
    times: float = 1
    types: tuple[str, ...] = REAL


UNARY = {
    **{
        name: Function(name)
        for name in "exp exp2 expm1 sin cos atan sinh cosh tanh sigmoid erf erfc sinc".split()
    },
    **{name: Function(name, 0.01, 40) for name in "log log2 log10 log1p sqrt rsqrt reciprocal".split()},
    **{name: Function(name, -0.95, 0.95) for name in ("asin", "acos")},
    **{name: Function(name, types=(*REAL, *INTEGERS)) for name in ("abs", "neg")},
    **{name: Function(name) for name in "floor ceil trunc round".split()},
    "tan": Function("tan", -1.4, 1.4, 4),
    "erfinv": Function("erfinv", -0.95, 0.95, 4),
    "lgamma": Function("lgamma", 0.5, 20, 8),
    "digamma": Function("digamma", 0.5, 20, 8),
    "trigamma": Function("special.polygamma:1", 0.5, 20, 8),
    "sqr": Function("square"),
    "bitwise_not": Function("bitwise_not", types=INTEGERS),
    "logical_not": Function("logical_not", types=("bool",)),
    "silu": Function("nn.functional.silu"),
    "mish": Function("nn.functional.mish", times=2),
    "gelu": Function("nn.functional.gelu", times=2),
    "gelu_tanh": Function("nn.functional.gelu:tanh", times=4),
    "hardsigmoid": Function("nn.functional.hardsigmoid"),
    "hardswish": Function("nn.functional.hardswish"),
    "log_sigmoid_forward": Function("nn.functional.logsigmoid"),
    "entr": Function("special.entr", 0.01, 3),
    "erfcx": Function("special.erfcx", times=4),
    **{name: Function(f"special.{name}", times=8) for name in ("i0", "i0e", "i1", "i1e")},
    **{
        f"{n}_forward": Function(f"special.{n}", 0.1, 20, 16) for n in ("bessel_j0", "bessel_y0", "bessel_y1")
    },
    "bessel_j1_forward": Function("special.bessel_j1", -20, 20, 16),  # calls itself where x is negative
    **{
        f"{n}_forward": Function(f"special.{n}", 0.1, 4, 16)
        for n in (
            *(f"modified_bessel_{k}" for k in ("i0", "i1", "k0", "k1")),
            *(f"scaled_modified_bessel_{k}" for k in ("k0", "k1")),
        )
    },
    "spherical_bessel_j0": Function("special.spherical_bessel_j0", times=4),
}
BINARY = {
    **{name: Function(name, types=(*REAL, "long", "int", "short")) for name in ("add", "sub", "mul")},
    **{name: Function(name, types=(*REAL, "long", "int", "char")) for name in ("maximum", "minimum")},
    **{name: Function(name) for name in "fmax fmin hypot copysign atan2 logaddexp logaddexp2".split()},
    "div_true": Function("true_divide", 0.5, 5),
    "div_floor": Function("floor_divide", 0.5, 5, types=("float", "long", "int")),
    "div_trunc": Function("div:trunc", 0.5, 5, types=("float", "long", "int")),
    "fmod": Function("fmod", 0.5, 5, types=("float", "long", "int")),
    "remainder": Function("remainder", 0.5, 5, types=("float", "long", "int")),
    "pow": Function("pow", 0.2, 3, 8),
    "xlogy": Function("xlogy", 0.1, 5),
    "xlog1py": Function("special.xlog1py", 0.1, 5),
    "heaviside": Function("heaviside"),
    "zeta": Function("special.zeta", 1.5, 6, 16, ("float",)),
    "igamma": Function("igamma", 0.5, 6, 32, ("float",)),
    "igammac": Function("igammac", 0.5, 6, 32, ("float",)),
    **{
        name: Function(name, types=INTEGERS)
        for name in ("gcd", "lcm", "bitwise_and", "bitwise_or", "bitwise_xor")
    },
    **{name: Function(name, 0, 5, types=INTEGERS) for name in ("bitwise_left_shift", "bitwise_right_shift")},
}
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")


@dataclass(frozen=True)
class Case:
    """One launch."""

    kernel: str
    function: Function
    form: str  # which of the arguments are arrays, and whether a count follows
    type: str
    result: str

    @property
    def label(self) -> str:
        return f"torch {self.kernel}"


_ORDER = 2  # of polygamma
# Forms of functions of one array and of two: what stands behind the operation in a name, and the arguments after it.
_ONE = {"dense": "in n", "dense_scalar": "in"}
_TWO = {"dense": "in in", "dense_ilp4": "in in n", "dense_scalar": "in one", "dense_scalar_lhs": "one in"}


@cache
def library() -> Any:
    import metalloid

    path = next(p for p in sorted(fetch(TORCH).rglob("libtorch_cpu.dylib")))
    made = Binary("", name=path.name, math="safe", form="metallib", path=path)
    return metalloid.device("cpu").library(made)


def cases() -> list[Case]:
    """Those whose kernel the library has."""
    names = frozenset(library().kernels)
    return [case for case in _cases() if case.kernel in names]


def labels() -> frozenset[str]:
    return frozenset(case.label for case in _cases())


def _cases() -> Iterator[Case]:
    for table, forms in ((UNARY, _ONE), (BINARY, _TWO)):
        for operation, function in table.items():
            for type in function.types:
                for form, arguments in forms.items():
                    yield Case(f"{operation}_{form}_{type}_{type}", function, arguments, type, type)
    for operation in COMPARISONS:
        for type in ("float", "half", "int", "long", "uchar"):
            for form, arguments in _TWO.items():
                yield Case(f"{operation}_{form}_bool_{type}", Function(operation), arguments, type, "bool")
    for type in REAL:  # it calls log_gamma, which calls itself
        order = Function(f"special.polygamma:{_ORDER}", 0.5, 20, 8)
        yield Case(f"polygamma_dense_{type}_{type}_int", order, "in order", type, type)
    for kernel in fused.KERNELS:
        yield Case(kernel, Function("optimiser"), "fused", "float", "float")
    for operation in (
        "exp",
        "log",
        "sin",
        "sqrt",
        "erf",
        "lgamma",
        "tanh",
        "rsqrt",
    ):  # integers in, floats out
        function = Function(operation, 1, 5, 8)
        for type in ("int", "long", "uchar"):
            yield Case(f"{operation}_dense_float_{type}", function, "in n", type, "float")


def judge(case: Case) -> Found:
    """Never raises: whatever goes wrong is what was found."""
    start = time.perf_counter()
    try:
        reason = _run(case)
    except Exception as error:  # a fault or a crash is a finding of this run, not its end
        reason = f"{type(error).__name__}: {error}"
    return Found(
        case.label, (case.kernel,), " ".join(reason.split())[:300], seconds=time.perf_counter() - start
    )


def _run(case: Case) -> str:
    if case.form == "fused":
        return fused.difference(library(), case.kernel)
    rng = np.random.default_rng(zlib.crc32(case.kernel.encode()))
    words = case.form.split()
    arrays = [_numbers(rng, case, COUNT if word == "in" else 1) for word in words if word in ("in", "one")]
    out = poisoned(COUNT, DTYPES[case.result])
    arguments: list[Any] = [out, *arrays]
    if "n" in words:
        arguments.append(np.array([COUNT], np.uint32))
    if "order" in words:
        arguments.append(np.array([_ORDER], np.int32))
    library()[case.kernel](*arguments, grid=COUNT, threadgroup=64)
    expected = _reference(case.function.of, arrays)
    tolerance = ROUNDING.get(case.result, 0.0) * case.function.times
    return error_of(Output("out", out, expected, tolerance))[1]


def _numbers(rng: np.random.Generator, case: Case, count: int) -> Any:
    dtype, function = DTYPES[case.type], case.function
    if dtype.kind == "b":
        return rng.random(count) < 0.5
    if dtype.kind in "iu":
        low = 0 if function.low >= 0 else -9
        if "div" in function.of or function.of in ("fmod", "remainder", "true_divide", "floor_divide"):
            low = 1
        return rng.integers(max(low, np.iinfo(dtype).min), 10 if function.low < 0 else 6, count, dtype)
    return rng.uniform(function.low, function.high, count).astype(dtype)


def _reference(name: str, arrays: list[Any]) -> Any:
    import torch

    path, _, detail = name.partition(":")
    function: Callable[..., Any] = torch
    for part in path.split("."):
        function = getattr(function, part)
    wide = [torch.from_numpy(a.astype(np.float64) if a.dtype.kind not in "iub" else a) for a in arrays]
    if detail.isdigit():
        result = function(int(detail), *wide)
    elif path.endswith("gelu") and detail:
        result = function(*wide, approximate=detail)
    elif detail == "trunc":
        result = function(*wide, rounding_mode="trunc")
    else:
        result = function(*wide)
    return result.to(torch.float64).numpy() if result.dtype == torch.float32 else result.numpy()
