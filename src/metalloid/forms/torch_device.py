"""A device for PyTorch in the CPU's own memory: what "mps" is where PyTorch knows it by name only.

PyTorch lets one device be made in Python. It is called `metalloid` in C++; `torch_names` has Python code see "mps" in
its place. Three things make it: a guard (whom the autograd engine asks for streams), a way to move memory between
devices without copying it (DLPack, with the device's code changed), and operators (`torch_operators`).
"""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Callable
from functools import wraps
from importlib import import_module
from typing import Any

from metalloid.errors import DeviceError

NAME = "metalloid"
_CPU_CODE, _OTHER_CODE = 1, 12  # DLPack's kDLCPU, and kDLExtDev for a device of somebody's own
_DEVICE_TYPE = 8  # bytes into a DLTensor: its device's type follows the pointer to its data
_LOCK = threading.Lock()
_alive: list[object] = []  # what C++ points at
_TOO_WIDE = {"torch.float64": ("float64", "float32"), "torch.complex128": ("complex128", "complex64")}


def pytorch() -> Any:
    """PyTorch, which is imported by whoever needs it."""
    return import_module("torch")


def register(operators: Callable[[], list[Any]]) -> bool:
    """Give PyTorch the device and its operators, once; False where PyTorch has an mps device of its own."""
    torch = pytorch()
    with _LOCK:
        if torch.backends.mps.is_built() and not _alive:
            return False
        if not _alive:
            _register(torch)
            _alive.extend(operators())
            _one_thread(torch)
    return True


def _register(torch: Any) -> None:
    name = torch._C._get_privateuse1_backend_name()
    if name not in ("privateuseone", NAME):
        raise DeviceError(
            f"[torch] the place for one more device is taken by '{name}'; mps cannot be served."
        )
    try:
        acc, kind = torch._C._acc, torch._C._autograd.DeviceType.PrivateUse1
        guard = type("Guard", (acc.DeviceGuard,), {"type_": lambda self: kind})()
        hooks = type("Hooks", (acc.PrivateUse1Hooks,), _answers("is_available", "is_built"))()
        torch.utils.rename_privateuse1_backend(NAME)
        torch._register_device_module(NAME, _Module())
        acc.register_python_privateuseone_hook(hooks)
        acc.register_python_privateuseone_device_guard(guard)
    except AttributeError as problem:
        raise DeviceError(
            f"[torch] PyTorch {torch.__version__} cannot be given a device from Python; 2.13 can.\n"
            "metalloid.torch.compile_shader works on tensors of the CPU with any PyTorch."
        ) from problem
    _alive.extend((guard, hooks))


def _one_thread(torch: Any) -> None:
    """Let backward passes run in the thread that asks for them.

    The autograd engine counts devices at its first backward pass, for good: a device that is registered later has no
    thread of its own, and the engine asserts that it has. With an accelerator of PyTorch's there is one, shared by all.
    """
    if any(getattr(torch, name).device_count() for name in ("cuda", "xpu")):
        return
    graph = torch.autograd.graph
    run = graph._engine_run_backward

    @wraps(run)
    def here(*arguments: Any, **named: Any) -> Any:
        with torch.autograd.set_multithreading_enabled(False):
            return run(*arguments, **named)

    graph._engine_run_backward = torch.autograd._engine_run_backward = here


def _answers(*names: str) -> dict[str, Any]:
    yes = dict.fromkeys(names, lambda self: True)
    return {**yes, "has_primary_context": lambda self, device: True}


class _Module:
    """What PyTorch asks of `torch.metalloid`."""

    def is_initialized(self) -> bool:
        return True

    def is_available(self) -> bool:
        return True

    def current_device(self) -> int:
        return 0

    def device_count(self) -> int:
        return 1

    def _is_in_bad_fork(self) -> bool:
        return False

    def manual_seed_all(self, seed: int) -> None:
        """Random numbers are the CPU's, and seeded with it."""

    def get_rng_state(self, device: Any = None) -> Any:
        return pytorch().default_generator.get_state()

    def set_rng_state(self, state: Any, device: Any = None) -> None:
        pytorch().default_generator.set_state(state)


def true_device(tensor: Any) -> Any:
    """The device that C++ knows."""
    torch = pytorch()

    return torch._C.TensorBase.device.__get__(tensor)


def is_ours(tensor: Any) -> bool:
    # Under a TorchFunctionMode the getter of C++ comes back to the one that shows "mps".
    return bool(_alive) and true_device(tensor).type in (NAME, "mps")


def to_device(tensor: Any) -> Any:
    """A tensor of the CPU as one of the device, in the same memory."""
    if (wide := _TOO_WIDE.get(str(tensor.dtype))) is not None:
        raise TypeError(
            f"Cannot convert a MPS Tensor to {wide[0]} dtype as the MPS framework doesn't support {wide[0]}."
            f" Please use {wide[1]} instead."
        )
    return _moved(tensor, _OTHER_CODE)


def to_cpu(tensor: Any) -> Any:
    """The memory of one of our tensors as a tensor of the CPU."""
    return _moved(tensor, _CPU_CODE)


_pointer = ctypes.pythonapi.PyCapsule_GetPointer
_pointer.restype, _pointer.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]


def _moved(tensor: Any, code: int) -> Any:
    """The same memory under another device. The capsule keeps it alive, in C++."""
    torch = pytorch()

    capsule = torch._C._to_dlpack(tensor)
    ctypes.c_int32.from_address(_pointer(capsule, b"dltensor") + _DEVICE_TYPE).value = code
    return torch._C._from_dlpack(capsule)
