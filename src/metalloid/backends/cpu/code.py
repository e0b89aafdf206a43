"""Code of a kernel: compiled, loaded, ready to be launched."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

from metalloid.backends.base import Guard, Triple
from metalloid.backends.cpu import codegen, native
from metalloid.records import dataclass, field

if TYPE_CHECKING:
    from metalloid.backends.cpu.own_copy import OwnCopy
    from metalloid.backends.sites import Site
    from metalloid.transforms.check_sites import Checks


@dataclass(frozen=True)
class Details:
    """What messages and checked runs want to know of vector code."""

    sites: Sequence[Site]
    barriers: Sequence[Site]
    checks: Checks | None = None  # of a checked run
    check_lengths: Mapping[int, int] = field(default_factory=dict)
    local_places: Mapping[str, tuple[int, int]] = field(default_factory=dict)


@dataclass(frozen=True)
class Compiled:
    """Machine code of one variant, and what its launches need."""

    object_key: str  # what the cache calls the code
    code: bytes
    entry: str
    formats: Sequence[str]
    local: int
    scratch: int
    tables: bool
    searches: bool
    own_copies: Sequence[OwnCopy]  # of buffers that are only added to
    watches: (
        bool  # a thread may wait for other threadgroups: they are begun in order, on all threads there are
    )
    straight: bool  # a thread is done soon: one call may run many
    look_up: Callable[[], Details]
    baseline: bool = False  # made soon, not to be fast
    shared: dict[str, Any] = field(default_factory=dict)  # what checked launches of this code have in common

    @cached_property
    def details(self) -> Details:
        return self.look_up()


# A variant of a kernel: size of the threadgroup; fewer threads in the outermost axis; any size; guarded; backwards;
# what need not be guarded because it was proved.
Variant = tuple[Triple, bool, bool, Guard, bool, Hashable]
Compile = Callable[[Variant, bool], Compiled]  # the second: baseline code will do


@dataclass(frozen=True)
class Loaded:
    compiled: Compiled
    code: codegen.Code
    address: int


@dataclass(frozen=True)
class Prepared:
    """A launch without its memory: compiled, sized, ready to be copied."""

    record: native.LaunchRecord
    variants: list[Loaded | None]
    searches: bool  # whether the kernel looks for the buffers of its pointers
    constants: list[tuple[int, int]]  # where tables of the kernel lie, for such pointers
    baseline: bool = False
    proved: bool = False  # whether it rests on a proof

    @cached_property
    def address(self) -> int:
        return ctypes.addressof(self.record)
