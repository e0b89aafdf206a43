"""What is known of a launch before it runs: accesses inside their memory, loops that end, alignments.

A GPU stops for good at an address that is no multiple of what it loads, so alignment is a matter of safety here: code
loads four floats at once only where that is proved, or nobody guards.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from metalloid.analysis.intervals.evaluate import Evaluator
from metalloid.analysis.intervals.prove import Proof, Prover, access
from metalloid.analysis.intervals.values import Facts, TooLong
from metalloid.backends.base import Launch, Triple
from metalloid.backends.cuda.tile_size import grows
from metalloid.backends.cuda.variant import Aligned, Places
from metalloid.ir.intrinsics import MATRIX_PRODUCT, short
from metalloid.ir.types import IntType

MOST = 16  # bytes of one access
AXES = (0, 1)  # along which a launch may be cut
_PLACES = ("threadgroup_position_in_grid", "thread_position_in_grid")


@dataclass(frozen=True)
class LaunchProof:
    bounds: Proof
    aligned: Aligned
    # Numbers that are made from the place of a threadgroup, and yet are the same in the whole launch.
    known: frozenset[tuple[str, int]] = frozenset()
    # Parts of a launch whose matrices go to tensor cores, where they are more than one (parts.py).
    parts: tuple[tuple[Places, LaunchProof], ...] = ()


class Proofs:
    """Proofs of one kernel, in the words of a launch that carries some of its arguments itself."""

    outputs = ()

    def __init__(self, prover: Prover, carried: Collection[int]) -> None:
        self._prover = prover
        # What a launch does not carry itself may change before the kernel reads it.
        self.parameters = tuple(index for index in prover.parameters if index in carried)

    def prove(
        self,
        launch: Launch,
        guard: bool,
        lengths: Mapping[int, int],
        contents: Mapping[int, bytes],
        streams: Sequence[tuple[int, int]],
        soon: bool = False,
        apart: bool = False,
    ) -> LaunchProof:
        local = launch.threadgroup_memory
        facts = Facts(launch.grid, launch.threadgroup, launch.threadgroups, lengths, local, contents)
        whole = self._proved(facts)
        if not grows(self._prover.module):
            return whole
        found = tuple(
            _parts(launch.threadgroups, whole, lambda part: self._proved(replace(facts, part=part)))
        )
        return replace(whole, parts=found) if len(found) > 1 else whole

    def _proved(self, facts: Facts) -> LaunchProof:
        return LaunchProof(
            self._prover.prove(facts), _aligned(self._prover, facts), _known(self._prover, facts)
        )


def _parts(
    groups: Triple, all_of_them: LaunchProof, prove: Callable[[Places], LaunchProof]
) -> Iterator[tuple[Places, LaunchProof]]:
    """The parts of a grid, that inside last; one where nothing is known of fewer threadgroups that is not known of
    all."""
    cut = tuple(axis for axis in AXES if groups[axis] > 2)
    inside = prove(_inside(groups, cut)) if cut else all_of_them
    for axis in cut:
        fewer = tuple(a for a in cut if a != axis)
        if not _says_more(inside, prove(_inside(groups, fewer)) if fewer else all_of_them):
            cut = fewer
    pieces = [((n - 1, n), (0, n - 1)) if axis in cut else ((0, n),) for axis, n in enumerate(groups)]
    for x, y, z in product(*pieces):
        yield (x, y, z), prove((x, y, z)) if cut else all_of_them


def _inside(groups: Triple, cut: Collection[int]) -> Places:
    x, y, z = ((0, n - (axis in cut)) for axis, n in enumerate(groups))
    return x, y, z


def _says_more(one: LaunchProof, other: LaunchProof) -> bool:
    """Whether accesses or ways that a proof leaves open are settled by another."""
    return not (one.bounds.accesses <= other.bounds.accesses and one.bounds.dead <= other.bounds.dead)


def _aligned(prover: Prover, facts: Facts) -> Aligned:
    """Powers of two that divide the offsets of accesses from the start of their memory."""
    e = Evaluator(prover.flow, prover.roots, prover.layout, facts)
    found: set[tuple[str, int, int]] = set()
    try:
        for block in prover.function.blocks:
            if block.name not in prover.reached:
                continue
            for n, i in enumerate(block.instructions):
                what = access(i)
                root = prover.roots.root(what[0]) if what is not None else None
                if what is None or root is None or root.kind == "unknown":
                    continue
                at = e.at(what[0], block.name)
                both = MOST if at is None else at.lo | at.step | MOST
                found.add((block.name, n, both & -both))
    except (TooLong, RecursionError):
        pass
    return frozenset(found)


def _known(prover: Prover, facts: Facts) -> frozenset[tuple[str, int]]:
    """Asked where threadgroups may be worked on as one alone: code is made for each answer."""
    e = Evaluator(prover.flow, prover.roots, prover.layout, facts)
    function = prover.function
    if not any(i.called == MATRIX_PRODUCT for i in function.instructions()):
        return frozenset()
    work = [i.name for i in function.instructions() if i.opcode == "call" and short(i.called) in _PLACES]
    seen, found = set(work), set()
    try:
        while work:
            for user in function.users.get(work.pop(), ()):
                if user.name and user.name not in seen and isinstance(user.type, IntType):
                    seen.add(user.name)
                    at = e.at(user.value, function.home[user.name])
                    if at is not None and at.one:
                        found.add((user.name, at.lo))
                    else:
                        work.append(user.name)
    except (TooLong, RecursionError):
        pass
    return frozenset(found)
