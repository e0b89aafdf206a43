"""Gangs that none of a region's rounds are for: `for (uint i = t; i < width; i += n)` of a row that ends before them.

Rows of a hundred numbers by a threadgroup of a thousand threads leave nearly all gangs without work, and between two
barriers each of them went through every piece of code and asked at each. What is left for such a gang is known: a sum
of nothing is its first number, whatever it is handed to. So a region gets a second function, without the ways into such
loops, where LLVM finds constants in the place of what they would have made, and two scalars say which a gang runs.
"""

from __future__ import annotations

from collections.abc import Callable, Collection

from metalloid.analysis.divergence import Flow
from metalloid.analysis.fixed_address import stays, written_buffers
from metalloid.analysis.intervals import is_proved
from metalloid.analysis.underlying_objects import UnderlyingObjects
from metalloid.analysis.uniformity import Uniformity
from metalloid.backends.cpu.lower.emitter import Emitter
from metalloid.backends.cpu.lower.gang_start import first_thread
from metalloid.backends.cpu.lower.instructions import instruction
from metalloid.backends.cpu.lower.kept_values import Part
from metalloid.backends.cpu.lower.lane_tests import all_lanes
from metalloid.backends.cpu.lower.output import Output
from metalloid.ir import Function, Instruction
from metalloid.ir.intrinsics import Effect, among_lanes, effect
from metalloid.ir.loops import loops
from metalloid.ir.types import IntType
from metalloid.ir.values import Local
from metalloid.records import dataclass
from metalloid.transforms.drop_dead import drop_dead
from metalloid.transforms.prune_edges import Edge, prune

Write = Callable[[Output, Part, int], str]  # a region as a function
MOST = 600  # instructions of a region that is written once more
WORK = 8  # instructions that gangs without work leave out at least
DEAD = 4  # and those that they need not have done for it


@dataclass(frozen=True)
class Idle:
    """What is left of a region for gangs no lane of which has work."""

    part: Part
    test: Instruction  # a comparison
    wanted: bool  # what it is for lanes that have work
    needed: tuple[Instruction, ...]  # what it is made from, in order


def idle_gangs(out: Output, parts: list[Part]) -> dict[int, Idle]:
    """By the number of the region."""
    lanes = out.lanes
    if len(parts) == 1 or lanes.single_gang or lanes.width == 1 or lanes.tables or lanes.rows:
        return {}
    if out.brief or out.suspends or out.check is not None or out.remaining is not None:
        return {}
    written: set[int] = set()
    for part in parts:
        found = written_buffers(part.function, part.roots)
        if found is None:
            return {}
        written |= found
    made = {n: _idle(out, part, written) for n, part in enumerate(parts)}
    return {n: idle for n, idle in made.items() if idle is not None}


def _idle(out: Output, part: Part, written: Collection[int]) -> Idle | None:
    function, known = part.function, part.uniformity
    if _length(function) > MOST:
        return None
    forest = loops(function)
    for block in function.blocks:
        test = _test(known, block.name)
        needed = _needed(out, part, test, written) if test is not None else None
        if test is None or needed is None or forest.depth(block.name):
            continue
        for side in block.terminator.labels:
            wanted = side == block.terminator.labels[0]
            left = prune(function, _ways(known, test, wanted))
            if left is not function and _gains(function, left):
                return Idle(_known(out, part, drop_dead(left)), test, wanted, needed)
    return None


def _gains(function: Function, left: Function) -> bool:
    """Whether threads without work would do more than pass it by: what they fold is nothing, or nobody reads what they
    compute."""
    folds = any(among_lanes(i) and i.name for i in left.instructions())
    return _length(function) - _length(left) >= WORK and (
        folds or _length(left) - _length(drop_dead(left)) >= DEAD
    )


def _length(function: Function) -> int:
    return sum(len(block.instructions) for block in function.blocks)


