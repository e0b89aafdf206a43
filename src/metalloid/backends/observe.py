"""What a checked run saw: raw records, before anyone calls them findings.

Two machines make them from the same IR: the oracle, slow and obvious, and the vector engine with shadow
memory. Both say the same about the same launch. A record is keyed by (kind, place, other place): a mistake
that a thousand threads make is one record with a count.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from metalloid.backends.base import Triple
from metalloid.location import Location
from metalloid.records import dataclass, field, replace

KINDS = {
    "read outside": "M101",
    "write outside": "M102",
    "misaligned": "M103",
    "threadgroup read before write": "M104",
    "device read before write": "M105",
    "write to an input": "M107",
    "outside an array": "M109",
    "not set": "M110",
    "race in threadgroup memory": "M201",  # different SIMD-groups of one threadgroup
    "race in device memory": "M202",  # two threads of one threadgroup
    "race across threadgroups": "M203",
    "barrier not reached": "M204",
    "flags do not cover": "M205",  # a barrier stands between, without the flag for this memory
    "lockstep": "M206",  # the two are lanes of one SIMD-group
    "inactive lane": "M207",
    "does not end": "M209",
    "not a number": "M401",
    "half loses digits": "M402",
    "half overflow": "M403",
    "index wraps": "M404",
    "infinity under fast math": "M405",
    "depends on the schedule": "M406",
    "division by zero": "M407",
    "does not fit": "M408",
}


def told_kind(what: int) -> str:
    """What a marker of the compiler's tests tells, by its first operand (`ir/intrinsics/names.py`: BOUNDS)."""
    from metalloid.ir.intrinsics import DIVISOR, UNSET  # a launch from the cache imports no IR

    told = {DIVISOR: "division by zero", UNSET: "not set"}
    return "outside an array" if what >= 0 else told.get(what, "does not fit")


@dataclass(frozen=True)
class Memory:
    """A buffer, a threadgroup argument or variable, or what a pointer in an argument buffer leads to."""

    kind: str  # "buffer", "threadgroup", "variable", "resource", "private", "constant"
    index: int = -1  # of a buffer or a threadgroup argument
    name: str = ""
    bytes: int = 0


def start_of(memory: Any) -> int:
    """How far into its allocation a piece of memory starts.

    Metal's buffers start on a page, so a whole allocation counts as aligned, wherever the host has put it;
    a slice is as far off as its offset says.
    """
    if not isinstance(memory, np.ndarray):
        return 0
    root = memory
    while isinstance(root.base, np.ndarray):
        root = root.base
    return int(memory.__array_interface__["data"][0] - root.__array_interface__["data"][0])


@dataclass(frozen=True)
class Access:
    """One side of a record: who did what, where in the source."""

    location: Location | None
    thread: Triple  # in the grid
    threadgroup: Triple
    what: str = "read"  # "read", "write", "atomic", "barrier", or a short name of an operation
    size: int = 0  # bytes


@dataclass(frozen=True)
class Record:
    """Something that should not have happened; the first time it did, and how often."""

    kind: str  # of KINDS
    access: Access  # the one that was noticed
    other: Access | None = None  # the one before it that it collides with
    memory: Memory | None = None
    offset: int | None = None  # in bytes
    count: int = 1  # accesses; folded over lanes and threads
    detail: Mapping[str, Any] = field(default_factory=dict)  # values, expected and found; what a kind needs

    @property
    def rule(self) -> str:
        return KINDS[self.kind]

    def with_another(self, other: Record) -> Record:
        """Both as one; of the parts of a misaligned access the one that needs the most: the access itself."""
        widest = self
        if self.kind == "misaligned" and other.detail["align"] > self.detail["align"]:
            widest = other
        return replace(widest, count=self.count + other.count)


@dataclass(frozen=True)
class Pointed:
    """Which granules of a resource, which only pointers inside argument buffers lead to, were written and read."""

    granule: int  # bytes
    written: np.ndarray  # bool
    read: np.ndarray


@dataclass(frozen=True)
class Observation:
    """All that a checked run of one launch saw.

    `writers[i]` has an entry per granule of buffer i: 0 where nobody wrote, else 1 + the number of the last
    thread that did (its position in the grid, x fastest). The granule is the smallest access to that buffer.
    """

    records: tuple[Record, ...] = ()
    writers: Mapping[int, np.ndarray] = field(default_factory=dict)
    granules: Mapping[int, int] = field(default_factory=dict)  # bytes per entry of `writers`
    read: frozenset[int] = frozenset()  # buffers that were read
    stores: Mapping[Location, int] = field(
        default_factory=dict
    )  # stores that ran, by place; 0 where none did
    threads: int = 0  # that ran
    stopped: str = ""  # why it did not run to its end
    reads: Mapping[int, np.ndarray] = field(default_factory=dict)  # bool per granule; may be left out
    pointed: Mapping[int, Pointed] = field(default_factory=dict)  # resources, by the address they start at
    note: str = ""  # about how it was watched
    left: tuple[str, ...] = ()  # what was looked at in part only, in sentences

    def touched(self, index: int) -> np.ndarray:
        """Whether anybody wrote each granule of a buffer. Who it was takes ten times as long to tell."""
        quickly = getattr(self.writers, "touched", None)
        found: np.ndarray = quickly(index) if quickly else np.asarray(self.writers[index]) != 0
        return found

    def who(self, index: int, granules: np.ndarray) -> np.ndarray:
        """Who wrote some granules of a buffer, as `writers` has it."""
        quickly = getattr(self.writers, "who", None)
        found: np.ndarray = quickly(index, granules) if quickly else np.asarray(self.writers[index])[granules]
        return found
