"""Products with weights as GGUF files hold them, and rows of tables of them.

A matrix of weights is an array of bytes, one row of it per row of the matrix; `format` tells what they mean. Plain
matrices (float32, float16, bfloat16) need no format.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from metalloid.kernels.arrays import FLOATS, Array, contiguous, empty, float_name, refuse, taken
from metalloid.kernels.families import kernel

LANES = 32
# Weights in a block, and the bytes of one.
BLOCKS = {"q4_0": (32, 18), "q8_0": (32, 34), "q4_K": (256, 144), "q6_K": (256, 210)}
_PLAIN = {"float32": "f32", "float16": "f16", "bfloat16": "bf16"}


def quantized_matmul(x: Any, weight: Any, format: str) -> Any:
    """x @ weight.T for rows of weights in blocks; sums in float32, the result is of x's dtype."""
    give, (a, w) = taken("quantized_matmul", x, weight)
    name = float_name("quantized_matmul", a, "x")
    rows, columns = _shape("quantized_matmul", w, format)
    if not a.ndim or a.shape[-1] != columns:
        refuse("quantized_matmul", f"x with {columns} columns, as many as the weights have", str(a.shape))
    out = empty((*a.shape[:-1], rows), a.dtype)
    inputs = a.size // columns if columns else 0
    if out.size and not columns:
        out[...] = 0
    elif out.size:
        _multiply(f"{format}_{name}", contiguous(w), contiguous(a), out, rows, columns, inputs)
    return give(out)


def dequantize(weight: Any, format: str) -> Any:
    """The weights as float32."""
    give, (w,) = taken("dequantize", weight)
    rows, columns = _shape("dequantize", w, format)
    out = empty((rows, columns), np.float32)
    if out.size:
        kernel("quantized", f"dequantize_{format}")(
            contiguous(w), out, columns, grid=(columns, rows), threadgroup=(LANES, 1)
        )
    return give(out)


def embedding(ids: Any, table: Any, format: str = "") -> Any:
    """The rows of a table that `ids` name; of a table in blocks, with its `format`, as float32."""
    give, (index, w) = taken("embedding", ids, table)
    if index.dtype.kind not in "iu":
        refuse("embedding", "whole numbers as ids", str(index.dtype))
    if format:
        rows, columns = _shape("embedding", w, format)
        dtype, name = np.dtype(np.float32), f"{format}_float32"
    else:
        if w.ndim != 2:
            refuse("embedding", "a table with two axes", str(w.shape))
        (rows, columns), dtype = w.shape, w.dtype
        name = f"{_PLAIN[float_name('embedding', w, 'a table')]}_{FLOATS[w.dtype]}"
    if index.size and not (int(index.min()) >= 0 and int(index.max()) < rows):
        refuse("embedding", f"ids from 0 to {rows - 1}", f"{int(index.min())} to {int(index.max())}")
    out = empty((*index.shape, columns), dtype)
    if out.size:
        kernel("quantized", f"embedding_{name}")(
            contiguous(w).view(np.uint8),
            contiguous(index.astype(np.int32)),
            out,
            columns,
            threadgroups=(-(-columns // LANES), index.size),
            threadgroup=LANES,
        )
    return give(out)


def embedding_vjp(ids: Any, change: Any, rows: int) -> Any:
    """What a change of embedding(ids, table) asks of a table with that many rows: each row the sum of its changes."""
    give, (index, c) = taken("embedding_vjp", ids, change)
    name = float_name("embedding_vjp", c, "a change")
    if c.shape[: index.ndim] != index.shape or c.ndim != index.ndim + 1:
        refuse("embedding_vjp", f"a change with a row for each of {index.shape} ids", str(c.shape))
    out = empty((rows, c.shape[-1]), c.dtype)
    out.fill(0)
    if c.size:
        flat = index.ravel()
        order = np.argsort(flat, kind="stable").astype(np.int32)
        named, starts = np.unique(flat[order], return_index=True)
        kernel("quantized", f"embedding_vjp_{name}")(
            *(contiguous(c), order, np.append(starts, flat.size).astype(np.int32), named.astype(np.int32)),
            *(out, c.shape[-1]),
            threadgroups=(-(-c.shape[-1] // LANES), named.size),
            threadgroup=LANES,
        )
    return give(out)


def _multiply(name: str, w: Array, x: Array, out: Array, rows: int, columns: int, inputs: int) -> None:
    if inputs == 1:
        kernel("quantized", f"matvec_{name}")(
            w, x, out, rows, columns, threadgroups=-(-rows // 8), threadgroup=LANES
        )
    else:
        kernel("quantized", f"matmul_{name}")(
            *(w, x, out, rows, columns, inputs),
            threadgroups=(-(-rows // 2), -(-inputs // 8)),
            threadgroup=LANES,
        )


def _shape(operation: str, weight: Array, format: str) -> tuple[int, int]:
    """Rows and columns of a matrix in blocks."""
    if format not in BLOCKS:
        refuse(operation, f"a format of {', '.join(BLOCKS)}", repr(format))
    block, size = BLOCKS[format]
    if weight.dtype != np.uint8 or weight.ndim != 2 or weight.shape[1] % size:
        refuse(
            operation,
            f"weights as uint8 with rows of whole blocks ({format}: {size} bytes for {block} weights)",
            f"{weight.dtype} of shape {weight.shape}",
        )
    return weight.shape[0], weight.shape[1] // size * block
