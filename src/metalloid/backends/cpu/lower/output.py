"""What all functions of one kernel share: where its memory lies, what it declares, where it can fault."""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_shape import LaneShape
from metalloid.analysis.underlying_objects import UnderlyingObject
from metalloid.backends.base import Guard
from metalloid.backends.cpu.abi import FAULT, LOCAL_START, NOTE
from metalloid.backends.cpu.lower.carried import NONE, CarriedSums
from metalloid.backends.cpu.own_copy import OwnCopy
from metalloid.backends.line_table import LineTable
from metalloid.backends.sites import Site
from metalloid.ir import Instruction, Module
from metalloid.ir.debug import location
from metalloid.ir.layout import DataLayout
from metalloid.records import dataclass, field
from metalloid.targets import TargetInfo

if TYPE_CHECKING:
    from metalloid.transforms.instrument import Checks


@dataclass(frozen=True)
class MatrixPlace:
    """Where the matrix lies that a kept value is an element of, in each lane; see `accumulators`."""

    at: int
    pitch: int  # bytes from row to row
    element: int  # of the lane's two


@dataclass(frozen=True)
class SlotPlace:
    """Where a value that crosses a barrier is kept in a gang's scratch."""

    at: int
    shape: LaneShape | None  # with constant patterns only the base is kept
    matrix: MatrixPlace | None = None


@dataclass(frozen=True)
class PrivatePlace:
    """Where the private variables of an alloca lie in a gang's scratch.

    `unit`: elements of that many bytes, lanes side by side; 0: each lane's variable in one piece.
    """

    at: int
    size: int
    unit: int


@dataclass(frozen=True)
class HeldArray:
    """A threadgroup array that lives in registers: what its elements are in memory."""

    kind: str
    size: int


@dataclass
class Output:
    """What all functions of one kernel share."""

    module: Module
    layout: DataLayout
    lanes: LaneLayout
    guard: Guard
    target: TargetInfo
    short_loops: frozenset[str] = frozenset()  # headers of loops that end soon: nobody has to stop them
    local_offsets: dict[str, int] = field(default_factory=dict)  # of threadgroup variables
    local_sizes: dict[str, int] = field(default_factory=dict)
    private: dict[int, PrivatePlace] = field(default_factory=dict)
    slots: dict[int, SlotPlace] = field(default_factory=dict)
    sites: list[Site] = field(default_factory=list)
    declared: dict[str, str] = field(default_factory=dict)
    helpers: dict[str, str] = field(default_factory=dict)
    formats: list[str] = field(default_factory=list)
    # What gangs read of the launch: offset and type; of a pointer to a number that may be read at any time, its type.
    fields: dict[tuple[int, str], str] = field(default_factory=dict)
    check: Checks | None = None  # of a checked run
    check_lengths: dict[int, int] = field(default_factory=dict)  # of memory whose size is known, by site

    rounds: bool = False  # a region tells the iteration it stopped in, above the number of the barrier
    remaining: int | None = (
        None  # where threads may return before a barrier: at which byte of a gang's scratch
    )
    # the lanes stand that have not
    barriers: tuple[Instruction, ...] = ()
    uses_tables: bool = False  # positions are read from tables
    nowhere: int | None = None  # a place in the scratch of a coroutine's gang, for lanes that are off
    suspends: bool = False  # a gang waits at a barrier inside its function, which is a coroutine
    counts: bool = False  # the kernel does nothing to device memory but count in it
    own_copies: dict[int, OwnCopy] = field(default_factory=dict)  # by buffer
    carried: CarriedSums = NONE  # what gangs add to registers, and calls to memory
    table: LineTable | None = None  # where lines come from, for people who read them
    held: dict[str, HeldArray] = field(default_factory=dict)  # threadgroup arrays in registers, by name
    lone: frozenset[str] = frozenset()  # blocks that only the first gang runs
    apart: bool = False  # no memory is bound twice
    passed_by: bool = (
        False  # some gangs have a function of their own, without the rounds they have no part in
    )
    scopes: set[int] = field(default_factory=set)  # buffers whose accesses say so; see `access/scopes.py`
    brief: bool = False  # nothing is written twice to run faster: the code is wanted soon

    @property
    def continue_after_fault(self) -> bool:
        """Whether lanes outside are left out, and the others go on."""
        return self.check is not None and self.check.options.continue_after_fault

    @property
    def robust(self) -> bool:
        """Whether accesses outside are told, and left out."""
        return self.guard == "robust"

    def fault(self) -> str:
        """The function that is told of an access outside."""
        name = NOTE if self.robust else FAULT
        return self.declare(name, f"declare void @{name}(ptr, i32, i64, i32, i32, i32, i32) cold")

    def place(self, i: Instruction) -> str:
        """What lines of an instruction end with: nothing, where nobody reads them."""
        return self.table.mark(location(self.module, i)) if self.table is not None else ""

    def declare(self, name: str, text: str) -> str:
        self.declared.setdefault(name, text)
        return name

    def site(
        self,
        i: Instruction,
        root: UnderlyingObject | None,
        size: int = 0,
        write: bool = False,
        rule: str = "",
    ) -> int:
        """The number of a new place that can fault."""
        self.sites.append(Site(location(self.module, i), root, size, write, rule))
        return len(self.sites) - 1

    def layout_locals(self) -> int:
        """Give threadgroup variables their places; the end of the last."""
        at = LOCAL_START
        for g in self.module.globals:
            if g.space == 3:
                align = max(g.align, 16)
                at = -(-at // align) * align
                self.local_offsets[g.name] = at
                self.local_sizes[g.name] = self.layout.size(g.type)
                at += self.local_sizes[g.name]
        return at
