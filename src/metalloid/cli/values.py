"""Read arguments of a kernel from the command line.

x=arange:1024:float32     0, 1, 2, ...
x=random:64x64:float16:7  normal, seed 7
x=zeros:10:int32, ones:..., full:10:float32:2.5
x=@data.npy               a file
p={"n": 128, "eps": 1e-5} a struct, as JSON; [1, 2, 3] a vector
n=1024, eps=1e-5, v=1,2,3 a number, a vector
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import NDArray

from metalloid.cli.exits import BadOption

Array = NDArray[Any]
Shape = tuple[int, ...]


def _arange(shape: Shape, dtype: np.dtype[Any], rest: list[str]) -> Array:
    return np.arange(int(np.prod(shape))).reshape(shape).astype(dtype)


def _random(shape: Shape, dtype: np.dtype[Any], rest: list[str]) -> Array:
    generator = np.random.default_rng(int(rest[0]) if rest else 0)
    if dtype.kind in "iub":
        return generator.integers(0, 2 if dtype.kind == "b" else 100, shape).astype(dtype)
    return generator.standard_normal(shape).astype(dtype)


def _full(shape: Shape, dtype: np.dtype[Any], rest: list[str]) -> Array:
    return np.full(shape, float(rest[0]) if rest else 0).astype(dtype)


MAKERS: dict[str, Callable[[Shape, np.dtype[Any], list[str]], Array]] = {
    "arange": _arange,
    "random": _random,
    "full": _full,
    "zeros": lambda shape, dtype, rest: np.zeros(shape, dtype),
    "ones": lambda shape, dtype, rest: np.ones(shape).astype(dtype),
}


def argument(text: str) -> tuple[str, object]:
    """`name=value` -> (name, array or number or tuple of numbers)."""
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise BadOption(f"--arg {text!r}: expected NAME=VALUE, such as x=arange:1024:float32 or n=1024")
    try:
        return name, _value(value)
    except (ValueError, OSError, TypeError) as problem:
        raise BadOption(f"--arg {text!r}: {problem}") from problem


def output(text: str) -> tuple[str, Array]:
    """`name:shape:dtype` -> (name, an array filled with a pattern nobody computes)."""
    parts = text.split(":")
    if len(parts) != 3:
        raise BadOption(f"--out {text!r}: expected NAME:SHAPE:DTYPE, such as out:1024:float32")
    try:
        array = np.empty(_shape(parts[1]), _dtype(parts[2]))
    except ValueError as problem:
        raise BadOption(f"--out {text!r}: {problem}") from problem
    array.view(np.uint8)[...] = 0xCD  # unwritten elements must not look like results
    return parts[0], array


def grid(text: str) -> tuple[int, ...]:
    """`1024`, `64,64` or `64x64`."""
    try:
        sizes = tuple(int(part) for part in text.replace("x", ",").split(","))
    except ValueError:
        sizes = ()
    if not 1 <= len(sizes) <= 3:
        raise BadOption(f"{text!r} is no size: expected one to three whole numbers, such as 1024 or 64,64")
    return sizes


def _value(text: str) -> object:
    if text.startswith("@"):
        return np.load(Path(text[1:]))
    if text.lstrip().startswith(("{", "[")):
        return _json(text)
    kind, _, rest = text.partition(":")
    if kind in MAKERS:
        parts = rest.split(":")
        return MAKERS[kind](_shape(parts[0]), _dtype(parts[1] if len(parts) > 1 else "float32"), parts[2:])
    numbers = tuple(_number(part) for part in text.split(","))
    return numbers[0] if len(numbers) == 1 else numbers


def _json(text: str) -> object:
    try:
        return json.loads(text)
    except json.JSONDecodeError as problem:
        raise ValueError(f"this is no JSON: {problem.msg} at character {problem.pos + 1}") from None


def _number(text: str) -> bool | int | float:
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return int(text, 0)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        kinds = ", ".join(MAKERS)
        raise ValueError(f"{text!r} is neither a number nor one of {kinds} nor @file.npy") from None


def _shape(text: str) -> Shape:
    try:
        return tuple(int(part) for part in text.split("x"))
    except ValueError:
        raise ValueError(f"{text!r} is no shape: expected 1024 or 64x64") from None


def _dtype(text: str) -> np.dtype[Any]:
    try:
        return np.dtype(ml_dtypes.bfloat16 if text == "bfloat16" else text)
    except TypeError:
        raise ValueError(f"{text!r} is no dtype") from None
