"""A guard before every access that is not proved: a call of runtime/device.cpp with the place that it speaks for."""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.analysis.intervals import is_proved
from metalloid.analysis.intervals.prove import access
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.cuda.record import RECORD
from metalloid.backends.cuda.variant import Variant
from metalloid.backends.sites import Site
from metalloid.errors import NotVectorised
from metalloid.ir import Instruction, Module
from metalloid.ir.debug import location
from metalloid.ir.intrinsics import ENTRY, PRIVATE, matrix_access
from metalloid.ir.layout import data_layout
from metalloid.ir.name_privates import name_privates
from metalloid.ir.types import I8, I32, I64, VOID, IntType, PointerType, Type
from metalloid.ir.values import Global, Int, Local, Value

LAUNCH = Local("mt.launch", PointerType(0))


class Guards:
    """What guards need to know of a kernel, and the guards."""

    def __init__(self, module: Module, variant: Variant) -> None:
        self.variant, self.source = variant, module
        marked = variant.proof.mark(module) if variant.proof is not None else module
        self.module, self.privates = name_privates(marked)
        self.function = self.module.function[ENTRY]
        self.layout = data_layout(module.datalayout)
        self.roots = UnderlyingObjects(self.function)
        self.sites: list[Site] = []
        self.declared: dict[str, tuple[Type, tuple[Type, ...]]] = {}
        self.private_names = {
            i.operands[0].value: i.name
            for i in self.function.instructions()
            if i.called == PRIVATE and isinstance(i.operands[0], Int)
        }
        self.tables = [g for g in module.globals if g.space in (1, 4) and g.constant]
        # Offsets are known; where memory starts is, too, unless it is the caller's own.
        self.aligned = {(block, n): align for block, n, align in variant.aligned} if variant.even else {}
        self._fresh = 0

    def call(self, name: str, result: Type, *operands: Value, into: str = "") -> Instruction:
        self.declared[name] = result, tuple(o.type for o in operands)
        return Instruction("call", result, operands, into, callee=Global(name, PointerType()))

    def name(self, what: str) -> str:
        self._fresh += 1
        return f"mt.{what}{self._fresh}"

    def safe(self, i: Instruction, place: tuple[str, int]) -> bool:
        """Whether an access needs no guard: it is inside its memory, and aligned to what it loads."""
        if not is_proved(i):
            return False
        what = access(i)
        return what is not None and self.aligned.get(place, 1) >= min(what[1], i.align or what[1])

    def inlined(self, pointer: Value) -> int | None:
        """Where in the launch an argument lies that a pointer leads into; None for other memory."""
        root = self.roots.root(pointer)
        if root is None or root.kind != "buffer":
            return None
        found = self.variant.inlined.get(root.index)
        return found[0] if found is not None else None

    def guards(self, i: Instruction) -> Iterator[Instruction]:
        matrix = matrix_access(i.called)
        if matrix is not None:
            shape = (i.operands[1], i.operands[2])
            yield from self._guarded(i, i.operands[0], matrix.size, matrix.store, shape)
        elif i.opcode == "load":
            yield from self._guarded(i, i.operands[0], self.layout.size(i.type), False)
        elif i.opcode == "store":
            yield from self._guarded(i, i.operands[1], self.layout.size(i.operands[0].type), True)
        elif i.opcode in ("atomicrmw", "cmpxchg"):
            yield from self._guarded(i, i.operands[0], self.layout.size(i.operands[1].type), True)

    def _in_tables(self, pointer: Value, size: int) -> tuple[Value, list[Instruction]]:
        """Whether an access lies in one of the kernel's constant tables."""
        truth: Value = Int(IntType(1), 0)
        made: list[Instruction] = []
        for table in self.tables:
            room = self.layout.size(table.type) - size
            if table.space != 1 or room < 0:
                continue
            here, first, at, fits, either = (self.name(w) for w in ("here", "first", "at", "fits", "either"))
            made += [
                Instruction("ptrtoint", I64, (pointer,), here),
                Instruction("ptrtoint", I64, (Global(table.name, PointerType(1)),), first),
                Instruction("sub", I64, (Local(here, I64), Local(first, I64)), at),
                Instruction("icmp", IntType(1), (Local(at, I64), Int(I64, room)), fits, predicate="ule"),
                Instruction("or", IntType(1), (truth, Local(fits, IntType(1))), either),
            ]
            truth = Local(either, IntType(1))
        return truth, made

    def _guarded(
        self, i: Instruction, pointer: Value, size: int, write: bool, shape: tuple[Value, ...] = ()
    ) -> Iterator[Instruction]:
        """Ask before an access; with a shape (stride, transposed), before a lane's two elements of a matrix."""
        root = self.roots.root(pointer)
        assert isinstance(pointer.type, PointerType)
        space = pointer.type.space
        site = Int(I32, len(self.sites))
        self.sites.append(Site(location(self.source, i), root, size, write))
        align = min(size, i.align or size) if not shape else size
        rest = (*shape, Int(I32, size), Int(I32, align & -align), site, LAUNCH)
        kind = "_matrix" if shape else ""
        known = root.kind if root is not None else "unknown"
        inlined = self.inlined(pointer)
        if known == "buffer" and root is not None and inlined is None:
            yield self.call(f"mtd_guard{kind}_buffer", VOID, pointer, Int(I32, root.index), *rest)
            return
        if known == "unknown":
            if space != 1 or shape:
                raise NotVectorised(
                    "[cuda] a pointer that may lead into one of several memories is not supported on this device"
                )
            inside, made = self._in_tables(pointer, size)
            yield from made
            yield self.call("mtd_guard_any", VOID, pointer, inside, *rest)
            return
        assert root is not None
        base, room = self.name("base"), self.name("room")
        start: Value
        bytes_: Value
        match known:
            case "threadgroup":
                yield self.call("mtd_threadgroup", PointerType(3), Int(I32, root.index), LAUNCH, into=base)
                yield self.call("mtd_local_room", I32, Int(I32, root.index), LAUNCH, into=room)
                start, bytes_ = Local(base, PointerType(3)), Local(room, I32)
            case "buffer":
                assert inlined is not None
                pointer = Local(pointer.name, LAUNCH.type) if isinstance(pointer, Local) else pointer
                yield Instruction(
                    "getelementptr", LAUNCH.type, (LAUNCH, Int(I64, RECORD + inlined)), base, element=I8
                )
                start, bytes_ = Local(base, LAUNCH.type), Int(I32, self.variant.inlined[root.index][1])
            case "private":
                start = Local(self.private_names[root.index], PointerType(5))
                bytes_ = Int(I32, self.privates[root.index].size)
            case _:
                start = Global(root.name, PointerType(space))
                bytes_ = Int(I32, self.layout.size(self.module.variable[root.name].type))
        here, first, at = self.name("here"), self.name("first"), self.name("at")
        yield Instruction("ptrtoint", I64, (pointer,), here)
        yield Instruction("ptrtoint", I64, (start,), first)
        yield Instruction("sub", I64, (Local(here, I64), Local(first, I64)), at)
        yield self.call(f"mtd_guard{kind}_range", VOID, Local(at, I64), bytes_, *rest)
