"""Where Python code sees our device it sees "mps", and where it says "mps" it means our device."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from functools import wraps
from importlib import import_module
from typing import Any

from metalloid.forms.torch_device import NAME, is_ours, pytorch, to_device, true_device
from metalloid.forms.torch_mps import BACKENDS, MPS, PROFILER, Event

Replacement = tuple[Any, str, Any]  # an object, a name of it, what it is to be
# Makers of tensors that look at the device themselves, before an operator is called.
_MAKERS = ("tensor", "as_tensor", "asarray", "scalar_tensor")
_told: set[str] = set()


def replacements(torch: Any) -> Iterator[Replacement]:
    """All that is put under PyTorch's names."""
    tables = ((torch.mps, MPS), (torch.mps.profiler, PROFILER), (torch.backends.mps, BACKENDS))
    for module, table in tables:
        for name, value in table.items():
            if hasattr(module, name):  # older versions have fewer
                yield module, name, value
    yield torch.mps.event, "Event", Event


def device_replacements(torch: Any) -> Iterator[Replacement]:
    """What makes tensors of the device look as on a Mac, where the device is ours."""
    mps, own = torch.device("mps", 0), torch.device(NAME, 0)

    def shown(device: Any) -> Any:
        return mps if getattr(device, "type", "") == NAME else device

    def meant(value: Any) -> Any:
        if isinstance(value, str | torch.device) and str(value).partition(":")[0] == "mps":
            return own
        return value

    tensor = torch.Tensor
    yield tensor, "device", property(lambda t: shown(true_device(t)))
    yield tensor, "is_mps", property(is_ours)
    yield tensor, "to", _meaning(meant, torch._C.TensorBase.to)
    yield tensor, "new_tensor", _meaning(meant, torch._C.TensorBase.new_tensor)
    for name in _MAKERS:
        yield torch, name, _meaning(meant, getattr(torch, name))
    contexts = import_module("torch.utils._device")
    contexts._device_constructors()  # a list of PyTorch's own makers, made when it is first asked for: now
    context = contexts.DeviceContext
    yield context, "__init__", _meaning(meant, context.__init__)
    yield torch, "get_default_device", _showing(shown, torch.get_default_device)
    yield torch, "Generator", _generators(torch)
    autocast = _autocast(torch)
    yield torch, "autocast", autocast
    yield torch.amp, "autocast", autocast
    yield torch, "compile", _uncompiled(torch.compile)
    accelerator = getattr(torch, "accelerator", None)
    if accelerator is not None:
        yield accelerator, "current_accelerator", _showing(_without_index, accelerator.current_accelerator)


def load(torch: Any) -> None:
    """Let `torch.load` put what was saved on mps onto the device, whoever saved it."""

    def tag(storage: Any) -> str | None:
        return "mps" if storage.device.type == NAME else None

    def read(storage: Any, location: str) -> Any:
        if not location.startswith("mps"):
            return None
        if isinstance(storage, torch.storage.TypedStorage):
            storage = storage._untyped_storage
        return to_device(torch.empty(0, dtype=torch.uint8).set_(storage)).untyped_storage()

    torch.serialization.register_package(9, tag, read)


def _meaning(meant: Callable[[Any], Any], function: Any) -> Any:
    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        return function(*map(meant, arguments), **{name: meant(value) for name, value in named.items()})

    return called


def _showing(shown: Callable[[Any], Any], function: Any) -> Any:
    @wraps(function)
    def called(*arguments: Any, **named: Any) -> Any:
        return shown(function(*arguments, **named))

    return called


def _without_index(device: Any) -> Any:
    torch = pytorch()
    return torch.device("mps") if getattr(device, "type", "") == NAME else device


def _generators(torch: Any) -> Any:
    """`torch.Generator("mps")` is one of the CPU: so are the random numbers."""
    real = torch.Generator

    class Meta(type):
        def __instancecheck__(cls, value: object) -> bool:
            return isinstance(value, real)

        def __call__(cls, device: Any = "cpu") -> Any:
            return real("cpu" if str(device).partition(":")[0] in ("mps", NAME) else device)

    return Meta("Generator", (), {"__doc__": real.__doc__})


def _autocast(torch: Any) -> Any:
    real = torch.amp.autocast_mode.autocast

    def make(self: Any, device_type: str, *arguments: Any, **named: Any) -> None:
        if device_type == "mps" and named.get("enabled", True):
            _tell("torch.autocast('mps') casts nothing here: operators run in the types of their tensors")
        real.__init__(self, device_type, *arguments, **named)

    return type("autocast", (real,), {"__init__": make, "__doc__": real.__doc__})


def _uncompiled(real: Any) -> Any:
    """`torch.compile` has no code generator for the device; the function itself gives the same result."""

    @wraps(real)
    def compile(model: Any = None, **settings: Any) -> Any:
        _tell("torch.compile leaves functions as they are while metalloid serves mps")
        return model if model is not None else lambda function: function

    return compile


def _tell(sentence: str) -> None:
    """Once for a process."""
    if sentence not in _told:
        _told.add(sentence)
        warnings.warn(f"metalloid: {sentence}.", stacklevel=3)
