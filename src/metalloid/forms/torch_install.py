"""Put metalloid under PyTorch's own names, so that code which asks for Metal finds it; and take it away again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from metalloid.errors import DeviceError
from metalloid.forms.torch_device import register
from metalloid.forms.torch_names import device_replacements, load, replacements
from metalloid.forms.torch_operators import operators
from metalloid.forms.torch_shader import compile_shader

_LOCK = threading.RLock()
_undo: list[tuple[Any, str, Any]] = []
_loads: list[bool] = []  # for the process: what torch.load knows cannot be taken away
_depth = 0


def install() -> None:
    """Make "mps" a device here, `torch.backends.mps.is_available()` true, and `compile_shader` compile. Calls nest.

    Where PyTorch has Metal itself, only `compile_shader` is replaced.
    """
    global _depth
    with _LOCK:
        _depth += 1
        if _depth == 1:
            try:
                _patch()
            except BaseException:
                _depth = 0
                _restore()
                raise


def uninstall() -> None:
    """Undo one `install`; the last one gives PyTorch its own names back."""
    global _depth
    with _LOCK:
        if _depth == 0:
            raise DeviceError("[torch] uninstall() without install().")
        _depth -= 1
        if _depth == 0:
            _restore()


@contextmanager
def installed() -> Iterator[None]:
    """`with metalloid.torch.installed():` installs for as long as the block runs."""
    install()
    try:
        yield
    finally:
        uninstall()


def is_installed() -> bool:
    return _depth > 0


def _patch() -> None:
    try:
        import torch
    except ImportError:
        raise DeviceError("[torch] PyTorch is not installed: pip install torch.") from None
    if not register(operators):
        _replace(torch.mps, "compile_shader", compile_shader)
        return
    if not _loads:
        _loads.append(True)
        load(torch)
    for module, name, value in (*replacements(torch), *device_replacements(torch)):
        _replace(module, name, value)


def _replace(module: Any, name: str, value: Any) -> None:
    _undo.append((module, name, getattr(module, name)))
    setattr(module, name, value)


def _restore() -> None:
    while _undo:
        module, name, value = _undo.pop()
        setattr(module, name, value)
