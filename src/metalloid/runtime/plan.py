"""The short road of a launch.

The first launch of a size goes through every check. What it found out is kept as a plan; from then on a
launch looks at what can differ between two calls (which arrays, which numbers) and hands their addresses to the
device. Whatever is not plainly right is sent back to the long road, which knows what to say.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from metalloid.backends.backend import Quick
from metalloid.backends.base import Launch
from metalloid.runtime.again import repeats, repeats_of
from metalloid.runtime.buffer import Buffer
from metalloid.runtime.kernel_code import KernelCode
from metalloid.runtime.slot import MOST_KNOWN, Slot, as_parameter, is_of, plain

_address = ctypes.addressof
_exported = ctypes.c_char.from_buffer  # refuses what is not writable or not contiguous


def address(array: Any, written: bool) -> int:
    """Where an array's elements lie; TypeError where it has gaps or must not be written."""
    try:
        return _address(_exported(array))
    except (TypeError, ValueError, BufferError):  # bfloat16 cannot be exported, read-only memory will not be
        if not isinstance(array, np.ndarray) or not array.flags.c_contiguous:
            raise
        if written and not array.flags.writeable:
            raise
        return array.ctypes.data


class Spare:
    """What no launch uses just now: the device's room for one, and cells for the numbers of the next."""

    __slots__ = ("cells", "room")

    def __init__(self, slots: Sequence[Slot], room: Any) -> None:
        self.room = room
        made: list[Any] = [slot.cell() if slot.cell is not None else None for slot in slots]
        self.cells = tuple((cell, _address(cell) if cell is not None else 0) for cell in made)


Below = Mapping[int, int]
Held = tuple[Buffer, np.ndarray[Any, Any]]
Known = dict[tuple[int, ...], Any]
Kept = dict[int, np.ndarray[Any, Any]]  # by argument: the copies that were made of values
# What a launch needs of its memory: room, addresses, lengths, bytes below, code by numbers, the numbers where all are
# known, the arguments, copies that were made of them, and buffers with their memory: they may be released meanwhile.
Bound = tuple[
    Spare,
    list[int],
    list[int],
    list[int] | None,
    Known,
    tuple[int, ...] | None,
    tuple[Any, ...],
    Kept,
    list[Held],
]


