"""Hugging Face's safetensors: eight bytes of length, a JSON header, then the tensors side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from metalloid.errors import ModelError
from metalloid.llama.formats import BF16, F16, F32, PACKED, Array, Format, Tensor, check_size
from metalloid.llama.mapped import mapped, parse_json, read_json, refuse_overlaps

_FORMATS = {"F32": F32, "F16": F16, "BF16": BF16, "U32": PACKED}
# Bytes of an element of what a file may hold beside them; such tensors are passed over.
_OTHERS = {
    "F64": 8,
    "I64": 8,
    "U64": 8,
    "C64": 8,
    "I32": 4,
    "I16": 2,
    "U16": 2,
    "I8": 1,
    "U8": 1,
    "BOOL": 1,
    "F8_E4M3": 1,
    "F8_E5M2": 1,
}
INDEX = "model.safetensors.index.json"


def read(path: Path) -> dict[str, Tensor]:
    """The tensors of one file, by name."""
    where, data = str(path), mapped(path)
    if len(data) < 8:
        raise ModelError(f"{where}: {len(data)} bytes; a safetensors file has at least 8.")
    length = int.from_bytes(data[:8].tobytes(), "little")
    if length > len(data) - 8:
        raise ModelError(
            f"{where}: the header claims {length} bytes; the file has {len(data) - 8} after its first 8.\n"
            "It is cut off, or not a safetensors file."
        )
    header = parse_json(where, data[8 : 8 + length].tobytes())
    header.pop("__metadata__", None)
    body = data[8 + length :]
    tensors, spans = {}, []
    for name, entry in header.items():
        tensor, start, end = _tensor(where, name, entry, body)
        spans.append((start, end, name))
        if tensor is not None:
            tensors[name] = tensor
    refuse_overlaps(where, spans)
    if sum(end - start for start, end, _ in spans) != len(body):
        raise ModelError(
            f"{where}: its tensors take {sum(end - start for start, end, _ in spans)} bytes;"
            f" the file has {len(body)} after the header."
        )
    return tensors


def read_directory(folder: Path) -> dict[str, Tensor]:
    """The tensors of a model's folder: one file, or the shards that an index names."""
    if not (folder / INDEX).exists():
        return read(folder / "model.safetensors")
    shards = read_json(folder / INDEX).get("weight_map")
    if not isinstance(shards, dict) or not all(isinstance(shard, str) for shard in shards.values()):
        raise ModelError(f"{folder / INDEX}: 'weight_map' should give a file for each tensor.")
    found: dict[str, dict[str, Tensor]] = {}
    for shard in sorted(set(shards.values())):
        if Path(shard).name != shard or "\\" in shard or not shard.endswith(".safetensors"):
            raise ModelError(f"{folder / INDEX}: {shard!r} is not the name of a file beside it.")
        found[shard] = read(folder / shard)
    tensors = {}
    for name, shard in shards.items():
        if name not in found[shard]:
            raise ModelError(f"{folder / INDEX}: tensor '{name}' should be in {shard} and is not.")
        tensors[name] = found[shard][name]
    return tensors


def _tensor(where: str, name: str, entry: Any, body: Array) -> tuple[Tensor | None, int, int]:
    if not isinstance(entry, dict):
        raise ModelError(f"{where}: tensor '{name}' should be an object; got {entry!r:.80}.")
    dtype: Any = entry.get("dtype")
    shape: Any = entry.get("shape")
    offsets: Any = entry.get("data_offsets")
    if not isinstance(dtype, str) or dtype not in (_FORMATS.keys() | _OTHERS.keys()):
        raise ModelError(f"{where}: tensor '{name}' is of dtype {dtype!r:.80}, which is not known.")
    if not _counts(shape) or len(shape) > 8:
        raise ModelError(f"{where}: tensor '{name}' has shape {shape!r:.80}.")
    if not _counts(offsets) or len(offsets) != 2 or not offsets[0] <= offsets[1] <= len(body):
        raise ModelError(
            f"{where}: tensor '{name}' lies at {offsets!r:.80}; the file has {len(body)} bytes of tensors."
        )
    start, end = offsets
    format = _FORMATS.get(dtype) or Format(dtype, 1, _OTHERS[dtype])
    check_size(where, name, format, tuple(shape), end - start)
    return Tensor(name, format, tuple(shape), body[start:end]) if dtype in _FORMATS else None, start, end


def _counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)