def _test(known: Uniformity, block: str) -> Instruction | None:
    """The comparison by which lanes part at the end of a block that all of them run: of what counts up from lane to
    lane, and from gang to gang."""
    end = known.flow.function.block[block].terminator
    if (
        known.divergence.mask_head[block] != known.flow.graph.root
        or end.opcode != "br"
        or len(set(end.labels)) < 2
    ):
        return None
    condition = end.operands[0]
    test = known.flow.function.definitions.get(condition.name) if isinstance(condition, Local) else None
    if test is None or test.opcode != "icmp" or not known.varies(test.value):
        return None
    kind, shapes = test.operands[0].type, [known.shape(o) for o in test.operands]
    if not isinstance(kind, IntType) or kind.bits > 32 or None in shapes:
        return None
    # Against a number of the text it is known which gangs have work: `first_gang`, `lane_sets`.
    told = [s for s in shapes if s is not None and s.constant is None]
    counts = [s for s in told if not s.uniform]
    fits = len(told) == 2 and len(counts) == 1 and counts[0].exact and counts[0].pattern is not None
    return test if fits else None


def _ways(known: Uniformity, test: Instruction, wanted: bool) -> set[Edge]:
    """Where lanes that have work go, and others do not."""
    found: set[Edge] = set()
    for block in known.flow.function.blocks:
        other, end = _test(known, block.name), block.terminator
        same = other is not None and (other.predicate, other.operands) == (test.predicate, test.operands)
        if same:
            found.add((block.name, end.labels[0 if wanted else 1]))
    return found


def _needed(
    out: Output, part: Part, test: Instruction, written: Collection[int]
) -> tuple[Instruction, ...] | None:
    """What a test is made from, where that can be asked at the start of the region."""
    names, work = set[str](), [*test.uses]
    while work:
        name = work.pop()
        if name not in names:
            names.add(name)
            work += part.function.definitions[name].uses
    found = tuple(i for i in part.function.instructions() if i.name in names)
    fine = all(_pure(i) or _given(out, part, i, written) for i in found)
    return found if fine else None


def _pure(i: Instruction) -> bool:
    return i.opcode != "phi" and effect(i) is Effect.NONE and not among_lanes(i)


def _given(out: Output, part: Part, i: Instruction, written: Collection[int]) -> bool:
    """Whether it reads a number that nobody changes, and cannot fault."""
    alike = not any(part.uniformity.varies(o) for o in i.operands)
    return alike and stays(i, part.roots, written) and (is_proved(i) or not out.guard)


def _known(out: Output, part: Part, function: Function) -> Part:
    roots = UnderlyingObjects(function, part.roots.slots)
    known = Uniformity(Flow(function), roots, out.lanes, out.layout, part.uniformity.known)
    return Part(part.module, function, roots, known)


def written(
    out: Output, part: Part, idle: Idle, number: int, text: str, signature: tuple[str, str], write: Write
) -> str:
    """A region as two functions, for gangs with work and without, and one that calls either."""
    e = Emitter(out, part.function, part.roots, part.uniformity)
    for i in idle.needed:
        e.block = part.function.home[i.name]
        instruction(e, i)
    e.block = part.function.home[idle.test.name]
    flag = all_lanes(e, idle.test.value, not idle.wanted)
    if flag is None:
        return text
    told, arguments = signature
    name, given = f"@segment{number}(", arguments.replace("noalias ", "")
    lines = [
        text.replace(name, f"@segment{number}.work("),
        write(out, idle.part, number).replace(name, f"@segment{number}.idle("),
        f"define internal {told} {name}{arguments}) alwaysinline nounwind {{",
        "start:",
        *first_thread(out.lanes),
        *e.allocas,
        *e.prologue,
        "  br label %test",
        "test:",
        *e.lines,
        f"  br i1 {flag}, label %idle, label %work",
        "idle:",
        f"  %nothing = call {told} @segment{number}.idle({given})",
        f"  ret {told} %nothing",
        "work:",
        f"  %something = call {told} @segment{number}.work({given})",
        f"  ret {told} %something",
        "}",
    ]
    return "\n".join(lines)
