"""A case: one set of arguments, made from a few words or given by the caller."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np

from metalloid.comparing.inputs import Array, Input, make
from metalloid.errors import LaunchError


@dataclass(frozen=True)
class Case:
    """One set of arguments, by how they are made."""

    inputs: tuple[tuple[str, Input], ...]
    sizes: tuple[tuple[str, int], ...]
    dtype: str = "float32"
    layout: str = "contiguous"
    values: str = "ordinary"
    seed: int = 0
    fixed: frozenset[str] = frozenset()  # sizes that the function cannot have otherwise

    def arguments(self) -> dict[str, Array]:
        """New arrays, the same each time."""
        sizes = self.measured()
        return {
            name: make(name, given, sizes, self.dtype, self.layout, self.values, self.seed)
            for name, given in self.inputs
        }

    def measured(self) -> dict[str, int]:
        return dict(self.sizes)

    def resized(self, **sizes: int) -> Case:
        """The same with other sizes; fixed ones stay."""
        sizes = {name: n for name, n in sizes.items() if name not in self.fixed}
        return replace(self, sizes=tuple({**self.measured(), **sizes}.items()))

    @property
    def work(self) -> int:
        """What it costs, roughly; small cases are told from large ones by it."""
        return prod(max(1, n) for _, n in self.sizes)

    def __str__(self) -> str:
        parts = [" ".join(f"{name}={n}" for name, n in self.sizes)]
        parts += [self.dtype] if not all(given.dtype for _, given in self.inputs) else []
        parts += [self.layout] if self.layout != "contiguous" else []
        parts += [f"{self.values} values"] if self.values != "ordinary" else []
        return ", ".join(part for part in parts if part)

    def __repr__(self) -> str:
        return f"<case {self}>"


@dataclass(frozen=True, eq=False)
class Given:
    """Arguments that the caller made."""

    arrays: tuple[Array, ...]
    number: int
    dtype: str = ""
    layout: str = "as given"
    values: str = "as given"

    def arguments(self) -> dict[str, Array]:
        return {f"argument {n}": np.array(a, copy=True) for n, a in enumerate(self.arrays)}

    def measured(self) -> dict[str, int]:
        return {
            f"argument {n} axis {axis}": size
            for n, a in enumerate(self.arrays)
            for axis, size in enumerate(np.shape(a))
        }

    @property
    def work(self) -> int:
        return sum(int(np.size(a)) for a in self.arrays)

    def __str__(self) -> str:
        shapes = ", ".join(f"{a.dtype}{list(a.shape)}" for a in map(np.asarray, self.arrays))
        return f"case {self.number}: {shapes}"

    def __repr__(self) -> str:
        return f"<{self}>"


AnyCase = Case | Given


def as_cases(given: Iterable[Any]) -> list[AnyCase]:
    """Cases as they are; a tuple of arrays, or one array, becomes one."""
    return [
        case if isinstance(case, Case | Given) else Given(_arrays(case), number)
        for number, case in enumerate(given)
    ]


def _arrays(case: Any) -> tuple[Array, ...]:
    if isinstance(case, Mapping):
        raise LaunchError("[compare] a case is a tuple of arrays in the order of the arguments, not a dict.")
    return tuple(np.asarray(a) for a in (case if isinstance(case, tuple | list) else (case,)))
