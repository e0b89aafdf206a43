"""What numbers do: index arithmetic, precision, infinities, and the order of threads.

Following every number costs a thousand times the run, so only a sample is followed: the first and the last
threadgroup, where indices are smallest and largest, some between them, and those where the run itself gives a
reason: an access outside, a NaN in an output. The report says how many of how many. They run again on the oracle,
from the contents that buffers had before the launch. A sample is taken of each kernel and size of launch, of further
launches with other data while that takes little time (sampled.py), and only where the code can go wrong in that way:
where the spans of all indices are known to fit, none can wrap; float code that makes no NaN needs no look.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import prod
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch, Triple
from metalloid.backends.behind import NOTHING, Behind, behind, size_behind, unchanged_behind
from metalloid.backends.interpret import Wanted
from metalloid.backends.interpret.notes import unflattened
from metalloid.backends.observe import Observation, Record
from metalloid.checker.conspicuous import LOOKED_AT, odd_elements, writers_of
from metalloid.checker.finite import not_finite
from metalloid.checker.orders import arrives, order_matters
from metalloid.checker.proofs import never_wraps
from metalloid.checker.sampled import KNOWN, LATER, LEFT, NEW, Sampled
from metalloid.ir import Module, read_once
from metalloid.ir.debug import Location, location
from metalloid.ir.intrinsics import ENTRY
from metalloid.ir.module import Instruction
from metalloid.ir.types import FloatType
from metalloid.ir.values import Float
from metalloid.runtime.arguments import WRITES, element

if TYPE_CHECKING:
    from metalloid.runtime.kernel_code import KernelCode

STEPS = 200_000  # instructions of one sample: about two seconds
SPREAD = 8  # threadgroups of a sample, as far as the steps suffice
SMALL = 1 << 20  # bytes of a buffer that is kept in any case
MOST = 1 << 26  # bytes of all that is kept: a check takes no more than twice the buffers and 256 MB
TOO_LARGE = (
    "M401 to M406: numbers and orders of threads were not followed, since the launch changes {} MB in place, or has"
    " pointers to them, of which no copy is kept"
)
LARGE = 1 << 24  # bytes of an output that is looked at whole
MOST_LOOKS = 3  # at the NaNs of one kernel
_CALL = re.compile(r"(?:[A-Za-z_]\w*::)*[A-Za-z_]\w*\s*\(")


@dataclass
class Known:
    """What is remembered of a kernel between launches."""

    kernel: weakref.ref[KernelCode]
    sampled: Sampled = field(default_factory=Sampled)
    looks: int = 0

    @cached_property
    def module(self) -> Module:
        kernel = self.kernel()
        assert kernel is not None
        return read_once(kernel.checked_ir)

    @cached_property
    def narrow(self) -> bool:
        """Whether it computes in half or bfloat."""
        return any(
            isinstance(i.type, FloatType)
            and i.type.name in ("half", "bfloat")
            and i.opcode not in ("load", "phi")
            for i in self.module.function[ENTRY].instructions()
        )

    @property
    def follows(self) -> bool:
        """Whether its floats are followed, whatever the data."""
        kernel = self.kernel()
        return self.narrow or (kernel is not None and kernel.source.math == "fast" and self.infinite)

    @cached_property
    def arrivals(self) -> list[Instruction]:
        """Atomics whose effect depends on who comes first."""
        function = self.module.function[ENTRY]
        return [i for i in function.instructions() if arrives(function, i)]

    @cached_property
    def infinite(self) -> bool:
        """Whether an infinity stands in its code."""
        operands = (o for i in self.module.function[ENTRY].instructions() for o in i.operands)
        return any(isinstance(o, Float) and not np.isfinite(o.value) for o in operands)


_known: weakref.WeakKeyDictionary[KernelCode, Known] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Before:
    """A kernel and its launch, with the contents of buffers before it."""

    kernel: KernelCode
    launch: Launch
    contents: dict[int, Any]
    lost: int = 0  # bytes that the launch reads and changes, and that were not kept
    pointed: Behind = NOTHING  # what pointers lead to

    @property
    def written(self) -> list[int]:
        """Indices of the buffers that it writes."""
        return [
            p.index
            for p in self.kernel.signature.buffers
            if p.access in WRITES and p.index in self.launch.buffers
        ]

    def again(self) -> Launch:
        """The same launch over copies of what it changes, as it was; of what it only writes, as it is.

        What pointers lead to is put back as it was: whoever runs it leaves there what the launch has left.
        """
        self.pointed.put_back()
        copies = {i: np.array(self.contents.get(i, self.launch.buffers[i]), copy=True) for i in self.written}
        return replace(self.launch, buffers={**self.launch.buffers, **copies})

    @property
    def known(self) -> Known:
        found = _known.get(self.kernel)
        if found is None:
            found = _known[self.kernel] = Known(weakref.ref(self.kernel))
        return found


def before(kernel: KernelCode, launch: Launch) -> Before:
    """Keep what a launch is about to change: what it reads as well, and what is small."""
    seen = Before(kernel, launch, {})
    read = {p.index for p in kernel.signature.buffers if p.access == "read_write"}
    wanted = [i for i in seen.written if i in read or memoryview(launch.buffers[i]).nbytes <= SMALL]
    size = sum(memoryview(launch.buffers[i]).nbytes for i in wanted) + size_behind(launch)
    if size > MOST:
        return replace(seen, lost=size)
    for index in wanted:
        seen.contents[index] = np.array(launch.buffers[index], copy=True)
    return replace(seen, pointed=behind(launch)) if launch.resources else seen


def forget(kernel: KernelCode | None = None) -> None:
    """Look again at launches that were looked at before, of one kernel or all: whoever asks wants all of it."""
    for known in list(_known.values()) if kernel is None else filter(None, [_known.get(kernel)]):
        known.sampled.clear()
        known.looks = 0


def with_numbers(seen: Before, observation: Observation, until: float = float("inf")) -> Observation:
    """The observation, with what the numbers of a sample did, as far as that can be seen `until` then."""
    known, launch = seen.known, seen.launch
    if seen.lost:
        return replace(observation, left=(*observation.left, TOO_LARGE.format(seen.lost >> 20)))
    blind = {p.index for p in seen.kernel.signature.buffers if p.access == "write"}
    given = {i: seen.contents.get(i, memory) for i, memory in launch.buffers.items() if i not in blind}
    wish = known.sampled.wish(launch, given)
    if wish is LATER and not (known.follows or known.arrivals) and never_wraps(seen.kernel, launch):
        wish = KNOWN
    with unchanged_behind(launch), known.sampled.taking_time():
        made = _with_numbers(seen, observation, wish is NEW, until)
    return replace(made, left=(*made.left, LEFT)) if wish is LATER else made


def _with_numbers(seen: Before, observation: Observation, new: bool, until: float) -> Observation:
    found, looked = _examined(seen, observation, new, until)
    records, left = (*observation.records, *found), [*observation.left, *filter(None, [looked])]
    if (
        new
        and seen.known.arrivals
        and not observation.stopped
        and not any(r.rule[:2] == "M2" for r in records)
    ):
        place = location(seen.known.module, seen.known.arrivals[0])
        tried = order_matters(seen.kernel, seen.again, seen.written, place, until)
        records = (*records, *tried.records)
        left += [tried.left] if tried.left else []
    return replace(observation, records=records, left=tuple(left))


def _examined(
    seen: Before, observation: Observation, new: bool, until: float
) -> tuple[tuple[Record, ...], str]:
    """Records, and how much was looked at where it was not all."""
    kernel, launch, known = seen.kernel, seen.launch, seen.known
    fast = kernel.source.math == "fast"
    outside, odd = list(_outside(observation)), list(_not_finite(seen, observation))
    first: dict[Triple, list[int]] = {}
    floats = new and (known.narrow or (fast and (known.infinite or _given_infinities(seen))))
    indices = new and not never_wraps(kernel, launch)
    groups = [*outside, *odd]
    if new and known.narrow:
        for group, thread in _conspicuous(seen, observation):
            first.setdefault(group, []).append(thread)
        groups += first
    if floats or indices:
        groups += _spread(launch)
    if not groups:
        return (), ""
    wanted = Wanted(
        STEPS,
        until=until,
        indices=indices or bool(outside),
        floats=floats or bool(odd),
        fast=fast,
        calls=lambda place: _calls(kernel, place),
    )
    order = list(dict.fromkeys(groups))
    records, ended = interpret.examine(kernel.checked_ir, seen.again(), order, wanted, first)
    total = prod(launch.threadgroups)
    asked = [name for name, on in (("M402, M403, M405", floats), ("M404", indices)) if on]
    if not asked or ended >= total:
        return records, ""
    if not ended:
        return records, f"{', '.join(asked)}: numbers were followed in a part of one threadgroup of {total}"
    return records, f"{', '.join(asked)}: numbers were followed in {ended} of {total} threadgroups"


def _spread(launch: Launch) -> list[Triple]:
    """The first and the last threadgroup, where indices are smallest and largest, and some between them."""
    total = prod(launch.threadgroups)
    picks = [0, total - 1, *(n * total // SPREAD for n in range(1, SPREAD))]
    return [unflattened(n, launch.threadgroups) for n in dict.fromkeys(picks)]


def _given_infinities(seen: Before) -> bool:
    """Whether a small input holds infinities, as masks do."""
    for parameter in seen.kernel.signature.buffers:
        memory, kind = seen.launch.buffers.get(parameter.index), element(parameter.type)
        if memory is None or kind is None or kind.kind in "iub" or parameter.index in seen.written:
            continue
        data = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
        if (
            data.size <= SMALL
            and not_finite(data[: data.size // kind.itemsize * kind.itemsize].view(kind)).size
        ):
            return True
    return False


def _outside(observation: Observation) -> Iterator[Triple]:
    """Threadgroups that went outside: an index that wrapped may be why."""
    for record in observation.records:
        if record.rule in ("M101", "M102"):
            yield record.access.threadgroup


def _not_finite(seen: Before, observation: Observation) -> Iterator[Triple]:
    """Threadgroups that wrote the first NaN or infinity of each output."""
    launch = seen.launch
    for parameter in seen.kernel.signature.buffers:
        memory, known = launch.buffers.get(parameter.index), parameter.index in observation.writers
        kind = element(parameter.type)
        if parameter.index not in seen.written or memory is None or not known or kind is None:
            continue
        if kind.kind in "iub" or seen.known.looks >= MOST_LOOKS:
            continue
        data = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
        values = data[: data.size // kind.itemsize * kind.itemsize].view(kind)
        bad = _bad(values, kind.itemsize, observation, parameter.index)
        step = max(1, observation.granules.get(parameter.index, 1))
        wrote = observation.who(parameter.index, bad * kind.itemsize // step) if bad.size else bad
        if np.any(wrote):
            seen.known.looks += 1
            x, y, z = unflattened(int(wrote[np.flatnonzero(wrote)[0]]) - 1, launch.grid)
            width, height, depth = launch.threadgroup
            yield x // width, y // height, z // depth


def _bad(
    values: np.ndarray[Any, Any], size: int, observation: Observation, index: int
) -> np.ndarray[Any, Any]:
    """Elements that are not finite; of a large output, of which little was written, only among those."""
    if values.nbytes <= LARGE:
        return not_finite(values)
    touched, step = observation.touched(index), max(1, observation.granules.get(index, 1))
    if int(np.count_nonzero(touched)) * 16 > len(touched):
        return not_finite(values)
    elements: np.ndarray[Any, Any] = np.unique(np.flatnonzero(touched) * step // size)
    elements = elements[elements < values.size]
    return np.asarray(elements[not_finite(values[elements])])


def _conspicuous(seen: Before, observation: Observation) -> Iterator[tuple[Triple, int]]:
    """Who wrote what looks odd in an output: threadgroups, and the threads in them."""
    launch = seen.launch
    for parameter in seen.kernel.signature.buffers:
        memory, kind = launch.buffers.get(parameter.index), element(parameter.type)
        if parameter.index not in seen.written or parameter.index not in observation.writers:
            continue
        if memory is None or kind is None or kind.kind in "iub":
            continue
        data = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
        values = data[: min(data.size, LOOKED_AT) // kind.itemsize * kind.itemsize].view(kind)
        odd = odd_elements(values)
        yield from writers_of(launch, observation, parameter.index, odd, kind.itemsize)


def _calls(kernel: KernelCode, place: Location) -> bool:
    """Whether a function is called at this place of the source."""
    lines = kernel.source.text.splitlines()
    if place.file != kernel.source.name or not 0 < place.line <= len(lines):
        return False
    return _CALL.match(lines[place.line - 1][max(0, place.column - 1) :]) is not None
