"""Sets of numbers of n bits: lo, lo + step, ..., hi, read modulo 2^n.

Sums and products of such sets are right whatever the sign one gives their members, so nothing here has to know
whether a number is signed until it is divided, compared or widened. `step` is 0 where there is one member.
None is the empty set: code that cannot be reached.
"""

from __future__ import annotations

import math
from functools import cache, lru_cache

from metalloid.records import dataclass


@dataclass(frozen=True, slots=True)
class Span:
    lo: int
    hi: int
    step: int = 1

    @property
    def one(self) -> bool:
        return self.lo == self.hi


@lru_cache(maxsize=1024)
def number(value: int) -> Span:
    return Span(value, value, 0)


def make(lo: int, hi: int, step: int = 1) -> Span:
    """From lo to at most hi in steps."""
    step = step or 1
    hi -= (hi - lo) % step
    return Span(lo, hi, 0 if lo == hi else step)


@cache
def top(bits: int) -> Span:
    return Span(0, (1 << bits) - 1, 1)


def _all(a: Span, bits: int, start: int) -> Span:
    """All numbers from `start` that agree with `a` in the low bits that its step keeps."""
    keep = min(a.step & -a.step, 1 << bits) if a.step else 1 << bits
    first = start + (a.lo - start) % keep
    return make(first, start + (1 << bits) - 1, keep)


def unsigned(a: Span, bits: int) -> Span:
    """The same set, its members from 0 to 2^n - 1; more where it goes round."""
    shift = a.lo >> bits << bits
    if not shift and a.hi < 1 << bits:
        return a
    return Span(a.lo - shift, a.hi - shift, a.step) if a.hi - shift < 1 << bits else _all(a, bits, 0)


def signed(a: Span, bits: int) -> Span:
    half = 1 << bits - 1
    shift = (a.lo + half) >> bits << bits
    if not shift and a.hi < half:
        return a
    return Span(a.lo - shift, a.hi - shift, a.step) if a.hi - shift < half else _all(a, bits, -half)


def small(a: Span, bits: int) -> Span:
    """The reading with the smaller members."""
    near, far = signed(a, bits), unsigned(a, bits)
    return near if near.hi - near.lo <= far.hi - far.lo else far


def fit(a: Span, bits: int) -> Span:
    """No more than all numbers of n bits."""
    return a if a.hi - a.lo < 1 << bits else _all(a, bits, 0)


def add(a: Span, b: Span, bits: int) -> Span:
    return fit(Span(a.lo + b.lo, a.hi + b.hi, math.gcd(a.step, b.step)), bits)


def negative(a: Span) -> Span:
    return Span(-a.hi, -a.lo, a.step)


def sub(a: Span, b: Span, bits: int) -> Span:
    return add(a, negative(b), bits)


def mul(a: Span, b: Span, bits: int) -> Span:
    a, b = small(a, bits), small(b, bits)
    corners = (a.lo * b.lo, a.lo * b.hi, a.hi * b.lo, a.hi * b.hi)
    step = math.gcd(a.step * b.lo, b.step * a.lo, a.step * b.step)
    return fit(Span(min(corners), max(corners), step), bits)


def scaled(a: Span, factor: int, bits: int) -> Span:
    return mul(a, number(factor), bits)


def join(a: Span | None, b: Span | None, bits: int) -> Span | None:
    """A set that has both."""
    if a is None or b is None:
        return b if a is None else a
    best: Span | None = None
    for read in (signed, unsigned):
        x, y = read(a, bits), read(b, bits)
        lo, hi = min(x.lo, y.lo), max(x.hi, y.hi)
        made = Span(lo, hi, math.gcd(x.step, y.step, x.lo - y.lo))
        if best is None or hi - lo < best.hi - best.lo:
            best = made
    return best


def between(a: Span, lo: int, hi: int) -> Span | None:
    """The members from lo to hi."""
    step = a.step or 1
    if lo > a.lo:
        lo += (a.lo - lo) % step
    else:
        lo = a.lo
    hi = min(hi, a.hi)
    return make(lo, hi, step) if lo <= hi else None


def meet(a: Span, b: Span, bits: int) -> Span | None:
    """A set that has all that are in both; the step is that of the coarser."""
    if a.step < b.step:
        a, b = b, a
    best: Span | None = a
    for read in (signed, unsigned):
        x, y = read(a, bits), read(b, bits)
        found = between(x, y.lo, y.hi)
        if found is None:
            return None
        if best is not None and found.hi - found.lo < best.hi - best.lo:
            best = found
    return best


