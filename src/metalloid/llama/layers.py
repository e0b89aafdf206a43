"""The weights of a Llama as kernels take them."""

from __future__ import annotations

from dataclasses import dataclass

from metalloid.llama.formats import Array


@dataclass(frozen=True)
class Matrix:
    """Weights as a kernel takes them: bytes, and the format's name."""

    format: str
    data: Array
    rows: int
    columns: int
    apart: int = 1  # in bytewise.py: how far groups of rows lie from each other, in groups


@dataclass(frozen=True)
class Layer:
    attention_norm: Array
    q: Matrix
    k: Matrix
    v: Matrix
    o: Matrix
    feed_norm: Array
    gate: Matrix
    up: Matrix
    down: Matrix
    qkv: Array | None = None  # rows of q, k and v one below the other, where a kernel takes them at once
