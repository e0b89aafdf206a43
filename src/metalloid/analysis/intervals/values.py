"""What is known of a launch, and the numbers of a kernel as those see them who help to find them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol, TypeVar

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals.branch_facts import Context, Contexts
from metalloid.analysis.intervals.strided import Span
from metalloid.ir import Function
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import IntType, Type
from metalloid.ir.values import Value
from metalloid.records import dataclass, field

Triple = tuple[int, int, int]
Answer = TypeVar("Answer")


class TooLong(Exception):
    """The kernel is too large to be looked at before each launch."""


@dataclass(frozen=True)
class Facts:
    """What is known of a launch before it runs."""

    grid: Triple
    threadgroup: Triple
    groups: Triple
    lengths: Mapping[int, int]  # of buffers, in bytes
    local_lengths: Mapping[int, int] = field(default_factory=dict)
    parameters: Mapping[int, bytes] = field(default_factory=dict)  # contents of buffers nobody writes
    # The threadgroups that are asked about, along each axis: the first, and the one behind the last. None: all.
    part: tuple[tuple[int, int], ...] | None = None

    def places(self, axis: int) -> tuple[int, int]:
        """The first and the last threadgroup along an axis."""
        first, end = self.part[axis] if self.part is not None else (0, self.groups[axis])
        return first, end - 1


def bits_of(type: Type) -> int:
    return type.bits if isinstance(type, IntType) else 64


class Values(Protocol):
    """The numbers of a kernel in one launch. `evaluate` finds them; what helps it (loops, calls) asks back here."""

    flow: Flow
    function: Function
    layout: DataLayout
    launch: Facts
    contexts: Contexts

    def at(self, value: Value, block: str) -> Span | None: ...

    def value(self, value: Value, context: Context) -> Span | None: ...

    def certainly(self, ask: Callable[[], Answer]) -> tuple[Answer, bool]:
        """An answer, and whether it holds whatever is being supposed at the moment."""
        ...
