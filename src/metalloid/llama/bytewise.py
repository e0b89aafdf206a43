"""Products of bytes with bytes, on a device that adds four of them in one instruction (bytewise.metal).

What goes into a product is rounded to 8 bits, 32 numbers with one scale, as llama.cpp does: it is off by up to half a
127th of the largest of its 32. Weights in q4_0 and q8_0 are kept in another order: 16 rows together, word by word.
"""

from __future__ import annotations

from functools import partial

import numpy as np

from metalloid.kernels.families import target
from metalloid.llama.formats import Array, Tensor
from metalloid.llama.layers import Matrix
from metalloid.llama.own_kernels import own_kernel
from metalloid.runtime.recording import Recording

ROWS, INPUTS, LANES = 16, 4, 32  # of weights that lie together; of inputs that share them; of a SIMD-group
BLOCK = 32  # numbers that have one scale
WORDS = 10  # of a rounded block: its scale, its sum, its bytes
# Formats of files to those of kernels, and the signs of bytes that a device must know to multiply: either of them.
_FORMATS = {"q4_0": ("q4_0x16", {"ss", "us"}), "q8_0": ("q8_0x16", {"ss"})}
FORMATS = frozenset(name for name, _ in _FORMATS.values())


_kernel = partial(own_kernel, "bytewise.metal")


def suits(tensor: Tensor) -> bool:
    """Whether the device multiplies such weights byte by byte."""
    known = _FORMATS.get(tensor.format.name)
    return (
        known is not None and tensor.shape[0] % ROWS == 0 and bool(known[1] & {*target().backend.byte_dots})
    )


def regrouped(tensor: Tensor) -> Matrix:
    """The same weights, the words of 16 rows side by side."""
    made = np.empty(_shape(tensor), np.uint16)
    _regroup(tensor, made)
    return Matrix(_FORMATS[tensor.format.name][0], made.reshape(-1).view(np.uint32), *tensor.shape)


def paired(first: Tensor, second: Tensor) -> tuple[Matrix, Matrix]:
    """Two tensors of one kind that are multiplied with one input: groups of rows of both in turns, so that who goes
    through both reads all memory in its order."""
    groups, *group = _shape(first)
    made = np.empty((groups, 2, *group), np.uint16)
    for n, tensor in enumerate((first, second)):
        _regroup(tensor, made[:, n])
    words = made.reshape(-1).view(np.uint32)
    name = _FORMATS[first.format.name][0]
    rows, columns = first.shape
    own, other = (Matrix(name, words[at:], rows, columns, 2) for at in (0, len(words) // groups // 2))
    return own, other


def _shape(tensor: Tensor) -> tuple[int, int, int]:
    """Groups of rows, blocks of a row, and the halves of words that a block of a group has."""
    rows, columns = tensor.shape
    return rows // ROWS, columns // BLOCK, ROWS * tensor.format.size // 2


def _regroup(tensor: Tensor, out: Array) -> None:
    groups, blocks, size = _shape(tensor)
    halves, words = size // ROWS, size // ROWS // 2
    parts = tensor.data.view(np.uint16).reshape(groups, ROWS, blocks, halves)
    out[..., :ROWS] = parts[..., 0].swapaxes(1, 2)
    q = parts[..., 1:].reshape(groups, ROWS, blocks, words, 2)
    out[..., ROWS:] = q.transpose(0, 2, 3, 1, 4).reshape(groups, blocks, -1)


def normed(run: Recording, x: Array, gain: Array, out: Array, eps: float) -> None:
    """out = rms_norm(x), rounded, for one input or a row of them."""
    inputs, columns = x.size // x.shape[-1], x.shape[-1]
    run.add(_kernel("normed"), x, gain, out, columns, eps, threadgroups=inputs, threadgroup=LANES)


def rounded(run: Recording, x: Array, out: Array) -> None:
    run.add(_kernel("rounded"), x, out, threadgroups=x.size // BLOCK, threadgroup=LANES)


def multiply(run: Recording, matrix: Matrix, x: Array, out: Array, add: bool = False) -> None:
    """out = matrix @ x for one input or a row of them that are rounded; `add`: onto what is there."""
    inputs = 1 if out.ndim == 1 else len(out)
    name = "times_many" if inputs > 1 else "times"
    run.add(
        _kernel(f"{name}_{'add_' if add else ''}{matrix.format}"),
        *(matrix.data, x, out, matrix.rows, matrix.columns, matrix.apart, inputs),
        threadgroups=(matrix.rows // ROWS, -(-inputs // INPUTS)),
        threadgroup=(ROWS, 1),
    )


def gate_up(run: Recording, gate: Matrix, up: Matrix, x: Array, out: Array) -> None:
    run.add(
        _kernel(f"gate_up_{gate.format}"),
        *(gate.data, up.data, x, out, gate.columns, gate.apart),
        threadgroups=gate.rows // ROWS,
        threadgroup=ROWS,
    )
