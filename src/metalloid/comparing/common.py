"""What do the wrong cases have in common, and the right ones not?

A table of simple properties of a case (a size above a limit, a size that is no multiple of a tile, a dtype,
a layout, a kind of values) is tried alone, then two at a time; the simplest that tells all wrong cases from
all right ones is the answer. Cases whose answer is zero anyway say nothing either way. A property that parts
them only mostly is not told: it would mislead.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from metalloid.comparing.case import AnyCase
from metalloid.comparing.inputs import Array
from metalloid.comparing.judge import RIGHT, Outcome

MULTIPLES = (2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)
PAIRS = 60  # properties that are tried two at a time
LEAST_LIMIT = 3  # below that, small is not worth the name


@dataclass(frozen=True)
class Property:
    """Something that a case has or has not."""

    text: str  # "K > 16"
    cost: int  # how hard it is to believe
    size: str = ""  # a limit: the name of the size
    limit: int = 0  # the largest that is below it


@dataclass(frozen=True)
class Common:
    """What all wrong cases have and no right one has."""

    properties: tuple[Property, ...]
    joined: str  # "and", "or"
    wrong: int
    right: int

    @property
    def limit(self) -> Property | None:
        """The size that is right when small and wrong when large."""
        limits = (p for p in self.properties if p.size and p.limit >= LEAST_LIMIT)
        return next(limits, None) if self.joined == "and" else None

    @property
    def text(self) -> str:
        return f" {self.joined} ".join(p.text for p in self.properties)


def common(outcomes: Sequence[Outcome]) -> Common | None:
    """The simplest explanation, where one parts wrong from right without exception."""
    judged = [o for o in outcomes if o.failed or (o.kind == RIGHT and not o.trivial)]
    failed = np.array([o.failed for o in judged], bool)
    if failed.all() or not failed.any():
        return None
    table = dict(_properties([o.case for o in judged]))
    counts = int(failed.sum()), int((~failed).sum())
    every = [p for p in table if table[p][failed].all()]  # all wrong cases have it
    no_right = [p for p in table if not table[p][~failed].any() and table[p].any()]
    if alone := [p for p in every if p in no_right]:
        return Common((min(alone, key=_cost),), "and", *counts)
    # The ones that leave least to the other first.
    every = sorted(every, key=lambda p: (int(table[p][~failed].sum()), p.cost))[:PAIRS]
    no_right = sorted(no_right, key=lambda p: (-int(table[p][failed].sum()), p.cost))[:PAIRS]
    both = [(a, b) for a, b in combinations(every, 2) if not (table[a] & table[b])[~failed].any()]
    if both:
        return Common(min(both, key=_cost_of_two), "and", *counts)
    either = [(a, b) for a, b in combinations(no_right, 2) if (table[a] | table[b])[failed].all()]
    if either:
        return Common(min(either, key=_cost_of_two), "or", *counts)
    return None


def _cost(one: Property) -> int:
    return one.cost


def _cost_of_two(pair: tuple[Property, ...]) -> int:
    return sum(p.cost for p in pair)


def _properties(cases: Sequence[AnyCase]) -> Iterator[tuple[Property, Array]]:
    for what in ("dtype", "layout", "values"):
        column = [getattr(case, what) for case in cases]
        for value in dict.fromkeys(column):
            words = {"dtype": "the dtype is", "layout": "the layout is", "values": "the values are"}[what]
            yield Property(f"{words} {value}", 1), np.array([v == value for v in column])
            yield Property(f"{words} not {value}", 2), np.array([v != value for v in column])
    names = dict.fromkeys(name for case in cases for name in case.measured())
    for name in names:
        sizes = np.array([case.measured().get(name, -1) for case in cases])
        for below, above in zip(np.unique(sizes)[:-1], np.unique(sizes)[1:], strict=True):
            text = f"{name} >= {above}" if above - below > 1 else f"{name} > {below}"
            yield Property(text, 2, name, int(below)), sizes > below
            yield Property(f"{name} <= {below}", 4), sizes <= below
        for n in MULTIPLES:
            yield Property(f"{name} is not a multiple of {n}", 3), sizes % n != 0
