"""What a number of a kernel can be, in one launch.

Asked for a value at a place, so that whatever branches have said on the way there counts: `i*4+1` is computed
again from what `i` is *there*. That is sound because in SSA the latest `i` at a place is the one that the latest
`i*4+1` was made from. Pointers are offsets from their root. A number that is still being asked for can be anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from metalloid.analysis.divergence import Flow
from metalloid.analysis.intervals import strided as S
from metalloid.analysis.intervals.branch_facts import Context, Contexts, facts, refine, refine_summand
from metalloid.analysis.intervals.call_results import call
from metalloid.analysis.intervals.strided import Span
from metalloid.analysis.intervals.trip_counts import Loops
from metalloid.analysis.intervals.values import Answer, Facts, TooLong, bits_of
from metalloid.analysis.rests import rest_of
from metalloid.analysis.underlying_objects import UnderlyingObject, UnderlyingObjects
from metalloid.ir import Instruction
from metalloid.ir.gep import steps
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import IntType, PointerType, Type
from metalloid.ir.values import Expression, Global, Int, Local, Named, Value

BUDGET = 30_000  # steps; what needs more is guarded
SOON = 6_000  # of them, for code that is wanted soon: half a second is as long as it takes to make
ROUNDS = 4  # of a loop, from what a phi starts from
QUICK = 100  # steps of a round, so that a few more leave most of a phi's share
SHARE = 1_000  # of them for one phi, which can be anything where that is not enough


class Evaluator:
    def __init__(
        self,
        flow: Flow,
        roots: UnderlyingObjects,
        layout: DataLayout,
        launch: Facts,
        budget: int = BUDGET,
    ) -> None:
        self.flow, self.roots, self.layout, self.launch = flow, roots, layout, launch
        self.function = flow.function
        self.contexts = Contexts(flow)
        self.loops = Loops(self)
        self.steps = 0
        self._budget = self._limit = budget  # of steps; for the phi that is being asked for
        self._known: dict[tuple[str, str], Span | None] = {}
        self._asked: dict[str, Span] = {}  # phis that are being asked for, and what is known of them so far
        self._guessed = False  # whether an answer relied on one of them
        self._supposed: dict[frozenset[tuple[str, int, int, int]], dict[tuple[str, str], Span | None]] = {}
        self._under: dict[
            tuple[str, str], Span | None
        ] = {}  # of these, the answers under what is supposed now
        self._slices: dict[str, frozenset[str]] = {}

    def at(self, value: Value, block: str) -> Span | None:
        return self.value(value, self.contexts.block(block))

    def value(self, value: Value, context: Context) -> Span | None:
        kind = value.__class__  # most are names and numbers
        if kind is Local:
            return self._local(value.name, context)  # type: ignore[union-attr]
        if kind is Int:
            return S.number(value.value)  # type: ignore[union-attr]
        match value:
            case Named(IntType() | PointerType(), word):
                return S.number(1 if word == "true" else 0)
            case Global():
                return S.number(0)
            case Expression("getelementptr", _, (base, *indices)) if value.element is not None:
                return self.offset(value.element, base, tuple(indices), context)
        return S.top(bits_of(value.type))

    # ---- names ------------------------------------------------------------------------------------------------

    def _local(self, name: str, context: Context) -> Span | None:
        slice = self.slice(name)
        while context.parent is not None and slice.isdisjoint(context.facts):
            context = context.parent
        key = (name, context.key)
        if key in self._known:
            return self._known[key]
        if key in self._under:
            self._guessed = True
            return self._under[key]
        self.steps += 1
        if self.steps > self._limit:
            raise TooLong
        before, self._guessed = self._guessed, False  # as in `certainly`
        found = self._found(name, context)
        if self._guessed:
            self._under[key] = found
        else:
            self._known[key] = found
            self._guessed = before
        return found

    def _suppose(self, name: str, found: Span | None) -> None:
        """While a phi is being asked for, others may rely on this much of it; None: it no longer is."""
        if found is None:
            del self._asked[name]
        else:
            self._asked[name] = found
        supposed = frozenset([(name, s.lo, s.hi, s.step) for name, s in self._asked.items()])
        self._under = self._supposed.setdefault(supposed, {}) if supposed else {}

    def certainly(self, ask: Callable[[], Answer]) -> tuple[Answer, bool]:
        """An answer, and whether it holds whatever is being supposed at the moment."""
        before, self._guessed = self._guessed, False
        found = ask()
        certain = not self._guessed
        self._guessed = self._guessed or before
        return found, certain

    def _found(self, name: str, context: Context) -> Span | None:
        i = self.function.definitions[name]
        bits = bits_of(i.type)
        found: Span | None
        if i.opcode == "phi":
            found = self._phi(i) if context.parent is None else self._local(name, context.parent)
        else:
            found = self._made(i, context)
        for predicate, other, shift in context.facts.get(name, ()):
            if found is None:
                return None
            if other == i.value:
                continue
            limit = self.value(other, context.parent or context)
            if limit is None:
                return None
            if isinstance(shift, Instruction):
                said = predicate, limit, bits_of(other.type)
                found = self._taken_away(found, shift, said, context.parent or context)
            elif shift:
                found = refine_summand(found, predicate, limit, shift, bits, bits_of(other.type))
            else:
                found = refine(found, predicate, limit, bits, bits_of(other.type))
        if found is not None and context.parent is not None and i.opcode != "phi":
            above = self._local(name, context.parent)
            found = S.meet(found, above, bits) if above is not None else None
        return found

    def _taken_away(
        self, found: Span, difference: Instruction, said: tuple[str, Span, int], context: Context
    ) -> Span | None:
        """x of n - x, where it is known how the difference compares, perhaps with a number of more bits: n less the
        difference."""
        bits, (predicate, limit, wide) = bits_of(difference.type), said
        whole, rest = (self.value(v, context) for v in (difference.operands[0], difference.value))
        if whole is None or rest is None:
            return None
        rest = refine(rest, predicate, limit, bits, wide)
        return S.meet(found, S.sub(whole, rest, bits), bits) if rest is not None else None

    def slice(self, name: str) -> frozenset[str]:
        """The names that facts about would change what is known of this one; phis are not looked through."""
        found = self._slices.get(name)
        if found is None:
            i = self.function.definitions[name]
            parts = {name}
            if i.opcode in OPERATIONS or i.opcode in LOOKED_THROUGH or i.called.startswith("llvm."):
                for use in i.uses:
                    parts |= self.slice(use)
            found = self._slices[name] = frozenset(parts)
        return found

    def _made(self, i: Instruction, context: Context) -> Span | None:
        bits = bits_of(i.type)
        if i.opcode == "getelementptr":
            assert i.element is not None
            return self.offset(i.element, i.operands[0], i.operands[1:], context)
        if i.opcode == "select":
            return self._select(i, context, bits)
        if i.opcode == "call":
            return call(self, i, context)
        if i.opcode == "load":
            return self._load(i, context)
        operation = OPERATIONS.get(i.opcode)
        if operation is None or not isinstance(i.type, IntType | PointerType):
            return S.top(bits)
        operands: list[Span] = []
        for operand in i.operands:
            found = self.value(operand, context)
            if found is None:
                return None
            operands.append(found)
        found = operation(operands, bits, bits_of(i.operands[0].type))
        if i.opcode == "sub":
            rest = self._remainder(i, operands[0], context)
            return S.meet(found, rest, bits) if rest is not None else found
        return found

    def _remainder(self, i: Instruction, whole: Span, context: Context) -> Span | None:
        made = rest_of(self.function, i)
        by = self.value(made.operands[1], context) if made is not None else None
        if made is None or by is None:
            return None
        bits = bits_of(i.type)
        if made.opcode == "udiv" and S.unsigned(by, bits).lo > 0:
            return S.remainder(S.unsigned(whole, bits), S.unsigned(by, bits))
        if made.opcode == "sdiv" and S.signed(by, bits).lo > 0:
            return S.remainder_signed(whole, by, bits)
        return None

    def _select(self, i: Instruction, context: Context, bits: int) -> Span | None:
        """Each side is evaluated where the condition is what chooses it."""
        sides: list[Span | None] = []
        for holds, side in ((True, i.operands[1]), (False, i.operands[2])):
            said = facts(self.function, i.operands[0], holds)
            there = context
            if said:
                there = self.contexts.within(context, f"{context.key}|{i.name}:{holds}", said)
            sides.append(self.value(side, there))
        return S.join(sides[0], sides[1], bits)

    def _load(self, i: Instruction, context: Context) -> Span | None:
        """Whole numbers of a parameter are known; all of them together where the index is not."""
        bits = bits_of(i.type)
        root = self.roots.root(i.operands[0])
        if not isinstance(i.type, IntType) or i.ordering or bits % 8 or root is None:
            return S.top(bits)
        data = self.launch.parameters.get(root.index) if root.kind == "buffer" else None
        if data is None:
            return S.top(bits)
        at = self.value(i.operands[0], context)
        if at is None:
            return None
        at, size = S.signed(at, 64), bits // 8
        if at.lo < 0 or at.hi + size > len(data):
            return S.top(bits)
        found: Span | None = None
        for offset in range(at.lo, at.hi + 1, at.step or 1):
            one = S.number(int.from_bytes(data[offset : offset + size], "little"))
            found = S.join(found, one, bits)
        return found

    # ---- phis ---------------------------------------------------------------------------------------------------

    def _phi(self, i: Instruction) -> Span | None:
        bits = bits_of(i.type)
        if i.name in self._asked:
            self._guessed = True
            return self._asked[i.name]
        if not isinstance(i.type, IntType | PointerType):
            return S.top(bits)
        if not self._asked:
            return self._within_share(i, bits)
        return self._supposing(i, bits)

    def _within_share(self, i: Instruction, bits: int) -> Span | None:
        """A phi that nobody else is asked for."""
        self._limit = min(self._budget, self.steps + SHARE)
        try:
            return self._supposing(i, bits)
        except TooLong:
            if self.steps > self._budget:
                raise
            self._guessed = False  # nothing is supposed, and nothing else was
            return S.top(bits)
        finally:
            self._limit = self._budget

    def _supposing(self, i: Instruction, bits: int) -> Span | None:
        self._suppose(i.name, S.top(bits))
        try:
            steady = self.loops.progression(i) or self._steady(i, bits)
            if steady is not None:
                self._suppose(i.name, steady)
            found = self._joined(i, i.cases, bits)
            if steady is not None and found is not None:
                found = S.meet(steady, found, bits)
        finally:
            self._suppose(i.name, None)
        return found

    def _joined(self, i: Instruction, cases: Iterable[tuple[Value, str]], bits: int) -> Span | None:
        home = self.function.home[i.name]
        found: Span | None = None
        for value, source in cases:
            found = S.join(found, self.value(value, self.contexts.edge(source, home)), bits)
        return found

    def _steady(self, i: Instruction, bits: int) -> Span | None:
        """What a phi of a loop is never outside of: suppose so, and see whether one more round keeps it so. Either no
        more than it starts from, like the `k` of `k >>= 1`; or what it starts from and what comes of that in a few
        rounds, like the `now` of `now = 1 - now`."""
        loop = self.flow.forest.loops.get(self.function.home[i.name])
        if loop is None:
            return None
        back = [c for c in i.cases if c[1] in loop.blocks]
        first = self._joined(i, [c for c in i.cases if c[1] not in loop.blocks], bits)
        if first is None or S.unsigned(first, bits).hi == S.top(bits).hi:
            return None
        before = self.steps
        supposed = S.make(0, S.unsigned(first, bits).hi)
        after = self._supposed_round(i, back, supposed, bits)
        if after is None or S.unsigned(after, bits).hi <= supposed.hi:
            return supposed
        supposed = first
        for _ in range(ROUNDS if self.steps - before <= QUICK else 0):
            grown = S.join(supposed, self._supposed_round(i, back, supposed, bits), bits)
            if grown == supposed or grown is None:
                return grown
            supposed = grown
        return None

    def _supposed_round(
        self, i: Instruction, back: Iterable[tuple[Value, str]], supposed: Span, bits: int
    ) -> Span | None:
        """What comes of a phi in a round, where it is no more than supposed."""
        self._suppose(i.name, supposed)
        after = self._joined(i, back, bits)
        self._suppose(i.name, S.top(bits))
        return after

    # ---- addresses ----------------------------------------------------------------------------------------------

    def offset(self, element: Type, base: Value, indices: tuple[Value, ...], context: Context) -> Span | None:
        """Of a pointer, from its root, in bytes."""
        total = self.value(base, context)
        for index, size in steps(self.layout, element, indices):
            if total is None:
                return None
            if index is None:
                total = S.add(total, S.number(size), 64)
                continue
            found = self.value(index, context)
            if found is None:
                return None
            total = S.add(total, S.scaled(S.signed(found, bits_of(index.type)), size, 64), 64)
        return total

    def room(self, root: UnderlyingObject, privates: Mapping[int, int]) -> int:
        """How many bytes a root has; none where that is not known."""
        match root.kind:
            case "buffer":
                return self.launch.lengths.get(root.index, 0)
            case "threadgroup":
                return self.launch.local_lengths.get(root.index, 0)
            case "private":
                return privates.get(root.index, 0)
        return 0


LOOKED_THROUGH = ("getelementptr", "select")
Operation = Callable[[list[Span], int, int], Span]

OPERATIONS: dict[str, Operation] = {
    "add": lambda o, n, m: S.add(o[0], o[1], n),
    "sub": lambda o, n, m: S.sub(o[0], o[1], n),
    "mul": lambda o, n, m: S.mul(o[0], o[1], n),
    "shl": lambda o, n, m: S.shift_left(o[0], o[1], n),
    "lshr": lambda o, n, m: S.shift_right(o[0], o[1], n, False),
    "ashr": lambda o, n, m: S.shift_right(o[0], o[1], n, True),
    "udiv": lambda o, n, m: S.divide(S.unsigned(o[0], n), S.unsigned(o[1], n)),
    "urem": lambda o, n, m: S.remainder(S.unsigned(o[0], n), S.unsigned(o[1], n)),
    "sdiv": lambda o, n, m: S.divide_signed(o[0], o[1], n),
    "srem": lambda o, n, m: S.remainder_signed(o[0], o[1], n),
    "and": lambda o, n, m: S.both_bits(o[0], o[1], n),
    "or": lambda o, n, m: S.either_bits(o[0], o[1], n),
    "xor": lambda o, n, m: S.differing_bits(o[0], o[1], n),
    "zext": lambda o, n, m: S.unsigned(o[0], m),
    "sext": lambda o, n, m: S.signed(o[0], m),
    "trunc": lambda o, n, m: S.fit(o[0], n),
    "freeze": lambda o, n, m: o[0],
}
