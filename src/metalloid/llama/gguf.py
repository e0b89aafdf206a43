"""GGUF, the file format of ggml: metadata as typed key-value pairs, then tensors in blocks of small integers."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from metalloid.errors import ModelError
from metalloid.llama.formats import (
    BF16,
    F16,
    F32,
    Q4_0,
    Q4_K,
    Q6_K,
    Q8_0,
    Array,
    Format,
    Tensor,
    check_size,
)
from metalloid.llama.mapped import mapped, refuse_overlaps

_FORMATS = {0: F32, 1: F16, 2: Q4_0, 8: Q8_0, 12: Q4_K, 14: Q6_K, 30: BF16}
_REFUSED = {3: "q4_1", 6: "q5_0", 7: "q5_1", 9: "q8_1", 10: "q2_K", 11: "q3_K", 13: "q5_K", 15: "q8_K"}
_SCALARS = {
    0: "<u1",
    1: "<i1",
    2: "<u2",
    3: "<i2",
    4: "<u4",
    5: "<i4",
    6: "<f4",
    7: "?",
    10: "<u8",
    11: "<i8",
    12: "<f8",
}
_STRING, _ARRAY = 8, 9
_LEAST_PAIR, _LEAST_TENSOR = 13, 24  # bytes


@dataclass(frozen=True)
class File:
    """What a GGUF file holds."""

    metadata: dict[str, Any]
    tensors: dict[str, Tensor]


class _Reader:
    """Goes through the header; every step is checked against the end of the file."""

    def __init__(self, where: str, data: Array) -> None:
        self.where, self.data, self.at = where, data, 0

    def take(self, count: int, what: str) -> Array:
        if count > len(self.data) - self.at:
            raise ModelError(
                f"{self.where}: {what} needs {count} bytes at byte {self.at}; the file ends after {len(self.data)}."
            )
        self.at += count
        return self.data[self.at - count : self.at]

    def number(self, layout: str, what: str) -> int:
        value: int
        (value,) = struct.unpack(layout, self.take(struct.calcsize(layout), what).tobytes())
        return value

    def count(self, what: str, least: int) -> int:
        """A number of things that take at least so many bytes each."""
        found = self.number("<Q", what)
        left = len(self.data) - self.at
        if found * least > left:
            raise ModelError(f"{self.where}: {found} {what} cannot be in the {left} bytes that follow.")
        return found

    def string(self, what: str) -> str:
        return self.take(self.number("<Q", what), what).tobytes().decode("utf-8", errors="replace")

    def value(self, kind: int, what: str, depth: int = 0) -> Any:
        if kind == _STRING:
            return self.string(what)
        if kind in _SCALARS:
            dtype = np.dtype(_SCALARS[kind])
            return np.frombuffer(self.take(dtype.itemsize, what).tobytes(), dtype)[0].item()
        if kind != _ARRAY or depth:
            raise ModelError(f"{self.where}: {what} has values of type {kind}, which is not supported.")
        inner = self.number("<I", what)
        if inner in _SCALARS:
            dtype = np.dtype(_SCALARS[inner])
            length = self.count(f"values of {what}", dtype.itemsize)
            return np.frombuffer(self.take(length * dtype.itemsize, what).tobytes(), dtype)
        length = self.count(f"values of {what}", 8)
        return [self.value(inner, what, depth + 1) for _ in range(length)]


def read(path: Path) -> File:
    """The metadata and the tensors of a file."""
    reader = _Reader(str(path), mapped(path))
    if reader.take(4, "the magic number").tobytes() != b"GGUF":
        raise ModelError(f"{path}: it does not begin with 'GGUF'; it is not a GGUF file.")
    version = reader.number("<I", "the version")
    if version not in (2, 3):
        big = "; it is big-endian" if version in (2 << 24, 3 << 24) else ""
        raise ModelError(f"{path}: GGUF version {version}{big}; versions 2 and 3 are supported.")
    tensors = reader.number("<Q", "the number of tensors")
    pairs = reader.count("pairs of metadata", _LEAST_PAIR)
    metadata: dict[str, Any] = {}
    for _ in range(pairs):
        key = reader.string("a key")
        if key in metadata:
            raise ModelError(f"{path}: '{key:.80}' is given twice.")
        metadata[key] = reader.value(reader.number("<I", "a type"), f"'{key:.80}'")
    alignment = metadata.get("general.alignment", 32)
    if type(alignment) is not int or not 8 <= alignment <= 1 << 16 or alignment & (alignment - 1):
        raise ModelError(
            f"{path}: 'general.alignment' is {alignment!r:.80}; expected a power of two, 8 or more."
        )
    if tensors * _LEAST_TENSOR > len(reader.data) - reader.at:
        raise ModelError(
            f"{path}: {tensors} tensors cannot be in the {len(reader.data) - reader.at} bytes left."
        )
    infos = [_info(reader) for _ in range(tensors)]
    body = reader.data[-(-reader.at // alignment) * alignment :]
    return File(metadata, _placed(str(path), infos, body, alignment))


def _info(reader: _Reader) -> tuple[str, Format, tuple[int, ...], int]:
    name = reader.string("a tensor's name")
    dimensions = reader.number("<I", f"tensor '{name:.80}'")
    if not 1 <= dimensions <= 4:
        raise ModelError(f"{reader.where}: tensor '{name:.80}' has {dimensions} dimensions; expected 1 to 4.")
    shape = tuple(reader.number("<Q", f"tensor '{name:.80}'") for _ in range(dimensions))[::-1]
    kind = reader.number("<I", f"tensor '{name:.80}'")
    if kind not in _FORMATS:
        known = ", ".join(f.name for f in _FORMATS.values())
        called = _REFUSED.get(kind, f"type {kind}")
        raise ModelError(f"{reader.where}: tensor '{name:.80}' is {called}; supported are {known}.")
    return name, _FORMATS[kind], shape, reader.number("<Q", f"tensor '{name:.80}'")


def _placed(
    where: str, infos: list[tuple[str, Format, tuple[int, ...], int]], body: Array, alignment: int
) -> dict[str, Tensor]:
    tensors: dict[str, Tensor] = {}
    spans = []
    for name, format, shape, offset in infos:
        if name in tensors:
            raise ModelError(f"{where}: tensor '{name:.80}' is there twice.")
        size = format.nbytes(shape)
        if offset % alignment or offset + size > len(body):
            raise ModelError(
                f"{where}: tensor '{name:.80}' ({format.name}, shape {list(shape)}) needs {size} bytes at {offset};"
                f" the file has {len(body)} bytes of tensors, aligned to {alignment}."
            )
        check_size(where, name, format, shape, size)
        tensors[name] = Tensor(name, format, shape, body[offset : offset + size])
        spans.append((offset, offset + size, name))
    refuse_overlaps(where, spans)
    return tensors
