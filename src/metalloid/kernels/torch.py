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
    "affine_matmul",
    "attention",
    "embedding",
    "gelu",
    "layer_norm",
    "matmul",
    "max",
    "quantized_matmul",
    "rms_norm",
    "rope",
    "silu",
    "softmax",
    "sum",
    "swiglu",
]

_TYPES = {bool: "bool", int: "int", float: "float", str: "str"}
_OPTIONAL = {"dims": "int?", "scale": "float?"}  # settings that are None where they are not given


def _arguments(primitive: Primitive) -> str:
    """The settings, as a schema writes them."""
    found = []
    for name, value in primitive.settings.items():
        kind = _OPTIONAL[name] if value is None else _TYPES[type(value)]
        shown = f'"{value}"' if isinstance(value, str) else value
        found.append(f"{kind} {name}={shown}")
    return "".join(f", {setting}" for setting in found)


def _operator(primitive: Primitive) -> Callable[..., Any]:
    """Two operators: the operation, and its vjp, which fake tensors and vmap see as well."""
    count, names = len(primitive.inputs), tuple(primitive.settings)
    tensors = ", ".join(f"Tensor {name}" for name in primitive.inputs)
    arguments = _arguments(primitive)
    moving, lead = primitive.moving, primitive.moving[0]
    results = ", ".join(["Tensor"] * len(moving))
    forward, backward = f"metalloid::{primitive.name}", f"metalloid::{primitive.name}_vjp"

    def named(settings: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(names, settings, strict=False))

    def run(*values: Any) -> Any:
        return primitive(*values[:count], **named(values[count:]))

    def gradients(*values: Any) -> Any:
        found = primitive.vjp(values[:count], values[count], **named(values[count + 1 :]))
        return moved(found)

    def moved(found: Any) -> Any:
        """What belongs to inputs that have derivatives: a tuple, or the only one."""
        return tuple(found[n] for n in moving) if len(moving) > 1 else found[lead]

    def shape(*values: Any) -> Any:
        settings = {**primitive.settings, **named(values[count:])}
        return values[lead].new_empty(
            primitive.shape_rule(*(tuple(v.shape) for v in values[:count]), **settings)
        )

    def shapes(*values: Any) -> Any:
        return moved([v.new_empty(v.shape) for v in values[:count]])

    def keep(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[:count])
        ctx.settings = inputs[count:]

    def derive(ctx: Any, change: Any) -> Any:
        found = vjp(*ctx.saved_tensors, change, *ctx.settings)
        gradients: list[Any] = [None] * (count + len(ctx.settings))
        for n, gradient in zip(moving, found if len(moving) > 1 else (found,), strict=True):
            gradients[n] = gradient
        return tuple(gradients)

    def batch(_: Any, axes: tuple[Any, ...], *values: Any) -> Any:
        return primitive.vmap(values[:count], axes[:count], **named(values[count:])), 0

    def batch_vjp(_: Any, axes: tuple[Any, ...], *values: Any) -> Any:
        settings = named(values[count + 1 :])
        found = primitive.vjp_vmap(values[:count], values[count], axes[: count + 1], **settings)
        return moved(found), (0,) * len(moving) if len(moving) > 1 else 0

    operator = custom_op(forward, run, mutates_args=(), schema=f"({tensors}{arguments}) -> Tensor")
    vjp = custom_op(
        backward,
        gradients,
        mutates_args=(),
        schema=f"({tensors}, Tensor change{arguments}) -> {f'({results})' if len(moving) > 1 else results}",
    )
    register_fake(forward, shape)
    register_fake(backward, shapes)
    register_autograd(forward, derive, setup_context=keep)
    register_vmap(forward, batch)
    register_vmap(backward, batch_vjp)
    made: Callable[..., Any] = getattr(torch.ops.metalloid, primitive.name)
    assert operator is not None
    return made


affine_matmul = _operator(PRIMITIVES["affine_matmul"])
attention = _operator(PRIMITIVES["attention"])
embedding = _operator(PRIMITIVES["embedding"])
gelu = _operator(PRIMITIVES["gelu"])
layer_norm = _operator(PRIMITIVES["layer_norm"])
matmul = _operator(PRIMITIVES["matmul"])
max = _operator(PRIMITIVES["max"])
quantized_matmul = _operator(PRIMITIVES["quantized_matmul"])
rms_norm = _operator(PRIMITIVES["rms_norm"])
rope = _operator(PRIMITIVES["rope"])
silu = _operator(PRIMITIVES["silu"])
softmax = _operator(PRIMITIVES["softmax"])
sum = _operator(PRIMITIVES["sum"])
swiglu = _operator(PRIMITIVES["swiglu"])
