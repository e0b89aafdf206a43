"""The cases of a sweep: where kernels break.

Sizes next to every power of two, tile and threadgroup, and 0 and 1. One size goes through all of them while
the others stay at two settings, one a multiple of the tile and one not, so that what the wrong cases have
in common can be told from what they happen to share. Then layouts, special values and random combinations.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import prod

import numpy as np

from metalloid.comparing.case import Case
from metalloid.comparing.inputs import FINITE, LAYOUTS, VALUES, Input, known
from metalloid.errors import LaunchError

ELEMENTS = 1 << 20  # in one array
WORK = (1 << 20) + 64  # the product of all sizes of one case
RANDOM = 24


def edges(tiles: Iterable[int] = (), largest: int = ELEMENTS) -> tuple[int, ...]:
    """0, 1, and the sizes next to every power of two and to the first multiples of every tile."""
    powers = (1 << n for n in range(largest.bit_length()))
    multiples = (tile * n for tile in tiles for n in (1, 2, 3))
    near = {edge + d for edge in (*powers, *multiples) for d in (-1, 0, 1)}
    return tuple(sorted(n for n in near if 0 <= n <= largest + 1))


def cases(
    inputs: Mapping[str, str | Input],
    *,
    tiles: int | Iterable[int] = (),
    sizes: Mapping[str, int | Iterable[int]] | None = None,
    dtypes: str | Iterable[str] = "float32",
    layouts: str | Iterable[str] = ("contiguous", "offset", "strided", "transposed"),
    values: str | Iterable[str] = FINITE,
    largest: int = ELEMENTS,
    random: int = RANDOM,
    seed: int = 0,
) -> list[Case]:
    """Cases for a function of these arrays, small ones first.

    `inputs` names the arguments in order and gives their shapes: {"a": "M K", "b": "N K"}. `tiles` are the
    kernel's tiles and threadgroup sizes. `sizes` fixes what is not free: {"D": 128, "heads": (1, 8)}; no other
    values of those are tried.
    NaN and infinities are made only where asked for, as values=("inf", "nan"): Metal's fast math, the
    default of its compiler, promises nothing about them.
    """
    made = {name: given if isinstance(given, Input) else Input(given) for name, given in inputs.items()}
    fixed = {name: _numbers(given) for name, given in (sizes or {}).items()}
    names = list(dict.fromkeys(name for given in made.values() for name in given.names))
    for name in fixed.keys() - set(names):
        raise LaunchError(f"[cases] sizes names {name!r}; the inputs have {', '.join(names) or 'no sizes'}.")
    tiles = _numbers(tiles)
    free = {name: fixed.get(name) or edges(tiles, largest) for name in names}
    plan = _Plan(tuple(made.items()), free, frozenset(fixed), max(tiles, default=16), largest, seed)
    kinds = [known("layout", name, LAYOUTS) for name in _texts(layouts)]
    contents = [known("kind of values", name, VALUES) for name in _texts(values)]
    found: dict[Case, None] = {}
    for dtype in _texts(dtypes):
        found |= dict.fromkeys(plan.sweep(dtype))
        for base in plan.settings():
            case = plan.case(base, dtype)
            found |= dict.fromkeys(replace(case, layout=layout) for layout in kinds)
            found |= dict.fromkeys(replace(case, values=content) for content in contents)
        found |= dict.fromkeys(plan.some(random, dtype, kinds, contents))
    return sorted(found, key=lambda case: case.work)


@dataclass(frozen=True)
class _Plan:
    inputs: tuple[tuple[str, Input], ...]
    free: Mapping[str, Sequence[int]]
    fixed: frozenset[str]
    tile: int
    largest: int
    seed: int

    def case(self, sizes: Mapping[str, int], dtype: str) -> Case:
        return Case(self.inputs, tuple(sizes.items()), dtype, seed=self.seed, fixed=self.fixed)

    def settings(self) -> Iterator[dict[str, int]]:
        """All sizes at two whole tiles, all a little more, all small; as far as they are free."""
        for wanted in (2 * self.tile, self.tile + 3, 5):
            found = {n: min(free, key=lambda v: abs(v - wanted)) for n, free in self.free.items()}
            if self._fits(found):
                yield found

    def sweep(self, dtype: str) -> Iterator[Case]:
        """Each size through all it can be, the others at rest."""
        for name, all_of_it in self.free.items():
            for size in all_of_it:
                rests = [r for r in (self.tile, 3, 1) if self._fits(self._with(name, size, r))]
                for rest in rests[:2]:
                    yield self.case(self._with(name, size, rest), dtype)
        if not self.free:
            yield self.case({}, dtype)

    def _with(self, name: str, size: int, rest: int) -> dict[str, int]:
        return {
            other: size if other == name else min(free, key=lambda v: abs(v - rest))
            for other, free in self.free.items()
        }

    def some(self, count: int, dtype: str, layouts: Sequence[str], values: Sequence[str]) -> Iterator[Case]:
        """Random combinations, the same for the same seed."""
        generator = np.random.default_rng(self.seed)
        for n in range(count if self.free else 0):
            modest = {k: [v for v in free if v <= 8 * self.tile] or free for k, free in self.free.items()}
            sizes = {name: int(generator.choice(free)) for name, free in modest.items()}
            if self._fits(sizes):
                layout, content = str(generator.choice(layouts)), str(generator.choice(values))
                yield replace(self.case(sizes, dtype), layout=layout, values=content, seed=self.seed + n + 1)

    def _fits(self, sizes: Mapping[str, int]) -> bool:
        arrays = (prod(given.dimensions(sizes)) for _, given in self.inputs)
        return prod(max(1, n) for n in sizes.values()) <= WORK and max(arrays, default=0) <= self.largest + 1


def _numbers(given: int | Iterable[int]) -> tuple[int, ...]:
    return (given,) if isinstance(given, int) else tuple(int(n) for n in given)


def _texts(given: str | Iterable[str]) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)
