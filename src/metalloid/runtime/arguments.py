"""What a caller passes, as the memory that a kernel's parameters are bound to."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from metalloid.errors import LaunchError
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.pack import NUMPY, pack
from metalloid.types import Matrix, Parameter, Scalar, Signature, Type, Vector

Memory = Any
Resources = list[tuple[int, Memory]]


def bound(
    signature: Signature, given: Sequence[object], named: Mapping[str, object]
) -> tuple[dict[int, Memory], Resources]:
    """Memory by buffer index; and memory that only pointers inside arguments lead to."""
    parameters = signature.buffers
    if len(given) > len(parameters):
        raise LaunchError(
            f"[launch {signature.name}] takes {len(parameters)} arguments; got {len(given)}.\n{signature}"
        )
    values: dict[int, object] = {p.index: v for p, v in zip(parameters, given, strict=False)}
    if named:
        by_name = {p.name: p for p in parameters}
        for name, value in named.items():
            parameter = by_name.get(name)
            if parameter is None:
                known = ", ".join(by_name) or "none"
                raise LaunchError(f"[launch {signature.name}] has no argument '{name}'; it takes {known}.")
            if parameter.index in values:
                raise LaunchError(f"[launch {signature.name}] argument '{name}' is given twice.")
            values[parameter.index] = value
    resources: Resources = []
    memory: dict[int, Memory] = {}
    for parameter in parameters:
        if parameter.index not in values:
            raise LaunchError(
                f"[launch {signature.name}] argument '{parameter.name}' ({parameter}) is missing.\nPass it in the order"
                f" of buffer indices, or as {parameter.name}=...; None leaves it unbound."
            )
        value = values[parameter.index]
        if value is not None:
            memory[parameter.index] = argument(signature.name, parameter, value, resources)
    return memory, resources


def argument(kernel: str, parameter: Parameter, value: object, resources: Resources) -> Memory:
    """One argument as memory; arrays and buffers as they are, values as bytes."""
    if isinstance(value, Buffer):
        return value.numpy()
    if isinstance(value, np.ndarray):
        return _array(kernel, parameter, value)
    if isinstance(value, bytearray | memoryview):
        return value
    where = f"[launch {kernel}] '{parameter.name}'"
    if isinstance(value, Mapping):
        collect(value, resources)
    type: Type = parameter.type
    return np.frombuffer(bytearray(pack(type, value, where)), np.uint8)


def collect(value: object, resources: Resources) -> None:
    """Arrays inside a struct: a kernel reaches them by pointer."""
    if isinstance(value, Mapping):
        for inner in value.values():
            collect(inner, resources)
    elif isinstance(value, Buffer):
        resources.append((value.address, value.numpy()))
    elif isinstance(value, np.ndarray):
        resources.append((int(value.ctypes.data), value))
    elif isinstance(value, list | tuple):
        for inner in value:
            collect(inner, resources)


def _array(kernel: str, parameter: Parameter, value: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    wanted = _element(parameter.type)
    if wanted is not None and value.dtype != wanted and not _alike(value.dtype, wanted):
        raise LaunchError(
            f"[launch {kernel}] '{parameter.name}' is declared {parameter.type}; got an array of {value.dtype}.\n"
            f"Pass {wanted}, for example {parameter.name}.astype(np.{wanted})."
        )
    if not value.flags.c_contiguous:
        raise LaunchError(
            f"[launch {kernel}] '{parameter.name}' is not contiguous (shape {value.shape}, strides {value.strides}).\n"
            "Pass np.ascontiguousarray(...) and copy the result back."
        )
    if not value.flags.writeable and parameter.access in ("write", "read_write"):
        raise LaunchError(
            f"[launch {kernel}] '{parameter.name}' is written by the kernel; the array is read-only."
        )
    return value


def _element(type: Type) -> np.dtype[Any] | None:
    """The dtype an array for this type has; None where any will do."""
    if isinstance(type, Scalar):
        return NUMPY[type.dtype]
    if isinstance(type, Vector | Matrix):
        return NUMPY[type.element.dtype]
    return None


def _alike(have: np.dtype[Any], want: np.dtype[Any]) -> bool:
    """Bits that may stand in for each other: bfloat16 as uint16, bool as bytes; raw bytes for anything."""
    if have == np.uint8 or have.names is not None:
        return True
    return have.itemsize == want.itemsize and (
        want.name == "bfloat16" and have == np.uint16 or want == np.bool_ and have.itemsize == 1
    )
