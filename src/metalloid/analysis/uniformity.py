"""Find the shape of every value, and with it which branches lanes take differently.

Optimistic: everything is taken to be as uniform as its operands so far, until nothing changes. A phi
where lanes meet that had parted varies; so does one behind a loop that lanes leave at different times.
"""

from __future__ import annotations

from collections.abc import Mapping

from metalloid.analysis import lane_shape as S
from metalloid.analysis.divergence import Divergence, Flow
from metalloid.analysis.lane_layout import LaneLayout
from metalloid.analysis.lane_shape import UNIFORM, LaneShape
from metalloid.analysis.shape_transfer import TRANSFER, Context
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.ir import Instruction
from metalloid.ir.intrinsics import BUFFER, among_lanes, family, intrinsic, is_reload
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import IntType, PointerType
from metalloid.ir.values import Int, Local, Named, Value
from metalloid.records import replace

_BOTTOM = object()


class Uniformity:
    """Shapes of all values of a function, for gangs of `lanes.width` lanes."""

    def __init__(
        self,
        flow: Flow,
        roots: UnderlyingObjects,
        lanes: LaneLayout,
        layout: DataLayout,
        known: Mapping[int, LaneShape | None] | None = None,
    ) -> None:
        self.flow, self.roots, self.lanes, self.layout = flow, roots, lanes, layout
        self.context = Context(layout, lanes.may_wrap32)
        self.known = known or {}  # of values that were kept across a barrier, by slot
        self.shapes: dict[str, LaneShape | None] = {}
        self.numbers: dict[str, tuple[int, ...] | None] = {}  # see `lane_numbers`
        self.divergence = Divergence(flow, frozenset())
        if lanes.width > 1:
            self._solve()

    def shape(self, value: Value) -> LaneShape | None:
        """None where it varies."""
        if self.lanes.width == 1:
            return UNIFORM
        found = self._look(value)
        return UNIFORM if found is _BOTTOM else found  # type: ignore[return-value]

    def varies(self, value: Value) -> bool:
        found = self.shape(value)
        return found is None or bool(found.terms)

    def _look(self, value: Value) -> object:
        kind = value.__class__  # asked more often than anything else: no patterns
        if kind is Local:
            return self.shapes.get(value.name, _BOTTOM)  # type: ignore[union-attr]
        if kind is Int:
            return S.constant(value.value)  # type: ignore[union-attr]
        if kind is Named and isinstance(value.type, (IntType, PointerType)):
            return S.constant(0)
        return UNIFORM

    def _solve(self) -> None:
        blocks = [self.flow.function.block[name] for name in self.flow.order]
        named = [(b.name, [i for i in b.instructions if i.name]) for b in blocks]
        members = {name: frozenset([i.name for i in code]) for name, code in named}
        users = self.flow.function.users
        phis = [i.name for _, code in named for i in code if i.opcode == "phi"]
        ends = [(b.name, b.terminator) for b in blocks]
        parting = [(b, i) for b, i in ends if i.opcode == "br" and i.operands and len(set(i.labels)) > 1]
        due = set[str]().union(*members.values())  # what has operands that are not as it saw them
        rounds = 0
        while True:
            changed = False
            rounds += 1
            for name, code in named:
                if due.isdisjoint(members[name]):
                    continue
                for i in code:
                    if i.name in due:
                        due.remove(i.name)
                        if self._update(i, name, rounds):
                            changed = True
                            due.update([user.name for user in users.get(i.name, ())])
            branches = frozenset(b for b, i in parting if self.varies(i.operands[0]))
            if branches != self.divergence.branches:
                self.divergence = Divergence(self.flow, branches)
                changed = True
                due.update(phis)
            if not changed:
                return

    def _update(self, i: Instruction, block: str, rounds: int) -> bool:
        old = self.shapes.get(i.name, _BOTTOM)
        if old is None:
            return False
        new = self._phi(i, block, rounds) if i.opcode == "phi" else self._transfer(i)
        if new is _BOTTOM or new == old:
            return False
        if old is not _BOTTOM and rounds > 12:
            new = None  # does not settle: give up on it
        assert new is None or isinstance(new, LaneShape)
        self.shapes[i.name] = new
        return True

    def _phi(self, i: Instruction, block: str, rounds: int) -> object:
        values = [v for v, _ in i.cases]
        if block in self.divergence.joins:
            # Lanes that come here on different ways bring different values, unless it is one and the same.
            outer = set(self._outside(values, block))
            if len(set(values)) > 1 or not outer:
                return None
        result: object = _BOTTOM
        for value in values:
            found = self._look(value)
            if found is _BOTTOM:
                continue
            result = found if result is _BOTTOM else S.join(result, found)  # type: ignore[arg-type]
            if result is None:
                return None
        if isinstance(result, LaneShape):
            bits = i.type.bits if isinstance(i.type, IntType) else 64
            if len(values) > 1 and any(isinstance(v, Local) for v in values):
                result = replace(
                    result, umax=(1 << bits) - 1, constant=None, align=result.align & -result.align
                )
        return result

    def _outside(self, values: list[Value], block: str) -> list[Value]:
        """Values that no divergent loop which ends here has made."""
        home = self.flow.function.home
        found = []
        for value in values:
            if isinstance(value, Local):
                headers = self.flow.forest.nest(home[value.name])
                if any(
                    h in self.divergence.loops and block not in self.flow.forest.loops[h].blocks
                    for h in headers
                ):
                    continue
            found.append(value)
        return found

    def _transfer(self, i: Instruction) -> object:
        special = TRANSFER.get(i.opcode)
        if special:
            operands = [self._look(o) for o in i.operands]
            if any(o is _BOTTOM for o in operands):
                return _BOTTOM
            return special(self.context, i, operands)  # type: ignore[arg-type]
        if i.opcode == "call":
            return self._call(i)
        return self._plain(i)

    def _plain(self, i: Instruction) -> object:
        operands = [self._look(o) for o in i.operands]
        if any(o is _BOTTOM for o in operands):
            return _BOTTOM
        if all(isinstance(o, LaneShape) and o.uniform for o in operands):
            return UNIFORM
        return None

    def _call(self, i: Instruction) -> object:
        if is_reload(i.called) and isinstance(i.operands[0], Int):
            return self.known[i.operands[0].value]
        found = self.lanes.call(i)
        if found is not NotImplemented:
            return found
        if i.called == BUFFER:
            return LaneShape((), S.MAX_ALIGN)  # the offset 0 from its root
        if family(i.called) == "row":
            return UNIFORM  # it is about the gang
        if among_lanes(i):
            return self._together(i)
        return self._plain(i)

    def _together(self, i: Instruction) -> object:
        """Of 32 lanes together, a reduction or a vote is uniform."""
        row = intrinsic(i.called)
        same = row is not None and row.same == "simdgroup"
        return UNIFORM if same and self.lanes.width == 32 else None
