"""A file mapped into memory, read with an eye on its end.

Every number in a model's header is a stranger's claim. Nothing is allocated by such a number before it has been
held against the bytes that are really there.
"""

from __future__ import annotations

import json
import mmap
from pathlib import Path
from typing import Any

import numpy as np

from metalloid.errors import ModelError
from metalloid.llama.formats import Array

MOST_JSON = 64 << 20  # bytes; tokenizers of large vocabularies have up to 20 MB


def mapped(path: Path) -> Array:
    """The bytes of a file, read-only, without reading them."""
    try:
        with path.open("rb") as file:
            if not file.seek(0, 2):
                raise ModelError(f"{path}: the file is empty.")
            return np.frombuffer(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ), np.uint8)
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}.") from None


def parse_json(where: str, data: bytes) -> dict[str, Any]:
    """A JSON object; names given twice, endless nesting and endless numbers are refused."""
    if len(data) > MOST_JSON:
        raise ModelError(f"{where}: {len(data)} bytes of JSON; at most {MOST_JSON} are read.")
    try:
        found = json.loads(data.decode("utf-8"), object_pairs_hook=_unique)
    except UnicodeDecodeError:
        raise ModelError(f"{where}: the JSON is not UTF-8.") from None
    except RecursionError:
        raise ModelError(f"{where}: the JSON is nested too deeply.") from None
    except ValueError as error:
        raise ModelError(f"{where}: {_short(error)}.") from None
    if not isinstance(found, dict):
        raise ModelError(f"{where}: expected a JSON object; got a {type(found).__name__}.")
    return found


def read_json(path: Path) -> dict[str, Any]:
    try:
        if path.stat().st_size > MOST_JSON:
            raise ModelError(f"{path}: {path.stat().st_size} bytes of JSON; at most {MOST_JSON} are read.")
        return parse_json(str(path), path.read_bytes())
    except OSError as error:
        raise ModelError(f"{path}: {error.strerror or error}.") from None


def refuse_overlaps(where: str, spans: list[tuple[int, int, str]]) -> None:
    """Tensors as (start, end, name): no byte may belong to two."""
    end, last = 0, ""
    for start, stop, name in sorted(spans):
        if start < end and stop > start:
            raise ModelError(f"{where}: tensors '{last}' and '{name}' overlap at byte {start}.")
        if stop > end:
            end, last = stop, name


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"'{twice}' is given twice")
    return found


def _short(error: ValueError) -> str:
    text = str(error)
    return text if len(text) < 200 else text[:200] + "..."
