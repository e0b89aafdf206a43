"""Accesses to threadgroup arrays that live in registers: each is a few shuffles (see `held_arrays`).

An array is registers side by side, each in a stack slot, which LLVM makes a value of. A register's worth of lanes gets
its elements from two registers at a time, and what comes of several pairs is put together then.
"""

from __future__ import annotations

from collections.abc import Sequence

from metalloid.analysis.lane_offsets import lane_offsets
from metalloid.analysis.lane_sets import running
from metalloid.backends.cpu.lower.access.contiguous import concat
from metalloid.backends.cpu.lower.access.mem_ref import from_memory, memory_type, to_memory
from metalloid.backends.cpu.lower.emitter import Emitter, Val, lowered
from metalloid.backends.cpu.lower.held_arrays import threads
from metalloid.backends.cpu.lower.output import HeldArray
from metalloid.ir import Instruction
from metalloid.ir.types import PointerType
from metalloid.ir.values import Value

Element = tuple[str, int]  # a vector of a register's length, and which of it


def is_held(e: Emitter, pointer: Value) -> bool:
    return e.out.held != {} and array_of(e, pointer) is not None


def array_of(e: Emitter, pointer: Value) -> str | None:
    """The name of the array, where a pointer goes to one in registers."""
    if not isinstance(pointer.type, PointerType) or pointer.type.space != 3:
        return None
    root = e.roots.root(pointer)
    return root.name if root is not None and root.kind == "variable" and root.name in e.out.held else None


def load(e: Emitter, i: Instruction) -> None:
    pointer, (kind, size) = i.operands[0], memory_type(i.type)
    registers = _Registers(e, pointer, size)
    if e.get(pointer).uniform:
        ref = registers.loaded(registers.places[:1], kind)
        e.set(i.name, Val(lowered(i.type), base=from_memory(e, i.type, kind, ref, False)))
        return
    ref = registers.loaded(_some(registers.places, registers.lanes()[0]), kind)
    e.set(i.name, Val(lowered(i.type), vec=from_memory(e, i.type, kind, ref, True)))


def store(e: Emitter, i: Instruction) -> None:
    value, pointer = i.operands
    kind, size = memory_type(value.type)
    registers = _Registers(e, pointer, size)
    if e.get(pointer).uniform:
        one = to_memory(e, value.type, kind, _last(e, value, registers.lanes()), False)
        registers.store(registers.places[:1], one, kind)
        return
    made, (lanes, exact) = e.get(value), registers.lanes()
    places = _some(registers.places, lanes)
    ref = to_memory(e, value.type, kind, made.vec or e.expand(made), True)
    if not exact:  # those that are idle write back what is there
        old = registers.loaded(places, kind)
        ref = e.put(f"select {e.vt('i1')} {e.mask}, {e.vt(kind)} {ref}, {e.vt(kind)} {old}")
    registers.store(places, ref, kind)


def _last(e: Emitter, value: Value, lanes: tuple[frozenset[int], bool]) -> str:
    """What the last lane that runs stores."""
    made = e.get(value)
    if made.uniform and made.base is not None:
        return made.base
    last = str(max(lanes[0])) if lanes[1] and lanes[0] else e.last(e.mask)
    return e.put(f"extractelement {e.vt(made.type)} {e.vector(value)}, i32 {last}")


def _some(places: Sequence[int], lanes: frozenset[int]) -> list[int | None]:
    """The places of lanes that may run."""
    return [at if n in lanes else None for n, at in enumerate(places)]


def give_back(e: Emitter) -> list[str]:
    """What a function of the first gang ends with: registers that it has changed go back to memory."""
    lines = []
    for n, (home, (slot, kind, align)) in enumerate(e.last_stores.items()):
        lines.append(f"  %back{n} = load {kind}, ptr {slot}")
        lines.append(f"  store {kind} %back{n}, ptr {home}, align {align}")
    return lines


