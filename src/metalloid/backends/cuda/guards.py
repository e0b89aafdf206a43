"""A guard before every access that is not proved: a call of runtime/device.cpp with the place that it speaks for."""

from __future__ import annotations

from collections.abc import Iterator

from metalloid.analysis.intervals import is_proved
from metalloid.analysis.intervals.prove import access
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.cuda.coarse import coarsened, straight
from metalloid.backends.cuda.record import LAUNCH, RECORD
from metalloid.backends.cuda.turned_tiles import turned
from metalloid.backends.cuda.variant import Variant
from metalloid.backends.sites import Site
from metalloid.errors import NotVectorised
from metalloid.ir import Instruction, Module
from metalloid.ir.debug import location
from metalloid.ir.intrinsics import ENTRY, PRIVATE, THREADGROUP, matrix_access
from metalloid.ir.layout import data_layout
from metalloid.ir.name_privates import name_privates
from metalloid.ir.types import I8, I32, I64, IntType, PointerType, Type
from metalloid.ir.values import Global, Int, Local, Value
from metalloid.transforms.call_notes import without_notes

I1 = IntType(1)
_WORDS = ("here", "first", "at", "last", "fits", "enough", "both", "either")


class Guards:
    """What guards need to know of a kernel, and the guards."""

    def __init__(self, module: Module, variant: Variant, ordered: bool = True) -> None:
        module = module if variant.guard else without_notes(module)
        self.variant, self.source = variant, module
        marked = variant.proof.mark(module) if variant.proof is not None else module
        places = None
        if (variant.members > 1 or variant.places is not None) and variant.proof is not None:
            alone = straight(marked, variant.proof.dead)
            together = coarsened(alone, variant.size, variant.coarse, variant.local, dict(variant.known))
            marked, places = together.module, together.places
            self.source = marked
        known = variant.proof is not None and variant.even and not variant.flat
        rows = turned(marked, variant.size, ordered) if known else None
        if rows is not None:
            marked = self.source = rows.module
        self.orders = rows.orders if rows is not None else {}  # of lines of tiles, by the loads of these
        self.whole = (
            rows.variables if rows is not None else set()
        )  # threadgroup arrays that begin at whole tiles
        self.module, self.privates = name_privates(marked)
        self.function = self.module.function[ENTRY]
        self.layout = data_layout(module.datalayout)
        self.roots = UnderlyingObjects(self.function)
        self.sites: list[Site] = []
        self.first_site = 0  # its number, where other parts of the launch have sites
        self.declared: dict[str, tuple[Type, tuple[Type, ...]]] = {}
        self.private_names = {
            i.operands[0].value: i.name
            for i in self.function.instructions()
            if i.called == PRIVATE and isinstance(i.operands[0], Int)
        }
        self.fine: Local | None = None  # whether the access that was guarded last may be made
        # Offsets are known; where memory starts is, too, unless it is the caller's own.
        self.aligned = {(block, n): align for block, n, align in variant.aligned} if variant.even else {}
        if places is not None:
            self.aligned = {new: self.aligned[old] for new, old in places.items() if old in self.aligned}
        if rows is not None:
            moved = {new: self.aligned[old] for new, old in rows.places.items() if old in self.aligned}
            self.aligned = {**moved, **(rows.aligned if variant.even else {})}
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

    def _in_one_of(self, pointer: Value, size: int) -> tuple[Value, list[Instruction]]:
        """Whether an access lies in one of the memories that its pointer may lead into, buffers apart."""
        assert isinstance(pointer.type, PointerType)
        truth: Value = Int(IntType(1), 0)
        made: list[Instruction] = []
        for base, room, find in self._candidates(pointer.type.space):
            here, first, at, last, fits, enough, both, either = (self.name(w) for w in _WORDS)
            made += [
                *find,
                Instruction("ptrtoint", I64, (pointer,), here),
                Instruction("ptrtoint", I64, (base,), first),
                Instruction("sub", I64, (Local(here, I64), Local(first, I64)), at),
                Instruction("sub", I64, (room, Int(I64, size)), last),
                Instruction("icmp", I1, (Local(at, I64), Local(last, I64)), fits, predicate="ule"),
                Instruction("icmp", I1, (room, Int(I64, size)), enough, predicate="uge"),
                Instruction("and", I1, (Local(fits, I1), Local(enough, I1)), both),
                Instruction("or", I1, (truth, Local(both, I1)), either),
            ]
            truth = Local(either, I1)
        return truth, made

    def _candidates(self, space: int) -> Iterator[tuple[Value, Value, list[Instruction]]]:
        """Where memories of an address space start, their bytes, and the code that finds out."""
        for variable in self.module.globals:
            if variable.space == space and (space == 3 or variable.constant):
                room = Int(I64, self.layout.size(variable.type))
                yield Global(variable.name, PointerType(space)), room, []
        if space == 5:
            first = {i.name for i in self.function.entry.instructions}
            if not first.issuperset(self.private_names.values()):
                raise NotVectorised(
                    "[cuda] pointers into one of several private arrays are not supported here"
                )
            for index, name in self.private_names.items():
                yield Local(name, PointerType(5)), Int(I64, self.privates[index].size), []
        dynamic = {o.value for i in self.function.instructions() if i.called == THREADGROUP for o in i.operands[:1] if isinstance(o, Int)}  # fmt: skip  # noqa: E501
        for index in sorted(dynamic) if space == 3 else ():
            base, bytes_, room_ = self.name("base"), self.name("bytes"), self.name("room")
            find = [
                self.call("mtd_threadgroup", PointerType(3), Int(I32, index), LAUNCH, into=base),
                self.call("mtd_local_room", I32, Int(I32, index), LAUNCH, into=bytes_),
                Instruction("zext", I64, (Local(bytes_, I32),), room_),
            ]
            yield Local(base, PointerType(3)), Local(room_, I64), find

    def _guarded(
        self, i: Instruction, pointer: Value, size: int, write: bool, shape: tuple[Value, ...] = ()
    ) -> Iterator[Instruction]:
        """Ask before an access; with a shape (stride, transposed), before a lane's two elements of a matrix."""
        root = self.roots.root(pointer)
        assert isinstance(pointer.type, PointerType)
        space = pointer.type.space
        site = Int(I32, self.first_site + len(self.sites))
        self.sites.append(Site(location(self.source, i), root, size, write))
        align = min(size, i.align or size) if not shape else size
        rest = (*shape, Int(I32, size), Int(I32, align & -align), site, LAUNCH)
        kind, type_ = ("_matrix", I32) if shape else ("", I1)
        self.fine = Local(self.name("fine"), type_)
        fine = self.fine.name
        known = root.kind if root is not None else "unknown"
        inlined = self.inlined(pointer)
        if known == "buffer" and root is not None and inlined is None:
            yield self.call(f"mtd_guard{kind}_buffer", type_, pointer, Int(I32, root.index), *rest, into=fine)
            return
        if known == "unknown":
            yield from self._guarded_somewhere(pointer, size, rest, bool(shape))
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
        yield self.call(f"mtd_guard{kind}_range", type_, Local(at, I64), bytes_, *rest, into=fine)

    def _guarded_somewhere(
        self, pointer: Value, size: int, rest: tuple[Value, ...], matrix: bool
    ) -> Iterator[Instruction]:
        """Before an access through a pointer that may lead into one of several memories."""
        assert isinstance(pointer.type, PointerType) and self.fine is not None
        fine = self.fine.name
        if matrix and pointer.type.space != 1:
            raise NotVectorised(
                "[cuda] a matrix at a pointer into one of several memories is not supported on this device"
            )
        inside, made = self._in_one_of(pointer, size)
        yield from made
        if pointer.type.space == 1:
            what = "_matrix" if matrix else ""
            yield self.call(f"mtd_guard{what}_any", self.fine.type, pointer, inside, *rest, into=fine)
            return
        at = self.name("at")
        yield Instruction("ptrtoint", I64, (pointer,), at)
        yield self.call("mtd_guard_known", I1, Local(at, I64), inside, *rest, into=fine)
