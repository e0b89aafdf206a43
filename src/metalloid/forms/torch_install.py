"""Put metalloid under PyTorch's own names, so that code which asks for Metal finds it; and take it away again."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from metalloid.errors import DeviceError
from metalloid.forms.patches import Patches
from metalloid.forms.torch_device import register
from metalloid.forms.torch_names import device_replacements, load, replacements
from metalloid.forms.torch_operators import operators
from metalloid.forms.torch_shader import compile_shader

_loads: list[bool] = []  # for the process: what torch.load knows cannot be taken away


def install() -> None:
    """Make "mps" a device here, `torch.backends.mps.is_available()` true, and `compile_shader` compile. Calls nest.

    Where PyTorch has Metal itself, only `compile_shader` is replaced.
    """
    _PATCHES.install()


def uninstall() -> None:
    """Undo one `install`; the last one gives PyTorch its own names back."""
    _PATCHES.uninstall()


@contextmanager
def installed() -> Iterator[None]:
    """`with metalloid.torch.installed():` installs for as long as the block runs."""
    install()
    try:
        yield
    finally:
        uninstall()


def is_installed() -> bool:
    """Whether `install` is in force."""
    return _PATCHES.installed


def _patch() -> None:
    try:
        import torch
    except ImportError:
        raise DeviceError("[torch] PyTorch is not installed: pip install torch.") from None
    if not register(operators):
        _PATCHES.replace(torch.mps, "compile_shader", compile_shader)
        return
    if not _loads:
        _loads.append(True)
        load(torch)
    for module, name, value in (*replacements(torch), *device_replacements(torch)):
        _PATCHES.replace(module, name, value)


_PATCHES = Patches("torch", _patch)
