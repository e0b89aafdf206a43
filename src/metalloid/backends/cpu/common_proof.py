"""One code for many launches: what their proofs have in common.

The facts of a proof hold one by one, so code that rests on some of them serves every launch that has these. Baseline
code is made for what all launches so far have in common; that is less each time it is made, and soon enough for all.
Ways that nobody goes are left in it: they are what launches differ in (of seven flash attentions in nothing else).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from metalloid.records import replace

if TYPE_CHECKING:
    from metalloid.analysis.intervals.prove import Proof

MOST = 4  # codes of a variant before the one that rests on nothing
_SETS = ("accesses", "loops", "whole", "streams", "dead", "fixed", "short", "early")


def implies(known: Proof, needed: Proof) -> bool:
    """Whether launches with the first proof may run code that rests on the second."""
    if known.size != needed.size or known.apart < needed.apart:
        return False
    return all(getattr(known, s) >= getattr(needed, s) for s in _SETS)


def common(first: Proof, second: Proof) -> Proof:
    """What both say, of the same module."""
    assert first.size == second.size
    sets = {s: getattr(first, s) & getattr(second, s) for s in _SETS}
    return replace(first, apart=first.apart and second.apart, **sets)


class CommonProof:
    """Of the launches of one variant, in the order they come."""

    def __init__(self) -> None:
        self._known: Proof | None = None
        self._count = 0

    def of(self, proof: Proof) -> Proof:
        """What the code for a launch with this proof rests on."""
        known, proof = self._known, replace(proof, dead=frozenset())
        if known is None or known.size != proof.size:
            known = proof
        elif implies(proof, known):
            return known
        else:
            known = common(known, proof)
        self._count += 1
        self._known = known if self._count <= MOST else type(proof)(size=proof.size)
        return self._known
