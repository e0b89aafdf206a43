"""Which inputs does the first wrong element really depend on?

Every input element of the smallest case is changed in turn, and function and reference are asked whether
the element changes. An index that is wrong shows as an input that should matter and does not, beside one
that should not and does.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from metalloid.comparing.case import AnyCase
from metalloid.comparing.inputs import Array, is_float
from metalloid.comparing.judge import Pair, Wrong

MOST = 200  # input elements that are tried
SHOWN = 6


@dataclass(frozen=True)
class Influence:
    """Input elements by name, such as b[1, 0]."""

    ignored: tuple[str, ...]  # should matter and do not
    extra: tuple[str, ...]  # matter and should not
    same: tuple[str, ...]  # matter, and should

    def __bool__(self) -> bool:
        return bool(self.ignored or self.extra)

    @property
    def text(self) -> str:
        parts = []
        if self.ignored:
            parts.append(f"does not depend on {_some(self.ignored)}, and should")
        if self.extra:
            parts.append(f"depends on {_some(self.extra)}, and should not")
        return "; ".join(parts) + self._swapped()

    def _swapped(self) -> str:
        """Whether one input is read with its two axes exchanged."""
        ignored, extra = set(map(_parsed, self.ignored)), set(map(_parsed, self.extra))
        if all(len(i) == 2 for _, i in extra) and extra and {(n, i[::-1]) for n, i in extra} <= ignored:
            return f"\n    '{next(iter(extra))[0]}' is read with its two axes swapped"
        return ""


def influence(pair: Pair, case: AnyCase, wrong: Wrong) -> Influence | None:
    """None where there are too many inputs to try, or the function does not always answer."""
    arguments = case.arguments()
    floats = {name: a for name, a in arguments.items() if is_float(a.dtype)}
    if not 0 < sum(a.size for a in floats.values()) <= MOST:
        return None
    try:
        before = _answers(pair, case.arguments(), wrong)
        found: dict[tuple[bool, bool], list[str]] = {}
        for name, array in floats.items():
            for index in np.ndindex(array.shape):
                changed = case.arguments()
                changed[name][index] = _other(float(array[index]))
                after = _answers(pair, changed, wrong)
                moves = tuple(a != b for a, b in zip(before, after, strict=True))
                label = f"{name}[{', '.join(map(str, index))}]" if index else name
                found.setdefault((moves[0], moves[1]), []).append(label)
    except Exception:  # an explanation that cannot be had is left out
        return None
    return Influence(
        tuple(found.get((False, True), ())),
        tuple(found.get((True, False), ())),
        tuple(found.get((True, True), ())),
    )


def _answers(pair: Pair, arguments: Mapping[str, Array], wrong: Wrong) -> tuple[bytes, bytes]:
    expected = pair.expected(arguments)[wrong.output][wrong.index]
    got = pair.got(arguments)[wrong.output][wrong.index]
    return got.tobytes(), expected.tobytes()


def _other(number: float) -> float:
    """A number of the same size, and another."""
    return -0.75 * number + 0.375 if np.isfinite(number) else 0.5


def _parsed(label: str) -> tuple[str, tuple[int, ...]]:
    name, _, rest = label.partition("[")
    return name, tuple(int(n) for n in rest.rstrip("]").split(", ")) if rest else ()


def _some(names: tuple[str, ...]) -> str:
    more = f" and {len(names) - SHOWN} more" if len(names) > SHOWN else ""
    return ", ".join(names[:SHOWN]) + more
