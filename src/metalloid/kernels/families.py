"""The `.metal` files of this package, compiled once per process and device."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from metalloid.runtime.device import Device, device
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.library import Library

HERE = Path(__file__).parent
_kernels: dict[tuple[str, str, str], Kernel] = {}


def families() -> tuple[str, ...]:
    """The names of all families: each is one file of MSL."""
    return tuple(sorted(path.stem for path in HERE.glob("*.metal")))


@cache
def _library(family: str, on: Device) -> Library:
    return on.library(HERE / f"{family}.metal", math="safe")


def library(family: str) -> Library:
    """All kernels of a family. Safe math: infinities mask scores, and 1e-5 is less than fast::exp may be off."""
    return _library(family, device())


def kernel(family: str, name: str) -> Kernel:
    """One kernel of a family, by its host name."""
    on = device()
    found = _kernels.get((family, name, on.name))
    if found is None:
        found = _kernels[family, name, on.name] = _library(family, on)[name]
    return found
