"""An operation that can be differentiated and batched.

A primitive is a name, what it takes, and rules. Rules are written once, for a set of operations `ops`: the
kernels of this package, or the references of numpy, which serve where no device is and for float64.

    y = primitive(x, weight, eps=1e-5)
    gradients = primitive.vjp((x, weight), change, eps=1e-5)     # what a change of the result asks of each input
    moved = primitive.jvp((x, weight), (dx, None), eps=1e-5)     # how a change of the inputs moves the result
    stacked = primitive.vmap((xs, weight), (0, None), eps=1e-5)  # one result per index of the mapped axes, axis 0
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import numpy as np

from metalloid.kernels import references
from metalloid.kernels.activation import gelu, gelu_slope, silu, silu_slope, swiglu, swiglu_vjp
from metalloid.kernels.affine import affine_dequantize, affine_matmul
from metalloid.kernels.arrays import Array, empty, refuse, taken
from metalloid.kernels.attention import attention
from metalloid.kernels.matmul import matmul
from metalloid.kernels.norm import layer_norm, norm_slope, norm_weight_vjp, rms_norm
from metalloid.kernels.quantized import dequantize, embedding, embedding_vjp, quantized_matmul
from metalloid.kernels.reduce import argmax, max, softmax, softmax_slope, sum
from metalloid.kernels.rope import rope
from metalloid.runtime.device import devices

Shape = tuple[int, ...]

KERNELS = SimpleNamespace(
    **{
        f.__name__: f
        for f in (
            *(silu, silu_slope, gelu, gelu_slope, swiglu, swiglu_vjp),
            *(rms_norm, layer_norm, norm_slope, norm_weight_vjp),
            *(sum, max, argmax, softmax, softmax_slope),
            *(matmul, attention, rope),
            *(embedding, embedding_vjp, dequantize, quantized_matmul, affine_dequantize, affine_matmul),
        )
    }
)


def _ops(arrays: Sequence[Array]) -> Any:
    """The kernels, or numpy's references where they cannot run."""
    wide = any(a.dtype == np.float64 for a in arrays)
    return references if wide or not devices() else KERNELS


def same_shape(*shapes: Shape, **_: Any) -> Shape:
    return shapes[0]


def one_by_one(arrays: list[Array], mapped: list[bool], settings: dict[str, Any]) -> None:
    """No single call does it."""


def all_spread(arrays: list[Array], mapped: list[bool], settings: dict[str, Any]) -> tuple[Any, ...]:
    """Element by element: what is not mapped repeats."""
    n = next(len(a) for a, m in zip(arrays, mapped, strict=True) if m)
    return [
        a if m else np.broadcast_to(a, (n, *a.shape)) for a, m in zip(arrays, mapped, strict=True)
    ], settings


