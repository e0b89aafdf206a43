"""What a device is to the rest of metalloid: what it can do, its stages, how it compiles, launches and observes.

A device is a folder of this package with a `device.py` that has `BACKEND`; `backends.named` finds it there. Nothing
outside that folder names it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from metalloid.backends.base import Fault, Guard, Launch, LogMessage, Memory, Triple
from metalloid.errors import KernelFault
from metalloid.records import dataclass
from metalloid.source import Constant, Source
from metalloid.types import Signature

if TYPE_CHECKING:
    from metalloid.backends.observe import Observation
    from metalloid.ir.lines import Lined

OnLog = Callable[[LogMessage], None]
Stage = Callable[[str, Triple], str]  # scalar IR and the size of a threadgroup to a text


@dataclass(frozen=True)
class Limits:
    """What a launch may ask for."""

    threads_per_threadgroup: int = 1024
    threadgroup_memory: int = 32768  # bytes
    simd_width: int = 32


@dataclass(frozen=True)
class NativeLaunch:
    """How native code runs a launch that is ready but for its memory, without Python.

    It copies `size` bytes from `record`, puts addresses at the copy's start, lengths and bytes below at their offsets,
    and calls `run(copy, threads, 0, 0)`. Where that is not 0, or the word at `logs` is not, `Quick.finish` has to hear.
    """

    record: int
    size: int
    lengths: int
    below: int
    logs: int
    run: int
    threads: int


SCALARS = frozenset(np.dtype(code).type for code in "?bBhHiIlLqQefd")  # numpy's numbers of up to eight bytes


class Fact(NamedTuple):
    """What an argument of a launch has to be for the launch to be the same: numbers of this process."""

    # "integer", "float", "scalar" (numpy's), "same" (an object that never changes), "array", "frozen" (one that nobody
    # may write), "buffer" or "shared" (a buffer whose array is the caller's own)
    kind: str
    object: int = 0  # which one: a buffer, or one that never changes
    place: int = 0  # of the array in it; of an array whose shape counts, one more than its axes
    array: int = 0  # which one it is; of such an array, where its lengths are kept
    value: int = 0  # of a number, its bits; of an array, where its elements lie
    description: int = 0  # which dtype; of a number of numpy's, which type
    elements: int = 0
    copy: int = (
        0  # where the launch has one of the elements, which may not change: a parameter that code rests on
    )
    bytes: int = 0  # of the copy, or of a number of numpy's


class Quick(Protocol):
    """Launches of one kernel and one size, over memory that somebody else has looked at: the shortest way there is.

    A `room` is what one launch uses at a time. `code` is what `find` has chosen for the memory. A device may also have
    `again(room, code, addresses, lengths)`: what runs the launch that a room was used for once more, given `told`, and
    says whether it could; and `count`, how many addresses it always takes, those of buffers that a function constant
    has switched off included; and `epoch`, a number that is another where an address may stand for other memory than
    before. One that finds the launch by the arguments itself has `repeats()`, and
    `repeat(repeats, room, code, addresses, lengths, facts, kept)`.
    """

    @property
    def parameters(self) -> tuple[int, ...]:
        """Indices of buffers whose contents decide about the code."""
        ...

    def room(self) -> Any: ...

    def fits(self, addresses: Sequence[int], lengths: Sequence[int], below: Sequence[int]) -> bool:
        """Whether such memory may go this way: parameters are copied, and lie apart from what is written."""
        ...

    def find(self, room: Any, addresses: list[int], lengths: Sequence[int]) -> tuple[Any, bool]:
        """The code for this memory, and whether it stays so. May lead addresses of parameters to copies."""
        ...

    def start(
        self,
        room: Any,
        code: Any,
        addresses: list[int],
        lengths: Sequence[int],
        on_log: OnLog | None,
        told: Callable[[], Launch],
        below: Sequence[int] | None = None,
    ) -> None:
        """Run to the end. `told` makes the launch that messages speak of, where there is something to say.

        `below`: bytes of each buffer's allocation that lie before it.
        """
        ...

    def native(self, code: Any) -> NativeLaunch | None:
        """How native code starts what `find` has chosen; None where only Python can."""
        ...

    def finish(self, code: Any, record: int, launch: Launch, status: int, on_log: OnLog | None) -> None:
        """Pass on what a launch that native code started has logged; raise what stopped it."""
        ...


class Program(Protocol):
    """A kernel on a device: compiled when a launch first needs it."""

    told: Callable[[Fault, Launch], KernelFault]  # makes the error of a fault
    noted: Callable[[Fault, Launch], None]  # is told of what a launch went on after, once for each place

    def run(
        self,
        launch: Launch,
        guard: Guard = True,
        timeout: float | None = None,
        threads: int = 1,
        backwards: bool = False,
        on_log: OnLog | None = None,
    ) -> None:
        """Run to the end; the launch's buffers are changed in place. May raise NotVectorised before it runs."""
        ...

    def prepare(self, launch: Launch, guard: Guard, threads: int) -> None:
        """Compile what a launch needs, and do not run it."""
        ...

    def quick(self, launch: Launch, guard: Guard, threads: int) -> Quick | None:
        """The short way for launches like this one; None where each has to be looked at."""
        ...


