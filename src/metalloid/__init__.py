"""Run, check and measure Metal compute kernels on any machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from metalloid.errors import CompileError, DeviceError, KernelFault, LaunchError, MetalloidError
    from metalloid.runtime.buffer import Buffer
    from metalloid.runtime.device import Device, Library, device, devices
    from metalloid.runtime.kernel import Kernel

__all__ = [
    "Buffer",
    "CompileError",
    "Device",
    "DeviceError",
    "Kernel",
    "KernelFault",
    "LaunchError",
    "Library",
    "MetalloidError",
    "device",
    "devices",
]

# Names are looked up when they are first used: importing numpy and LLVM takes longer than most programs want to wait.
_HOMES = {
    **dict.fromkeys(
        ("CompileError", "DeviceError", "KernelFault", "LaunchError", "MetalloidError"), "metalloid.errors"
    ),
    **dict.fromkeys(("Device", "Library", "device", "devices"), "metalloid.runtime.device"),
    "Buffer": "metalloid.runtime.buffer",
    "Kernel": "metalloid.runtime.kernel",
}


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'metalloid' has no attribute '{name}'")
    from importlib import import_module

    found = getattr(import_module(home), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
