"""Values of one thread that are made alike, n at a time: the n products of an unrolled dot, the n bytes that they come
from. What makes them is looked for from the values up, to loads of neighbours, to numbers, and to values that all n
share. Nothing is written here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from metalloid.analysis.lane_shape import LaneShape
from metalloid.ir import Block, Function, Instruction
from metalloid.ir.gep import constant_base
from metalloid.ir.layout import DataLayout
from metalloid.ir.types import FloatType, IntType
from metalloid.ir.values import Local, Value

# What a lane's neighbours are loaded from. Not threadgroup memory: a tile that all lanes read lies in the first cache,
# and is read by columns (`block_licm.py`); in turn, A @ B^T in tiles of 32 took ten times as long.
MEMORY = ("buffer", "constant")
Pack = tuple[str, ...]  # the names of n instructions
Shape = Callable[[Value], LaneShape | None]

PURE = frozenset(
    "add sub mul udiv sdiv urem srem shl lshr ashr and or xor fadd fsub fmul fdiv fneg trunc zext sext fptrunc fpext"
    " fptoui fptosi uitofp sitofp icmp fcmp select".split()
)
CALLS = tuple(
    f"llvm.{name}."
    for name in "fma fmuladd minnum maxnum fabs sqrt floor ceil trunc rint smin smax umin umax abs copysign".split()
)

STEPS = (1, -1, 2, -2, 3, 4)  # elements from load to load, of which some registers are shuffled to one
SATURATING = ("llvm.fptosi.sat.", "llvm.fptoui.sat.")


def alike(made: list[Instruction], shape: Shape) -> bool:
    """Whether instructions do the same, each with its own operands; to no numbers that are kept as patterns."""
    first = made[0]
    calls = (*CALLS, *SATURATING)
    known = first.opcode in PURE or (first.opcode == "call" and first.called.startswith(calls))
    return known and all(
        (i.opcode, i.type, i.predicate, i.called, i.flags)
        == (first.opcode, first.type, first.predicate, first.called, first.flags)
        and [o.type for o in i.operands] == [o.type for o in first.operands]
        and ((found := shape(i.value)) is None or found.uniform)
        for i in made
    )


def side_by_side(function: Function, loads: list[Instruction], layout: DataLayout) -> bool:
    """Whether plain loads of one type read neighbours, in order."""
    return distance(function, loads, layout) == 1


def distance(function: Function, loads: list[Instruction], layout: DataLayout) -> int:
    """How many elements there are from one of such loads to the next; 0 where not all are as far apart."""
    first = loads[0]
    if any(i.opcode != "load" or i.ordering or i.flags or i.type != first.type for i in loads):
        return 0
    places = [constant_base(function, i.operands[0], layout) for i in loads]
    (start, low), step = places[0], places[1][1] - places[0][1]
    size = layout.store_size(first.type)
    regular = all(place == (start, low + n * step) for n, place in enumerate(places))
    return step // size if regular and step % size == 0 else 0


class Packs:
    """The packs that values are made of, operands first; and the values that the n of a pack share."""

    def __init__(
        self,
        function: Function,
        block: Block,
        layout: DataLayout,
        shape: Shape,
        given: frozenset[Pack] = frozenset(),
    ) -> None:
        """`given`: packs that are there already."""
        self.function, self.layout, self.shape, self.given = function, layout, shape, given
        self.made = {i.name: i for i in block.body if i.name}
        self.found: dict[Pack, None] = {}
        self.shared: dict[str, Local] = {}
        self.steps: dict[Pack, int] = {}  # of loads, in elements

    def collect(self, values: tuple[Value, ...]) -> bool:
        """False where the values are not made alike."""
        if not any(isinstance(v, Local) for v in values):
            return True
        names = tuple(v.name for v in values if isinstance(v, Local))
        if len(names) < len(values) or names in self.found or names in self.given:
            return len(names) == len(values)
        if len(set(names)) == 1:
            return self._share(values[0])
        if len(set(names)) < len(names) or not all(n in self.made for n in names):
            return False
        made = [self.made[n] for n in names]
        if made[0].opcode == "load":
            plain = isinstance(made[0].type, FloatType | IntType)
            self.steps[names] = distance(self.function, made, self.layout) if plain else 0
            fits = self.steps[names] in STEPS
        else:
            fits = alike(made, self.shape) and all(
                self.collect(operands) for operands in zip(*(i.operands for i in made), strict=True)
            )
        if fits:
            self.found[names] = None
        return fits

    def _share(self, value: Value) -> bool:
        assert isinstance(value, Local)
        self.shared[value.name] = value
        return isinstance(value.type, FloatType | IntType)

    def loads(self) -> list[list[Instruction]]:
        return [[self.made[n] for n in names] for names in self.found if self.made[names[0]].opcode == "load"]


def whole_only(
    function: Function, found: Iterable[Packs], fine: Callable[[Instruction], bool]
) -> frozenset[str]:
    """What nobody wants number by number: neither a user that is not `fine`, nor a pack for all of its numbers."""
    made = list(found)
    inside = {name for packs in made for pack in packs.found for name in pack}

    def wants(user: Instruction) -> bool:
        return user.name not in inside and not fine(user)

    work = [name for packs in made for name in packs.shared]
    work += [name for name in inside if any(map(wants, function.users.get(name, ())))]
    while work:
        name = work.pop()
        if name in inside:
            inside.remove(name)
            work += function.definitions[name].uses
    return frozenset(inside)
