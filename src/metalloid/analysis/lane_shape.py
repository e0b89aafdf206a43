"""How a value differs from lane to lane.

The lane's value is  base + sum(coefficient * pattern[lane]):  the base and the coefficients are the same
for all lanes, the patterns are constants. No terms: the value is uniform. No shape at all: it varies freely.

    align   the base is a multiple of it
    umax    no lane's value, read as unsigned, is larger
    exact   False behind a widening, where a lane might have wrapped round: good for addresses only
"""

from __future__ import annotations

import math
from functools import lru_cache

from metalloid.records import dataclass, replace

Pattern = tuple[int, ...]
Terms = tuple[tuple[str, Pattern], ...]  # by coefficient's name, "" for 1; sorted, no pattern is all zero

MAX_ALIGN = 1 << 64
UNKNOWN = 1 << 64


@dataclass(frozen=True, slots=True)
class LaneShape:
    terms: Terms = ()
    align: int = 1
    umax: int = UNKNOWN
    exact: bool = True
    constant: int | None = None  # the base, where it is known

    @property
    def uniform(self) -> bool:
        return not self.terms

    @property
    def pattern(self) -> Pattern | None:
        """The one constant pattern, where that is all there is."""
        if len(self.terms) == 1 and self.terms[0][0] == "":
            return self.terms[0][1]
        return None


UNIFORM = LaneShape()


@lru_cache(maxsize=4096)
def constant(value: int) -> LaneShape:
    """A known number (kept unsigned)."""
    return LaneShape((), value or MAX_ALIGN, value, True, value)


def lanes(pattern: Pattern, align: int, umax: int, base: int | None = None) -> LaneShape:
    return LaneShape(_terms({"": pattern}), align, umax, True, base)


def _terms(found: dict[str, Pattern]) -> Terms:
    return tuple(sorted((c, p) for c, p in found.items() if any(p)))


def add(a: LaneShape, b: LaneShape, sign: int = 1) -> LaneShape | None:
    """None where lanes that may have wrapped take each other away: what is left is not the same in all of them."""
    found = dict(a.terms)
    for coefficient, pattern in b.terms:
        old = found.get(coefficient, (0,) * len(pattern))
        found[coefficient] = tuple(x + sign * y for x, y in zip(old, pattern, strict=True))
    umax = a.umax + b.umax if sign > 0 else UNKNOWN
    base = None
    if a.constant is not None and b.constant is not None:
        base = a.constant + sign * b.constant
    terms, exact = _terms(found), a.exact and b.exact
    if not exact and not terms and (a.terms or b.terms):
        return None
    return LaneShape(terms, math.gcd(a.align, b.align), umax, exact, base)


def scale(a: LaneShape, factor: int) -> LaneShape:
    """Times a known number (signed)."""
    found = {c: tuple(x * factor for x in p) for c, p in a.terms}
    base = a.constant * factor if a.constant is not None else None
    umax = a.umax * factor if factor >= 0 else UNKNOWN
    return LaneShape(_terms(found), a.align * abs(factor) or MAX_ALIGN, umax, a.exact or not factor, base)


def times(a: LaneShape, coefficient: str, other: LaneShape) -> LaneShape | None:
    """Times a uniform value with a name; None where that has no shape. Coefficients are read with their sign."""
    if a.uniform:
        return LaneShape((), a.align * other.align, a.umax * other.umax)
    pattern = a.pattern
    if pattern is None:
        return None
    align = a.align * other.align
    return LaneShape(((coefficient, pattern),), align, a.umax * other.umax, a.exact and other.exact)


def join(a: LaneShape | None, b: LaneShape | None) -> LaneShape | None:
    """What holds of both; None where they differ in their lanes."""
    if a is None or b is None or a.terms != b.terms:
        return None
    base = a.constant if a.constant == b.constant else None
    align = math.gcd(a.align, b.align)
    return LaneShape(a.terms, align, max(a.umax, b.umax), a.exact and b.exact, base)


def seam(shape: LaneShape) -> int:
    """The power of two between pattern and base: as low as the pattern allows, so that in `~lane` the sign is the
    base's and the pattern stays small."""
    at = shape.align & -shape.align
    pattern = shape.pattern
    return min(at, 1 << max(pattern).bit_length()) if pattern and max(pattern) >= 0 else at


def splits(shape: LaneShape, at: int) -> Pattern | None:
    """The pattern, where base and pattern do not touch the same multiples of `at`:
    the base is a multiple of it, the pattern stays below it."""
    pattern = shape.pattern if shape.exact else None
    if pattern is None or shape.align % at or min(pattern) < 0 or max(pattern) >= at:
        return None
    return pattern


def clamp(shape: LaneShape | None, bits: int) -> LaneShape | None:
    """The shape of a value of this many bits. One that may have wrapped is still a multiple of a power of two."""
    if shape is None:
        return None
    top = (1 << bits) - 1
    base = shape.constant & top if shape.constant is not None else None
    if shape.umax > top:
        return replace(shape, umax=top, constant=base, align=min(shape.align & -shape.align, MAX_ALIGN))
    return replace(shape, constant=base) if base != shape.constant else shape
