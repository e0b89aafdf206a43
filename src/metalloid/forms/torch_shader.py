"""`torch.mps.compile_shader` on any machine, for tensors on the CPU; they are changed in place, nothing is copied.

PyTorch passes bits: a Python int goes as int64, a float as float32, whatever the kernel declares. Where the
kernel would read something else than what was meant, this form says so instead.
"""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import prod
from typing import Any

import numpy as np

from metalloid.backends.base import Launch
from metalloid.errors import CompileError, LaunchError
from metalloid.forms.torch_device import is_ours
from metalloid.forms.torch_source import shader_source
from metalloid.forms.torch_values import bits, cast
from metalloid.runtime.arguments import WRITES, element, refuse
from metalloid.runtime.device import device
from metalloid.runtime.kernel import Kernel
from metalloid.runtime.library import Library
from metalloid.runtime.places import caller, warn_once
from metalloid.runtime.sizes import shown, triple
from metalloid.runtime.watch import refusals
from metalloid.types import Parameter, Signature, Vector

_MEANT = {
    "grid": "threads",
    "threadgroup": "group_size",
    "threadgroup_size": "group_size",
    "block_size": "group_size",
    "casts": "arg_casts",
}


class GroupTooLarge(LaunchError, ValueError):
    """PyTorch raises a ValueError here."""


class Refused(LaunchError, RuntimeError):
    """PyTorch's own refusals of a call are RuntimeErrors."""


class ShaderLibrary:
    """Kernels as attributes: `library.name(tensor, ..., threads=...)`."""

    def __init__(self, library: Library) -> None:
        self._library = library
        self._made: dict[str, ShaderKernel] = {}

    def __getattr__(self, name: str) -> ShaderKernel:
        if name.startswith("__"):
            raise AttributeError(name)
        found = self._made.get(name)
        if found is None:
            names = self._library.kernels
            if name not in names:
                raise RuntimeError(f"there is no kernel '{name}' in this library; it has {', '.join(names)}.")
            found = self._made[name] = ShaderKernel(_kernel(self._library, name))
        return found

    def __dir__(self) -> list[str]:
        return sorted(self._library.kernels)

    def __repr__(self) -> str:
        return f"<shader library: {', '.join(self._library.kernels)}>"


class ShaderKernel:
    """One kernel. The position of an argument is its buffer index."""

    def __init__(self, kernel: Kernel) -> None:
        self._kernel = kernel

    def __repr__(self) -> str:
        return f"<shader {self._kernel!r}>"

    @property
    def max_threads_per_threadgroup(self) -> int:
        return self._kernel.max_threads_per_threadgroup

    @property
    def thread_execution_width(self) -> int:
        return self._kernel.thread_execution_width

    @property
    def static_thread_group_memory_length(self) -> int:
        return self._kernel.threadgroup_memory_length

    def __call__(
        self,
        *args: Any,
        threads: int | Sequence[int] | None = None,
        group_size: int | Sequence[int] | None = None,
        arg_casts: str | Mapping[int, str] | None = None,
        **unknown: Any,
    ) -> None:
        """Run and wait. `threads` is the number of elements of the first tensor where it is not given."""
        if unknown:
            name = next(iter(unknown))
            meant = f" Did you mean {_MEANT[name]}=?" if name in _MEANT else ""
            raise TypeError(f"[{self._kernel.name}] the call has no argument '{name}'.{meant}")
        with refusals(self._kernel):
            try:
                launch = self._launch(args, threads, group_size, arg_casts)
            except GroupTooLarge:
                raise
            except LaunchError as error:
                raise Refused(str(error), error.rule) from None
        self._kernel.run(launch)

    def _launch(self, args: tuple[Any, ...], threads: Any, group_size: Any, arg_casts: Any) -> Launch:
        kernel, signature = self._kernel, self._kernel.signature
        sized_by = None
        if threads is None:
            sized_by = next((index for index, arg in enumerate(args) if _is_tensor(arg)), None)
            threads = args[sized_by].numel() if sized_by is not None else None
        if threads is None:
            raise RuntimeError(
                f"[{kernel.name}] pass a tensor, or threads=: how many are not known otherwise."
            )
        where = f"[{kernel.name}]"
        grid = triple(where, "threads", threads)
        group = self._group(where, grid, threads, group_size)
        if len(args) > 1 + max((p.index for p in signature.buffers), default=-1):
            refuse(signature, f"takes {len(signature.buffers)} arguments; got {len(args)}.")
        for p in signature.buffers:
            if p.index < len(args) and _is_tensor(args[p.index]):
                _warn_strided(signature, p, args[p.index], args)
        values = {
            p.index: _bound(signature, p, args[p.index], cast(signature, p.index, arg_casts))
            for p in signature.buffers
            if p.index < len(args)
        }
        # By position: a parameter may be called what the launch calls its own, `grid`.
        return kernel.launch(*values.values(), grid=grid, threadgroup=group, overlap=True, sized_by=sized_by)

    def _group(self, where: str, grid: tuple[int, int, int], threads: Any, wanted: Any) -> tuple[int, ...]:
        limit = self._kernel.max_threads_per_threadgroup
        if wanted is None:
            return min(grid[0], limit), 1, 1
        group = triple(where, "group_size", wanted)
        if np.size(wanted) != np.size(threads):
            raise ValueError(
                f"{where} threads is {threads!r} and group_size {wanted!r}; give both as many axes."
            )
        if prod(group) > limit:
            raise GroupTooLarge(
                f"{where} M302 group_size is {shown(group)}, {prod(group)} threads; the limit is {limit}.\n"
                f"Pass a group_size of {limit} threads or fewer."
            )
        return group


