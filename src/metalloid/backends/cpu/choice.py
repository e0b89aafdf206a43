"""Which code a launch of one size runs.

Guarded code is always right. Where the lengths of the buffers and the numbers in the parameters of a launch prove
that its accesses stay inside, code without those guards runs instead. Proofs are kept, by lengths and numbers.
A proof takes about a millisecond, so a small launch is only looked at when it comes a second time (or first of all,
when code has to be made in any case): numbers that change with every launch then cost nothing but a look-up.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from metalloid.backends.base import Launch

ROOM = 2048  # bytes of parameters; what is longer is data
LARGE = 1 << 16  # threads; a launch of so many is worth a proof at once
MOST_PROOFS = 4  # different ones of a size: each needs its own code
MOST_KEYS = 256


class Prover(Protocol):
    """Finds out what is safe in a launch; None where nothing is."""

    @property
    def parameters(self) -> tuple[int, ...]:
        """Indices of the buffers whose contents a proof may rely on."""
        ...

    def prove(
        self, launch: Launch, lengths: Mapping[int, int], contents: Mapping[int, bytes]
    ) -> Hashable | None: ...


class Area:
    """A launch's own copy of its parameters: nobody changes it between proof and run."""

    __slots__ = ("address", "bytes")

    def __init__(self) -> None:
        self.bytes: Any = (ctypes.c_char * ROOM)()
        self.address = ctypes.addressof(self.bytes)

    def take(self, parameters: tuple[int, ...], addresses: list[int], lengths: Sequence[int]) -> bytes | None:
        """Copy the parameters and lead the launch to the copies; None where they are too long."""
        at = 0
        for index in parameters:
            size = lengths[index] if index < len(lengths) else 0
            if at + size > ROOM:
                return None
            if size:
                ctypes.memmove(self.address + at, addresses[index], size)
                addresses[index] = self.address + at
                at += (size + 15) & ~15
        found: bytes = self.bytes[:at]
        return found


Key = tuple[tuple[int, ...], bytes]  # lengths of the buffers, contents of the parameters
Made = TypeVar("Made")


class Choice(Generic[Made]):
    """The code for one kernel and one size of launch. `prepare` makes it, with a proof or (None) all guarded."""

    def __init__(
        self, launch: Launch, prover: Prover | None, prepare: Callable[[Hashable | None], Made]
    ) -> None:
        x, y, z = launch.grid
        self._launch, self._prover, self._prepare = launch, prover, prepare
        self._large = x * y * z >= LARGE
        self.parameters = prover.parameters if prover is not None else ()
        self._guarded: Made | None = None
        self._found: dict[Key, Made] = {}
        self._proofs: dict[Hashable, Made] = {}
        self._seen: set[Key] = set()

    def guarded(self) -> Made:
        if self._guarded is None:
            self._guarded = self._prepare(None)
        return self._guarded

    def pick(self, lengths: tuple[int, ...], contents: bytes | None) -> Made:
        """The code for buffers of these lengths and parameters with these contents (None: not known)."""
        if contents is None or self._prover is None:
            return self.guarded()
        key = lengths, contents
        found = self._found.get(key)
        return found if found is not None else self._decide(key)

    def _decide(self, key: Key) -> Made:
        new = self._guarded is None and not self._found
        if not (new or self._large or key in self._seen):
            if len(self._seen) >= MOST_KEYS:
                self._seen.clear()
            self._seen.add(key)
            return self.guarded()
        lengths, contents = key
        assert self._prover is not None
        parts: dict[int, bytes] = {}
        at = 0
        for index in self.parameters:
            size = lengths[index] if index < len(lengths) else 0
            parts[index] = contents[at : at + size]
            at += (size + 15) & ~15
        proof = self._prover.prove(self._launch, dict(enumerate(lengths)), parts)
        found = self._proofs.get(proof)
        if found is None:
            if proof is None or len(self._proofs) >= MOST_PROOFS:
                found = self.guarded()
            else:
                found = self._proofs[proof] = self._prepare(proof)
        if len(self._found) >= MOST_KEYS:
            self._found.clear()
        self._found[key] = found
        return found