def shift_right(a: Span, by: Span, bits: int, arithmetic: bool) -> Span:
    a = signed(a, bits) if arithmetic else unsigned(a, bits)
    by = unsigned(by, bits)
    if by.hi >= bits:
        by = Span(0, bits - 1)
    lo, hi = min(a.lo >> by.lo, a.lo >> by.hi), max(a.hi >> by.lo, a.hi >> by.hi)
    step = a.step >> by.lo if by.one and a.step % (1 << by.lo) == 0 else 1
    return make(lo, hi, step)


def shift_left(a: Span, by: Span, bits: int) -> Span:
    by = unsigned(by, bits)
    if by.hi >= bits:
        return top(bits)
    return mul(a, Span(1 << by.lo, 1 << by.hi, (1 << by.lo) if not by.one else 0), bits)


def divide(a: Span, by: Span) -> Span:
    """Both are not negative as they stand; x / 0 is 0."""
    if by.hi == 0:
        return number(0)
    lo, hi = (a.lo // by.hi if by.lo else 0), a.hi // max(by.lo, 1)
    return make(lo, hi, a.step // by.lo if by.one and a.step % by.lo == 0 else 1)


def remainder(a: Span, by: Span) -> Span:
    """Both are not negative as they stand; x % 0 is 0."""
    if by.one and by.lo:
        d = by.lo
        if a.lo // d == a.hi // d:
            return Span(a.lo % d, a.hi % d, a.step)
        keep = math.gcd(a.step, d)
        return make(a.lo % keep, d - 1, keep)
    if a.hi < by.lo:
        return a
    return make(0, min(a.hi, max(by.hi - 1, 0)))


def divide_signed(a: Span, by: Span, bits: int) -> Span:
    a, by = signed(a, bits), signed(by, bits)
    if a.lo >= 0 and by.lo >= 0:
        return divide(a, by)
    if by.lo <= 0:
        return top(bits)
    ends = [_toward_zero(x, d) for x in (a.lo, a.hi) for d in (by.lo, by.hi)]
    return make(min(ends), max(ends))


def _toward_zero(a: int, b: int) -> int:
    return -(-a // b) if a < 0 else a // b


def remainder_signed(a: Span, by: Span, bits: int) -> Span:
    a, by = signed(a, bits), signed(by, bits)
    if a.lo >= 0 and by.lo >= 0:
        return remainder(a, by)
    far = max(abs(by.lo), abs(by.hi), 1) - 1
    return make(-far if a.lo < 0 else 0, far if a.hi > 0 else 0)


def both_bits(a: Span, b: Span, bits: int) -> Span:
    """a & b."""
    a, b = unsigned(a, bits), unsigned(b, bits)
    if not b.one:
        a, b = b, a
    if b.one:
        mask = b.lo
        low = mask & -mask
        if mask and mask == (low << (mask // low).bit_length()) - low:  # ones side by side
            above = 1 << mask.bit_length()
            inside = remainder(a, number(above))
            start, step = inside.lo & -low, max(low, inside.step if inside.step % low == 0 else low)
            return make(start, inside.hi & -low, step)
        return make(0, min(a.hi, mask), low or 1)
    return make(0, min(a.hi, b.hi))


def either_bits(a: Span, b: Span, bits: int) -> Span:
    """a | b: at most the sum, and at most all ones below the highest one."""
    a, b = unsigned(a, bits), unsigned(b, bits)
    for x, y in ((a, b), (b, a)):
        free = x.lo & -x.lo if x.lo else 1 << bits
        if x.step:
            free = min(free, x.step & -x.step)
        if y.hi < free:
            return fit(Span(x.lo + y.lo, x.hi + y.hi, math.gcd(x.step, y.step)), bits)
    most = (1 << max(a.hi.bit_length(), b.hi.bit_length())) - 1
    return make(max(a.lo, b.lo), min(a.hi + b.hi, most))


def differing_bits(a: Span, b: Span, bits: int) -> Span:
    """a ^ b."""
    for x, y in ((a, b), (b, a)):
        if y.one and (y.lo + 1) % (1 << bits) == 0:
            return sub(number(-1), x, bits)
    a, b = unsigned(a, bits), unsigned(b, bits)
    return make(0, (1 << max(a.hi.bit_length(), b.hi.bit_length())) - 1)
