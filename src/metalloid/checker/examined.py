"""What numbers do: index arithmetic, precision, infinities, and the order of threads.

Following every number costs a thousand times the run, so only a sample is followed: the first and the last
threadgroup, where indices are smallest and largest, and those where the run itself gives a reason: an access
outside, a NaN in an output. They run again on the oracle, from the contents that buffers had before the
launch. A sample is taken once per kernel and size of launch, and only where the code can go wrong in that
way: where the spans of all indices are known to fit, none can wrap; float code that makes no NaN needs no look.
"""

from __future__ import annotations

import re
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from metalloid.backends import interpret
from metalloid.backends.base import Launch, Triple
from metalloid.backends.interpret.notes import unflattened
from metalloid.backends.observe import Observation, Record
from metalloid.checker.orders import order_matters
from metalloid.checker.proofs import never_wraps
from metalloid.ir import Module, read
from metalloid.ir.debug import Location
from metalloid.ir.types import FloatType
from metalloid.ir.values import Float
from metalloid.runtime.arguments import WRITES, element

if TYPE_CHECKING:
    from metalloid.runtime.kernel import Kernel

SECONDS = 0.5  # for one sample
MOST_LOOKS = 3  # at the NaNs of one kernel
_CALL = re.compile(r"[A-Za-z_]\w*\s*\(")


@dataclass
class Known:
    """What is remembered of a kernel between launches."""

    kernel: weakref.ref[Kernel]
    sampled: set[object] = field(default_factory=set)
    looks: int = 0

    @cached_property
    def module(self) -> Module:
        kernel = self.kernel()
        assert kernel is not None
        return read(kernel.checked_ir)

    @cached_property
    def narrow(self) -> bool:
        """Whether it computes in half or bfloat."""
        return any(
            isinstance(i.type, FloatType)
            and i.type.name in ("half", "bfloat")
            and i.opcode not in ("load", "phi")
            for i in self.module.function["__mt_entry"].instructions()
        )

    @cached_property
    def infinite(self) -> bool:
        """Whether an infinity stands in its code."""
        operands = (o for i in self.module.function["__mt_entry"].instructions() for o in i.operands)
        return any(isinstance(o, Float) and not np.isfinite(o.value) for o in operands)


_known: weakref.WeakKeyDictionary[Kernel, Known] = weakref.WeakKeyDictionary()


@dataclass(frozen=True)
class Before:
    """A kernel and its launch, with the contents of buffers before it."""

    kernel: Kernel
    launch: Launch
    contents: dict[int, Any]

    @property
    def known(self) -> Known:
        found = _known.get(self.kernel)
        if found is None:
            found = _known[self.kernel] = Known(weakref.ref(self.kernel))
        return found


def before(kernel: Kernel, launch: Launch) -> Before:
    """Keep what a launch is about to change."""
    written = {p.index for p in kernel.signature.buffers if p.access in WRITES}
    kept = {i: np.array(m, copy=True) for i, m in launch.buffers.items() if i in written}
    return Before(kernel, launch, kept)


def forget(kernel: Kernel) -> None:
    """Look again at launches that were looked at before: whoever asks about one launch wants all of it."""
    if (known := _known.get(kernel)) is not None:
        known.sampled.clear()
        known.looks = 0


def with_numbers(seen: Before, observation: Observation) -> Observation:
    """The observation, with what the numbers of a sample did."""
    records = (*observation.records, *_examined(seen, observation))
    if not any(r.rule[:2] == "M2" for r in records):
        records = (*records, *order_matters(seen.kernel, seen.known.module, seen.launch, seen.contents))
    return replace(observation, records=records)


def _examined(seen: Before, observation: Observation) -> tuple[Record, ...]:
    kernel, launch, known = seen.kernel, seen.launch, seen.known
    fast = kernel.library.source.math == "fast"
    groups = list(dict.fromkeys((*_outside(observation), *_not_finite(seen, observation))))
    key = launch.grid, launch.threadgroup
    if key not in known.sampled and (
        known.narrow or (fast and known.infinite) or not never_wraps(kernel, launch)
    ):
        known.sampled.add(key)
        x, y, z = launch.threadgroups
        groups = list(dict.fromkeys((*groups, (0, 0, 0), (x - 1, y - 1, z - 1))))
    if not groups:
        return ()
    return interpret.examine(
        kernel.checked_ir, _again(seen), groups, SECONDS, fast, lambda place: _calls(kernel, place)
    )


def _again(seen: Before) -> Launch:
    """The same launch over copies of what it changes."""
    copies = {i: np.array(m, copy=True) for i, m in seen.contents.items()}
    return replace(seen.launch, buffers={**seen.launch.buffers, **copies})


def _outside(observation: Observation) -> Iterator[Triple]:
    """Threadgroups that went outside: an index that wrapped may be why."""
    for record in observation.records:
        if record.rule in ("M101", "M102"):
            yield record.access.threadgroup


def _not_finite(seen: Before, observation: Observation) -> Iterator[Triple]:
    """Threadgroups that wrote the first NaN or infinity of each output."""
    launch = seen.launch
    for parameter in seen.kernel.signature.buffers:
        memory, writers = launch.buffers.get(parameter.index), observation.writers.get(parameter.index)
        kind = element(parameter.type)
        if parameter.index not in seen.contents or memory is None or writers is None or kind is None:
            continue
        if kind.kind in "iub" or seen.known.looks >= MOST_LOOKS:
            continue
        data = np.frombuffer(memoryview(memory).cast("B"), np.uint8)
        values = data[: data.size // kind.itemsize * kind.itemsize].view(kind)
        with np.errstate(all="ignore"):
            bad = np.flatnonzero(~np.isfinite(values))
        step = max(1, observation.granules.get(parameter.index, 1))
        wrote = writers[bad * kind.itemsize // step] if bad.size else bad
        if np.any(wrote):
            seen.known.looks += 1
            x, y, z = unflattened(int(wrote[np.flatnonzero(wrote)[0]]) - 1, launch.grid)
            width, height, depth = launch.threadgroup
            yield x // width, y // height, z // depth


def _calls(kernel: Kernel, place: Location) -> bool:
    """Whether a function is called at this place of the source."""
    lines = kernel.library.source.text.splitlines()
    if place.file != kernel.library.source.name or not 0 < place.line <= len(lines):
        return False
    return _CALL.match(lines[place.line - 1][max(0, place.column - 1) :]) is not None
