"""The launch form as arguments: how each array is filled, how large it is, and how much all of them may take."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from metalloid.errors import LaunchError
from metalloid.runtime.arguments import element
from metalloid.runtime.device import device
from metalloid.studio import limits
from metalloid.types import Parameter, Scalar, Signature, Vector

Array = NDArray[Any]
Shape = tuple[int, ...]
OUTPUT = "output"  # memory that nobody has set


def _random(count: int, dtype: np.dtype[Any], value: float) -> Array:
    generator = np.random.default_rng(int(value))
    if dtype.kind in "iub":
        return generator.integers(0, 2 if dtype.kind == "b" else 100, count).astype(dtype)
    return generator.standard_normal(count).astype(dtype)


FILLS: dict[str, Callable[[int, np.dtype[Any], float], Array]] = {
    "arange": lambda count, dtype, value: np.arange(count).astype(dtype),
    "random": _random,
    "ones": lambda count, dtype, value: np.ones(count).astype(dtype),
    "zeros": lambda count, dtype, value: np.zeros(count, dtype),
    "full": lambda count, dtype, value: np.full(count, value).astype(dtype),
    "cycle": lambda count, dtype, value: (np.arange(count) % max(1, int(value))).astype(dtype),
}


def arguments(signature: Signature, form: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """An argument for each buffer of the kernel that the form speaks of."""
    made: dict[str, Any] = {}
    used = 0
    for parameter in signature.buffers:
        asked = form.get(parameter.name)
        if asked is None:
            continue
        fill = str(asked.get("fill", "value"))
        if fill == "value":
            made[parameter.name] = _value(parameter.name, str(asked.get("value", "")))
            continue
        count, shape = _size(parameter, str(asked.get("shape", "")))
        dtype = element(parameter.type) or np.dtype(np.uint8)
        used += count * dtype.itemsize
        if used > limits.ARRAYS:
            raise LaunchError(
                f"the arrays of this launch take more than {limits.ARRAYS >> 20} MiB.\n"
                "Make them smaller, or use `metalloid check` for a launch of this size."
            )
        made[parameter.name] = _filled(
            parameter.name, fill, count, dtype, str(asked.get("value", ""))
        ).reshape(shape)
    return made


def _filled(name: str, fill: str, count: int, dtype: np.dtype[Any], value: str) -> Any:
    if fill == OUTPUT:
        return _Output(count, dtype)
    if fill not in FILLS:
        raise LaunchError(f"'{name}': there is no way to fill an array called {fill!r}")
    number = _number(name, value) if value.strip() else 0.0
    return FILLS[fill](count, dtype, number)


class _Output:
    """An output before it has its shape."""

    def __init__(self, count: int, dtype: np.dtype[Any]) -> None:
        self._count, self._dtype = count, dtype

    def reshape(self, shape: Shape) -> Any:
        made = device().empty(shape, self._dtype)
        made.memory().reshape(-1).view(np.uint8)[...] = 0xCD
        return made


def _size(parameter: Parameter, text: str) -> tuple[int, Shape]:
    """How many scalars an array has, and its shape: the size is counted in elements of the kernel's type."""
    try:
        shape = tuple(int(part) for part in text.lower().replace(",", "x").split("x"))
    except ValueError:
        shape = ()
    if not shape or min(shape) < 0 or len(shape) > 4:
        raise LaunchError(f"'{parameter.name}': {text!r} is no size; expected 1024 or 64x64")
    type = parameter.type
    if isinstance(type, Vector):
        length = type.size // type.element.size
        shape = (*shape, length)
    elif not isinstance(type, Scalar):
        inner = element(type)
        shape = (*shape, type.size // (inner.itemsize if inner is not None else 1))
    return prod(shape), shape


def _value(name: str, text: str) -> Any:
    """A number, a vector, or a struct as JSON."""
    if text.lstrip().startswith(("{", "[")):
        try:
            return json.loads(text)
        except json.JSONDecodeError as problem:
            raise LaunchError(f"'{name}': this is no JSON: {problem.msg}") from None
    parts = [part for part in text.replace(";", ",").split(",") if part.strip()]
    if not parts:
        raise LaunchError(f"'{name}' needs a value, such as 1024")
    numbers = tuple(_number(name, part) for part in parts)
    return numbers[0] if len(numbers) == 1 else numbers


def _number(name: str, text: str) -> bool | int | float:
    word = text.strip().lower()
    if word in ("true", "false"):
        return word == "true"
    for kind in (lambda t: int(t, 0), float):
        try:
            return kind(word)
        except ValueError:
            continue
    raise LaunchError(f"'{name}': {text.strip()!r} is no number")


def size(what: str, text: str) -> tuple[int, ...] | None:
    """A grid or a threadgroup; None where nothing is written."""
    if not text.strip():
        return None
    try:
        found = tuple(int(part) for part in text.lower().replace("x", ",").split(","))
    except ValueError:
        found = ()
    if not 1 <= len(found) <= 3:
        raise LaunchError(f"the {what} {text!r} is no size; expected 1024 or 64,64")
    if prod(found) > limits.THREADS and what == "grid":
        raise LaunchError(
            f"the grid has {prod(found):,} threads; the studio runs at most {limits.THREADS:,}.\n"
            "`metalloid check` takes a launch of any size."
        )
    return found
