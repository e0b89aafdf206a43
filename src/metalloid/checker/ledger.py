"""M308, M309, M506: what a block of launches leaves behind, and what it makes again and again.

A ledger writes down every command buffer, buffer and kernel that is made while it is open, with the caller's
line, and how many launches had run by then. What is wrong shows at the end of the block.
"""

from __future__ import annotations

import weakref
from collections import defaultdict
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from metalloid.backends.base import Launch
from metalloid.findings import Finding
from metalloid.findings.places import python_line
from metalloid.runtime import resources
from metalloid.runtime.watch import Watcher

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

MANY_BUFFERS = 8  # of one line, each made after another launch, all still there
MANY_KERNELS = 6  # of one name, made by one line


class Ledger(Watcher):
    """Opened and closed with a block of checked launches."""

    def __init__(self) -> None:
        self._launches = 0
        self._lost_before = len(resources.forgotten)
        self._buffers: dict[str, list[tuple[weakref.ref[Any], int]]] = defaultdict(list)
        self._commands: list[tuple[weakref.ref[Any], str]] = []
        self._kernels: dict[tuple[str, str], int] = defaultdict(int)

    def before(self, kernel: KernelCode, launch: Launch) -> bool:
        self._launches += 1
        return False

    def made(self, thing: object, kind: str, place: str) -> None:
        if kind == "buffer":
            self._buffers[place].append((weakref.ref(thing), self._launches))
        elif kind == "command buffer":
            self._commands.append((weakref.ref(thing), place))
        elif kind == "kernel":
            self._kernels[place, thing.name] += 1  # type: ignore[attr-defined]

    def findings(self) -> Iterator[Finding]:
        yield from self._uncommitted()
        yield from self._leaked()
        yield from self._compiled()

    def _uncommitted(self) -> Iterator[Finding]:
        """M308: work that never ran; those that are gone were noted when they went."""
        held = [(commands(), place) for commands, place in self._commands]
        lost = [(c, place) for c, place in held if c is not None and c.forgotten and not c.told]
        found = [(c.contents, place) for c, place in lost]
        gone = resources.forgotten[self._lost_before :]
        del resources.forgotten[self._lost_before :]  # said here, not again when the program ends
        found += [(resource.what, resource.place) for resource in gone if resource.kind == "command buffer"]
        for commands, _ in lost:
            commands.told = True
        for what, place in found:
            yield _at(
                place,
                "M308",
                f"this {what} was never committed: its work never ran",
                "call commit() when everything is encoded, and wait_until_completed() before reading results",
            )

    def _leaked(self) -> Iterator[Finding]:
        """M309: one more buffer with each launch."""
        for place, made in self._buffers.items():
            buffers = [(thing(), at) for thing, at in made]
            held = [(buffer, at) for buffer, at in buffers if buffer is not None and not buffer.released]
            if len({at for _, at in held}) < MANY_BUFFERS:
                continue
            size = sum(buffer.nbytes for buffer, _ in held)
            yield _at(
                place,
                "M309",
                f"{len(held)} buffers that this line made between launches are all still held, {size} bytes",
                "release() each when its result has been read, or make one buffer before the loop and use it again",
            )

    def _compiled(self) -> Iterator[Finding]:
        """M506: the same name from the same line."""
        for (place, name), count in self._kernels.items():
            if count >= MANY_KERNELS:
                yield _at(
                    place,
                    "M506",
                    f"kernel '{name}' was made {count} times by this line",
                    "make the library once, before the loop; pass what changes as an argument"
                    " (constant float& value) instead of writing it into the text",
                )


def _at(place: str, rule: str, message: str, hint: str) -> Finding:
    location, excerpt = python_line(place)
    return Finding(rule, message, location=location, hint=hint, excerpt=excerpt)
