"""ggml's view of arrays: sizes `ne` and byte strides `nb`, innermost first; quantised rows; launch fields.

An array of shape (ne3, ne2, ne1, ne0) stands for a ggml tensor. A quantised tensor is an array of bytes
whose last axis holds whole blocks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np

from conformance.ggml import DEFINES
from conformance.packages import LLAMA, fetch
from conformance.results import site
from conformance.results.case import Argument, Array, Step, Triple
from conformance.results.pack import Fields
from metalloid.source import Constant, Source

BFLOAT = np.dtype(ml_dtypes.bfloat16)
DTYPES = {
    "f32": np.dtype(np.float32), "f16": np.dtype(np.float16), "bf16": BFLOAT, "i32": np.dtype(np.int32),
    "i64": np.dtype(np.int64), "i16": np.dtype(np.int16), "i8": np.dtype(np.int8),
}  # fmt: skip


@cache
def source(file: str) -> Source:
    """One of ggml's .metal files, with the settings its build uses."""
    sources = next(fetch(LLAMA).glob("*/vendor/llama.cpp/ggml/src"))
    metal: Path = sources / "ggml-metal"
    return Source.from_file(
        metal / "kernels" / f"{file}.metal", include=(metal / "kernels", metal, sources), defines=DEFINES
    )


@dataclass(frozen=True)
class Quantised:
    """Rows of blocks, and the numbers they stand for."""

    type: str
    bytes: Array  # uint8, the last axis is a row
    values: Array  # float32

    @property
    def block(self) -> int:
        return block_of(self.type)[0]


# Types that gguf has no dequantiser for: a half scale, then 1 or 2 bits per element.
OWN_BLOCKS = {"q1_0": (128, 18), "q2_0": (64, 18)}


def block_of(type: str) -> tuple[int, int]:
    """Elements and bytes per block."""
    if type in OWN_BLOCKS:
        return OWN_BLOCKS[type]
    gguf = site.gguf()
    elements, size = gguf.GGML_QUANT_SIZES[gguf.GGMLQuantizationType[type.upper()]]
    return elements, size


def dequantise(type: str, rows: Array) -> Array:
    if type in OWN_BLOCKS:
        return _dequantise_bits(type, rows)
    flat = rows.reshape(-1, rows.shape[-1])
    values = site.gguf_quants().dequantize(flat, site.gguf().GGMLQuantizationType[type.upper()])
    return np.asarray(values, np.float32).reshape(*rows.shape[:-1], -1)


