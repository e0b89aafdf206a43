"""Run, check and measure Metal compute kernels on any machine.

PYTEST_DONT_REWRITE: `metalloid run -m pytest` imports it before pytest, which is nothing to warn of.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from metalloid import lazy

if TYPE_CHECKING:
    from metalloid import kernels, llama, measure, metal, mlx, torch
    from metalloid.checker import Finding, Report, check, checked
    from metalloid.comparing import Case, Comparison, Input, cases, compare, edges
    from metalloid.errors import CompileError, DeviceError, KernelFault, LaunchError, MetalloidError
    from metalloid.forms.script import metal_kernel
    from metalloid.runtime.accelerator import Accelerator, KernelDefinition
    from metalloid.runtime.buffer import Buffer
    from metalloid.runtime.commands import CommandBuffer
    from metalloid.runtime.device import Device, device, devices
    from metalloid.runtime.events import EventListener, SharedEvent
    from metalloid.runtime.fence import Fence
    from metalloid.runtime.heap import Heap
    from metalloid.runtime.kernel import Kernel
    from metalloid.runtime.library import Library
    from metalloid.runtime.places import LaunchWarning
    from metalloid.runtime.queue import Queue
    from metalloid.runtime.resources import leaks
    from metalloid.version import __version__

__all__ = [
    "Accelerator",
    "Buffer",
    "Case",
    "CommandBuffer",
    "Comparison",
    "CompileError",
    "Device",
    "DeviceError",
    "EventListener",
    "Fence",
    "Finding",
    "Heap",
    "Input",
    "Kernel",
    "KernelDefinition",
    "KernelFault",
    "LaunchError",
    "LaunchWarning",
    "Library",
    "MetalloidError",
    "Queue",
    "Report",
    "SharedEvent",
    "__version__",
    "cases",
    "check",
    "checked",
    "compare",
    "device",
    "devices",
    "edges",
    "kernels",
    "leaks",
    "llama",
    "measure",
    "metal",
    "metal_kernel",
    "mlx",
    "torch",
]

# Names are looked up when they are first used: importing numpy and LLVM takes longer than most programs want to wait.
_HOMES = {
    **dict.fromkeys(
        ("CompileError", "DeviceError", "KernelFault", "LaunchError", "MetalloidError"), "metalloid.errors"
    ),
    **dict.fromkeys(("Finding", "Report", "check", "checked"), "metalloid.checker"),
    **dict.fromkeys(("Device", "device", "devices"), "metalloid.runtime.device"),
    **dict.fromkeys(("Accelerator", "KernelDefinition"), "metalloid.runtime.accelerator"),
    **dict.fromkeys(("Case", "Comparison", "Input", "cases", "compare", "edges"), "metalloid.comparing"),
    "Buffer": "metalloid.runtime.buffer",
    "CommandBuffer": "metalloid.runtime.commands",
    "LaunchWarning": "metalloid.runtime.places",
    "Library": "metalloid.runtime.library",
    "Queue": "metalloid.runtime.queue",
    "EventListener": "metalloid.runtime.events",
    "Fence": "metalloid.runtime.fence",
    "Heap": "metalloid.runtime.heap",
    "SharedEvent": "metalloid.runtime.events",
    "leaks": "metalloid.runtime.resources",
    "metal_kernel": "metalloid.forms.script",
    "Kernel": "metalloid.runtime.kernel",
    "__version__": "metalloid.version",
    **{name: f"metalloid.{name}" for name in ("kernels", "llama", "measure", "metal", "mlx", "torch")},
}


__getattr__ = lazy.names(__name__, _HOMES)


def __dir__() -> list[str]:
    """What a user may want: no modules that happen to be imported."""
    return sorted({*__all__, *(name for name in globals() if name.startswith("__"))})


if not os.environ.keys().isdisjoint(("METALLOID_CHECK", "METALLOID_CHECK_TO")):  # config takes a millisecond
    from metalloid import config, imports

    def _check() -> None:
        if config.check():
            from metalloid.checker.watch import print_findings

            print_findings()
        if config.check_to():
            from metalloid.checker.recorder import record

            record()

    if config.check() or config.check_to():  # the checker is loaded with what can launch, not before
        imports.after("metalloid.runtime.device", _check)