class Plan:
    """One kernel, one size of launch.

    `_known` has memory that was looked at before (it does not overlap) and which code the numbers in parameters led
    to. Numbers are known when they are given as such: what an array holds may change, and is looked at every time.
    """

    __slots__ = (
        *("_count", "_free", "_gaps", "_go", "_kernel", "_known", "_parameters", "_quick", "_repeats"),
        *("_dated", "_epoch", "_fired", "_slots", "launch", "repeats"),
    )

    def __init__(self, kernel: KernelCode, launch: Launch, quick: Quick) -> None:
        self._kernel, self._quick, self._parameters = kernel, quick, quick.parameters
        self.launch = Launch(
            launch.grid, launch.threadgroup, {}, launch.threadgroup_memory, kernel=kernel.name
        )
        self._slots = tuple(Slot(p) for p in kernel.signature.buffers)
        self._free: list[Spare] = []
        self._known: dict[tuple[int, ...], dict[tuple[int, ...], Any]] = {}  # memory, numbers: the code
        self._fired: dict[tuple[int, ...], Any] = {}  # the same without numbers, where memory may overlap
        bound = 1 + max((slot.index for slot in self._slots), default=-1)
        self._count = max(bound, getattr(quick, "count", 0))
        self._gaps = self._count != len(self._slots)
        self._dated, self._epoch = hasattr(quick, "epoch"), getattr(quick, "epoch", 0)
        self._repeats = repeats_of(quick, lambda arguments: self._told(arguments, None))
        self._go: Any = self._repeats and self._repeats.go
        # What has to be kept until `repeat` runs these arguments; None where it would not.
        self.repeats: Any = self._repeats.has if self._repeats is not None else _none_of_them

    def go(self, arguments: tuple[Any, ...], kernel: KernelCode) -> bool:
        """Run with these arguments; False where the long road has to look at them, and nothing ran."""
        if self.repeat(arguments):
            return True
        bound = self.bind(arguments, kernel)
        if bound is None:
            return False
        self.run(bound)
        return True

    def repeat(self, arguments: tuple[Any, ...]) -> bool:
        """Run a launch with these arguments that has run before; False where there is none, and nothing ran."""
        if self._repeats is None:
            return False
        status: int = self._go(arguments)
        if status > 0:
            self._repeats.stopped(status, lambda: self._told(arguments, None))
        return status >= 0

    def _remember(self, bound: Bound, code: Any) -> bool:
        """Have a device repeat a launch of buffers and numbers without looking at them again, where it can and where
        that is worth it: its spare is nobody else's from now on."""
        repeated = self._repeats
        if repeated is None or not repeated.worth():
            return False
        spare, addresses, lengths, below, _, said, arguments, kept, _ = bound
        if below or (said is None and not repeated.contents):
            return False
        if any(is_of(found, arguments[n]) for n, found in kept.items()):
            return False
        if not all(repeats(a, n in kept) for n, a in enumerate(arguments)):
            return False
        places = [addresses[slot.index] for slot in self._slots] if self._gaps else addresses
        return repeated.keep(arguments, places, spare, code, addresses, lengths, kept)

    def bind(
        self,
        arguments: tuple[Any, ...],
        kernel: KernelCode,
        shared: bool = False,
        below: Below | None = None,
        raw: bool = False,
    ) -> Bound | None:
        """Look at the arguments; None where the long road has to. `shared` allows memory that is written to be bound
        twice; `below` are bytes of the allocations that lie before buffers, by index; `raw` takes memory as it is."""
        slots, live = self._slots, self._parameters
        if len(arguments) != len(slots) or (below and any(below.get(index) for index in live)):
            return None  # parameters are copied, and a copy has nothing below it
        spare = self._spare()
        addresses: list[int] = []
        lengths: list[int] = []
        places: list[int] = []  # the same, but for cells: which one a number lies in says nothing
        numbers: list[int] = []  # what parameters hold
        kept: Kept = {}  # alive until the kernel has read them
        held: list[Held] = []  # memory of buffers
        for n, (slot, given, (cell, at)) in enumerate(zip(slots, arguments, spare.cells)):  # noqa: B905  # counted above; strict costs
            kind, value = type(given), given
            number = given if kind is slot.number or slot.number is None else plain(slot.number, given)
            if type(number) is slot.number and slot.low <= number <= slot.high:
                cell.value = number
                size = slot.size
                places.append(0)
                if slot.index in live and type(number) is int:
                    numbers.append(number)
            else:
                if kind is Buffer and given.device is kernel.device:
                    if slot.written:
                        given.fresh = False
                    kind, value = np.ndarray, given.memory()
                    held.append((given, value))
                size = value.nbytes if kind is np.ndarray else 0
                exact = kind is np.ndarray and value.dtype is slot.dtype
                if not exact or (slot.size and size != slot.size):
                    found = as_parameter(kernel, slot, given, raw)
                    if found is None:
                        return None
                    if found is not value:  # rows of structs are looked at, and stay what they are
                        kept[n] = found
                    value, size = found, found.nbytes
                try:
                    at = address(value, slot.written)
                except (TypeError, ValueError, BufferError):
                    return None
                places.append(at)
            addresses.append(at)
            lengths.append(size)
        memory = (*places, *lengths)
        known = self._of_now(memory) if self._dated else self._known.get(memory)
        if known is None and (known := self._first_seen(memory, addresses, lengths, shared)) is None:
            return None
        if self._gaps:
            addresses, lengths = self._spread(addresses), self._spread(lengths)
        before = [below.get(index, 0) for index in range(self._count)] if below else None
        said = tuple(numbers) if len(numbers) == len(live) else None
        return spare, addresses, lengths, before, known, said, arguments, kept, held

    def run(self, bound: Bound) -> None:
        spare, addresses, lengths, below, known, said, arguments, _, held = bound
        code, settled = known.get(said) if said is not None else None, True
        if code is None:
            code, settled = self._find(spare, addresses, lengths, known, said)
        self._start(spare, code, addresses, lengths, arguments, below, held)
        # Not given back before that: another thread would fill it with what is its own.
        if not settled or not self._remember(bound, code):
            self._free.append(spare)

    def _of_now(self, memory: tuple[int, ...]) -> Known | None:
        """What is known of memory, where its addresses still stand for it."""
        if self._epoch != (now := getattr(self._quick, "epoch", 0)):
            self._epoch = now
            self._known.clear()
        return self._known.get(memory)

    def _first_seen(
        self, memory: tuple[int, ...], addresses: list[int], lengths: list[int], shared: bool
    ) -> Known | None:
        """Room for what is found out about memory that does not overlap, or may."""
        if _overlap(self._slots, addresses, lengths):
            return {} if shared and not self._parameters else None  # they may change while the kernel runs
        if len(self._known) >= MOST_KNOWN:
            self._known.clear()
        known = self._known[memory] = {}
        return known

    def _find(
        self,
        spare: Spare,
        addresses: list[int],
        lengths: Sequence[int],
        known: dict[tuple[int, ...], Any] | None = None,
        said: tuple[int, ...] | None = None,
    ) -> tuple[Any, bool]:
        """The code for this memory, and whether it is settled: `known` has it then. Leads the launch to copies of its
        parameters."""
        code, settled = self._quick.find(spare.room, addresses, lengths)
        if known is not None and said is not None and settled:
            if len(known) >= MOST_KNOWN:
                known.clear()
            known[said] = code
        return code, settled

    def _spread(self, values: list[int]) -> list[int]:
        """Values of the parameters there are, with zeros for the indices between."""
        spread = [0] * self._count
        for slot, value in zip(self._slots, values, strict=True):
            spread[slot.index] = value
        return spread

    def fire(self, addresses: list[int], lengths: Sequence[int], arguments: Iterable[Any]) -> None:
        """Run over this memory; `arguments` keep it alive and are what messages speak of."""
        spare, memory = self._spare(), (*addresses, *lengths)
        code = self._fired.get(memory)
        if code is None:
            code, settled = self._find(spare, addresses, lengths)
            if settled and not self._parameters and not self._dated:  # nothing else decides about it
                if len(self._fired) >= MOST_KNOWN:
                    self._fired.clear()
                self._fired[memory] = code
        self._start(spare, code, addresses, lengths, arguments)
        self._free.append(spare)

    def _spare(self) -> Spare:
        try:
            return self._free.pop()
        except IndexError:
            return Spare(self._slots, self._quick.room())

    def _start(
        self,
        spare: Spare,
        code: Any,
        addresses: list[int],
        lengths: Sequence[int],
        arguments: Iterable[Any],
        below: list[int] | None = None,
        held: Sequence[Held] = (),
    ) -> None:
        self._quick.start(
            spare.room,
            code,
            addresses,
            lengths,
            self._kernel.on_log,
            lambda: self._told(arguments, below, held),
            below,
        )

    def launch_of(self, bound: Bound) -> Launch:
        """The long road's launch over the same memory, numbers and copies included."""
        spare, addresses, _, below, _, _, arguments, kept, held = bound
        made = {array.ctypes.data: array for array in kept.values()}
        launch = self._told(arguments, below, held)
        buffers = dict(launch.buffers)
        for n, (slot, (cell, at)) in enumerate(zip(self._slots, spare.cells, strict=True)):
            place = addresses[slot.index if self._gaps else n]
            if cell is not None and place == at:
                buffers[slot.index] = np.frombuffer(bytes(cell), slot.dtype)
            elif place in made:
                buffers[slot.index] = made[place]
        return replace(launch, buffers=buffers)

    def _told(self, arguments: Iterable[Any], below: list[int] | None, held: Sequence[Held] = ()) -> Launch:
        """The launch that messages speak of."""
        memory = {id(buffer): array for buffer, array in held}
        given = ((slot, memory.get(id(a), a)) for slot, a in zip(self._slots, arguments, strict=True))
        buffers = {
            slot.index: value.memory() if isinstance(value, Buffer) else value
            for slot, value in given
            if isinstance(value, Buffer | np.ndarray)
        }
        before = {index: n for index, n in enumerate(below or ()) if n}
        return replace(self.launch, buffers=buffers, below=before)


def _none_of_them(arguments: tuple[Any, ...]) -> None:
    """What `Repeats.has` says where nothing repeats."""


def _overlap(slots: Sequence[Slot], addresses: list[int], lengths: list[int]) -> bool:
    """Whether memory that is written is bound a second time."""
    spans = [
        (at, at + size, slot.written)
        for slot, at, size in zip(slots, addresses, lengths, strict=True)
        if size
    ]
    spans.sort()
    end = end_written = 0
    for start, stop, writes in spans:
        if start < end_written or (writes and start < end):
            return True
        if stop > end:
            end = stop
        if writes and stop > end_written:
            end_written = stop
    return False
