"""PyObjC's module `Metal`, where it is installed, and the device that it gives."""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.util import find_spec
from typing import Any

OWN = "metalloid"  # the origin of metalloid's own module of that shape, which is no GPU
allow_own = [False]  # tests hold this device against it


def missing() -> str:
    """Why there is no Apple GPU here; "" where there is one."""
    spec = find_spec("Metal")  # nothing is imported for those who only ask
    if spec is None:
        return (
            "Apple's GPUs are reached through PyObjC, on a Mac; there is no module Metal"
            " (pip install pyobjc-framework-Metal)."
        )
    if spec.origin == OWN and not allow_own[0]:
        return "the module Metal is metalloid's own here, which is no GPU."
    return "" if gpu() is not None else "Metal has no device on this machine."


def module() -> Any:
    return import_module("Metal")


@cache
def gpu() -> Any:
    """The system's default device."""
    return module().MTLCreateSystemDefaultDevice()


@cache
def queue() -> Any:
    return gpu().newCommandQueue()
