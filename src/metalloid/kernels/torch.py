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


class _Operator:
    """What PyTorch asks of a primitive and of its vjp: values, shapes, derivatives and batches.

    Both get flat lists: the tensors, for the vjp the change of the result, then the settings in their order.
    """

    def __init__(self, primitive: Primitive) -> None:
        self._primitive, self._count, self._moving = primitive, len(primitive.inputs), primitive.moving
        forward, backward = f"metalloid::{primitive.name}", f"metalloid::{primitive.name}_vjp"
        tensors, settings = ", ".join(f"Tensor {name}" for name in primitive.inputs), _settings(primitive)
        results = ", ".join(["Tensor"] * len(self._moving))
        changes = f"({results})" if len(self._moving) > 1 else results
        custom_op(forward, self.run, mutates_args=(), schema=f"({tensors}{settings}) -> Tensor")
        self._vjp = custom_op(
            backward,
            self.gradients,
            mutates_args=(),
            schema=f"({tensors}, Tensor change{settings}) -> {changes}",
        )
        register_fake(forward, self.shape)
        register_fake(backward, self.shapes)
        register_autograd(forward, self.derive, setup_context=self.keep)
        register_vmap(forward, self.batch)
        register_vmap(backward, self.batch_vjp)

    def run(self, *values: Any) -> Any:
        count = self._count
        return self._primitive(*values[:count], **self._named(values[count:]))

    def gradients(self, *values: Any) -> Any:
        count = self._count
        found = self._primitive.vjp(values[:count], values[count], **self._named(values[count + 1 :]))
        return self._moved(found)

    def shape(self, *values: Any) -> Any:
        count, primitive = self._count, self._primitive
        settings = {**primitive.settings, **self._named(values[count:])}
        shapes = (tuple(v.shape) for v in values[:count])
        return values[self._moving[0]].new_empty(primitive.shape_rule(*shapes, **settings))

    def shapes(self, *values: Any) -> Any:
        return self._moved([v.new_empty(v.shape) for v in values[: self._count]])

    def keep(self, ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        ctx.save_for_backward(*inputs[: self._count])
        ctx.settings = inputs[self._count :]

    def derive(self, ctx: Any, change: Any) -> Any:
        found = self._vjp(*ctx.saved_tensors, change, *ctx.settings)
        gradients: list[Any] = [None] * (self._count + len(ctx.settings))
        for n, gradient in zip(self._moving, found if len(self._moving) > 1 else (found,), strict=True):
            gradients[n] = gradient
        return tuple(gradients)

    def batch(self, _: Any, axes: tuple[Any, ...], *values: Any) -> Any:
        count = self._count
        return self._primitive.vmap(values[:count], axes[:count], **self._named(values[count:])), 0

    def batch_vjp(self, _: Any, axes: tuple[Any, ...], *values: Any) -> Any:
        count, settings = self._count, self._named(values[self._count + 1 :])
        found = self._primitive.vjp_vmap(values[:count], values[count], axes[: count + 1], **settings)
        return self._moved(found), (0,) * len(self._moving) if len(self._moving) > 1 else 0

    def _named(self, settings: tuple[Any, ...]) -> dict[str, Any]:
        return dict(zip(self._primitive.settings, settings, strict=False))

    def _moved(self, found: Any) -> Any:
        """What belongs to inputs that have derivatives: a tuple, or the only one."""
        moving = self._moving
        return tuple(found[n] for n in moving) if len(moving) > 1 else found[moving[0]]


def _settings(primitive: Primitive) -> str:
    """The settings, as a schema writes them."""
    found = []
    for name, value in primitive.settings.items():
        kind = _OPTIONAL[name] if value is None else _TYPES[type(value)]
        shown = f'"{value}"' if isinstance(value, str) else value
        found.append(f"{kind} {name}={shown}")
    return "".join(f", {setting}" for setting in found)


def _operator(primitive: Primitive) -> Callable[..., Any]:
    """Two operators: the operation, and its vjp, which fake tensors and vmap see as well."""
    _Operator(primitive)
    made: Callable[..., Any] = getattr(torch.ops.metalloid, primitive.name)
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
