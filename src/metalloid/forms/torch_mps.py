"""`torch.mps` and `torch.backends.mps` as a Mac answers; work has been done when a call returns."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

from metalloid.forms.torch_device import pytorch
from metalloid.forms.torch_shader import compile_shader


class Event:
    """`torch.mps.Event`: everything before it has been done when it is recorded."""

    def __init__(self, enable_timing: bool = False) -> None:
        self._timed, self._at = enable_timing, 0.0

    def record(self) -> None:
        self._at = time.perf_counter()

    def wait(self) -> None:
        """Nothing is under way."""

    def query(self) -> bool:
        return True

    def synchronize(self) -> None:
        """Nothing is under way."""

    def elapsed_time(self, end_event: Event) -> float:
        """Milliseconds from this event to another one."""
        if not (self._timed and end_event._timed):
            raise RuntimeError("Events were not created with argument 'enable_timing=True'")
        if not (self._at and end_event._at):
            raise RuntimeError("Both events must be recorded before calculating elapsed time.")
        return (end_event._at - self._at) * 1e3


def memory() -> int:
    """Bytes of memory of this machine."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def _generator() -> Any:
    torch = pytorch()
    return torch.default_generator


def _get_rng_state(device: Any = "mps") -> Any:
    return _generator().get_state()


def _set_rng_state(new_state: Any, device: Any = "mps") -> None:
    _generator().set_state(new_state.clone())


def _fraction(fraction: float) -> None:
    if not isinstance(fraction, float):
        raise TypeError("Invalid type for fraction argument, must be `float`")
    if fraction < 0 or fraction > 2:
        raise ValueError(f"Invalid fraction value: {fraction}. Allowed range: 0~2")


def _load_metallib(source: object) -> NoReturn:
    raise RuntimeError("load_metallib is not supported yet; give the Metal text to torch.mps.compile_shader.")


def _capture(fname: str) -> NoReturn:
    raise RuntimeError("there is no GPU whose work could be captured; METALLOID_TRACE=1 prints every launch.")


@contextmanager
def _profile(mode: str = "interval", wait_until_completed: bool = False) -> Iterator[None]:
    yield


MPS: dict[str, Any] = {
    "compile_shader": compile_shader,
    "load_metallib": _load_metallib,
    "device_count": lambda: 1,
    "is_available": lambda: True,
    "synchronize": lambda: None,
    "empty_cache": lambda: None,
    "get_rng_state": _get_rng_state,
    "set_rng_state": _set_rng_state,
    "manual_seed": lambda seed: _generator().manual_seed(int(seed)) and None,
    "seed": lambda: _generator().seed() and None,
    "set_per_process_memory_fraction": _fraction,
    "current_allocated_memory": lambda: 0,
    "driver_allocated_memory": lambda: 0,
    "recommended_max_memory": lambda: memory() * 3 // 4,
    "Event": Event,
}
PROFILER: dict[str, Any] = {
    "start": lambda mode="interval", wait_until_completed=False: None,
    "stop": lambda: None,
    "profile": _profile,
    "is_metal_capture_enabled": lambda: False,
    "is_capturing_metal": lambda: False,
    "metal_capture": _capture,
}
BACKENDS: dict[str, Any] = {
    "is_built": lambda: True,
    "is_available": lambda: True,
    "is_macos_or_newer": lambda major, minor: True,
    "is_macos13_or_newer": lambda minor=0: True,
    "get_name": lambda: "metalloid",
    "get_core_count": lambda: os.cpu_count() or 1,
}
