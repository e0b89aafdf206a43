"""PyTorch's operators on our device: the CPU's own, on the same memory.

One function serves every operator. Views look at sizes and storage only, so the CPU's code makes them on our tensors
as they are; everything else runs on tensors of the CPU that share memory with the arguments.
"""

from __future__ import annotations

from typing import Any

from metalloid.forms.torch_cells import CELLS
from metalloid.forms.torch_device import is_ours, pytorch, to_cpu, to_device

# Operators that take tensors of both devices, by their names without the overload.
_MIXED = frozenset(
    f"aten::{name}"
    for name in "_copy_from _copy_from_and_resize index index_put index_put_ _index_put_impl_ _unsafe_index".split()
)


def operators() -> list[Any]:
    """Register them; the caller keeps what is returned alive."""
    torch = pytorch()
    every = torch.library.Library("_", "IMPL")
    some = torch.library.Library("aten", "IMPL")
    for key in ("MPS", "PrivateUse1"):  # a factory that is told "mps" comes with the first
        every.fallback(_on_cpu, key)
    for name, function in {**_SPECIAL, **CELLS}.items():
        some.impl(name, function, "PrivateUse1")
    return [every, some]


def _on_cpu(operator: Any, *arguments: Any, **named: Any) -> Any:
    schema = operator._schema
    views = any(r.alias_info is not None and not r.alias_info.is_write for r in schema.returns)
    if views or schema.name == "aten::set_":
        return operator.redispatch(_cpu_keys(), *arguments, **named)
    call = _Call(operator)
    outs = {a.name for a in schema.arguments if a.kwarg_only and a.alias_info and a.alias_info.is_write}
    lowered = [call.down(a) for a in arguments]
    given = {name: call.out(v) if name in outs else call.down(v) for name, v in named.items()}
    if call.mixed and schema.name not in _MIXED:
        raise RuntimeError(
            "Expected all tensors to be on the same device, but found at least two devices, mps:0 and cpu!"
            f" (when checking the arguments of {schema.name.removeprefix('aten::')})"
        )
    result = operator(*lowered, **given)
    call.settle()
    return call.up(result)


class _Call:
    """The arguments of one call on their way to the CPU, and its results on their way back."""

    def __init__(self, operator: Any) -> None:
        torch = pytorch()
        self._torch, self._operator = torch, operator
        self._own: dict[int, tuple[Any, Any]] = {}  # by id of the CPU's tensor: that one, and the caller's
        self._outs: list[tuple[Any, Any]] = []
        self._ours = self._strangers = False

    @property
    def mixed(self) -> bool:
        return self._ours and self._strangers

    def down(self, value: Any) -> Any:
        torch = self._torch
        if isinstance(value, torch.Tensor):
            if is_ours(value):
                self._ours = True
                return self._pair(to_cpu(value), value)
            self._strangers |= value.dim() > 0  # a number may be anywhere
            return self._pair(value, value)
        if isinstance(value, torch.device):
            return torch.device("cpu")
        if isinstance(value, list | tuple):
            return type(value)(self.down(v) for v in value)
        return value

    def out(self, value: Any) -> Any:
        """An `out=`: the CPU may give it another size, which memory that is lent cannot take."""
        if isinstance(value, list | tuple):
            return type(value)(self.out(v) for v in value)
        if not isinstance(value, self._torch.Tensor) or not is_ours(value):
            return self.down(value)
        fresh = self._torch.empty(0, dtype=value.dtype)
        self._outs.append((value, fresh))
        return self._pair(fresh, value)

    def settle(self) -> None:
        """Hand results to `out=`."""
        for value, fresh in self._outs:
            if value.shape == fresh.shape:
                to_cpu(value).copy_(fresh)
            else:
                become(value, fresh)

    def up(self, result: Any) -> Any:
        if isinstance(result, self._torch.Tensor):
            known = self._own.get(id(result))
            return known[1] if known is not None else to_device(result)
        if isinstance(result, list | tuple):
            return type(result)(self.up(r) for r in result)
        return result

    def _pair(self, lower: Any, upper: Any) -> Any:
        self._own[id(lower)] = lower, upper
        return lower


def _cpu_keys() -> Any:
    torch = pytorch()
    return torch._C.DispatchKeySet(torch._C.DispatchKey.CPU)


def become(tensor: Any, contents: Any) -> None:
    """One of our tensors takes the memory and the sizes of a tensor of the CPU."""
    torch = pytorch()
    made = to_device(contents.clone() if contents.storage_offset() else contents)
    torch.ops.aten.set_.source_Storage_storage_offset.redispatch(
        _cpu_keys(), tensor, made.untyped_storage(), 0, made.shape, made.stride()
    )


def _copy(target: Any, source: Any, non_blocking: bool = False) -> Any:
    lower = to_cpu(target) if is_ours(target) else target
    lower.copy_(to_cpu(source) if is_ours(source) else source)
    return target


def _resize(tensor: Any, size: Any, memory_format: Any = None) -> Any:
    torch = pytorch()
    whole = torch.empty(size, dtype=tensor.dtype)
    flat = to_cpu(tensor).reshape(-1)
    kept = min(flat.numel(), whole.numel())
    whole.view(-1)[:kept] = flat[:kept]
    become(tensor, whole)
    return tensor


def _convolution(*arguments: Any) -> Any:
    torch = pytorch()
    return to_device(torch.ops.aten.convolution.default(*map(_lower, arguments)))


def _convolution_backward(
    gradient: Any,
    inputs: Any,
    weight: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
    mask: Any,
) -> Any:
    torch = pytorch()
    tensors = [to_cpu(t) for t in (gradient, inputs, weight)]
    settings = (stride, padding, dilation, transposed, output_padding, groups, mask)
    sizes = [weight.shape[1] * groups if transposed else weight.shape[0]]
    made = torch.ops.aten.convolution_backward.default(*tensors, sizes, *settings)
    return tuple(None if t is None else to_device(t) for t in made)


def _lower(value: Any) -> Any:
    torch = pytorch()
    return to_cpu(value) if isinstance(value, torch.Tensor) and is_ours(value) else value


# What PyTorch asks a device for by another name than the CPU's, or in a table of kernels that we are not in.
_SPECIAL = {
    "copy_": _copy,
    "resize_": _resize,
    "convolution_overrideable": _convolution,
    "convolution_backward_overrideable": _convolution_backward,
}
