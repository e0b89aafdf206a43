"""Python numbers as PyTorch hands them to a kernel: int64 or float32, or what `arg_casts` names, bit by bit.

PyTorch casts as C++ does and asks no further. Here a number is refused where the kernel would read another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import ml_dtypes
import numpy as np

from metalloid.errors import LaunchError
from metalloid.runtime.arguments import element, refuse
from metalloid.types import Parameter, Scalar, Signature

CASTS: Mapping[str, np.dtype[Any]] = {
    "fp16": np.dtype(np.float16),
    "bf16": np.dtype(ml_dtypes.bfloat16),
    "int32": np.dtype(np.int32),
    "int16": np.dtype(np.int16),
    "int8": np.dtype(np.int8),
    "uint8": np.dtype(np.uint8),
}
_INT64 = np.dtype(np.int64)
Number = bool | int | float


def cast(signature: Signature, index: int, casts: str | Mapping[int, str] | None) -> np.dtype[Any] | None:
    """The dtype that `arg_casts` gives to an argument."""
    name = casts.get(index) if isinstance(casts, Mapping) else casts
    if name is None:
        return None
    if name not in CASTS:
        refuse(signature, f"arg_casts has {name!r}; there are {', '.join(CASTS)}.")
    return CASTS[name]


def bits(signature: Signature, parameter: Parameter, value: Any, cast: np.dtype[Any] | None) -> Any:
    """A number or a list of numbers as the bytes that the kernel reads."""
    values = _numbers(signature, parameter, value)
    kind = cast or np.dtype(np.float32 if any(isinstance(v, float) for v in values) else np.int64)
    wanted = element(parameter.type)
    if wanted is not None and not _readable(kind, wanted, len(values)):
        refuse(
            signature,
            f"'{parameter.name}' is declared {parameter.type}; {value!r} goes as {kind}, and the kernel would read"
            f" other numbers.\n{_advice(wanted)}",
        )
    try:
        packed = b"".join(_packed(v, kind, wanted) for v in values)
    except (OverflowError, ValueError):  # NaN is no integer
        name = kind if wanted is None or kind.itemsize == wanted.itemsize else wanted
        message = f"[{signature.name}] '{parameter.name}': {value!r} does not fit {name}."
        raise LaunchError(message, "M307") from None
    raw = np.frombuffer(bytearray(packed.ljust(parameter.type.size, b"\0")), np.uint8)
    raw = raw[: parameter.type.size] if parameter.reference else raw
    # One byte is taken for a number to be converted unless its type is the declared one.
    return raw.view(wanted) if isinstance(parameter.type, Scalar) and wanted is not None else raw


def _numbers(signature: Signature, parameter: Parameter, value: Any) -> list[Number]:
    values = list(value) if isinstance(value, list | tuple) else [value]
    if not values or not all(isinstance(v, bool | int | float) for v in values):
        refuse(signature, f"'{parameter.name}' takes a tensor, a number or a list of numbers; got {value!r}.")
    return values


def _readable(kind: np.dtype[Any], wanted: np.dtype[Any], count: int) -> bool:
    """Whether the bytes of one type say the same in the other. The low bytes of an integer are the integer."""
    if kind.kind not in "iu":
        return kind == wanted
    return wanted.kind in "iub" and (
        kind.itemsize == wanted.itemsize or (count == 1 and kind.itemsize > wanted.itemsize)
    )


def _packed(value: Number, kind: np.dtype[Any], wanted: np.dtype[Any] | None) -> bytes:
    """One number. OverflowError where the kernel would read another."""
    if kind.kind not in "iu":
        with np.errstate(over="ignore"):  # what is too large is infinite, as in C++
            return np.array([value], kind).tobytes()
    number = int(value)  # towards zero, as in C++
    if not any(low <= number <= high for low, high in _ranges(kind, wanted)):
        raise OverflowError
    return (number % (1 << 8 * kind.itemsize)).to_bytes(kind.itemsize, "little")


def _ranges(kind: np.dtype[Any], wanted: np.dtype[Any] | None) -> list[tuple[int, int]]:
    """Which numbers may go: those of the cast, and those of the parameter. -1 for a `uint` is all ones, as in C++."""
    if wanted is not None and wanted.kind == "b":
        return [(0, 1)]
    if wanted is None or kind == wanted:
        return [_range(kind)]
    if kind.itemsize == wanted.itemsize and kind != _INT64:
        return [_range(kind), _range(wanted)]
    if kind.itemsize == wanted.itemsize:
        return [_range(kind)]  # PyTorch itself takes no more than an int64
    return [_range(np.dtype(f"i{wanted.itemsize}")), _range(np.dtype(f"u{wanted.itemsize}"))]


def _range(kind: np.dtype[Any]) -> tuple[int, int]:
    return int(np.iinfo(kind).min), int(np.iinfo(kind).max)


def _advice(wanted: np.dtype[Any]) -> str:
    if wanted == np.float32:
        return "Pass floats, such as 3.0."
    name = next(
        (n for n, kind in CASTS.items() if kind.itemsize == wanted.itemsize and kind.kind == wanted.kind),
        None,
    )
    name = name or {"u4": "int32", "u2": "int16"}.get(f"{wanted.kind}{wanted.itemsize}")
    return f"Pass arg_casts='{name}', or a tensor." if name else "Pass a tensor of that type."
