"""Scalar IR for a GPU: intrinsics become functions of runtime/device.cpp, every access is preceded by its guard.

The kernel gets one parameter, the launch; whatever asks where it is, or for its memory, is given it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.backends.sites import Site
from metalloid.errors import NotVectorised
from metalloid.ir import Block, Instruction, Module
from metalloid.ir.debug import location
from metalloid.ir.intrinsics import ENTRY, PRIVATE, family, matrix_access, short
from metalloid.ir.layout import data_layout
from metalloid.ir.loops import loops
from metalloid.ir.module import Parameter
from metalloid.ir.name_privates import name_privates
from metalloid.ir.types import I8, I32, I64, VOID, ArrayType, IntType, PointerType, Type
from metalloid.ir.values import Global, Int, Local, Value

LAUNCH = Local("mt.launch", PointerType(0))
_DIVISIONS = ("sdiv", "udiv", "srem", "urem")
_HINTS = ("llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias.scope.decl", "llvm.dbg.")
_MATH = {"llvm.ldexp.f32.i32": "mtd_ldexp"}


class Lowering:
    """One kernel on its way to PTX."""

    def __init__(self, module: Module, guard: bool) -> None:
        self.source, self.guard = module, guard
        self.module, self._privates = name_privates(module)
        self.function = self.module.function[ENTRY]
        self.layout = data_layout(module.datalayout)
        self.roots = UnderlyingObjects(self.function)
        self.sites: list[Site] = []
        self.declared: dict[str, tuple[Type, tuple[Type, ...]]] = {}
        self._private_names = {
            i.operands[0].value: i.name
            for i in self.function.instructions()
            if i.called == PRIVATE and isinstance(i.operands[0], Int)
        }
        self._tables = [g for g in module.globals if g.space in (1, 4) and g.constant]
        self._fresh = 0

    @property
    def local(self) -> int:
        """Bytes of threadgroup memory inside the kernel."""
        return sum(self.layout.size(g.type) for g in self.module.globals if g.space == 3)

    def lowered(self) -> Module:
        headers = set(loops(self.function).loops)
        blocks = tuple(
            Block(b.name, tuple(self._block(b, polls=self.guard and b.name in headers)))
            for b in self.function.blocks
        )
        entry = replace(
            self.function,
            blocks=blocks,
            parameters=(Parameter(LAUNCH.name, LAUNCH.type),),
            prefix="internal",
            suffix="alwaysinline",
            metadata=(),
        )
        kept = [f for f in self.module.functions if f.name != ENTRY and not family(f.name)]
        made = replace(
            self.module,
            functions=(entry, *(replace(f, suffix="", metadata=()) for f in kept)),
            globals=tuple(replace(g, metadata=()) for g in self.module.globals),
            datalayout="",
            triple="",
            attributes={},
            metadata={},
        )
        for name, (result, parameters) in self.declared.items():
            made = made.declare(name, result, parameters)
        return made

    # ---- instructions -----------------------------------------------------------------------------------------------

    def _block(self, block: Block, polls: bool) -> Iterator[Instruction]:
        for i in block.instructions:
            if polls and i.opcode != "phi":
                polls = False
                yield self._call("mtd_poll", VOID, LAUNCH)
            if self.guard:
                yield from self._guards(i)
            yield from self._changed(replace(i, metadata=()))

    def _changed(self, i: Instruction) -> Iterator[Instruction]:
        self._refuse_kept_pointers(i)
        if i.called.startswith(_HINTS):
            return
        if i.called == PRIVATE:
            yield from self._private(i)
        elif i.opcode in _DIVISIONS:
            yield from self._divided(i)
        elif i.opcode != "call" or (i.called.startswith("llvm.") and i.called not in _MATH):
            yield i
        elif i.called in _MATH:
            yield self._call(_MATH[i.called], i.type, *i.operands, into=i.name)
        else:
            of = family(i.called)
            if of is None or of == "log":
                what = "logging is" if of else f"a call of '{i.called}' is"
                raise NotVectorised(f"[cuda] {what} not supported on this device")
            launch = (LAUNCH,) if of in ("position", "memory") else ()
            yield self._call(f"mtd_{short(i.called)}", i.type, *i.operands, *launch, into=i.name)

    def _refuse_kept_pointers(self, i: Instruction) -> None:
        """Scalar IR lays pointers to threadgroup and private memory out with 32 bits, this device with 64."""
        kept = i.type if i.opcode == "load" else i.operands[0].type if i.opcode == "store" else VOID
        if isinstance(kept, PointerType) and kept.space in (3, 5):
            raise NotVectorised(
                "[cuda] pointers to threadgroup or private memory that lie in memory are not supported on this device"
            )

    def _private(self, i: Instruction) -> Iterator[Instruction]:
        """A private array. LLVM's stack lies in generic memory there; it starts as zeros."""
        assert isinstance(i.operands[0], Int)
        private = self._privates[i.operands[0].value]
        generic = Local(f"{i.name}.generic", PointerType(0))
        room = ArrayType(max(private.size, 1), I8)
        yield Instruction("alloca", generic.type, (), generic.name, element=room, align=max(private.align, 8))
        yield self._call("mtd_clear_private", VOID, generic, Int(I32, private.size))
        yield Instruction("addrspacecast", i.type, (generic,), i.name)

    def _divided(self, i: Instruction) -> Iterator[Instruction]:
        """x / 0 and x % 0 are 0; INT_MIN / -1 is INT_MIN, and its remainder 0."""
        assert isinstance(i.type, IntType)
        x, y = i.operands
        if isinstance(y, Int) and y.value not in (0, (1 << i.type.bits) - 1):
            yield i
            return
        none, safe, made = self._name("none"), self._name("safe"), self._name("made")
        bad: Value = Local(none, IntType(1))
        yield Instruction("icmp", IntType(1), (y, Int(i.type, 0)), none, predicate="eq")
        signed = i.opcode in ("sdiv", "srem")
        if signed:
            minus, least, both, either = (self._name(w) for w in ("minus", "least", "both", "either"))
            yield Instruction(
                "icmp", IntType(1), (y, Int(i.type, (1 << i.type.bits) - 1)), minus, predicate="eq"
            )
            yield Instruction(
                "icmp", IntType(1), (x, Int(i.type, 1 << i.type.bits - 1)), least, predicate="eq"
            )
            yield Instruction("and", IntType(1), (Local(minus, IntType(1)), Local(least, IntType(1))), both)
            yield Instruction("or", IntType(1), (bad, Local(both, IntType(1))), either)
            by: Value = Local(either, IntType(1))
        else:
            by = bad
        yield Instruction("select", i.type, (by, Int(i.type, 1), y), safe)
        yield replace(i, name=made, operands=(x, Local(safe, i.type)), flags=())
        # Divided by 1 the overflowing quotient is right already, and every remainder is 0.
        yield Instruction("select", i.type, (bad, Int(i.type, 0), Local(made, i.type)), i.name)

    def _call(self, name: str, result: Type, *operands: Value, into: str = "") -> Instruction:
        self.declared[name] = result, tuple(o.type for o in operands)
        return Instruction("call", result, operands, into, callee=Global(name, PointerType()))

    # ---- guards -----------------------------------------------------------------------------------------------------

    def _guards(self, i: Instruction) -> Iterator[Instruction]:
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

    def _guarded(
        self, i: Instruction, pointer: Value, size: int, write: bool, shape: tuple[Value, ...] = ()
    ) -> Iterator[Instruction]:
        """Ask before an access; with a shape (stride, transposed), before a lane's two elements of a matrix."""
        root = self.roots.root(pointer)
        assert isinstance(pointer.type, PointerType)
        space = pointer.type.space
        site = Int(I32, len(self.sites))
        self.sites.append(Site(location(self.source, i), root, size, write))
        rest = (*shape, Int(I32, size), site, LAUNCH)
        kind = "_matrix" if shape else ""
        known = root.kind if root is not None else "unknown"
        if known == "buffer" and root is not None:
            yield self._call(f"mtd_guard{kind}_buffer", VOID, pointer, Int(I32, root.index), *rest)
            return
        if known == "unknown":
            if space != 1 or self._tables or shape:
                raise NotVectorised(
                    "[cuda] a pointer that may lead into one of several memories is not supported on this device"
                )
            yield self._call("mtd_guard_any", VOID, pointer, *rest)
            return
        assert root is not None
        base, room = self._name("base"), self._name("room")
        start: Value
        bytes_: Value
        match known:
            case "threadgroup":
                yield self._call("mtd_threadgroup", PointerType(3), Int(I32, root.index), LAUNCH, into=base)
                yield self._call("mtd_local_room", I32, Int(I32, root.index), LAUNCH, into=room)
                start, bytes_ = Local(base, PointerType(3)), Local(room, I32)
            case "private":
                start = Local(self._private_names[root.index], PointerType(5))
                bytes_ = Int(I32, self._privates[root.index].size)
            case _:
                start = Global(root.name, PointerType(space))
                bytes_ = Int(I32, self.layout.size(self.module.variable[root.name].type))
        here, first, at = self._name("here"), self._name("first"), self._name("at")
        yield Instruction("ptrtoint", I64, (pointer,), here)
        yield Instruction("ptrtoint", I64, (start,), first)
        yield Instruction("sub", I64, (Local(here, I64), Local(first, I64)), at)
        yield self._call(f"mtd_guard{kind}_range", VOID, Local(at, I64), bytes_, *rest)

    def _name(self, what: str) -> str:
        self._fresh += 1
        return f"mt.{what}{self._fresh}"
