"""Loads of neighbours before the branch that they are behind:  a[i] == 'a' && a[i + 1] == 'b'.

C asks for a branch at each `&&`, since a[i + 1] may not be there. Where a proof says that it is, for all threads that
come to the branch, one vector of all lanes costs less than two masks and a jump; branches round a few instructions
become those instructions then.
"""

from __future__ import annotations

from metalloid.analysis.intervals import early
from metalloid.analysis.uniformity import Uniformity
from metalloid.ir import Function, Instruction
from metalloid.ir.layout import DataLayout
from metalloid.transforms.if_convert import CHEAP, Converter

_MAY = CHEAP | {"load", "fpext", "fptrunc", "uitofp", "sitofp"}
MOST = 48  # instructions of a side, with those of branches inside
MOST_LOADS = 8  # of a side


def may_hoist(function: Function) -> bool:
    """Whether there is a load that is inside before its branch."""
    return any(early(i) for i in function.instructions() if i.opcode == "load")


def hoist_rows(function: Function, known: Uniformity, layout: DataLayout) -> Function:
    """The function without branches that lanes take differently round such loads of neighbours."""
    return _Hoister(function, known, layout).run()


class _Hoister(Converter):
    def __init__(self, function: Function, known: Uniformity, layout: DataLayout) -> None:
        super().__init__(function)
        self.known, self.layout = known, layout

    def cheap(self, source: str, code: tuple[Instruction, ...]) -> bool:
        loads = [i for i in code if i.opcode == "load"]
        if len(code) > MOST or len(loads) > MOST_LOADS:
            return False
        if not self.known.varies(self.blocks[source].terminator.operands[0]):
            return False
        return all(i.opcode in _MAY for i in code) and all(
            source in early(i) and self._is_row(i) for i in loads
        )

    def _is_row(self, load: Instruction) -> bool:
        """Whether lanes load neighbours, or all the same."""
        shape, size = self.known.shape(load.operands[0]), self.layout.store_size(load.type)
        return shape is not None and all(not c and p[1] - p[0] in (0, size) for c, p in shape.terms)