def compile_shader(source: str) -> ShaderLibrary:
    """A library from MSL text. Text that does not compile is a SyntaxError, as in PyTorch."""
    try:
        return ShaderLibrary(device().library(replace(shader_source(source), called=caller())))
    except CompileError as error:
        raise SyntaxError(str(error)) from error


def _kernel(library: Library, name: str) -> Kernel:
    try:
        return library[name]
    except CompileError as error:
        raise SyntaxError(str(error)) from error


def _is_tensor(value: Any) -> bool:
    return hasattr(value, "data_ptr") and hasattr(value, "untyped_storage")


def _bound(signature: Signature, parameter: Parameter, value: Any, cast: np.dtype[Any] | None) -> Any:
    """An argument as the memory that the kernel reads."""
    if _is_tensor(value):
        return _whole(parameter, _memory(signature, parameter, value))
    return bits(signature, parameter, value, cast)


def _whole(parameter: Parameter, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Three numbers for a `constant uint3&`, which is read as four; on a Mac there is memory behind the tensor."""
    type = parameter.type
    if not (parameter.reference and isinstance(type, Vector) and type.length == 3 and not type.packed):
        return memory
    if memory.nbytes != 3 * type.element.size or parameter.access in WRITES:
        return memory
    return np.pad(memory, (0, type.element.size))


def _warn_strided(signature: Signature, parameter: Parameter, tensor: Any, args: tuple[Any, ...]) -> None:
    """PyTorch hands over memory and no strides; a kernel that is given them as an argument knows."""
    if tensor.is_contiguous():
        return
    strides = tensor.stride()
    told = {n for a in args for n in (a if isinstance(a, list | tuple) else (a,)) if isinstance(n, int)}
    held = [
        a.tolist() for a in args if _is_tensor(a) and a.numel() == len(strides) and not a.is_floating_point()
    ]
    if {s for s in strides if s > 1} <= told or list(strides) in held:
        return
    warn_once(
        "M306",
        f"launch {signature.name}",
        f"'{parameter.name}' does not lie in rows (shape {tuple(tensor.shape)}, strides {strides}), and the kernel"
        " reads memory as it lies.",
        "Pass a contiguous tensor (.contiguous()), or its strides as an argument.",
    )


def _memory(signature: Signature, parameter: Parameter, tensor: Any) -> np.ndarray[Any, Any]:
    """The memory of a tensor from its first element on."""
    if tensor.device.type != "cpu" and not is_ours(tensor):
        refuse(signature, f"'{parameter.name}' is on {tensor.device}; pass a tensor on the CPU.")
    size = tensor.element_size()
    wanted = element(parameter.type)
    complex_ = tensor.is_complex() and size == parameter.type.size  # a float2
    if wanted is not None and size != wanted.itemsize and size != 1 and not complex_:
        warn_once(
            "M306",
            f"launch {signature.name}",
            f"'{parameter.name}' is declared {parameter.type}; the tensor's elements ({tensor.dtype}) have another"
            " size, and the kernel reads their bytes.",
            f"Pass a tensor of {wanted}.",
        )
    if tensor.is_conj() or tensor.is_neg():
        warn_once(
            "M306",
            f"launch {signature.name}",
            f"'{parameter.name}' is a conjugate or a negation that PyTorch has not worked out yet, and the kernel reads"
            " memory as it lies.",
            "Pass tensor.resolve_conj().resolve_neg().",
        )
    if tensor.numel() == 0:
        return np.empty(0, np.uint8)
    reach = 1 + sum((n - 1) * s for n, s in zip(tensor.shape, tensor.stride(), strict=True))
    raw = (ctypes.c_uint8 * (reach * size)).from_address(tensor.data_ptr())
    raw._tensor = tensor  # alive as long as its memory is looked at
    return np.frombuffer(raw, np.uint8)
