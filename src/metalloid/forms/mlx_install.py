"""Put metalloid under MLX's own names, so that code which asks for Metal finds it; and take it away again."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import Any

from metalloid.errors import DeviceError
from metalloid.forms.mlx_kernel import metal_kernel
from metalloid.forms.mlx_trace import inside, tracing
from metalloid.forms.patches import Patches


def install() -> None:
    """Make `mx.fast.metal_kernel` run here, `mx.metal.is_available()` true, and `mx.gpu` the default device.

    Functions under `mx.compile` run uncompiled meanwhile; the first kernel inside one says so.

    Do it before importing code that makes its kernels at import, as mlx-lm does. Calls nest.
    """
    _PATCHES.install()


def uninstall() -> None:
    """Undo one `install`; the last one gives MLX its own names back."""
    _PATCHES.uninstall()


@contextmanager
def installed() -> Iterator[None]:
    """`with metalloid.mlx.installed():` installs for as long as the block runs."""
    install()
    try:
        yield
    finally:
        uninstall()


def is_installed() -> bool:
    """Whether `install` is in force."""
    return _PATCHES.installed


def vmap(fun: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
    """MLX's `vmap` for functions that call a kernel, where `install` is not wanted."""
    import mlx.core as mx

    transform = mx.vmap if is_installed() else _noting("vmap", mx.vmap)
    return transform(fun, *arguments, **named)


def _patch() -> None:
    try:
        import mlx.core as mx
    except ImportError:
        raise DeviceError("[mlx] MLX is not installed: pip install 'mlx[cpu]'.") from None
    _PATCHES.replace(mx.fast, "metal_kernel", metal_kernel)
    _PATCHES.replace(mx.metal, "is_available", lambda: True)
    _PATCHES.replace(mx, "gpu", mx.cpu)  # whoever asks for the GPU gets the device that is there
    _PATCHES.replace(mx, "vmap", _noting("vmap", mx.vmap))
    _PATCHES.replace(mx, "compile", _noting("compile", mx.compile))
    for name in ("export_function", "exporter"):
        _PATCHES.replace(mx, name, _exporting(getattr(mx, name)))
    _uncompiled(mx)
    for module in (mx, mx.metal):
        if hasattr(module, "device_info"):
            _PATCHES.replace(module, "device_info", _device_info(module.device_info))


def _uncompiled(mx: Any) -> None:
    """A kernel needs values, and a function that is compiled is traced without any: compiling waits for `uninstall`."""
    wanted = ["MLX_DISABLE_COMPILE" not in os.environ]
    enable, disable = mx.enable_compile, mx.disable_compile
    disable()
    _PATCHES.replace(mx, "enable_compile", lambda: wanted.__setitem__(0, True))
    _PATCHES.replace(mx, "disable_compile", lambda: wanted.__setitem__(0, False))
    _PATCHES.afterwards(lambda: enable() if wanted[0] else None)


def _exporting(export: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(export)
    def noted(*arguments: Any, **named: Any) -> Any:
        with inside("export"):
            return export(*arguments, **named)

    return noted


def _noting(kind: str, transform: Callable[..., Any]) -> Callable[..., Any]:
    """The transformation, with a note while it traces a function; and while what it made runs, since functions inside
    that have rules of their own (`mx.custom_function`) are traced again then."""

    def noted(fun: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return tracing(kind, transform(tracing(kind, fun), *arguments, **named))

    noted.__doc__ = transform.__doc__
    return noted


def _device_info(original: Callable[..., Any]) -> Callable[..., Any]:
    """What callers who found Metal ask next."""
    total = _memory()
    ours = {
        "architecture": "metalloid",
        "device_name": "metalloid",
        "memory_size": total,
        "max_recommended_working_set_size": total * 3 // 4,
        "max_buffer_length": total // 2,
        "resource_limit": 499000,
    }

    def info(*arguments: Any) -> dict[str, Any]:
        try:
            return {**ours, **original(*arguments)}
        except Exception:
            return dict(ours)

    return info


def _memory() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


_PATCHES = Patches("mlx", _patch)