class Checked(Protocol):
    """A kernel under observation."""

    def run(
        self,
        launch: Launch,
        timeout: float | None = None,
        backwards: bool = False,
        on_log: OnLog | None = None,
        seed: int | None = None,
        compiling: float | None = None,
    ) -> Observation:
        """May raise NotWatched or NotVectorised; the oracle observes such launches."""
        ...


@dataclass(frozen=True)
class Recorded:
    """One launch of a batch. `live` are buffers whose contents may change between runs."""

    program: Program
    launch: Launch
    live: Collection[int]
    on_log: OnLog | None


class Batch(Protocol):
    """Launches that are run again and again, with one call, each after the one before it has ended."""

    def run(self) -> None: ...


class Span(Protocol):
    """What one thread launches for one command buffer: the device may run it beside the host."""

    def settle(self) -> None:
        """Wait for what was launched so far, and raise what stopped it."""
        ...

    def end(self) -> float | None:
        """It is over: seconds on the device's own clock, None where it launched nothing."""
        ...


class Backend(ABC):
    """A device."""

    name: str
    limits = Limits()

    def missing(self) -> str:
        """Why this device cannot be used here, in a sentence; "" where it can."""
        return ""

    def warm_up(self) -> None:  # noqa: B027  # most devices have nothing to begin
        """Begin, in the background, what the first kernel will need: called while the front end compiles it."""

    @property
    def byte_dots(self) -> Collection[str]:
        """Signs of bytes ("ss", "uu", "us") of which four products take an instruction or two: worth rounding for."""
        return ()

    @property
    def multiprocessors(self) -> int:
        """How many threadgroups can have a part of the device each."""
        return 1

    # ---- memory: a device that shares the host's has nothing to do ---------------------------------------------------

    unified = True  # kernels see the host's memory: an array can be a buffer as it is

    def adopt(self, array: Memory) -> Memory:
        """Fresh host pages that are to be a buffer's; the array to use for them."""
        return array

    def host(self, array: Memory) -> Memory:
        """A buffer's contents for the host to read and write, as long as it has this array."""
        return array

    def taken(self, value: object) -> Memory | None:
        """An array of another library whose memory is on this device, as one that can be bound; None for others."""
        return None

    def exported(self, array: Memory) -> Mapping[str, Any] | None:
        """A buffer's memory for other libraries on this device, as a __cuda_array_interface__; None: it has none."""
        return None

    @property
    @abstractmethod
    def stages(self) -> Mapping[str, Stage]:
        """The texts on a kernel's way behind its scalar IR, by name, in order."""

    def lined(self, stage: str, ir: str, size: Triple) -> Lined:
        """One of these texts with the place that each of its lines comes from, as far as it is known."""
        from metalloid.ir.lines import lined

        return lined(self.stages[stage](ir, size))

    @abstractmethod
    def program(self, ir: str, signature: Signature) -> Program: ...

    def from_source(
        self, source: Source, name: str, constants: Mapping[str | int, Constant], signature: Signature
    ) -> Program | None:
        """A kernel that the device compiles from its text by itself; None where it takes scalar IR."""
        return None

    @abstractmethod
    def checked(self, ir: str, signature: Signature) -> Checked:
        """May raise NotWatched: then the oracle observes."""

    @abstractmethod
    def batch(self, launches: Sequence[Recorded], guard: Guard, threads: int) -> Batch: ...

    def span(self) -> Span | None:
        """Hold what this thread launches from here on together, until its end; None where each launch has ended when
        it returns, and the host's clock is the device's."""
        return None

    @abstractmethod
    def facts(self) -> Mapping[str, object]:
        """What `metalloid devices` says of the machine: `processor`, `threads`, and the device's own."""
