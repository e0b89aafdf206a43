"""Which code a launch of one size runs.

Guarded code is always right. Where the lengths of the buffers and the numbers in the parameters of a launch prove
that its accesses stay inside, code without those guards runs instead. Proofs are kept, by lengths and numbers.
A proof takes a millisecond or more, so a small launch is only looked at when it comes a second time (or first of all,
when code has to be made in any case): numbers that change with every launch then cost nothing but a look-up. Nor do
proofs take longer than the launches without (`proof_budget.py`).
Code takes seconds. A kernel that is launched with one grid after the other gets its own for the first two only; a
later small launch runs code that is there, its proof's or guarded, and earns its own when it comes again.
Where a backend makes baseline code (`patience.py`), small launches begin with that; one code of it serves launches with
different proofs, and a proof is sooner there than guarded code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from typing import Any, Generic, Protocol, TypeVar

from metalloid.backends.base import Guard, Launch
from metalloid.backends.clock import compiling
from metalloid.backends.patience import Patience
from metalloid.backends.proof_budget import ProofBudget
from metalloid.targets import TargetInfo

ROOM = 2048  # bytes of parameters; what is longer is data
LARGE = 1 << 16  # threads; a launch of so many is worth a proof at once
MOST_PROOFS = 4  # different ones of a size: each needs its own code
MOST_KEYS = 256
Stream = tuple[int, int]  # index, alignment


class Prover(Protocol):
    """Finds out what is safe in a launch; None where nothing is."""

    @property
    def parameters(self) -> tuple[int, ...]:
        """Indices of the buffers whose contents a proof may rely on."""
        ...

    @property
    def outputs(self) -> tuple[int, ...]:
        """Indices of the buffers that are only stored to."""
        ...

    def prove(
        self,
        launch: Launch,
        guard: bool,
        lengths: Mapping[int, int],
        contents: Mapping[int, bytes],
        streams: Sequence[Stream],
        soon: bool = False,
        apart: bool = False,
    ) -> Hashable | None:
        """`soon`: what takes long is left, for code that is not to be good. `apart`: no memory is bound twice."""
        ...


class ParameterSnapshot:
    """A launch's own copy of its parameters: nobody changes it between proof and run."""

    __slots__ = ("address", "bytes")

    def __init__(self) -> None:
        self.bytes: Any = (ctypes.c_char * ROOM)()
        self.address = ctypes.addressof(self.bytes)

    def take(self, parameters: tuple[int, ...], addresses: list[int], lengths: Sequence[int]) -> bytes:
        """Copy the parameters that are short enough, and lead the launch to the copies."""
        end = 0
        for index, at, size in copied(parameters, lengths):
            ctypes.memmove(self.address + at, addresses[index], size)
            addresses[index] = self.address + at
            end = at + ((size + 15) & ~15)
        found: bytes = self.bytes[:end]
        return found


