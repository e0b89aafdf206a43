"""Who is still there: buffers never released, command buffers never committed, and the line that made each.

A buffer counts as released when `release` is called or when nothing refers to it any more.
"""

from __future__ import annotations

import atexit
import sys
import threading
import weakref
from typing import Any

from metalloid import config
from metalloid.records import dataclass
from metalloid.runtime import alive
from metalloid.runtime.places import Spot, place_text, spot
from metalloid.runtime.watch import watchers


@dataclass(frozen=True)
class Resource:
    """One thing that is still held."""

    kind: str  # "buffer" or "command buffer"
    what: str
    place: str  # the line that made it

    def __str__(self) -> str:
        problem = (
            "was never committed: its work never ran" if self.kind == "command buffer" else "not released"
        )
        rule = "M308" if self.kind == "command buffer" else "M309"
        return f"{self.place}: {rule} {self.what} {problem}"


_LOCK = threading.RLock()


def made(thing: object, kind: str, reference: weakref.ref[Any] | None = None) -> Spot:
    """Remember who made it, which is given back. For constructors; one that gives a `reference` calls `released` when
    the thing goes."""
    where = spot()
    alive.add(thing, kind, where, reference)
    if watchers:
        for watcher in tuple(watchers):
            watcher.made(thing, kind, place_text(*where))
    return where


def released(thing: object) -> None:
    alive.forget(thing)


def leaks(told: bool = True) -> tuple[Resource, ...]:
    """Everything that is held right now, oldest first.

    Without `told` only what the user should still hear of: no command buffers that are empty, or were spoken of.
    """
    found = []
    with _LOCK:
        for reference, kind, where in tuple(alive.held.values()):
            thing: Any = reference()
            quiet = getattr(thing, "told", False) or not getattr(thing, "forgotten", True)
            if thing is not None and (told or not quiet):
                found.append(Resource(kind, getattr(thing, "contents", repr(thing)), place_text(*where)))
    return tuple(found)


# What was lost without a word: collected before it was committed.
forgotten: list[Resource] = []


@atexit.register
def _report() -> None:
    """Work that never ran is always told; buffers that live until the end are told to those who trace."""
    held = leaks(told=False)
    lost = [*forgotten, *(r for r in held if r.kind == "command buffer")]
    if config.trace():
        lost += [r for r in held if r.kind == "buffer"]
    for resource in lost:
        print(f"metalloid: {resource}", file=sys.stderr)