@dataclass(frozen=True)
class Primitive:
    """See the module. Rules get `ops`, the inputs and the settings; None stands for a tangent of zeros.

    Inputs that are `constant`, ids and packed weights, have no derivative: None in what `vjp` gives.
    """

    name: str
    inputs: tuple[str, ...]
    vjp_rule: Callable[..., tuple[Array, ...]]
    jvp_rule: Callable[..., Array]
    settings: Mapping[str, Any] = field(default_factory=dict)  # names and defaults
    shape_rule: Callable[..., Shape] = same_shape  # the shape of the result from the shapes of the inputs
    batch_rule: Callable[..., tuple[Any, ...] | None] = (
        one_by_one  # inputs and settings that do it in one call
    )
    batch_derivatives: bool = False  # whether the same inputs and settings do for the vjp
    constant: tuple[str, ...] = ()

    @property
    def moving(self) -> tuple[int, ...]:
        """The places of the inputs that have derivatives; the result is of the first one's dtype."""
        return tuple(n for n, name in enumerate(self.inputs) if name not in self.constant)

    def __call__(self, *inputs: Any, **settings: Any) -> Any:
        give, arrays = self._taken(inputs)
        return give(self._forward(arrays, self._settled(settings)))

    def reference(self, *inputs: Any, **settings: Any) -> Any:
        """The same in numpy."""
        give, arrays = self._taken(inputs)
        return give(getattr(references, self.name)(*arrays, **self._settled(settings)))

    def vjp(self, inputs: Sequence[Any], change: Any, **settings: Any) -> tuple[Any, ...]:
        """What a change of the result asks of each input."""
        give, arrays = self._taken(inputs)
        _, (c,) = taken(self.name, change)
        return self._placed(give, self._vjp(arrays, c, self._settled(settings)))

    def jvp(self, inputs: Sequence[Any], tangents: Sequence[Any], **settings: Any) -> Any:
        """How a change of the inputs moves the result; None where an input does not change."""
        give, arrays = self._taken(inputs)
        moved = [
            None if t is None or name in self.constant else taken(self.name, t)[1][0]
            for name, t in zip(self.inputs, tangents, strict=True)
        ]
        for name, array, tangent in zip(self.inputs, arrays, moved, strict=True):
            if tangent is not None and tangent.shape != array.shape:
                refuse(f"{self.name} jvp", f"a tangent of {name} of shape {array.shape}", str(tangent.shape))
        if all(t is None for t in moved):
            moved[self.moving[0]] = np.zeros_like(arrays[self.moving[0]])
        return give(self.jvp_rule(_ops(arrays), arrays, moved, **self._settled(settings)))

    def vmap(self, inputs: Sequence[Any], axes: Sequence[int | None], **settings: Any) -> Any:
        """One result per index of the mapped axes, along axis 0."""
        give, arrays = self._taken(inputs)
        return give(self._batched(arrays, axes, self._settled(settings), self._forward, True))

    def vjp_vmap(
        self, inputs: Sequence[Any], change: Any, axes: Sequence[int | None], **settings: Any
    ) -> tuple[Any, ...]:
        """The vjp for each index of the mapped axes; the last axis is the change's."""
        give, arrays = self._taken(inputs)
        _, (c,) = taken(self.name, change)

        def run(all_of_them: list[Array], settled: dict[str, Any]) -> tuple[Array, ...]:
            return self._vjp(all_of_them[:-1], all_of_them[-1], settled)

        results = self._batched([*arrays, c], axes, self._settled(settings), run, self.batch_derivatives)
        return self._placed(give, results)

    def _placed(self, give: Callable[[Array], Any], gradients: Sequence[Array]) -> tuple[Any, ...]:
        """One for each input; None for the constant ones."""
        found = dict(zip(self.moving, map(give, gradients), strict=True))
        return tuple(found.get(n) for n in range(len(self.inputs)))

    # ---- on numpy arrays ----

    def _taken(self, inputs: Sequence[Any]) -> tuple[Callable[[Array], Any], list[Array]]:
        if len(inputs) != len(self.inputs):
            refuse(self.name, f"{len(self.inputs)} arrays ({', '.join(self.inputs)})", str(len(inputs)))
        return taken(self.name, *inputs)

    def _settled(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        for name in settings:
            if name not in self.settings:
                refuse(self.name, f"settings of {', '.join(self.settings) or 'nothing'}", repr(name))
        return {**self.settings, **settings}

    def _forward(self, arrays: list[Array], settings: dict[str, Any]) -> Array:
        found: Array = getattr(_ops(arrays), self.name)(*arrays, **settings)
        return found

    def _vjp(self, arrays: list[Array], change: Array, settings: dict[str, Any]) -> tuple[Array, ...]:
        wanted = self.shape_rule(*(a.shape for a in arrays), **settings)
        if change.shape != wanted:
            refuse(f"{self.name} vjp", f"a change of shape {wanted}", str(change.shape))
        return self.vjp_rule(_ops(arrays), arrays, change, **settings)

    def _batched(
        self,
        arrays: list[Array],
        axes: Sequence[int | None],
        settings: dict[str, Any],
        run: Callable[[list[Array], dict[str, Any]], Any],
        at_once: bool,
    ) -> Any:
        mapped = [axis is not None for axis in axes]
        if not any(mapped) or len(mapped) != len(arrays):
            refuse(f"{self.name} vmap", f"an axis or None for each of {len(arrays)} arrays", str(tuple(axes)))
        first = [a if axis is None else np.moveaxis(a, axis, 0) for a, axis in zip(arrays, axes, strict=True)]
        counts = {len(a) for a, m in zip(first, mapped, strict=True) if m}
        if len(counts) > 1:
            refuse(f"{self.name} vmap", "mapped axes of one length", str(sorted(counts)))
        plan = self.batch_rule(first, mapped, settings) if at_once else None
        if plan is not None:
            return run(*plan)
        results = [
            run([a[i] if m else a for a, m in zip(first, mapped, strict=True)], settings)
            for i in range(counts.pop())
        ]
        if not results:
            refuse(f"{self.name} vmap", "an axis with elements", "0")
        if isinstance(results[0], tuple):
            return tuple(map(_stacked, zip(*results, strict=True)))
        return _stacked(results)


def _stacked(results: Sequence[Array]) -> Array:
    if not devices():
        return np.stack(results)
    return np.stack(results, out=empty((len(results), *results[0].shape), results[0].dtype))
