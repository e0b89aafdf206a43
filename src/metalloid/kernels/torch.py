"""The kernels as PyTorch operators, `torch.ops.metalloid.*`: autograd, `torch.func.vmap` and fake tensors work.

from metalloid.kernels import torch as mk

mk.rms_norm(x, weight).sum().backward()
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch.library import custom_op, register_autograd, register_fake, register_vmap

from metalloid.kernels.primitive import Primitive
from metalloid.kernels.primitives import PRIMITIVES

__all__ = [
    "attention",
    "gelu",
    "layer_norm",
    "matmul",
    "max",
    "rms_norm",
    "rope",
    "silu",
    "softmax",
    "sum",
    "swiglu",
]

_TYPES = {bool: "bool", int: "int", float: "float"}
_OPTIONAL = {"dims": "int?", "scale": "float?"}  # settings that are None where they are not given


def _arguments(primitive: Primitive) -> str:
    """The settings, as a schema writes them."""
    found = []
    for name, value in primitive.settings.items():
        kind = _OPTIONAL[name] if value is None else _TYPES[type(value)]
        found.append(f"{kind} {name}={value}")
    return "".join(f", {setting}" for setting in found)


def _operator(primitive: Primitive) -> Callable[..., Any]:
    """Two operators: the operation, and its vjp, which fake tensors and vmap see as well."""
    count, names = len(primitive.inputs), tuple(primitive.settings)
    tensors = ", ".join(f"Tensor {name}" for name in primitive.inputs)
    arguments = _arguments(primitive)
    results = ", ".join(["Tensor"] * count)
    forward, backward = f"metalloid::{primitive.name}", f"metalloid::{primitive.name}_vjp"

    def named(settings: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(names, settings, strict=False))

    def run(*values: Any) -> Any:
        return primitive(*values[:count], **named(values[count:]))

    def gradients(*values: Any) -> Any:
        found = primitive.vjp(values[:count], values[count], **named(values[count + 1 :]))
        return found if count > 1 else found[0]

    def shape(*values: Any) -> Any:
        settings = {**primitive.settings, **named(values[count:])}
        return values[0].new_empty(
            primitive.shape_rule(*(tuple(v.shape) for v in values[:count]), **settings)
        )

    def shapes(*values: Any) -> Any:
        found = tuple(v.new_empty(v.shape) for v in values[:count])
        return found if count > 1 else found[0]

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[:count])
        ctx.settings = inputs[count:]

    def derive(ctx: Any, change: Any) -> Any:
        found = vjp(*ctx.saved_tensors, change, *ctx.settings)
        return (*(found if count > 1 else (found,)), *(None for _ in ctx.settings))

    def batch(_: Any, axes: tuple[Any, ...], *values: Any) -> Any:
        return primitive.vmap(values[:count], axes[:count], **named(values[count:])), 0

    def batch_vjp(_: Any, axes: tuple[Any, ...], *values: Any) -> Any:
        settings = named(values[count + 1 :])
        found = primitive.vjp_vmap(values[:count], values[count], axes[: count + 1], **settings)
        return (found, (0,) * count) if count > 1 else (found[0], 0)

    operator = custom_op(forward, run, mutates_args=(), schema=f"({tensors}{arguments}) -> Tensor")
    vjp = custom_op(
        backward,
        gradients,
        mutates_args=(),
        schema=f"({tensors}, Tensor change{arguments}) -> {f'({results})' if count > 1 else results}",
    )
    register_fake(forward, shape)
    register_fake(backward, shapes)
    register_autograd(forward, derive, setup_context=keep)
    register_vmap(forward, batch)
    register_vmap(backward, batch_vjp)
    made: Callable[..., Any] = getattr(torch.ops.metalloid, primitive.name)
    assert operator is not None
    return made


attention = _operator(PRIMITIVES["attention"])
gelu = _operator(PRIMITIVES["gelu"])
layer_norm = _operator(PRIMITIVES["layer_norm"])
matmul = _operator(PRIMITIVES["matmul"])
max = _operator(PRIMITIVES["max"])
rms_norm = _operator(PRIMITIVES["rms_norm"])
rope = _operator(PRIMITIVES["rope"])
silu = _operator(PRIMITIVES["silu"])
softmax = _operator(PRIMITIVES["softmax"])
sum = _operator(PRIMITIVES["sum"])
swiglu = _operator(PRIMITIVES["swiglu"])