def _dequantise_bits(type: str, rows: Array) -> Array:
    """q1_0: a set bit is +scale, a clear one -scale. q2_0: two bits are scale times -1, 0, 1 or 2."""
    elements, size = OWN_BLOCKS[type]
    blocks = rows.reshape(-1, size)
    scales = blocks[:, :2].copy().view(np.float16).astype(np.float32)
    bits = np.unpackbits(blocks[:, 2:], axis=-1, bitorder="little").astype(np.float32)
    numbers = 2 * bits - 1 if type == "q1_0" else bits[:, 0::2] + 2 * bits[:, 1::2] - 1
    return (scales * numbers).astype(np.float32).reshape(*rows.shape[:-1], rows.shape[-1] // size * elements)


def quantise(type: str, values: Array) -> Array:
    gguf = site.gguf()
    flat = values.reshape(-1, values.shape[-1])
    rows: Array = site.gguf_quants().quantize(flat, gguf.GGMLQuantizationType[type.upper()])
    return rows.reshape(*values.shape[:-1], -1)


def random_tensor(rng: np.random.Generator, type: str, shape: tuple[int, ...]) -> Any:
    """A tensor of any ggml type: an Array, or a Quantised of random blocks with tame scales."""
    if type in DTYPES:
        return rng.standard_normal(shape).astype(DTYPES[type])
    elements, size = block_of(type)
    rows = random_blocks(rng, type, int(np.prod(shape[:-1])) * shape[-1] // elements)
    rows = rows.reshape(*shape[:-1], shape[-1] // elements * size)
    return Quantised(type, rows, dequantise(type, rows))


# Where a block keeps its half-precision scales, in bytes; everything else may hold any bits.
SCALES = {
    "q4_0": (0,), "q4_1": (0, 2), "q5_0": (0,), "q5_1": (0, 2), "q8_0": (0,), "q1_0": (0,),
    "q2_0": (0,),
    "q2_K": (80, 82), "q3_K": (108,), "q4_K": (0, 2), "q5_K": (0, 2), "q6_K": (208,), "tq2_0": (64,),
    "iq2_xxs": (0,), "iq2_xs": (0,), "iq2_s": (0,), "iq3_xxs": (0,), "iq3_s": (0,), "iq1_s": (0,),
    "iq4_nl": (0,), "iq4_xs": (0,),
}  # fmt: skip


def random_blocks(rng: np.random.Generator, type: str, count: int) -> Array:
    _, size = block_of(type)
    blocks = rng.integers(0, 256, (count, size), np.uint8)
    for offset in SCALES.get(type, ()):
        scales = _scales(rng, count)
        blocks[:, offset : offset + 2] = scales.view(np.uint8).reshape(count, 2)
    if type == "mxfp4":  # the exponent of a power of two
        blocks[:, 0] = rng.integers(122, 128, count)
    if type == "iq1_m":  # four nibbles, the top ones of four 16-bit words, spell one half
        words = blocks[:, 48:56].copy().view(np.uint16)
        bits = _scales(rng, count).view(np.uint16)
        for n in range(4):
            words[:, n] = (words[:, n] & 0x0FFF) | (((bits >> (4 * n)) & 0xF) << 12)
        blocks[:, 48:56] = words.view(np.uint8)
    return blocks


def _scales(rng: np.random.Generator, count: int) -> Array:
    """Of both signs, and large enough that a sixteenth, which kernels take in half precision, is exact."""
    return (rng.choice([-1, 1], count) * rng.uniform(0.005, 0.05, count)).astype(np.float16)


def data(tensor: Any) -> Array:
    """The memory of a tensor."""
    return tensor.bytes if isinstance(tensor, Quantised) else tensor


def values(tensor: Any) -> Array:
    """The numbers of a tensor, in double precision."""
    return np.asarray(tensor.values if isinstance(tensor, Quantised) else tensor).astype(np.float64)


def ne(tensor: Any) -> list[int]:
    shape = tensor.values.shape if isinstance(tensor, Quantised) else tensor.shape
    return [*shape[::-1], 1, 1, 1, 1][:4]


def nb(tensor: Any) -> list[int]:
    array = data(tensor)
    sizes, strides = ne(tensor), [*array.strides[::-1]]
    if isinstance(tensor, Quantised):
        strides[0] = block_of(tensor.type)[1]
    while len(strides) < 4:
        last = len(strides)
        row = array.shape[-1] if isinstance(tensor, Quantised) else sizes[0] * array.itemsize
        strides.append(row if last == 1 else strides[-1] * sizes[last - 1])
    return strides


def fields(src0: Any = None, src1: Any = None, dst: Any = None, third: Any = None, **given: Any) -> Fields:
    """Launch fields as ggml names them (ne00, nb11, ne2, ...), where the struct has them; and those given."""
    optional: dict[str, int] = {}
    for prefix, tensor in (("0", src0), ("1", src1), ("2", third), ("", dst)):
        if tensor is not None:
            optional |= {f"ne{prefix}{axis}": size for axis, size in enumerate(ne(tensor))}
            optional |= {f"nb{prefix}{axis}": stride for axis, stride in enumerate(nb(tensor))}
    return Fields(optional, **given)


def launch(
    file: str,
    kernel: str,
    arguments: tuple[Argument, ...],
    threadgroups: Triple,
    threadgroup: Triple,
    memory: int = 0,
    constants: Mapping[str | int, Constant] | None = None,
) -> Step:
    """A step that dispatches threadgroups; `memory` is what threadgroup argument 0 gets, in bytes."""
    return Step(
        source(file),
        kernel,
        arguments,
        threadgroup,
        threadgroups,
        threadgroup_memory={0: memory} if memory else {},
        constants=constants or {},
    )


def padded(size: int, to: int = 16) -> int:
    return -(-size // to) * to


def powers(start: int, until: int, limit: int) -> int:
    """The number of threads ggml takes: doubled from `start` while there are fewer than `until`."""
    while start < until and start < limit:
        start *= 2
    return min(start, limit)
