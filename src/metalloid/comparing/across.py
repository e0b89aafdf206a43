"""One function on several devices: every device's outputs are held against the same reference."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from metalloid.comparing.inputs import Array
from metalloid.comparing.judge import Function, outputs, resolved
from metalloid.runtime.device import device

_VARIABLE = "METALLOID_DEVICE"


@dataclass(frozen=True)
class Across:
    """Calls a function once for each device; a parameter `device` gets it, and `mt.device()` gives it meanwhile."""

    function: Function
    devices: tuple[str, ...]

    def __call__(self, *arrays: Array) -> dict[str, Array]:
        function = resolved(self.function)
        asks = "device" in inspect.signature(function).parameters
        found: dict[str, Array] = {}
        for name in self.devices:
            with _default(name):
                more: dict[str, Any] = {"device": device(name)} if asks else {}
                result = outputs(function(*arrays, **more), "function")
            found |= {_called(part, name): array for part, array in result.items()}
        return found


@dataclass(frozen=True)
class Repeated:
    """The reference, under the names that the outputs of each device have."""

    reference: Function
    devices: tuple[str, ...]

    def __call__(self, *arrays: Array) -> dict[str, Array]:
        result = outputs(resolved(self.reference)(*arrays), "reference")
        return {_called(part, name): array for name in self.devices for part, array in result.items()}


def across(function: Function, reference: Function, devices: Sequence[str]) -> tuple[Function, Function]:
    """Both for these devices, which all have to be there; as they are where none is named."""
    names = tuple(devices)
    for name in names:
        device(name)
    return (Across(function, names), Repeated(reference, names)) if names else (function, reference)


def _called(part: str, name: str) -> str:
    return f"{part} on {name}"


@contextmanager
def _default(name: str) -> Iterator[None]:
    before = os.environ.get(_VARIABLE)
    os.environ[_VARIABLE] = name
    try:
        yield
    finally:
        if before is None:
            del os.environ[_VARIABLE]
        else:
            os.environ[_VARIABLE] = before
