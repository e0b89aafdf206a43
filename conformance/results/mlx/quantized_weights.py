"""Quantised matrices as MLX lays them out, and the numbers they stand for.

Affine: bits in a row, lowest first, a scale and a bias per group. fp: 4-bit or 8-bit floats with one byte of
scale per group, a power of two (mxfp4, mxfp8: groups of 32) or an 8-bit float (nvfp4: groups of 16).
"""

from __future__ import annotations

from dataclasses import dataclass

import ml_dtypes
import numpy as np

from conformance.results.case import Array
from conformance.results.mlx.templates import DTYPES, values

FP4 = np.array([0, 0.5, 1, 1.5, 2, 3, 4, 6], np.float64)
GLOBAL = 448.0 * 6.0  # what a global scale is divided by: the largest e4m3 times the largest e2m1


@dataclass(frozen=True)
class Weights:
    mode: str  # "affine" or "fp"
    bits: int
    group: int
    packed: Array  # uint32, the last axis holds rows of packed numbers
    scales: Array
    biases: Array | None
    numbers: Array  # float64

    @property
    def tensors(self) -> tuple[Array, ...]:
        """In the order in which kernels take them."""
        return (self.packed, self.scales) if self.biases is None else (self.packed, self.scales, self.biases)

    @property
    def parameters(self) -> tuple[int, int]:
        return self.group, self.bits


def pack(codes: Array, bits: int) -> Array:
    """The lowest bits of `codes` in a row, as uint32."""
    spread = np.unpackbits(codes[..., None].astype(np.uint8), axis=-1, bitorder="little")[..., :bits]
    return np.packbits(spread.reshape(*codes.shape[:-1], -1), axis=-1, bitorder="little").view(np.uint32)


def float_codes(codes: Array, bits: int) -> Array:
    """What the codes of e2m1 or e4m3 stand for."""
    if bits == 8:
        return codes.astype(np.uint8).view(ml_dtypes.float8_e4m3fn).astype(np.float64)
    return np.where(codes & 8, -1, 1) * FP4[codes & 7]


def float_scales(codes: Array, group: int) -> Array:
    if group == 16:
        return float_codes(codes, 8)
    return np.exp2(codes.astype(np.float64) - 127)


def random_weights(
    rng: np.random.Generator,
    mode: str,
    type: str,
    bits: int,
    group: int,
    *shape: int,
    global_scale: float = 0.0,
) -> Weights:
    """Any codes, with scales that keep the numbers near one; the last axis is the one that has groups."""
    codes = rng.integers(0, 1 << bits, shape)
    groups = (*shape[:-1], shape[-1] // group)
    if mode == "affine":
        scales = (rng.uniform(0.5, 1.5, groups) * rng.choice([-1, 1], groups) * 2 / (1 << bits)).astype(
            DTYPES[type]
        )
        biases = (-values(scales) * (1 << bits) / 2 + rng.standard_normal(groups) * 0.1).astype(DTYPES[type])
        numbers = values(scales).repeat(group, -1) * codes + values(biases).repeat(group, -1)
        return Weights(mode, bits, group, pack(codes, bits), scales, biases, numbers)
    if bits == 8:
        codes = np.where((codes & 127) == 127, codes & 0xF0, codes)  # no NaN
    if group == 16:
        marks = rng.uniform(0.1, 2, groups).astype(ml_dtypes.float8_e4m3fn).view(np.uint8)
    else:
        marks = rng.integers(*((124, 128) if bits == 4 else (118, 121)), groups, np.uint8)
    numbers = float_codes(codes, bits) * float_scales(marks, group).repeat(group, -1)
    if global_scale:
        numbers = numbers * global_scale / GLOBAL
    return Weights(mode, bits, group, pack(codes, bits), marks, None, numbers)
