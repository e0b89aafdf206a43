"""What is held right now: every buffer and command buffer, with the line that made it. Nothing is kept alive by it."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from types import CodeType
from typing import Any

Place = tuple[str | CodeType, int]  # what `place_text` takes
held: dict[int, tuple[weakref.ref[object], str, Place]] = {}  # by id: the thing, its kind, the caller's line


def add(thing: object, kind: str, where: Place, reference: weakref.ref[Any] | None = None) -> None:
    """Remember who made it; the memory of it goes when it does. One with a `reference` forgets itself."""
    key = id(thing)
    if reference is None:
        reference = weakref.ref(thing, lambda _: held.pop(key, None) and None)
    held[key] = reference, kind, where


def forget(thing: object, pop: Callable[[int, None], object] = held.pop) -> None:
    """Also when Python ends, and clears modules."""
    pop(id(thing), None)


def buffer_at(address: int) -> Any:
    """The buffer that has the byte at an address; None where none has."""
    for reference, kind, _ in tuple(held.values()):
        buffer: Any = reference() if kind == "buffer" else None
        if buffer is None or buffer.released:
            continue
        if buffer.address <= address < buffer.address + buffer.nbytes:
            return buffer
    return None
