"""The `.metal` files of this package, compiled once per process and device."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from metalloid.runtime.device import Device, device
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.library import Library
from metalloid.source import Constant, Source

HERE = Path(__file__).parent
_kernels: dict[object, Kernel] = {}


def families() -> tuple[str, ...]:
    """The names of all families: each is one file of MSL."""
    return tuple(sorted(path.stem for path in HERE.glob("*.metal")))


@cache
def _library(family: str, on: Device) -> Library:
    source = Source.from_file(HERE / f"{family}.metal", math="safe")
    return Library(on, source, {}, trusted=True)  # the tests of this package know its kernels


@cache
def target() -> Device:
    """The device of this package's kernels and memory: METALLOID_DEVICE is read once."""
    return device()


def library(family: str) -> Library:
    """All kernels of a family. Safe math: infinities mask scores, and 1e-5 is less than fast::exp may be off."""
    return _library(family, target())


def kernel(family: str, name: str, **constants: Constant) -> Kernel:
    """One kernel of a family, by its host name and the values of its function constants."""
    key = (family, name, *constants.items()) if constants else (family, name)
    found = _kernels.get(key)
    if found is None:
        values: dict[str | int, Constant] = dict(constants.items())
        found = _kernels[key] = library(family).kernel(name, values)
    return found
