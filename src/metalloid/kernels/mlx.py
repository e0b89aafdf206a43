"""The kernels inside MLX: `mx.grad`, `mx.jvp` and `mx.vmap` go through them.

from metalloid.kernels import mlx as mk

mx.grad(lambda x: mk.rms_norm(x, weight).sum())(x)

MLX knows the shape of a result under `mx.vmap` before there are values, so `metalloid.mlx.install()` has to have
told this package when that is so. `mx.compile` is refused: it keeps shapes and never asks for the values.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import mlx.core as mx

from metalloid.errors import LaunchError
from metalloid.forms.mlx_trace import settle
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


def _function(primitive: Primitive) -> Callable[..., Any]:
    def call(*inputs: Any, **settings: Any) -> Any:
        arrays = [a if isinstance(a, mx.array) else mx.array(a) for a in inputs]
        shape = primitive.shape_rule(*(tuple(a.shape) for a in arrays), **{**primitive.settings, **settings})

        def vjp(primals: Any, cotangent: Any, _: Any) -> Any:
            return _gradients(primitive, settings, _list(primals), cotangent)

        def jvp(primals: Any, tangents: Any) -> Any:
            values = _list(primals)
            moved = [t if t is None else mx.array(t) for t in _list(tangents)]
            return _custom(
                f"{primitive.name} jvp",
                lambda *a: primitive.jvp(a[: len(values)], _where(moved, a[len(values) :]), **settings),
                [(shape, values[primitive.moving[0]].dtype)],
                None,
            )(*values, *(t for t in moved if t is not None))

        def vmap(values: Sequence[Any], axes: Sequence[int | None]) -> Any:
            return primitive.vmap(values, axes, **settings)

        run = _custom(
            primitive.name,
            lambda *a: primitive(*a, **settings),
            [(shape, arrays[primitive.moving[0]].dtype)],
            vmap,
            vjp,
            jvp,
        )
        return run(*arrays)

    call.__name__ = primitive.name
    call.__doc__ = f"`metalloid.kernels.{primitive.name}` of mx.array, with its derivatives."
    return call


def _gradients(primitive: Primitive, settings: dict[str, Any], primals: list[Any], cotangent: Any) -> Any:
    moving = primitive.moving

    def vmap(values: Sequence[Any], axes: Sequence[int | None]) -> Any:
        found = primitive.vjp_vmap(values[:-1], values[-1], axes, **settings)
        return _one(tuple(found[n] for n in moving))

    def vjp(*arrays: Any) -> Any:
        found = primitive.vjp(arrays[:-1], arrays[-1], **settings)
        return _one(tuple(found[n] for n in moving))

    run = _custom(
        f"{primitive.name} vjp",
        vjp,
        [(tuple(primals[n].shape), primals[n].dtype) for n in moving],
        vmap,
    )
    found = dict(zip(moving, _list(run(*primals, cotangent)), strict=True))
    return _one(tuple(found.get(n, mx.zeros_like(p)) for n, p in enumerate(primals)))


def _custom(
    name: str,
    run: Callable[..., Any],
    outputs: list[tuple[tuple[int, ...], Any]],
    vmap: Callable[..., Any] | None,
    vjp: Callable[..., Any] | None = None,
    jvp: Callable[..., Any] | None = None,
) -> Any:
    """A custom function: values where there are any, else shapes, and rules for what MLX asks."""

    def forward(*arrays: Any) -> Any:
        if settle(mx, arrays, name):
            return run(*arrays)
        return _one(tuple(mx.zeros(shape, dtype) for shape, dtype in outputs))

    def mapped(values: Any, axes: Any) -> tuple[Any, Any]:
        if vmap is None:
            return _refuse(name, "vmap")
        found = vmap(_list(values), [None if a is None or a < 0 else a for a in _list(axes)])
        return found, (0,) * len(found) if isinstance(found, tuple) else 0

    function = mx.custom_function(forward)
    function.vmap(mapped)
    function.vjp(vjp or (lambda *_: _refuse(name, "vjp")))
    function.jvp(jvp or (lambda *_: _refuse(name, "jvp")))
    return function


def _refuse(name: str, rule: str) -> NoReturn:
    raise LaunchError(f"[{name}] has no {rule} of its own; derivatives of derivatives are not supported.")


def _where(tangents: list[Any], given: Sequence[Any]) -> list[Any]:
    """The tangents that are there, in their places."""
    left = iter(given)
    return [None if t is None else next(left) for t in tangents]


def _list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, list | tuple) else [values]


def _one(values: tuple[Any, ...]) -> Any:
    return values[0] if len(values) == 1 else values


affine_matmul = _function(PRIMITIVES["affine_matmul"])
attention = _function(PRIMITIVES["attention"])
embedding = _function(PRIMITIVES["embedding"])
gelu = _function(PRIMITIVES["gelu"])
layer_norm = _function(PRIMITIVES["layer_norm"])
matmul = _function(PRIMITIVES["matmul"])
max = _function(PRIMITIVES["max"])
quantized_matmul = _function(PRIMITIVES["quantized_matmul"])
rms_norm = _function(PRIMITIVES["rms_norm"])
rope = _function(PRIMITIVES["rope"])
silu = _function(PRIMITIVES["silu"])
softmax = _function(PRIMITIVES["softmax"])
sum = _function(PRIMITIVES["sum"])
swiglu = _function(PRIMITIVES["swiglu"])
