"""Scalar IR for a GPU: intrinsics become functions of runtime/device.cpp, every access is preceded by its guard.

The kernel gets one parameter, the launch; whatever asks where it is, or for its memory, is given it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property

from metalloid.analysis.barrier_arrival import arrival
from metalloid.analysis.intervals.prove import access
from metalloid.backends.cuda.early import waits
from metalloid.backends.cuda.fast_math import fast_forms, relaxed
from metalloid.backends.cuda.lanes import Lanes
from metalloid.backends.cuda.meetings import Meetings
from metalloid.backends.cuda.messages import format_of, piece
from metalloid.backends.cuda.prefetch import prefetched
from metalloid.backends.cuda.record import LAUNCH, RECORD
from metalloid.backends.cuda.robust import Robust
from metalloid.backends.cuda.store_halves import StoreHalves
from metalloid.backends.cuda.tensor import Tensor
from metalloid.backends.cuda.variant import Variant, read_only
from metalloid.backends.line_table import LineTable
from metalloid.errors import NotVectorised
from metalloid.ir import Block, Instruction, Module
from metalloid.ir.debug import location
from metalloid.ir.intrinsics import BARRIER, BUFFER, ENTRY, PRIVATE, family, short
from metalloid.ir.loops import loops
from metalloid.ir.module import Parameter
from metalloid.ir.types import BFLOAT, FLOAT, HALF, I8, I32, I64, VOID, ArrayType, IntType, PointerType, Type
from metalloid.ir.values import Int, Local, Named, Value
from metalloid.transforms.byte_dots import DOT

ROUNDS = Local("mt.rounds", PointerType(0))
_DIVISIONS = ("sdiv", "udiv", "srem", "urem")
_HINTS = ("llvm.lifetime.", "llvm.assume", "llvm.experimental.noalias.scope.decl", "llvm.dbg.")
# Fused in one rounding, as the oracle has it; LLVM would part it where it sees no gain.
_FUSED = {f"llvm.fmuladd.{kind}": f"llvm.fma.{kind}" for kind in ("f16", "bf16", "f32")}
_KINDS: dict[Type, str] = {FLOAT: "f32", HALF: "f16", BFLOAT: "bf16"}
_SHOWING = ("store", "bitcast", "phi", "select", "ret", "insertvalue")  # what hands a number's bits on
_MATH = {"llvm.ldexp.f32.i32": "mtd_ldexp", "llvm.ldexp.f32.i64": "mtd_scaled"}


class Lowering(Robust):
    """One kernel on its way to PTX."""

    def __init__(self, module: Module, variant: Variant) -> None:
        super().__init__(module, variant)
        self._tensor = self._products()
        if self.orders and not (self._tensor.all_products and self._tensor.lined.issuperset(self.orders)):
            super().__init__(module, variant, ordered=False)  # somebody reads tiles in another way
            self._tensor = self._products()
        self._constant = (read_only(self.function) or frozenset()) if variant.apart else frozenset()
        if variant.early is not None:  # the rest may be written until the launch has waited
            self._constant &= variant.early
        self._waits = waits(self.function, self.roots, variant)
        self.table: LineTable | None = None  # where instructions come from, for people who read PTX
        self.formats: list[str] = []  # of messages
        self._here = ""  # the block that is being written
        self._finite = variant.proof.loops if variant.proof is not None else frozenset()

    def _products(self) -> Tensor:
        """What tensor cores do of the kernel."""
        function, variant = self.function, self.variant
        self._meetings = Meetings(function, variant, self.parted)
        self._fast = fast_forms(self.source)
        places = {
            i.name: (b.name, n) for b in function.blocks for n, i in enumerate(b.instructions) if i.name
        }
        inside = lambda i: not variant.guard or self.safe(i, places[i.name])  # noqa: E731
        readers = [(function.home[name], value) for name, form in self._fast.items() for value in form.of]
        lanes = Lanes(function, variant.size)
        return Tensor(function, self._all_come, self.call, self.name, inside, lanes, readers, self.orders)

    def _all_come(self, block: str) -> bool:
        """Whether tensor cores can work in a block: all lanes come to it, and safe math is not asked for."""
        return self._meetings.full and self._meetings.head(block) == "" and self._relaxed

    @cached_property
    def _relaxed(self) -> bool:
        return relaxed(self.source)

    @cached_property
    def parted(self) -> bool:
        """Whether some lanes of a SIMD-group pass by a barrier that others wait at."""
        return arrival(self.function, self.variant.size) == "parted"

    @property
    def local(self) -> int:
        """Bytes of threadgroup memory inside the kernel."""
        return sum(self.layout.size(g.type) for g in self.module.globals if g.space == 3)

    def lowered(self) -> Module:
        polled = set(loops(self.function).loops) - self._finite if self.variant.guard else set()
        blocks = tuple(
            Block(b.name, tuple(self._block(b, polls=b.name in polled))) for b in self.function.blocks
        )
        first = (*self.private_place(), *(self._counter() if polled else ()))
        if first:
            blocks = (Block(blocks[0].name, (*first, *blocks[0].instructions)), *blocks[1:])
        blocks = prefetched(self.function.with_blocks(blocks), self.call).blocks
        if self._tensor.used and not self.variant.flat:
            parted = StoreHalves(Lanes(self.function, self.variant.size), self.call)
            blocks = tuple(map(parted.block, blocks))
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
            globals=tuple(
                replace(
                    g,
                    metadata=(),
                    align=max(g.align, 128 if g.name in self.whole else 16),
                    initializer=Named(g.type, "undef"),
                )
                if g.space == 3
                else replace(g, metadata=(), align=max(g.align, 16))
                for g in self.module.globals
            ),
            datalayout="",
            triple="",
            attributes={},
            metadata={},
        )
        for name, (result, parameters) in self.declared.items():
            made = made.declare(name, result, parameters)
        return made

    # ---- instructions -----------------------------------------------------------------------------------------------

    def _counter(self) -> Iterator[Instruction]:
        """How often loops went round: they ask for `cancel` now and then."""
        yield Instruction("alloca", ROUNDS.type, (), ROUNDS.name, element=I32, align=4)
        yield Instruction("store", VOID, (Int(I32, 0), ROUNDS), align=4)

    def _block(self, block: Block, polls: bool) -> Iterator[Instruction]:
        self._here = block.name
        for phi in block.phis:
            placed = self.table.attached(location(self.source, phi)) if self.table is not None else ()
            yield replace(self._tensor.phi(phi), metadata=placed)
        if (rounds := self._meetings.rounds.get(block.name)) is not None:
            ways = rounds.before, rounds.latch
            cases = tuple(Local(_mask(block.name, way), I32) for way in ways)
            yield Instruction("phi", I32, cases, _mask(block.name), labels=ways)
        yield from self._begun(block, polls)
        for n, i in enumerate(block.instructions):
            if i.opcode == "phi":
                continue
            if (instead := self._tensor.replaced(i)) is not None:
                yield from instead
                continue
            if i is block.instructions[-1]:
                yield from self._tensor.leaving(block.name)
            brought, i = self._tensor.read(i, block.name)
            yield from brought
            if (block.name, n) in self._waits:
                yield self.call("mtd_wait", VOID)
            placed = self.table.attached(location(self.source, i)) if self.table is not None else ()
            self.fine = None
            if self.variant.guard and not self.safe(i, (block.name, n)):
                yield from (replace(g, metadata=(*g.metadata, *placed)) for g in self.guards(i))
            if i.is_terminator:
                yield from self._votes(block)
            align = self._align(i, (block.name, n))
            made = self._changed(replace(i, metadata=(*self._said(i), *placed), align=align))
            yield from self.instead(i, made) if self.variant.robust and self.fine is not None else made
            yield from self._tensor.after(i.name)

    def _begun(self, block: Block, polls: bool) -> Iterator[Instruction]:
        """What comes after the phis of a block."""
        if self._meetings.votes.get(block.name, block) is None and block.name not in self._meetings.rounds:
            yield self.call("mtd_mask", I32, into=_mask(block.name))
        if polls:
            yield self.call("mtd_poll", VOID, ROUNDS, LAUNCH)
        for phi in block.phis:
            yield from self._tensor.after(phi.name)

    def _votes(self, block: Block) -> Iterator[Instruction]:
        """Who goes where, for blocks in which lanes do something together."""
        for head in self._meetings.after(block.name):
            vote = self._meetings.votes[head]
            assert vote is not None
            yield from self._chosen(block, vote.taken, _mask(head))
        for head, taken in self._meetings.into(block.name):
            yield from self._chosen(block, taken, _mask(head, block.name))

    def _chosen(self, block: Block, taken: bool | None, into: str) -> Iterator[Instruction]:
        """Lanes for which the condition at the end of a block holds, or does not; None: all of them."""
        mask, made = self._masked()
        yield from made
        if taken is None:
            yield Instruction("or", I32, (mask, Int(I32, 0)), into)
            return
        condition = block.terminator.operands[0]
        if not taken:
            turned = self.name("not")
            yield Instruction("xor", IntType(1), (condition, Int(IntType(1), 1)), turned)
            condition = Local(turned, IntType(1))
        yield self.call("mtd_chosen", I32, condition, mask, into=into)

    def _masked(self) -> tuple[Value, list[Instruction]]:
        """The lanes that come to the block that is being written, and the code that finds them."""
        head = self._meetings.head(self._here)
        if head:
            return Local(_mask(head), I32), []
        if head == "" and self._meetings.full:
            return Int(I32, 0xFFFFFFFF), []
        found = self.name("lanes")
        made = self.call("mtd_existing", I32, LAUNCH, into=found) if head == "" else None
        return Local(found, I32), [made or self.call("mtd_mask", I32, into=found)]

    def _align(self, i: Instruction, place: tuple[str, int]) -> int:
        """What a load or store may rely on: all it claims where nobody guards, else what its guard or a proof says."""
        what = access(i) if i.opcode in ("load", "store") else None
        if what is None or not (self.variant.guard or not self.variant.even):
            return i.align
        return max(min(i.align, what[1]), self.aligned.get(place, 1))

    def _said(self, i: Instruction) -> tuple[tuple[str, str], ...]:
        """Loads from memory that nobody writes may go through the GPU's read-only cache, and past stores."""
        if i.opcode == "load" and not i.ordering and "volatile" not in i.flags:
            root = self.roots.root(i.operands[0])
            if root is not None and root.kind == "buffer" and root.index in self._constant:
                return (("invariant.load", "!{}"),)
        return ()

    def _into_launch(self, i: Instruction) -> Instruction:
        """A pointer into the launch itself is no address in device memory."""
        generic = PointerType(0)
        operands = tuple(
            Local(o.name, generic)
            if isinstance(o, Local) and isinstance(o.type, PointerType) and self.inlined(o) is not None
            else o
            for o in i.operands
        )
        type_ = generic if isinstance(i.type, PointerType) and i.opcode == "getelementptr" else i.type
        return replace(i, operands=operands, type=type_)

    def _changed(self, i: Instruction) -> Iterator[Instruction]:
        self._refuse_kept_pointers(i)
        if i.called.startswith(_HINTS):
            return
        if (found := self._fast.get(i.name)) is not None:
            brought, form = self._tensor.read(Instruction("call", i.type, found.of), self._here)
            yield from brought
            yield self.call(found.function, i.type, *form.operands, into=i.name)
            return
        if i.called == BUFFER and self.inlined(i.value) is not None:
            at = Int(I64, RECORD + (self.inlined(i.value) or 0))
            yield Instruction("getelementptr", PointerType(0), (LAUNCH, at), i.name, element=I8)
        elif i.opcode in ("load", "getelementptr") and self.inlined(i.operands[0]) is not None:
            into = self._into_launch(i)
            pointer = i.opcode == "load" and i.type == PointerType(1)
            yield from self._translated(into) if pointer else (into,)
        elif i.opcode == "ret" and self.parted:
            yield self.call("mtd_leave", VOID, LAUNCH)
            yield i
        elif i.opcode in ("load", "inttoptr") and i.type == PointerType(1):
            yield from self._translated(i)
        elif i.called == PRIVATE:
            yield from self._private(i)
        elif i.opcode in _DIVISIONS:
            yield from self._divided(i)
        elif i.called.startswith(DOT):
            yield self.call(f"mtd_dot_{i.called[-2:]}", I32, *i.operands, into=i.name)
        elif i.called in _FUSED:
            yield self.call(_FUSED[i.called], i.type, *i.operands, into=i.name)
        elif i.opcode == "fneg" and "nnan" not in i.flags and self._bits_are_seen(i):
            yield self.call(f"mtd_negated_{_KINDS[i.type]}", i.type, *i.operands, into=i.name)
        elif i.opcode == "fdiv" and i.type != FLOAT:  # LLVM's quick way gives 0 for divisors from 2^126 on
            yield replace(i, flags=tuple(f for f in i.flags if f not in ("afn", "arcp", "fast")))
        elif i.opcode != "call" or (i.called.startswith("llvm.") and i.called not in _MATH):
            yield i
        elif i.called in _MATH:
            yield self.call(_MATH[i.called], i.type, *i.operands, into=i.name)
        else:
            of = family(i.called)
            if of is None:
                raise NotVectorised(f"[cuda] a call of '{i.called}' is not supported on this device")
            if of == "log":
                yield from self._logged(i)
                return
            launch = (LAUNCH,) if of in ("position", "memory") else ()
            if self._meetings.meets(i):
                yield from self._together(i)
                return
            yield self.call(f"mtd_{short(i.called)}", i.type, *i.operands, *launch, into=i.name)

    def _bits_are_seen(self, i: Instruction) -> bool:
        """Whether somebody may look at the bits of a number: a NaN that is negated by arithmetic loses its own."""
        users = self.function.users.get(i.name, ())
        return i.type in _KINDS and any(u.opcode in _SHOWING for u in users)

    def _translated(self, i: Instruction) -> Iterator[Instruction]:
        """A pointer that lay in memory, as an argument buffer has them."""
        found = self.name("found")
        yield replace(i, name=found)
        yield self.call("mtd_translated", PointerType(1), Local(found, PointerType(1)), LAUNCH, into=i.name)

    def _logged(self, i: Instruction) -> Iterator[Instruction]:
        what, value, made = piece(i, self._format, self.name)
        yield from made
        yield self.call("mtd_log", VOID, Int(I32, what), value, LAUNCH)

    def _format(self, value: Value) -> int:
        """The number of a format string among those of the kernel."""
        text = format_of(self.module, value)
        if text not in self.formats:
            self.formats.append(text)
        return self.formats.index(text)

    def _together(self, i: Instruction) -> Iterator[Instruction]:
        """What lanes do with each other: they are told who takes part."""
        mask, made = self._masked()
        yield from made
        if i.called == BARRIER:
            yield self.call("mtd_parted_threadgroup_barrier", VOID, *i.operands, mask, LAUNCH)
        else:
            yield self.call(f"mtd_{short(i.called)}", i.type, *i.operands, mask, into=i.name)

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
        private = self.privates[i.operands[0].value]
        generic = Local(f"{i.name}.generic", PointerType(0))
        room = ArrayType(max(private.size, 1), I8)
        yield Instruction(
            "alloca", generic.type, (), generic.name, element=room, align=max(private.align, 16)
        )
        yield self.call("mtd_clear_private", VOID, generic, Int(I32, private.size))
        yield Instruction("addrspacecast", i.type, (generic,), i.name)

    def _divided(self, i: Instruction) -> Iterator[Instruction]:
        """x / 0 and x % 0 are 0; INT_MIN / -1 is INT_MIN, and its remainder 0."""
        assert isinstance(i.type, IntType)
        x, y = i.operands
        if isinstance(y, Int) and y.value not in (0, (1 << i.type.bits) - 1):
            yield i
            return
        none, safe, made = self.name("none"), self.name("safe"), self.name("made")
        bad: Value = Local(none, IntType(1))
        yield Instruction("icmp", IntType(1), (y, Int(i.type, 0)), none, predicate="eq")
        signed = i.opcode in ("sdiv", "srem")
        if signed:
            minus, least, both, either = (self.name(w) for w in ("minus", "least", "both", "either"))
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


def _mask(block: str, source: str = "") -> str:
    return f"mt.mask.{block}.from.{source}" if source else f"mt.mask.{block}"
