"""What a checked run asks of its code, and what the code says of itself: options, and the accesses that are marked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from metalloid.records import dataclass

if TYPE_CHECKING:
    from metalloid.analysis.underlying_objects import UnderlyingObject
    from metalloid.location import Location


@dataclass(frozen=True)
class Options:
    """What the code of a checked launch is made for."""

    continue_after_fault: bool = False  # lanes outside are left out, one by one
    undefined: frozenset[int] = frozenset()  # buffers nobody has set
    aliased: bool = False  # buffers share memory
    wide: bool = False  # words of 64 bits
    marked: frozenset[int] = frozenset()  # buffers of which every read is remembered
    starts: tuple[tuple[int, int], ...] = ()  # buffers that start off a multiple of 16 bytes, and how far
    windowed: bool = False  # only a window of each buffer has words, and the launch runs once for each


@dataclass(frozen=True)
class CheckSite:
    """An access, and what to look at."""

    location: Location | None
    root: UnderlyingObject
    size: int
    align: int  # to be tested; 0 where it is known to hold
    write: bool
    atomic: bool
    reads: bool
    writer: bool = False  # compare with the last writer
    defined: bool = False  # ask whether anybody wrote it
    readers: bool = False  # a read: remember it; a write: compare with the readers
    changed: bool = False  # a read whose place the same thread writes next, which forgets who read
    operation: str = ""  # of a SIMD-group operation
    bias: int = 0  # what to add to an offset before its alignment is tested

    @property
    def races(self) -> bool:
        return self.writer or self.defined or self.readers or self.write

    @property
    def tested(self) -> bool:
        return self.races or bool(self.align)


@dataclass(frozen=True)
class Checks:
    """What the code and the launch must agree on."""

    sites: tuple[CheckSite, ...]
    options: Options
    granules: Mapping[int, int]  # bytes, by buffer
    local_granule: int
    written: frozenset[int]  # buffers
    followed: frozenset[int]  # buffers whose readers are remembered
    unknown: bool  # some device pointer may lead to any buffer
    locals: tuple[UnderlyingObject, ...]  # threadgroup variables and arguments
    simd_barriers: bool
    privates: tuple[str, ...]  # names of private arrays
    proved: bool  # no access can be outside
    steps: int  # serials that a threadgroup needs at most; 0 where nobody knows

    @property
    def site_bits(self) -> int:
        return max(1, (len(self.sites) - 1).bit_length())