def copied(parameters: Sequence[int], lengths: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Index, place in the copy and bytes of each parameter that fits; what is longer is data."""
    at = 0
    for index in parameters:
        size = lengths[index] if index < len(lengths) else 0
        if size and at + size <= ROOM:
            yield index, at, size
            at += (size + 15) & ~15


def may_copy(
    parameters: tuple[int, ...],
    addresses: Sequence[int],
    lengths: Sequence[int],
    below: Callable[[int], int | None],
) -> bool:
    """Whether a launch may run with copies of the parameters that are short enough.

    Not where another buffer has bytes of one, and might be written; nor where one has bytes below it, which may be
    read: a copy has nothing there.
    """
    for p, _, length in copied(parameters, lengths):
        start, end = addresses[p], addresses[p] + length
        if below(p):
            return False
        for n, (at, size) in enumerate(zip(addresses, lengths, strict=True)):
            if n not in parameters and at - (below(n) or 0) < end and start < at + size:
                return False
    return True


def overlapping(addresses: Sequence[int], lengths: Sequence[int]) -> bool:
    """Whether memory is bound twice."""
    end = 0
    for at, size in sorted(zip(addresses, lengths, strict=True)):
        if size:
            if at < end:
                return True
            end = at + size
    return False


# Lengths of the buffers, contents of the parameters, buffers to be written past the caches, whether memory is bound
# twice (where that makes a difference).
Key = tuple[tuple[int, ...], bytes | None, tuple[Stream, ...], bool]
# In place of a proof: code for launches with a buffer of so many bytes, where indices of 32 bits must wrap exactly, and
# offsets have more (some code counts from the word before a buffer's first byte); and
# such code that may meet the memory of one buffer under another.
FAR, SHARED = (1 << 32) - 64, "shared"
Made = TypeVar("Made")


class Specializer(Generic[Made]):
    """The code for one kernel and one size of launch. `prepare` makes it, with a proof or (None) without; baseline or
    good."""

    def __init__(
        self,
        launch: Launch,
        guard: Guard,
        prover: Prover | None,
        target: TargetInfo,
        prepare: Callable[[Hashable | None, bool], Made],
        ready: Callable[[Hashable | None], bool] = lambda proof: True,
        patience: Patience | None = None,
        budget: ProofBudget | None = None,
        copies: bool = False,
        rests: bool = False,
    ) -> None:
        """`ready`: whether code with this proof (None: guarded) may be had at once, or is worth making for a launch
        that comes once. `copies`: whether all code rests on that no memory is bound twice; `rests`: whether proved code
        is better where it may."""
        x, y, z = launch.grid
        self._target, self._copies, self._looks = target, copies, copies or rests
        self._launch, self._guard, self._prover = launch, bool(guard), prover
        self._prepare, self._ready = prepare, ready
        self._large = x * y * z >= LARGE
        self._patience = patience
        self._baseline = patience is not None and x * y * z < patience.threads(LARGE)
        self._budget = budget or ProofBudget()
        self.parameters = prover.parameters if prover is not None and guard else ()
        self._outputs = prover.outputs if prover is not None else ()
        self._plain: Made | None = None
        self._found: dict[Key, Made] = {}
        self._proofs: dict[Hashable, Made] = {}
        self._seen: set[Key] = set()
        self.last: Made | None = None  # what the last launch got

    def plain(self) -> Made:
        """Code that knows nothing about the launch: where guarded, all is guarded."""
        if self._plain is None:
            with compiling():
                self._plain = self._prepare(None, self._baseline)
        return self._plain

    def improve(self) -> None:
        """Good code from now on."""
        if self._baseline:
            self._baseline, self._plain = False, None
            self._found.clear()
            self._proofs.clear()

    def pick(self, lengths: tuple[int, ...], contents: bytes | None, addresses: Sequence[int]) -> Made:
        """The code for buffers of these lengths and parameters with these contents (None: not known)."""
        return self.code(self.key(lengths, contents, addresses))

    def code(self, key: Key) -> Made:
        if self._baseline:
            self._ask_patience(key)
        found = self._found.get(key)
        self.last = found if found is not None else self._decide(key)
        return self.last

    def settled(self, key: Key) -> bool:
        """Whether launches with this key get the same code from now on."""
        if self._baseline:
            return False
        return key in self._found or self._prover is None or not (self._guard or key[2])

    def key(self, lengths: tuple[int, ...], contents: bytes | None, addresses: Sequence[int]) -> Key:
        """What of a launch's memory the choice depends on.

        Large outputs are written past the caches: a line that is written whole need not be read first. The stores
        must be aligned: to lines, or (as numpy's large arrays are) to their pieces.
        """
        streams: tuple[Stream, ...] = ()
        much, line, piece = self._target.stream_from, self._target.line, self._target.stream_piece
        if self._outputs and max(lengths, default=0) >= much:
            streams = tuple(
                (i, line if addresses[i] % line == 0 else piece)
                for i in self._outputs
                if i < len(lengths) and lengths[i] >= much and addresses[i] % piece == 0
            )
        return lengths, contents, streams, self._looks and overlapping(addresses, lengths)

    def _ask_patience(self, key: Key) -> None:
        assert self._patience is not None
        if self._patience.over or sum(key[0]) >= self._patience.bytes:
            self.improve()
        self._patience.launched()

    def _decide(self, key: Key) -> Made:
        unlike = SHARED if key[3] and self._copies else FAR if max(key[0], default=0) >= FAR else None
        if unlike is not None:
            if unlike not in self._proofs:
                with compiling():
                    self._proofs[unlike] = self._prepare(unlike, self._baseline)
            self._found[key] = self._proofs[unlike]
            return self._found[key]
        if self._prover is None or not (self._guard or key[2]):
            return self.plain()
        new = self._plain is None and not self._found
        new = new or (self._baseline and not self._ready(None))
        if not self._budget.left or not (new or self._large or key in self._seen):
            if len(self._seen) >= MOST_KEYS:
                self._seen.clear()
            self._seen.add(key)
            return self.plain()
        once = not (self._large or key in self._seen)
        with compiling():
            found = self._proved(key, once)
        if found is None:
            self._seen.add(key)
            return self.plain()
        if len(self._found) >= MOST_KEYS:
            self._found.clear()
        self._found[key] = found
        return found

    def _proved(self, key: Key, once: bool) -> Made | None:
        """Code that rests on a proof about launches with this key, where there is one.

        None where it would have to be made for a launch that may come `once` only.
        """
        assert self._prover is not None
        lengths, contents, streams, twice = key
        parts: dict[int, bytes] = {}
        if contents is not None:
            parts = {i: contents[at : at + size] for i, at, size in copied(self.parameters, lengths)}
        with self._budget.proving():
            known = dict(enumerate(lengths))
            apart = self._looks and not twice
            proof = self._prover.prove(
                self._launch, self._guard, known, parts, streams, self._baseline, apart
            )
        found = self._proofs.get(proof)
        if found is None:
            if once and proof is not None and not (self._baseline or self._ready(proof)):
                return None
            if proof is None or len(self._proofs) >= MOST_PROOFS:
                found = self.plain()
            else:
                found = self._proofs[proof] = self._prepare(proof, self._baseline)
        return found
