"""The operations that can be differentiated, as one table."""

from __future__ import annotations

from typing import Any

import numpy as np

from metalloid.kernels import derivatives as d
from metalloid.kernels import weight_rules as w
from metalloid.kernels.arrays import Array
from metalloid.kernels.primitive import Primitive, Shape, all_spread


def _without(shape: Shape, axis: int) -> Shape:
    at = axis % len(shape)
    return shape[:at] + shape[at + 1 :]


def _product(a: Shape, b: Shape, transpose_b: bool) -> Shape:
    n = () if len(b) == 1 else (b[-2] if transpose_b else b[-1],)
    if len(b) <= 2:
        return (*a[:-1], *n)
    m = () if len(a) == 1 else (a[-2],)
    return (*np.broadcast_shapes(a[:-2], b[:-2]), *m, *n)


def _along_axis(arrays: list[Array], mapped: list[bool], settings: dict[str, Any]) -> tuple[Any, ...]:
    axis = settings["axis"]
    spread, _ = all_spread(arrays, mapped, settings)
    return spread, {**settings, "axis": axis + 1 if axis >= 0 else axis}


def _rows_only(arrays: list[Array], mapped: list[bool], settings: dict[str, Any]) -> tuple[Any, ...] | None:
    """More rows are no different; weights of each its own are."""
    return None if any(mapped[1:]) else (arrays, settings)


def _products(arrays: list[Array], mapped: list[bool], settings: dict[str, Any]) -> tuple[Any, ...] | None:
    a, b = arrays
    if min(a.ndim - mapped[0], b.ndim - mapped[1]) < 2:
        return None
    axes = max(a.ndim - mapped[0], b.ndim - mapped[1])  # of a single product
    return [_padded(a, axes) if mapped[0] else a, _padded(b, axes) if mapped[1] else b], settings


def _padded(array: Array, axes: int) -> Array:
    return array.reshape(len(array), *(1,) * (axes + 1 - array.ndim), *array.shape[1:])


def _heads(arrays: list[Array], mapped: list[bool], settings: dict[str, Any]) -> tuple[Any, ...] | None:
    """(heads, time, dimension) with one axis more is a batch."""
    spread, _ = all_spread(arrays, mapped, settings)
    return (spread, settings) if spread[0].ndim == 4 else None


def _rows_of_table(ids: Shape, table: Shape) -> Shape:
    return (*ids, *table[1:])


def _packed_product(x: Shape, weight: Shape, *_: Shape, **settings: Any) -> Shape:
    return (*x[:-1], weight[0])


def _one_table(arrays: list[Array], mapped: list[bool], settings: dict[str, Any]) -> tuple[Any, ...] | None:
    """More ids are no different; tables of each its own are."""
    return None if mapped[1] else (arrays, settings)


ROPE = {"dims": None, "interleaved": False, "base": 10000.0, "scale": 1.0, "offset": 0, "inverse": False}

PRIMITIVES = {
    p.name: p
    for p in (
        Primitive(
            "rms_norm", ("x", "weight"), d.rms_norm_vjp, d.rms_norm_jvp, {"eps": 1e-5}, batch_rule=_rows_only
        ),
        Primitive(
            "layer_norm",
            ("x", "weight", "bias"),
            d.layer_norm_vjp,
            d.layer_norm_jvp,
            {"eps": 1e-5},
            batch_rule=_rows_only,
        ),
        Primitive(
            "softmax",
            ("x",),
            d.softmax_vjp,
            d.softmax_jvp,
            {"axis": -1},
            batch_rule=_along_axis,
            batch_derivatives=True,
        ),
        Primitive("silu", ("x",), d.silu_vjp, d.silu_jvp, batch_rule=all_spread, batch_derivatives=True),
        Primitive(
            "gelu",
            ("x",),
            d.gelu_vjp,
            d.gelu_jvp,
            {"tanh": False},
            batch_rule=all_spread,
            batch_derivatives=True,
        ),
        Primitive(
            "swiglu",
            ("gate", "up"),
            d.swiglu_vjp,
            d.swiglu_jvp,
            batch_rule=all_spread,
            batch_derivatives=True,
        ),
        Primitive(
            "rope", ("x",), d.rope_vjp, d.rope_jvp, ROPE, batch_rule=all_spread, batch_derivatives=True
        ),
        Primitive(
            "matmul",
            ("a", "b"),
            d.matmul_vjp,
            d.matmul_jvp,
            {"transpose_b": False},
            shape_rule=_product,
            batch_rule=_products,
        ),
        Primitive(
            "attention",
            ("q", "k", "v"),
            d.attention_vjp,
            d.attention_jvp,
            {"scale": None, "causal": False},
            batch_rule=_heads,
            batch_derivatives=True,
        ),
        Primitive(
            "sum",
            ("x",),
            d.sum_vjp,
            d.sum_jvp,
            {"axis": -1},
            shape_rule=_without,
            batch_rule=_along_axis,
        ),
        Primitive(
            "max",
            ("x",),
            d.max_vjp,
            d.max_jvp,
            {"axis": -1},
            shape_rule=_without,
            batch_rule=_along_axis,
        ),
        Primitive(
            "embedding",
            ("ids", "table"),
            w.embedding_vjp,
            w.embedding_jvp,
            shape_rule=_rows_of_table,
            batch_rule=_one_table,
            constant=("ids",),
        ),
        Primitive(
            "quantized_matmul",
            ("x", "weight"),
            w.quantized_vjp,
            w.quantized_jvp,
            {"format": ""},
            shape_rule=_packed_product,
            batch_rule=_rows_only,
            batch_derivatives=True,
            constant=("weight",),
        ),
        Primitive(
            "affine_matmul",
            ("x", "weight", "scales", "biases"),
            w.affine_vjp,
            w.affine_jvp,
            {"group_size": 64, "bits": 4},
            shape_rule=_packed_product,
            batch_rule=_rows_only,
            constant=("weight",),
        ),
    )
}
