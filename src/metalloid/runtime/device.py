"""Devices and the libraries they compile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from metalloid import config
from metalloid.errors import DeviceError
from metalloid.runtime.buffer import Buffer, aligned
from metalloid.runtime.kernel import Kernel
from metalloid.source import Constant, MathMode, Source


class Library:
    """The kernels of one source."""

    def __init__(self, device: Device, source: Source, constants: Mapping[str | int, Constant]) -> None:
        self.device, self.source, self.constants = device, source, dict(constants)
        self._kernels: dict[object, Kernel] = {}

    @cached_property
    def kernels(self) -> tuple[str, ...]:
        """Names of all kernels, host names included."""
        from metalloid.frontend import find_kernels

        return tuple(entry.name for entry in find_kernels(self.source))

    def kernel(self, name: str, constants: Mapping[str | int, Constant] | None = None) -> Kernel:
        """A kernel, with values for its function constants."""
        values = {**self.constants, **(constants or {})}
        key = (name, tuple(sorted(values.items(), key=repr)))
        if key not in self._kernels:
            made = Kernel(self, name, values)
            _ = made.signature  # compiled now, so that mistakes show here and not at the first call
            self._kernels[key] = made
        return self._kernels[key]

    def __getitem__(self, name: str) -> Kernel:
        return self.kernel(name)

    def __repr__(self) -> str:
        return f"<library {self.source.name}>"


class Device:
    """A processor that runs kernels."""

    def __init__(self, name: str) -> None:
        self.name = name

    def library(
        self,
        source: str | Path | Source,
        *,
        math: MathMode = "fast",
        defines: Mapping[str, object] | None = None,
        include: Sequence[str | Path] = (),
        constants: Mapping[str | int, Constant] | None = None,
        name: str = "kernel.metal",
    ) -> Library:
        """Compile MSL text, the file at a path, or a Source, which has its own settings."""
        if isinstance(source, Source):
            return Library(self, source, constants or {})
        settings: dict[str, Any] = {
            "math": math,
            "defines": {k: str(int(v) if isinstance(v, bool) else v) for k, v in (defines or {}).items()},
            "include": tuple(Path(p) for p in include),
        }
        made = (
            Source.from_file(source, **settings)
            if isinstance(source, Path)
            else Source(source, name=name, **settings)
        )
        return Library(self, made, constants or {})

    def buffer(self, data: Any) -> Buffer:
        """A buffer with a copy of an array's contents."""
        array = np.asarray(data)
        made = aligned(array.shape, array.dtype)
        made[...] = array
        return Buffer(made)

    def zeros(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> Buffer:
        made = aligned(shape, dtype)
        made.fill(0)
        return Buffer(made)

    def empty(self, shape: int | tuple[int, ...], dtype: Any = np.float32) -> Buffer:
        return Buffer(aligned(shape, dtype))

    def __repr__(self) -> str:
        return f"<device {self.name}>"


_CPU = Device("cpu")


def devices() -> tuple[Device, ...]:
    """All devices of this machine, the best first."""
    return (_CPU,)


def device(name: str = "") -> Device:
    """The best device, or the one of this name; METALLOID_DEVICE decides where none is given."""
    wanted = name or config.device()
    for found in devices():
        if not wanted or found.name == wanted:
            return found
    names = ", ".join(d.name for d in devices())
    raise DeviceError(f"there is no device '{wanted}'; this machine has {names}.")
