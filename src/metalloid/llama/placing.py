"""Weights as kernels like them best: regrouped for the device, from the files' own bytes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from metalloid.llama import bytewise, weights, wide
from metalloid.llama.buffers import placed
from metalloid.llama.formats import Q4_0, Array, Tensor
from metalloid.llama.layers import Layer, Matrix


def gain(tensor: Tensor) -> Array:
    return placed(np.ascontiguousarray(tensor.array(), np.float32))


@dataclass(frozen=True)
class Placing:
    """How weights are kept for kernels."""

    wide: bool
    bytewise: bool

    def matrix(self, tensor: Tensor) -> Matrix:
        """As products like it best."""
        if self.bytewise and bytewise.suits(tensor):
            return bytewise.regrouped(tensor)
        return self.plain(tensor)

    def plain(self, tensor: Tensor) -> Matrix:
        """As rows can be looked up."""
        rows, columns = tensor.shape
        if (regrouped := self._regrouped(tensor)) is not None:
            return Matrix(wide.FORMAT, placed(regrouped), rows, columns)
        data = tensor.data if tensor.data.ctypes.data % 4 == 0 else tensor.data.copy()
        return Matrix(tensor.format.name, placed(data), rows, columns)

    def layer(self, layer: weights.Layer) -> Layer:
        parts: dict[str, Any] = {
            part: gain(tensor) if part.endswith("norm") else self.matrix(tensor)
            for part, tensor in vars(layer).items()
            if part not in ("q", "k", "v", "gate", "up")
        }
        parts["gate"], parts["up"] = self._together(layer.gate, layer.up)
        return Layer(**parts, **self._attention(layer))

    def _together(self, gate: Tensor, up: Tensor) -> tuple[Matrix, Matrix]:
        alike = gate.format is up.format and bytewise.suits(gate)
        return bytewise.paired(gate, up) if self.bytewise and alike else (self.matrix(gate), self.matrix(up))

    def _attention(self, layer: weights.Layer) -> dict[str, Any]:
        """The matrices of queries, keys and values; in one piece where all are regrouped."""
        three = {"q": layer.q, "k": layer.k, "v": layer.v}
        found = {part: self._regrouped(tensor) for part, tensor in three.items()}
        arrays = [array for array in found.values() if array is not None]
        if len(arrays) < len(three):
            return {part: self.matrix(tensor) for part, tensor in three.items()}
        joined = placed(np.concatenate(arrays))
        ends = np.cumsum([len(array) for array in arrays])
        views = np.split(joined, ends[:-1])
        made = {
            part: Matrix(wide.FORMAT, view, *tensor.shape)
            for (part, tensor), view in zip(three.items(), views, strict=True)
        }
        return {**made, "qkv": joined}

    def _regrouped(self, tensor: Tensor) -> Array | None:
        wanted = self.wide and tensor.format is Q4_0
        return wide.regrouped(tensor.data, tensor.shape[1]) if wanted else None