class _Registers:
    """One access to an array's registers, each lane's of `size` bytes."""

    def __init__(self, e: Emitter, pointer: Value, size: int) -> None:
        name, offsets = array_of(e, pointer), lane_offsets(e.u, pointer)
        assert name is not None and offsets is not None
        self.e, self.name = e, name
        self.array: HeldArray = e.out.held[name]
        self.each = size // self.array.size  # elements of a lane
        self.length = max(1, e.out.target.vector_bytes // self.array.size)
        self.places = [at // self.array.size for at in offsets]

    def lanes(self) -> tuple[frozenset[int], bool]:
        """Those that may run the block, and whether all of them do."""
        e = self.e
        found, exact = running(e.u, e.block, threads(e.out.lanes))
        return found, exact or e.mask is None

    def slot(self, number: int) -> str:
        """A register's stack slot. It starts as zeros; in code of the first gang, as what is in memory."""
        e, key = self.e, f"held:{self.name}:{number}"
        if key not in e.launch_values:
            kind = f"<{self.length} x {self.array.kind}>"
            e.launch_values[key] = e.alloca(kind, "held")
            start = "zeroinitializer"
            if e.out.lanes.first:
                load = f"load {kind}, ptr {self._home(number)}, align {self.array.size}"
                start = e.at_start(f"{key}:was", load)
            e.prologue.append(f"  store {kind} {start}, ptr {e.launch_values[key]}")
        return e.launch_values[key]

    def _home(self, number: int) -> str:
        """Where a register has its elements in memory."""
        at = self.e.out.local_offsets[self.name] + number * self.e.out.target.vector_bytes
        return self.e.at_start(f"held:{self.name}:{number}:at", f"getelementptr i8, ptr %tg, i64 {at}")

    def _changed(self, number: int) -> None:
        """Others read memory: what the first gang has changed goes back there where its code ends."""
        if not self.e.out.lanes.first:
            return
        kind = f"<{self.length} x {self.array.kind}>"
        self.e.last_stores[self._home(number)] = (self.slot(number), kind, self.array.size)

    def register(self, number: int) -> str:
        return self.e.put(f"load <{self.length} x {self.array.kind}>, ptr {self.slot(number)}")

    def loaded(self, places: Sequence[int | None], kind: str) -> str:
        """What stands at each lane's place; of one lane, a scalar."""
        e, count = self.e, len(places) * self.each
        ref, have = self._read(self._elements(places)), f"<{count} x {self.array.kind}>"
        if len(places) == 1:
            only = self.each == 1 and kind == self.array.kind
            return e.put(f"extractelement {have} {ref}, i64 0" if only else f"bitcast {have} {ref} to {kind}")
        want = f"<{len(places)} x {kind}>"
        return ref if want == have else e.put(f"bitcast {have} {ref} to {want}")

    def store(self, places: Sequence[int | None], ref: str, kind: str) -> None:
        """A vector, or the scalar of one lane, to each lane's place."""
        e, want = self.e, f"<{len(places) * self.each} x {self.array.kind}>"
        have = f"<{len(places)} x {kind}>"
        if len(places) == 1:
            ref = e.put(f"insertelement {have} poison, {kind} {ref}, i64 0")
        self._write(self._elements(places), ref if want == have else e.put(f"bitcast {have} {ref} to {want}"))

    def _elements(self, places: Sequence[int | None]) -> list[int | None]:
        """The array's own elements, of lanes that have several each."""
        return [None if at is None else at + n for at in places for n in range(self.each)]

    def _read(self, places: Sequence[int | None]) -> str:
        """An element for each place."""
        length = self.length
        count = min(len(places), length)
        used = sorted({at // length for at in places if at is not None})
        have = {number: self.register(number) for number in used}
        wanted = [None if at is None else (have[at // length], at % length) for at in places]
        chunks = [self._joined(wanted[n : n + count]) for n in range(0, len(places), count)]
        return concat(self.e, self.array.kind, chunks, count)

    def _write(self, places: Sequence[int | None], value: str) -> None:
        """Each element of a vector to its place; of several to one, the last."""
        length, kind = self.length, f"<{self.length} x {self.array.kind}>"
        source = {at: n for n, at in enumerate(places) if at is not None}
        parts = {n: self._part(value, len(places), n) for n in sorted({n // length for n in source.values()})}
        for number in sorted({at // length for at in source}):
            from_ = [source.get(number * length + n) for n in range(length)]
            old = self.register(number)
            wanted = [
                (old, n) if s is None else (parts[s // length], s % length) for n, s in enumerate(from_)
            ]
            self.e.do(f"store {kind} {self._joined(wanted, old)}, ptr {self.slot(number)}")
            self._changed(number)

    def _part(self, value: str, count: int, number: int) -> str:
        """The register with this number of a vector."""
        first = number * self.length
        if count == self.length:
            return value
        picks = [n if n < count else None for n in range(first, first + self.length)]
        return self._shuffled(value, "poison", count, picks)

    def _joined(self, wanted: Sequence[Element | None], last: str = "") -> str:
        """A vector of these elements, those of `last` put to the others at the end."""
        names = dict.fromkeys(w[0] for w in wanted if w is not None)
        order = sorted(names, key=lambda name: name == last)
        if not order:
            return "poison"
        made = [self._pair(wanted, order[n : n + 2]) for n in range(0, len(order), 2)]
        while len(made) > 1:
            pairs = [self._both(a, b) for a, b in zip(made[::2], made[1::2], strict=False)]
            made = pairs + made[len(made) & ~1 :]
        return made[0][0]

    def _pair(self, wanted: Sequence[Element | None], names: list[str]) -> tuple[str, list[bool]]:
        """What two registers have of it, each element where it is wanted; and which those are."""
        start = {name: n * self.length for n, name in enumerate(names)}
        picks = [None if w is None or w[0] not in start else start[w[0]] + w[1] for w in wanted]
        there = [p is not None for p in picks]
        if len(picks) == self.length and all(p in (None, n) for n, p in enumerate(picks)):
            return names[0], there
        return self._shuffled(names[0], names[1] if len(names) > 1 else "poison", self.length, picks), there

    def _both(self, a: tuple[str, list[bool]], b: tuple[str, list[bool]]) -> tuple[str, list[bool]]:
        count = len(a[1])
        picks = [n if a[1][n] else count + n if b[1][n] else None for n in range(count)]
        return self._shuffled(a[0], b[0], count, picks), [x or y for x, y in zip(a[1], b[1], strict=True)]

    def _shuffled(self, a: str, b: str, count: int, picks: Sequence[int | None]) -> str:
        kind = f"<{count} x {self.array.kind}>"
        text = ", ".join(f"i32 {'poison' if p is None else p}" for p in picks)
        return self.e.put(f"shufflevector {kind} {a}, {kind} {b}, <{len(picks)} x i32> <{text}>")
