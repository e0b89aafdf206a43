"""What every backend is given: a launch; and what stops one: a fault."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal

from metalloid.backends.printf import formatted
from metalloid.errors import LaunchError
from metalloid.location import Location
from metalloid.records import dataclass, field

Triple = tuple[int, int, int]
Memory = Any  # whatever has the buffer protocol: a numpy array, a bytearray, a memoryview

# What becomes of an access outside its memory: nobody looks; the launch stops there; or, as a GPU's robust buffer
# access has it, a read gives 0, a write is dropped, and one warning tells of it.
Guard = bool | Literal["robust"]

MAX_THREADS = 1024  # of a threadgroup that a launch can ask for
MOST_PRIVATE = 64 << 20  # bytes of one thread's own arrays; a GPU has a few kilobytes
SIMD_WIDTH = 32
QUAD_WIDTH = 4


@dataclass(frozen=True)
class Launch:
    """One dispatch: how many threads, in what groups, over which memory.

    `addresses` gives buffers the 64-bit addresses that kernels see; the others get some.
    `resources` are buffers that only pointers inside argument buffers lead to.
    """

    grid: Triple  # threads in all, per axis
    threadgroup: Triple  # threads per threadgroup, per axis; the last one of an axis may be smaller
    buffers: Mapping[int, Memory] = field(default_factory=dict)  # by index; changed in place
    threadgroup_memory: Mapping[int, int] = field(default_factory=dict)  # bytes, by index
    addresses: Mapping[int, int] = field(default_factory=dict)
    below: Mapping[int, int] = field(default_factory=dict)  # bytes of its allocation that lie before a buffer
    resources: Sequence[tuple[int, Memory]] = ()  # (address, memory)
    kernel: str = "kernel"  # what messages call it
    # What checkers want to know.
    undefined: frozenset[int] = frozenset()  # buffers whose bytes nobody has set
    launched: Mapping[int, int] = field(default_factory=dict)  # buffers that only so many launches have set
    holes: Mapping[int, Any] = field(
        default_factory=dict
    )  # flags of the bytes that no launch has set, where known
    inputs: frozenset[int] = frozenset()  # buffers that the kernel declares const
    filled: frozenset[int] = (
        frozenset()
    )  # outputs that got a value for this launch, to keep where none is written
    sized_by: int | None = (
        None  # the buffer whose elements are the threads, where the caller did not say how many
    )
    place: str = ""  # the caller's line, as file:line
    during: str = ""  # labels around it: "command buffer 'frame', encoder 'blur', group 'pass 2'"
    labels: Mapping[int, str] = field(default_factory=dict)  # what the caller called the buffers, by index
    resource_names: Mapping[int, str] = field(default_factory=dict)  # labels of resources, by address
    undefined_resources: frozenset[int] = frozenset()  # addresses of those whose bytes nobody has set

    def __post_init__(self) -> None:
        if min(self.threadgroup) < 1:
            raise LaunchError(
                f"[launch {self.kernel}] threadgroup is {self.threadgroup}; every axis needs 1 or more."
            )
        if min(self.grid) < 0:
            raise LaunchError(f"[launch {self.kernel}] grid is {self.grid}; no axis can be negative.")

    def resource_name(self, address: int) -> str:
        """What the user calls the resource that starts at an address."""
        return self.resource_names.get(address) or f"the resource at {address:#x}"

    @property
    def threadgroups(self) -> Triple:
        """How many threadgroups there are, per axis, ragged ones included."""
        x, y, z = (-(-g // t) for g, t in zip(self.grid, self.threadgroup, strict=True))
        return x, y, z

    def size_of(self, threadgroup: Triple) -> Triple:
        """How many threads the threadgroup at this position has, per axis."""
        axes = zip(self.grid, self.threadgroup, threadgroup, strict=True)
        x, y, z = (min(t, g - p * t) for g, t, p in axes)
        return x, y, z

    def walk(self) -> Iterator[Triple]:
        """The positions of all threadgroups, x fastest."""
        x, y, z = self.threadgroups
        return ((i, j, k) for k in range(z) for j in range(y) for i in range(x))

    def positions(self) -> list[Triple]:
        return list(self.walk())

    def refuse_too_many_threads(self) -> None:
        x, y, z = self.threadgroup
        if x * y * z > MAX_THREADS:
            raise LaunchError(
                f"[launch {self.kernel}] threadgroup is {x * y * z} threads; this device allows {MAX_THREADS}.\n"
                f"Pass a threadgroup of {MAX_THREADS} threads or fewer."
            )


@dataclass(frozen=True)
class Fault:
    """Why a guarded kernel was stopped."""

    rule: str  # "M101", ...
    message: str
    kernel: str
    location: Location | None = None
    thread: Triple | None = None  # in the grid
    threadgroup: Triple | None = None
    buffer: int | None = None  # index, where a bound buffer is meant
    offset: int | None = None  # in bytes
    size: int = 0  # of the access, in bytes

    def text(self) -> str:
        """One line for people: place, rule, what happened, who did it."""
        place = ""
        if self.location:
            column = f":{self.location.column}" if self.location.column else ""
            place = f"{self.location.file}:{self.location.line}{column}: "
        who = f" (thread {_triple(self.thread)} in the grid" if self.thread else ""
        if who and self.threadgroup:
            who += f", threadgroup {_triple(self.threadgroup)}"
        rule = f"{self.rule} " if self.rule else ""
        return f"{place}{rule}{self.message}{who + ')' if who else ''} in kernel '{self.kernel}'"


def _triple(position: Triple) -> str:
    return f"({', '.join(str(p) for p in position)})"


@dataclass(frozen=True)
class LogMessage:
    """One log line of a kernel; integers are signed."""

    format: str
    level: int  # 0 default, 1 debug, 2 info, 3 error, 4 fault
    arguments: tuple[int | float, ...]
    thread: Triple

    @property
    def text(self) -> str:
        """The line as printf would write it."""
        return formatted(self.format, self.arguments)
